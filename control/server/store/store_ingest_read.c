#include "control/server/store/store_ingest.h"
#include "control/server/store/store_lease_db.h"

#include <errno.h>
#include <string.h>

struct reading {
	ingest_row_h *row_h;
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

static int read_objects(struct store *s, const char *sql,
			const struct db_value *params, size_t count,
			ingest_row_h *row_h, void *arg)
{
	struct reading reading = {.row_h = row_h, .arg = arg};
	int err = db_query(store_reader(s), sql, params, count, object_row,
			   &reading);

	return err < 0 ? err : 0;
}

int store_run_events(struct store *s, int64_t run_id, const char *kind,
		     int64_t max, ingest_row_h *row_h, void *arg)
{
	const struct db_value params[] = {DB_I(run_id), DB_I(max),
					  db_text(kind)};

	return read_objects(s,
			    "SELECT role, event_json FROM event "
			    "WHERE run_id = $1 AND ($3 IS NULL OR kind = $3) "
			    "ORDER BY id LIMIT $2",
			    params, 3, row_h, arg);
}

int store_run_messages(struct store *s, int64_t run_id, ingest_row_h *row_h,
		       void *arg)
{
	const struct db_value id = DB_I(run_id);

	return read_objects(s,
			    "SELECT role, message_json FROM sip_message "
			    "WHERE run_id = $1 ORDER BY id",
			    &id, 1, row_h, arg);
}

int store_run_messages_by_time(struct store *s, int64_t run_id, int64_t max,
			       ingest_row_h *row_h, void *arg)
{
	const struct db_value params[] = {DB_I(run_id), DB_I(max)};

	return read_objects(s,
			    "SELECT role, message_json FROM sip_message "
			    "WHERE run_id = $1 ORDER BY t_us, id LIMIT $2",
			    params, 2, row_h, arg);
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
		return 0; /* of a newer controller */
	if (row[13].type == DB_TEXT)
		p.sketch = json_loadb(row[13].bytes, row[13].len, 0, NULL);
	err = reading->point_h(&p, reading->arg);
	json_decref(p.sketch);
	return err;
}

int store_run_points(struct store *s, int64_t run_id, ingest_point_h *point_h,
		     void *arg)
{
	struct reading reading = {.point_h = point_h, .arg = arg};
	const struct db_value id = DB_I(run_id);
	int err;

	err = db_query(store_reader(s),
		       "SELECT s.role, s.dir, s.measure, p.t, p.n, p.min, "
		       "p.max, p.avg, p.median, p.p75, p.p90, p.p95, "
		       "p.stddev, p.sketch_json FROM point p JOIN series s ON "
		       "s.id = p.series_id WHERE s.run_id = $1 "
		       "ORDER BY s.id, p.t",
		       &id, 1, point_row, &reading);
	return err < 0 ? err : 0;
}
