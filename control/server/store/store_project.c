#include "control/server/store/store_project.h"

#include "control/server/store/record_db.h"
#include "control/server/store/store_lease_db.h"

#include <errno.h>

int store_project_find(struct store *s, const char *name, int64_t *ret_id)
{
	const struct db_value params[] = {db_text(name)};
	int64_t id;
	int err = lease_integer(store_reader(s),
				"SELECT id FROM project WHERE name = $1",
				LEASE_PARAMS(params), &id);

	if (err)
		return err;
	if (!id)
		return -ENOENT;
	*ret_id = id;
	return 0;
}

struct project_page {
	int64_t id;
	json_t *doc;
};

static int page_row(const struct db_value *row, size_t columns, void *arg)
{
	struct project_page *p = arg;

	(void)columns;
	p->id = row[0].integer;
	p->doc = json_pack("{s:o, s:o, s:o, s:o, s:I, s:[]}", "project_name",
			   record_value(&row[1]), "run_status",
			   record_value(&row[2]), "created_at",
			   record_time(&row[3]), "stopped_at",
			   record_time(&row[4]), "total_tests",
			   (json_int_t)row[5].integer, "runs");
	return p->doc ? 0 : -ENOMEM;
}

static int run_row(const struct db_value *row, size_t columns, void *arg)
{
	json_t *run = json_pack(
		"{s:o, s:o, s:I, s:o, s:o, s:o}", "test_name",
		record_value(&row[0]), "status", record_value(&row[1]),
		"attempt", (json_int_t)row[2].integer, "session_id",
		record_value(&row[3]), "kiosk_id", record_value(&row[4]),
		"result_description", record_value(&row[5]));

	(void)columns;
	return json_array_append_new(arg, run) ? -ENOMEM : 0;
}

int store_project_run_page(struct store *s, const char *uuid,
			   const char *kiosk_id, json_t **ret)
{
	const struct db_value params[] = {db_text(uuid), db_text(kiosk_id)};
	struct project_page p = {.doc = NULL};
	struct db_value id;
	int err;

	err = db_query(store_reader(s),
		       "SELECT id, project_name, status, created_at, "
		       "stopped_at, (SELECT count(*) FROM project_run_test "
		       "WHERE project_run_id = project_run.id) "
		       "FROM project_run WHERE uuid = lower($1) "
		       "AND (CAST($2 AS TEXT) IS NULL OR kiosk_id = $2)",
		       LEASE_PARAMS(params), page_row, &p);
	if (err == 0)
		return -ENOENT;
	id = DB_I(p.id);
	if (err > 0)
		err = db_query(store_reader(s),
			       "SELECT test_name, CASE WHEN phase = 'done' "
			       "THEN status ELSE 'running' END, attempt, "
			       "session_id, kiosk_id, result_description "
			       "FROM run WHERE project_run_id = $1 "
			       "ORDER BY id",
			       &id, 1, run_row, json_object_get(p.doc, "runs"));
	if (err < 0) {
		json_decref(p.doc);
		return err;
	}
	*ret = p.doc;
	return 0;
}
