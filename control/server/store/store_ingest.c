#include "control/server/store/store_ingest.h"

#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_lease_view.h"
#include "control/server/store/store_point.h"
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
static const enum db_type object_types[] = {DB_INT, DB_TEXT, DB_TEXT,
					    DB_INT, DB_TEXT, DB_TEXT};

static const struct db_load loads[] = {
	[INGEST_EVENTS] = {"event", event_columns, 6, object_types, NULL},
	[INGEST_SIP] = {"sip_message", message_columns, 5, object_types, NULL},
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
	bool sketches;          /* one of them has a sketch */
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

/* PostgreSQL: the series stay until the transaction ends, as blocks of points have no foreign
 * key to them. A transaction that deletes them is waited for, and what it deleted is not
 * found. SQLite has one writer. */
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
			 "VALUES ($1, $2, $3, $4) "
			 "ON CONFLICT (run_id, role, dir, measure) DO NOTHING",
			 LEASE_PARAMS(params));
	if (err < 0)
		return err;
	err = lease_integer(db, db_choose(db, SERIES_ID, SERIES_ID STAYS),
			    LEASE_PARAMS(params), ret);
	return err == 0 && *ret == 0 ? -EIO : err;
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
		points->sketches |= p->sketch != NULL;
	}
	return 0;
}

static int load_objects(struct db *db, const struct lease_view *v,
			const struct ingest *upload)
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
		err = add_object(db, v, upload, &item);
		if (err)
			return err; /* the transaction is rolled back */
	}
	return db_load_end(db);
}

/* Find the text of a point's sketch.
 * @param item     of the point
 * @param printed  as of text_column() */
static int find_sketch(const struct wire_point *p, struct json_text item,
		       struct json_text *ret, char **printed)
{
	struct json_text text = {.at = NULL};
	struct db_value column;

	if (item.at)
		json_text_member(item, "sketch", &text);
	column = text_column(p->sketch, text, printed);
	if (column.type != DB_TEXT)
		return -ENOMEM;
	*ret = (struct json_text){column.bytes, column.len};
	return 0;
}

/* @param printed  receives texts to free(), one a point or NULL */
static int make_entries(const struct points *points,
			const struct ingest *upload,
			struct point_entry *entries, char **printed)
{
	const size_t count = json_array_size(upload->items);
	struct json_text rest = upload->text, item = {.at = NULL};
	int err = 0;

	for (size_t i = 0; i < count && err == 0; i++) {
		const struct wire_point *p = &points->all[i];

		entries[i] = (struct point_entry){
			points->ids[p->outgoing][p->measure],
			{.t_s = p->t_s, .d = p->d}};
		if (rest.at && points->sketches &&
		    json_text_item(&rest, &item) != 1)
			rest.at = NULL;
		if (!rest.at)
			item.at = NULL;
		if (p->sketch)
			err = find_sketch(p, item, &entries[i].p.sketch,
					  &printed[i]);
	}
	return err;
}

static int add_points(struct db *db, const struct lease_view *v,
		      const struct ingest *upload, const struct points *points)
{
	const size_t count = json_array_size(upload->items);
	struct point_entry *entries = calloc(count + 1, sizeof(*entries));
	char **printed = calloc(count + 1, sizeof(*printed));
	int err = -ENOMEM;

	if (entries && printed)
		err = make_entries(points, upload, entries, printed);
	if (err == 0) {
		const struct points_upload u = {.run_id = v->run_id,
						.lease_id = upload->lease_id,
						.seq = upload->seq,
						.entries = entries,
						.count = count};

		err = points_add(db, &u);
	}
	for (size_t i = 0; printed && i < count; i++)
		free(printed[i]);
	free(printed);
	free(entries);
	return err;
}

static int insert_items(struct db *db, const struct lease_view *v,
			const struct ingest *upload)
{
	struct points points = {.all = NULL};
	int err;

	if (upload->kind != INGEST_STATS)
		return load_objects(db, v, upload);
	err = decode_points(&points, v, upload->items);
	if (err == 0)
		err = find_series(db, v, &points,
				  json_array_size(upload->items));
	if (err == 0)
		err = add_points(db, v, upload, &points);
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
	if (err == -EEXIST) /* an id that the database gave twice */
		err = -EIO;
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

/* ---- points ---- */

struct point_reading {
	ingest_point_h *point_h;
	void *arg;
};

static int give_point(const struct points_series *series,
		      const struct series_point *from, enum measure measure,
		      const struct point_reading *reading)
{
	struct wire_point p = {.role = series->role,
			       .outgoing = strcmp(series->dir, "out") == 0,
			       .measure = measure,
			       .t_s = from->t_s,
			       .d = from->d};
	int err;

	if (from->sketch.at)
		p.sketch =
			json_loadb(from->sketch.at, from->sketch.len, 0, NULL);
	err = reading->point_h(&p, reading->arg);
	json_decref(p.sketch);
	return err;
}

static int give_series(const struct points_series *series, void *arg)
{
	enum measure measure;
	int err = 0;

	if (!measure_parse(series->measure, &measure))
		return 0; /* stored by a newer controller */
	for (size_t i = 0; i < series->count && !err; i++)
		err = give_point(series, &series->points[i].p, measure, arg);
	return err;
}

int store_run_points(struct store *s, int64_t run_id, ingest_point_h *point_h,
		     void *arg)
{
	struct point_reading reading = {point_h, arg};

	return points_read(store_reader(s),
			   &(struct points_query){.run_id = run_id},
			   give_series, &reading);
}

int store_judged_points(struct store *s, int64_t run_id,
			ingest_point_h *point_h, void *arg)
{
	struct point_reading reading = {point_h, arg};

	return points_read(
		store_reader(s),
		&(struct points_query){.run_id = run_id, .judged = true},
		give_series, &reading);
}
