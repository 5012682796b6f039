#include "control/server/store/store_ingest.h"

#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_lease_view.h"
#include "control/server/store/store_run_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int refuse(char reason[static WIRE_REASON_BYTES], const char *member,
		  size_t i, const char *text)
{
	str_print(reason, WIRE_REASON_BYTES, "/%s/%zu: %s", member, i, text);
	return -EINVAL;
}

static int check_event(json_t *item, size_t i,
		       char reason[static WIRE_REASON_BYTES])
{
	const char *kind = json_string_value(json_object_get(item, "kind"));

	if (!json_is_object(item))
		return refuse(reason, "events", i, "must be an object");
	if (!kind || !kind[0] || strlen(kind) > 32)
		return refuse(reason, "events", i,
			      "kind must be a text of 1 to 32 bytes");
	if (!json_is_integer(json_object_get(item, "t")))
		return refuse(reason, "events", i,
			      "t must be microseconds since 1970");
	return 0;
}

static int check_message(json_t *item, size_t i,
			 char reason[static WIRE_REASON_BYTES])
{
	const char *dir = json_string_value(json_object_get(item, "dir"));

	if (!json_is_object(item))
		return refuse(reason, "messages", i, "must be an object");
	if (!dir || (strcmp(dir, "sent") && strcmp(dir, "received")))
		return refuse(reason, "messages", i,
			      "dir must be sent or received");
	if (!json_is_integer(json_object_get(item, "t")))
		return refuse(reason, "messages", i,
			      "t must be microseconds since 1970");
	if (!json_is_string(json_object_get(item, "data")))
		return refuse(reason, "messages", i, "data must be a text");
	return 0;
}

int ingest_check(enum ingest_kind kind, json_t *items,
		 char reason[static WIRE_REASON_BYTES])
{
	static const char *const names[] = {"series", "events", "messages"};
	struct wire_point point;
	json_t *item;
	size_t i;
	int err = 0;

	if (!json_is_array(items) ||
	    json_array_size(items) > INGEST_ITEMS_MAX) {
		str_print(reason, WIRE_REASON_BYTES,
			  "/%s: must be an array of at most %d objects",
			  names[kind], INGEST_ITEMS_MAX);
		return -EINVAL;
	}
	json_array_foreach(items, i, item)
	{
		if (kind == INGEST_EVENTS)
			err = check_event(item, i, reason);
		else if (kind == INGEST_SIP)
			err = check_message(item, i, reason);
		else if (wire_point_decode(&point, item, reason))
			err = -EINVAL;
		if (err)
			return err;
	}
	return 0;
}

/* An item of an upload. */
struct item {
	json_t *tree;
	struct json_text text; /* text.at NULL: not known */
};

/**
 * Get the text of a value for a column.
 * @param printed  receives the text if it had to be printed, to free(); else
 *                 NULL
 * @return DB_NULL: out of memory
 */
static struct db_value text_column(const json_t *tree, struct json_text text,
				   char **printed)
{
	*printed = NULL;
	if (text.at)
		return (struct db_value){
			.type = DB_TEXT, .bytes = text.at, .len = text.len};
	*printed = json_dumps(tree, JSON_COMPACT);
	return db_text(*printed);
}

static const char *const event_columns[] = {"run_id", "lease_id",   "role",
					    "t_us",   "event_json", "kind"};
static const char *const message_columns[] = {"run_id", "lease_id", "role",
					      "t_us", "message_json"};
static const char *const point_columns[] = {
	"series_id", "t",   "lease_id", "n",   "min",    "max",        "avg",
	"median",    "p75", "p90",      "p95", "stddev", "sketch_json"};
static const enum db_type object_types[] = {DB_INT, DB_TEXT, DB_TEXT,
					    DB_INT, DB_TEXT, DB_TEXT};
static const enum db_type point_types[] = {
	DB_INT,  DB_INT,  DB_TEXT, DB_INT,  DB_REAL, DB_REAL, DB_REAL,
	DB_REAL, DB_REAL, DB_REAL, DB_REAL, DB_REAL, DB_TEXT};

static const struct db_load loads[] = {
	[INGEST_STATS] = {"point", point_columns, 13, point_types},
	[INGEST_EVENTS] = {"event", event_columns, 6, object_types},
	[INGEST_SIP] = {"sip_message", message_columns, 5, object_types},
};

/* Add an event or SIP message: a row with the object as received. */
static int add_object(struct db *db, const struct lease_view *v,
		      const struct ingest *upload, const struct item *item)
{
	char *printed;
	const struct db_value object =
		text_column(item->tree, item->text, &printed);
	const struct db_value row[] = {
		DB_I(v->run_id), db_text(upload->lease_id), db_text(v->role),
		DB_I(json_integer_value(json_object_get(item->tree, "t"))),
		object,
		/* of events */
		db_text(json_string_value(
			json_object_get(item->tree, "kind")))};
	int err = -ENOMEM;

	if (object.type == DB_TEXT)
		err = db_load_row(db, row);
	free(printed);
	return err;
}

/* The points of an upload, and the series that they belong to. */
struct points {
	struct wire_point *all; /* one an item */
	/* of series, by direction; 0: not known */
	int64_t ids[2][MEASURE_COUNT];
};

static int id_row(const struct db_value *row, size_t columns, void *arg)
{
	struct points *points = arg;
	enum measure measure;

	(void)columns;
	if (measure_parse(row[2].bytes, &measure))
		points->ids[strcmp(row[1].bytes, "out") == 0][measure] =
			row[0].integer;
	return 0;
}

/* PostgreSQL: the series stay until the transaction ends, in the place of a foreign key of
 * each point (migrations.c, 25). A transaction that deletes them is waited for, and what it
 * deleted is not found. SQLite has one writer, and the key. */
#define STAYS " FOR KEY SHARE"
#define SERIES_ID                                                    \
	"SELECT id FROM series WHERE run_id = $1 AND role = $2 AND " \
	"dir = $3 AND measure = $4"
#define SERIES_OF \
	"SELECT id, dir, measure FROM series WHERE run_id = $1 AND role = $2"

/* Make a series that was not there a moment ago, unless another controller has
 * made it meanwhile. */
static int series_id(struct db *db, const struct lease_view *v,
		     const struct wire_point *p, int64_t *ret)
{
	const struct db_value params[] = {DB_I(v->run_id), db_text(v->role),
					  db_text(p->outgoing ? "out" : "in"),
					  db_text(measure_name(p->measure))};
	int err;

	err = lease_exec(db,
			 "INSERT INTO series (run_id, role, dir, measure) "
			 "VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
			 LEASE_PARAMS(params));
	if (err < 0)
		return err;
	return lease_integer(db, db_choose(db, SERIES_ID, SERIES_ID STAYS),
			     LEASE_PARAMS(params), ret);
}

static int find_series(struct db *db, const struct lease_view *v,
		       struct points *points, size_t count)
{
	const struct db_value params[] = {DB_I(v->run_id), db_text(v->role)};
	int err = db_query(db, db_choose(db, SERIES_OF, SERIES_OF STAYS),
			   LEASE_PARAMS(params), id_row, points);

	if (err < 0)
		return err;
	err = 0;
	for (size_t i = 0; i < count && err == 0; i++) {
		const struct wire_point *p = &points->all[i];
		int64_t *id = &points->ids[p->outgoing][p->measure];

		if (*id == 0)
			err = series_id(db, v, p, id);
	}
	return err;
}

static int decode_points(struct points *points, const struct lease_view *v,
			 json_t *items)
{
	char reason[WIRE_REASON_BYTES];
	json_t *item;
	size_t i;

	points->all = calloc(json_array_size(items) + 1, sizeof(*points->all));
	if (!points->all)
		return -ENOMEM;
	json_array_foreach(items, i, item)
	{
		struct wire_point *p = &points->all[i];

		if (wire_point_decode(p, item, reason) ||
		    strcmp(p->role, v->role) != 0)
			return -EINVAL;
	}
	return 0;
}

static int add_point(struct db *db, const struct points *points,
		     const struct ingest *upload, size_t i,
		     const struct item *item)
{
	const struct wire_point *p = &points->all[i];
	struct db_value sketch = {.type = DB_NULL};
	struct json_text text = {.at = NULL};
	char *printed = NULL;
	int err;

	if (p->sketch) {
		if (item->text.at)
			json_text_member(item->text, "sketch", &text);
		sketch = text_column(p->sketch, text, &printed);
		if (sketch.type != DB_TEXT)
			return -ENOMEM;
	}
	err = db_load_row(
		db, (struct db_value[]){
			    DB_I(points->ids[p->outgoing][p->measure]),
			    DB_I(p->t_s), db_text(upload->lease_id),
			    DB_I((int64_t)p->d.n), DB_R(p->d.min),
			    DB_R(p->d.max), DB_R(p->d.avg), DB_R(p->d.median),
			    DB_R(p->d.p75), DB_R(p->d.p90), DB_R(p->d.p95),
			    DB_R(p->d.stddev), sketch});
	free(printed);
	return err;
}

/* @param points  of stats; else NULL */
static int load_items(struct db *db, const struct lease_view *v,
		      const struct ingest *upload, const struct points *points)
{
	struct json_text rest = upload->text;
	struct item item;
	size_t i;
	int err = db_load_begin(db, &loads[upload->kind]);

	if (err)
		return err;
	json_array_foreach(upload->items, i, item.tree)
	{
		if (!rest.at || json_text_item(&rest, &item.text) != 1)
			item.text.at = NULL;
		err = points ? add_point(db, points, upload, i, &item)
			     : add_object(db, v, upload, &item);
		if (err)
			return err; /* the transaction is rolled back */
	}
	return db_load_end(db);
}

static int insert_items(struct db *db, const struct lease_view *v,
			const struct ingest *upload)
{
	struct points points = {.all = NULL};
	int err;

	if (upload->kind != INGEST_STATS)
		return load_items(db, v, upload, NULL);
	err = decode_points(&points, v, upload->items);
	if (err == 0)
		err = find_series(db, v, &points,
				  json_array_size(upload->items));
	if (err == 0)
		err = load_items(db, v, upload, &points);
	free(points.all);
	return err;
}

/* Advance next_seq over this number and later ones that arrived before it. */
static int advance_seq(struct db *db, const char *lease_id, int64_t *next)
{
	for (;;) {
		const struct db_value params[] = {db_text(lease_id),
						  DB_I(*next)};
		int64_t there;
		int err;

		err = lease_integer(db,
				    "SELECT count(*) FROM upload WHERE "
				    "lease_id = $1 AND seq = $2",
				    LEASE_PARAMS(params), &there);
		if (err)
			return err;
		if (!there)
			return lease_exec(db,
					  "UPDATE lease SET next_seq = $2 "
					  "WHERE id = $1",
					  LEASE_PARAMS(params));
		++*next;
	}
}

static int store_upload(struct db *db, struct lease_view *v,
			const struct ingest *upload, bool *ret_duplicate)
{
	const struct db_value params[] = {db_text(upload->lease_id),
					  DB_I(upload->seq)};
	int err;

	err = lease_exec(db,
			 "INSERT INTO upload (lease_id, seq) VALUES ($1, $2) "
			 "ON CONFLICT DO NOTHING",
			 LEASE_PARAMS(params));
	if (err < 0)
		return err;
	*ret_duplicate = err == 0;
	if (err == 0)
		return 0;
	err = insert_items(db, v, upload);
	if (!err && upload->seq == v->next_seq)
		err = advance_seq(db, upload->lease_id, &v->next_seq);
	return err;
}

int store_ingest(struct store *s, const struct ingest *upload,
		 const struct lease_times *times, struct ingest_result *ret)
{
	bool duplicate = false;
	struct lease_view v;
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = lease_view(db, upload->lease_id, upload->agent_id, &v);
	if (!err && !lease_uploads(&v, times))
		err = -ESTALE;
	if (!err)
		err = store_upload(db, &v, upload, &duplicate);
	err = store_write_end(s, err);
	if (err < 0)
		return err;
	*ret = (struct ingest_result){
		.duplicate = duplicate,
		.command = lease_command(&v),
		.next_seq = v.next_seq,
	};
	return 0;
}

/* ---- reading ---- */

struct reading {
	ingest_row_h *row_h;
	ingest_text_h *text_h;
	ingest_point_h *point_h;
	void *arg;
};

static int object_row(const struct db_value *row, size_t columns, void *arg)
{
	const struct reading *reading = arg;
	json_t *object = json_loadb(row[1].bytes, row[1].len, 0, NULL);
	int err;

	(void)columns;
	if (!object)
		return -ENOMEM;
	err = reading->row_h(row[0].bytes, object, reading->arg);
	json_decref(object);
	return err;
}

static int text_row(const struct db_value *row, size_t columns, void *arg)
{
	const struct reading *reading = arg;

	(void)columns;
	return reading->text_h(row[0].bytes,
			       (struct json_text){row[1].bytes, row[1].len},
			       reading->arg);
}

static int read_objects(struct store *s, const char *sql,
			const struct db_value *params, size_t count,
			ingest_row_h *row_h, void *arg)
{
	struct reading reading = {.row_h = row_h, .arg = arg};
	int err = db_query(store_reader(s), sql, params, count, object_row,
			   &reading);

	return err < 0 ? err : 0;
}

static int read_texts(struct store *s, const char *sql,
		      const struct db_value *params, size_t count,
		      ingest_text_h *text_h, void *arg)
{
	struct reading reading = {.text_h = text_h, .arg = arg};
	int err = db_query(store_reader(s), sql, params, count, text_row,
			   &reading);

	return err < 0 ? err : 0;
}

int store_run_events(struct store *s, int64_t run_id, ingest_row_h *row_h,
		     void *arg)
{
	const struct db_value id = DB_I(run_id);

	return read_objects(s,
			    "SELECT role, event_json FROM event "
			    "WHERE run_id = $1 ORDER BY id",
			    &id, 1, row_h, arg);
}

int store_run_event_texts(struct store *s, int64_t run_id, const char *kind,
			  int64_t max, ingest_text_h *text_h, void *arg)
{
	const struct db_value params[] = {DB_I(run_id), db_text(kind),
					  DB_I(max)};

	return read_texts(s,
			  "SELECT role, event_json FROM event "
			  "WHERE run_id = $1 AND kind = $2 "
			  "ORDER BY id LIMIT $3",
			  params, 3, text_h, arg);
}

int store_run_messages(struct store *s, int64_t run_id, int64_t max,
		       ingest_row_h *row_h, void *arg)
{
	const struct db_value params[] = {DB_I(run_id), DB_I(max)};

	return read_objects(
		s,
		"SELECT role, message_json FROM sip_message "
		"WHERE run_id = $1 AND " RUN_HAS("sip") " ORDER BY id LIMIT $2",
		params, 2, row_h, arg);
}

int store_run_messages_by_time(struct store *s, int64_t run_id, int64_t max,
			       ingest_row_h *row_h, void *arg)
{
	const struct db_value params[] = {DB_I(run_id), DB_I(max)};

	return read_objects(s,
			    "SELECT role, message_json FROM sip_message "
			    "WHERE run_id = $1 AND " RUN_HAS(
				    "sip") " ORDER BY t_us, id LIMIT $2",
			    params, 2, row_h, arg);
}

/* SQL: not of a shard of run $1 that was lost */
#define JUDGED                                                         \
	"lease_id NOT IN (SELECT id FROM lease WHERE run_id = $1 AND " \
	"state = 'lost') "

int store_judged_events(struct store *s, int64_t run_id, ingest_row_h *row_h,
			void *arg)
{
	const struct db_value id = DB_I(run_id);

	return read_objects(s,
			    "SELECT role, event_json FROM event "
			    "WHERE run_id = $1 AND " JUDGED "ORDER BY id",
			    &id, 1, row_h, arg);
}

int store_judged_event_texts(struct store *s, int64_t run_id, const char *kind,
			     int64_t max, ingest_text_h *text_h, void *arg)
{
	const struct db_value params[] = {DB_I(run_id), db_text(kind),
					  DB_I(max)};

	return read_texts(s,
			  "SELECT role, event_json FROM event "
			  "WHERE run_id = $1 AND kind = $2 AND " JUDGED
			  "ORDER BY id LIMIT $3",
			  params, 3, text_h, arg);
}

int store_judged_messages(struct store *s, int64_t run_id, ingest_row_h *row_h,
			  void *arg)
{
	const struct db_value id = DB_I(run_id);

	return read_objects(s,
			    "SELECT role, message_json FROM sip_message "
			    "WHERE run_id = $1 AND " RUN_HAS(
				    "sip") " AND " JUDGED "ORDER BY id",
			    &id, 1, row_h, arg);
}

static int point_row(const struct db_value *row, size_t columns, void *arg)
{
	const struct reading *reading = arg;
	struct wire_point p = {
		.role = row[0].bytes,
		.outgoing = strcmp(row[1].bytes, "out") == 0,
		.t_s = row[3].integer,
		.d = {.n = (uint64_t)row[4].integer,
		      .min = db_number(&row[5]),
		      .max = db_number(&row[6]),
		      .avg = db_number(&row[7]),
		      .median = db_number(&row[8]),
		      .p75 = db_number(&row[9]),
		      .p90 = db_number(&row[10]),
		      .p95 = db_number(&row[11]),
		      .stddev = db_number(&row[12])},
	};
	int err;

	(void)columns;
	if (!measure_parse(row[2].bytes, &p.measure))
		return 0; /* stored by a newer controller */
	if (row[13].type == DB_TEXT)
		p.sketch = json_loadb(row[13].bytes, row[13].len, 0, NULL);
	err = reading->point_h(&p, reading->arg);
	json_decref(p.sketch);
	return err;
}

#define POINTS                                                               \
	"SELECT s.role, s.dir, s.measure, p.t, p.n, p.min, p.max, p.avg, "   \
	"p.median, p.p75, p.p90, p.p95, p.stddev, p.sketch_json FROM point " \
	"p JOIN series s ON s.id = p.series_id WHERE s.run_id = $1 "
#define POINTS_ORDER "ORDER BY s.id, p.t"

static int read_points(struct store *s, const char *sql, int64_t run_id,
		       ingest_point_h *point_h, void *arg)
{
	struct reading reading = {.point_h = point_h, .arg = arg};
	const struct db_value id = DB_I(run_id);
	int err = db_query(store_reader(s), sql, &id, 1, point_row, &reading);

	return err < 0 ? err : 0;
}

int store_run_points(struct store *s, int64_t run_id, ingest_point_h *point_h,
		     void *arg)
{
	return read_points(s, POINTS POINTS_ORDER, run_id, point_h, arg);
}

int store_judged_points(struct store *s, int64_t run_id,
			ingest_point_h *point_h, void *arg)
{
	return read_points(s, POINTS "AND " JUDGED POINTS_ORDER, run_id,
			   point_h, arg);
}
