#include "control/server/store/store_retention.h"

#include "control/server/store/audit_entry.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_removal.h"
#include "control/server/store/store_run_internal.h"
#include "control/server/store/store_thinning.h"

#include <errno.h>

#define TEXT_OF(value)  #value
#define VALUE_OF(value) TEXT_OF(value)
#define ROW_BYTES       VALUE_OF(RETENTION_ROW_BYTES)

const char *retention_kind_name(enum retention_kind kind)
{
	static const char *const names[] = {"metrics", "sip", "artifacts",
					    "runs"};

	return kind < RETENTION_KINDS ? names[kind] : "?";
}

/* ---- sizes ---- */

/* Runs that are over and not being deleted. */
#define OVER RUN_OVER " AND r." RUN_SHOWN

struct size {
	int64_t run_id, stopped_at;
	int64_t metrics, sip, artifacts, events;
};

struct size_list {
	struct size sizes[RETENTION_MEASURED_MAX];
	size_t count;
};

static int id_row(const struct db_value *row, size_t columns, void *arg)
{
	struct size_list *list = arg;

	(void)columns;
	list->sizes[list->count++] = (struct size){
		.run_id = row[0].integer, .stopped_at = row[1].integer};
	return 0;
}

static int size_row(const struct db_value *row, size_t columns, void *arg)
{
	struct size *size = arg;

	(void)columns;
	size->metrics = row[0].integer;
	size->sip = row[1].integer;
	size->artifacts = row[2].integer;
	size->events = row[3].integer;
	return 0;
}

/* Read by the reading connection: a large run keeps no writer waiting. */
static int measure(struct store *s, struct size *size)
{
	static const char sql[] =
		"SELECT (SELECT CAST(coalesce(sum(" ROW_BYTES
		" + length(block)), 0) AS BIGINT) FROM point_block WHERE "
		"run_id = $1), (SELECT CAST(coalesce(sum(" ROW_BYTES
		" + length(message_json)), 0) AS BIGINT) FROM sip_message "
		"WHERE run_id = $1), (SELECT CAST(coalesce(sum(size), 0) AS "
		"BIGINT) FROM artifact WHERE run_id = $1), (SELECT "
		"CAST(coalesce(sum(" ROW_BYTES
		" + length(event_json)), 0) AS BIGINT) FROM event WHERE "
		"run_id = $1)";
	const struct db_value run = DB_I(size->run_id);
	int err = db_query(store_reader(s), sql, &run, 1, size_row, size);

	return err < 0 ? err : 0;
}

static int write_sizes(struct store *s, const struct size_list *list)
{
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	for (size_t i = 0; i < list->count && err >= 0; i++) {
		const struct size *size = &list->sizes[i];
		const struct db_value params[] = {
			DB_I(size->run_id), DB_I(size->metrics),
			DB_I(size->sip), DB_I(size->artifacts),
			DB_I(size->events)};

		/* it may have been deleted meanwhile */
		err = db_query(db,
			       "INSERT INTO run_size (run_id, metrics, sip, "
			       "artifacts, events) SELECT id, $2, $3, $4, $5 "
			       "FROM run WHERE id = $1 ON CONFLICT (run_id) "
			       "DO NOTHING",
			       params, 5, NULL, NULL);
	}
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

int store_retention_measure(struct store *s, int64_t before_ms,
			    struct retention_cursor *cursor)
{
	const struct db_value params[] = {
		DB_I(before_ms), DB_I(RETENTION_MEASURED_MAX),
		DB_I(cursor->stopped_at), DB_I(cursor->run_id)};
	struct size_list list = {.count = 0};
	int err = db_query(store_reader(s),
			   "SELECT r.id, r.stopped_at FROM run r LEFT JOIN "
			   "run_size z ON z.run_id = r.id WHERE z.run_id IS "
			   "NULL AND " OVER " AND r.stopped_at < $1 AND "
			   "(r.stopped_at, r.id) > ($3, $4) ORDER BY "
			   "r.stopped_at, r.id LIMIT $2",
			   params, 4, id_row, &list);

	if (err < 0 || !list.count)
		return err < 0 ? err : 0;
	err = 0;
	for (size_t i = 0; i < list.count && !err; i++)
		err = measure(s, &list.sizes[i]);
	if (!err)
		err = write_sizes(s, &list);
	if (err)
		return err;
	cursor->stopped_at = list.sizes[list.count - 1].stopped_at;
	cursor->run_id = list.sizes[list.count - 1].run_id;
	return (int)list.count;
}

/* ---- what there is ---- */

static int stored_row(const struct db_value *row, size_t columns, void *arg)
{
	int64_t *bytes = arg;

	for (size_t i = 0; i < columns; i++)
		bytes[i] = row[i].integer;
	return 0;
}

int store_retention_stored(struct store *s, int64_t ret[RETENTION_KINDS])
{
	int err = db_query(
		store_reader(s),
		"SELECT CAST(coalesce(sum(metrics), 0) AS BIGINT), "
		"CAST(coalesce(sum(sip), 0) AS BIGINT), "
		"CAST(coalesce(sum(artifacts), 0) AS BIGINT), "
		"CAST(coalesce(sum(metrics + sip + artifacts + events), 0) AS "
		"BIGINT) FROM run_size z JOIN run r ON r.id = z.run_id WHERE r." RUN_SHOWN,
		NULL, 0, stored_row, ret);

	return err < 0 ? err : 0;
}

struct reading {
	retention_run_h *run_h;
	void *arg;
};

static int run_row(const struct db_value *row, size_t columns, void *arg)
{
	const struct reading *r = arg;
	const struct retention_run run = {
		.id = row[0].integer,
		.stopped_at = row[1].integer,
		.keep = row[2].integer != 0,
		.dense = row[7].integer != 0,
		.bytes = {[RETENTION_METRICS] = row[3].integer,
			  [RETENTION_SIP] = row[4].integer,
			  [RETENTION_ARTIFACTS] = row[5].integer,
			  [RETENTION_RUN] = row[3].integer + row[4].integer +
					    row[5].integer + row[6].integer},
	};

	(void)columns;
	return r->run_h(&run, r->arg);
}

int store_retention_each(struct store *s, retention_run_h *run_h, void *arg)
{
	const struct db_value interval = DB_I(THIN_INTERVAL_S);
	struct reading reading = {run_h, arg};
	int err = db_query(store_reader(s),
			   "SELECT r.id, r.stopped_at, r.keep, z.metrics, "
			   "z.sip, z.artifacts, z.events, CASE WHEN "
			   "r.interval_s > 0 AND r.interval_s < $1 AND "
			   "r.metrics_thinned_at IS NULL "
			   "AND r.metrics_removed_at IS NULL THEN 1 ELSE 0 END "
			   "FROM run r JOIN run_size z ON z.run_id = r.id "
			   "WHERE " OVER " ORDER BY r.stopped_at, r.id",
			   &interval, 1, run_row, &reading);

	return err < 0 ? err : 0;
}

/* ---- marking ---- */

/* SQL of a kind: $1 the run, $2 the time. */
static const char *const removed[RETENTION_RUN] = {
	[RETENTION_METRICS] =
		"UPDATE run SET metrics_removed_at = $2 WHERE id = $1",
	[RETENTION_SIP] = "UPDATE run SET sip_removed_at = $2 WHERE id = $1",
	[RETENTION_ARTIFACTS] =
		"UPDATE run SET artifacts_removed_at = $2 WHERE id = $1",
};
static const char *const emptied[RETENTION_RUN] = {
	[RETENTION_METRICS] =
		"UPDATE run_size SET metrics = 0 WHERE run_id = $1",
	[RETENTION_SIP] = "UPDATE run_size SET sip = 0 WHERE run_id = $1",
	[RETENTION_ARTIFACTS] =
		"UPDATE run_size SET artifacts = 0 WHERE run_id = $1",
};

static int mark_kind(struct db *db, int64_t run_id, enum retention_kind kind,
		     int64_t now_ms)
{
	const struct db_value params[] = {DB_I(run_id), DB_I(now_ms)};
	int err = db_query(db, removed[kind], params, 2, NULL, NULL);

	if (err >= 0)
		err = db_query(db, emptied[kind], params, 1, NULL, NULL);
	if (err >= 0 && kind == RETENTION_ARTIFACTS) /* a backup reads them */
		err = db_query(db, "DELETE FROM artifact WHERE run_id = $1",
			       params, 1, NULL, NULL);
	if (err >= 0 && kind == RETENTION_METRICS) /* nothing is left to thin */
		err = db_query(db, "DELETE FROM thinning WHERE run_id = $1",
			       params, 1, NULL, NULL);
	return err < 0 ? err
		       : removal_add(db, run_id, retention_kind_name(kind));
}

static int mark_run(struct db *db, const struct retention_mark *mark,
		    int64_t now_ms)
{
	const struct db_value run = DB_I(mark->run_id);
	int64_t due = 0;
	int err = db_query(db,
			   "SELECT count(*) FROM run r WHERE r.id = $1 AND "
			   "r.keep = 0 AND " OVER,
			   &run, 1, db_integer_row, &due);

	if (err < 0 || !due)
		return err < 0 ? err : 0;
	if (mark->kinds & 1u << RETENTION_RUN)
		return run_mark_deleted(db, mark->run_id);
	for (unsigned k = 0; k < RETENTION_RUN && err >= 0; k++)
		if (mark->kinds & 1u << k)
			err = mark_kind(db, mark->run_id,
					(enum retention_kind)k, now_ms);
	if (err >= 0 && mark->kinds & RETENTION_THIN)
		err = thinning_add(db, mark->run_id, now_ms);
	return err < 0 ? err : 0;
}

int store_retention_mark(struct store *s, const struct retention_mark *marks,
			 size_t count, int64_t now_ms, const char *text)
{
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	for (size_t i = 0; i < count && err >= 0; i++)
		err = mark_run(db, &marks[i], now_ms);
	if (err >= 0)
		err = audit_text(*store_audit(s), db, "run", text);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

int store_run_keep(struct store *s, int64_t run_id, bool keep)
{
	const struct db_value params[] = {DB_I(run_id), DB_I(keep)};
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = db_query(db,
		       "UPDATE run SET keep = $2 WHERE id = $1 AND " RUN_SHOWN,
		       params, 2, NULL, NULL);
	if (err == 0)
		err = -ENOENT;
	if (err >= 0)
		err = audit_record(*store_audit(s), db, "run", run_id);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}
