#include "control/server/store/store_ingest.h"

#include "control/server/store/store_lease_db.h"

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

/* Events and messages alike: a row with the object as it came. */
static int insert_object(struct db *db, const struct lease_view *v,
			 const struct ingest *upload, json_t *item)
{
	char *text = json_dumps(item, JSON_COMPACT);
	const struct db_value event[] = {
		DB_I(v->run_id),
		db_text(upload->lease_id),
		db_text(v->role),
		DB_I(json_integer_value(json_object_get(item, "t"))),
		db_text(text),
		db_text(json_string_value(json_object_get(item, "kind")))};
	int err = -ENOMEM;

	if (text && upload->kind == INGEST_EVENTS)
		err = lease_exec(db,
				 "INSERT INTO event (run_id, lease_id, role, "
				 "t_us, event_json, kind) VALUES ($1, $2, $3, "
				 "$4, $5, $6)",
				 LEASE_PARAMS(event));
	else if (text)
		err = lease_exec(db,
				 "INSERT INTO sip_message (run_id, lease_id, "
				 "role, t_us, message_json) VALUES ($1, $2, "
				 "$3, $4, $5)",
				 event, 5);
	free(text);
	return err;
}

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
	return lease_integer(db,
			     "SELECT id FROM series WHERE run_id = $1 AND "
			     "role = $2 AND dir = $3 AND measure = $4",
			     LEASE_PARAMS(params), ret);
}

static int insert_point(struct db *db, const struct lease_view *v,
			const struct ingest *upload, json_t *item)
{
	char reason[WIRE_REASON_BYTES], *sketch = NULL;
	struct wire_point p;
	int64_t series;
	int err;

	err = wire_point_decode(&p, item, reason);
	if (err || strcmp(p.role, v->role) != 0)
		return -EINVAL;
	err = series_id(db, v, &p, &series);
	if (err)
		return err;
	if (p.sketch) {
		sketch = json_dumps(p.sketch, JSON_COMPACT);
		if (!sketch)
			return -ENOMEM;
	}
	const struct db_value params[] = {DB_I(series),
					  DB_I(p.t_s),
					  db_text(upload->lease_id),
					  DB_I((int64_t)p.d.n),
					  DB_R(p.d.min),
					  DB_R(p.d.max),
					  DB_R(p.d.avg),
					  DB_R(p.d.median),
					  DB_R(p.d.p75),
					  DB_R(p.d.p90),
					  DB_R(p.d.p95),
					  DB_R(p.d.stddev),
					  db_text(sketch)};
	err = lease_exec(db,
			 "INSERT INTO point (series_id, t, lease_id, n, min, "
			 "max, avg, median, p75, p90, p95, stddev, "
			 "sketch_json) VALUES ($1, $2, $3, $4, $5, $6, $7, "
			 "$8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING",
			 LEASE_PARAMS(params));
	free(sketch);
	return err;
}

static int insert_items(struct db *db, const struct lease_view *v,
			const struct ingest *upload)
{
	json_t *item;
	size_t i;

	json_array_foreach(upload->items, i, item)
	{
		int err = upload->kind == INGEST_STATS
				  ? insert_point(db, v, upload, item)
				  : insert_object(db, v, upload, item);

		if (err < 0)
			return err;
	}
	return 0;
}

/* The number and those behind it that came before it. */
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
		.cancel = strcmp(v.phase, "running") != 0 &&
			  strcmp(v.phase, "dispatching") != 0,
		.next_seq = v.next_seq,
	};
	return 0;
}
