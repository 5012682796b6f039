#include "control/server/store/store_lease_run.h"

#include "control/server/store/audit_entry.h"
#include "control/server/store/record_json.h"
#include "control/server/store/store_capacity.h"
#include "control/server/store/store_credential.h"
#include "control/server/store/store_follow.h"
#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_run_internal.h"
#include "control/server/store/store_run_limit.h"
#include "control/server/store/store_schedule.h"
#include "control/server/store/store_secret.h"
#include "control/server/store/store_verdict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(name)    db_text(json_string_value(json_object_get(test, name)))
#define INTEGER(name) DB_I(json_integer_value(json_object_get(test, name)))

/* @return JSON text of an array; freed by the caller; NULL: out of memory */
static char *warnings_text(const char *warning)
{
	json_t *list = warning && warning[0] ? json_pack("[s]", warning)
					     : json_array();
	char *text = json_dumps(list, JSON_COMPACT);

	json_decref(list);
	return text;
}

static int insert_run(struct db *db, const struct run_new *run,
		      struct db_value retry_box, struct db_value callback_box,
		      int64_t *ret_id)
{
	const json_t *test = run->test;
	char print[VERDICT_PRINT_BYTES];
	const int unprinted = verdict_print(json_object_get(test, "steps"),
					    run->conditions, print);
	char *conditions = json_dumps(run->conditions, JSON_COMPACT);
	char *tags = json_dumps(json_object_get(test, "tags"),
				JSON_COMPACT | JSON_ENCODE_ANY);
	char *warnings = warnings_text(run->warning);
	const struct db_value params[] = {
		db_text(run->session_id),
		db_id_or_null(json_integer_value(json_object_get(test, "id"))),
		TEXT("name"),
		TEXT("scenario"),
		db_id_or_null(json_integer_value(
			json_object_get(test, "project_id"))),
		TEXT("project_name"),
		INTEGER("agentpool_id"),
		TEXT("agentpool_name"),
		db_text(tags),
		db_text(conditions),
		TEXT("record"),
		db_text(run->report_mode),
		db_text(run->kiosk_id),
		DB_I(run->interval_s),
		DB_I(run->max_duration_s),
		DB_I(run->created_at),
		DB_I(run->attempt ? run->attempt : 1),
		db_text(run->retry_of),
		DB_I(run->retries_left),
		retry_box,
		db_text(callback_box.type == DB_BLOB ? "wanted" : "none"),
		db_id_or_null(run->project_run_id),
		run->project_run_id ? DB_I(run->project_position)
				    : db_text(NULL),
		callback_box,
		db_text(print),
		db_text(callback_on(test)),
		db_id_or_null(run->limits ? run->limits->key_id : 0),
		db_text(warnings),
	};
	int err = -ENOMEM;

	if (conditions && tags && warnings && !unprinted)
		err = lease_integer(
			db,
			"INSERT INTO run (session_id, test_id, test_name, "
			"testcase_name, project_id, project_name, "
			"agentpool_id, agentpool_name, tags_json, "
			"conditions_json, record, report_mode, kiosk_id, "
			"interval_s, max_duration_s, created_at, attempt, "
			"retry_of, retries_left, retry_box, callback_state, "
			"project_run_id, project_position, callback_box, "
			"test_print, callback_on, key_id, warnings_json, phase, status) "
			"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, "
			"$10, $11, $12, $13, $14, $15, $16, $17, $18, $19, "
			"$20, $21, $22, $23, $24, $25, $26, $27, $28, 'queued', "
			"'running') "
			"RETURNING id",
			LEASE_PARAMS(params), ret_id);
	free(conditions);
	free(tags);
	free(warnings);
	return err;
}
#undef TEXT
#undef INTEGER

static int insert_lease(struct store *s, struct db *db, int64_t run_id,
			const struct run_role *role)
{
	char id[UUID_TEXT_BYTES];
	char *public_text = json_dumps(role->public_spec, JSON_COMPACT);
	char *text = json_dumps(role->spec, JSON_COMPACT);
	uint8_t *box = NULL;
	size_t box_len = 0;
	int err = -ENOMEM;

	uuid_make(id);
	if (public_text && text)
		err = secret_seal(store_secrets(s), LEASE_BOX, text,
				  strlen(text), &box, &box_len);
	if (!err) {
		const struct db_value params[] = {
			db_text(id),
			DB_I(run_id),
			db_text(role->role),
			db_text(public_text),
			db_blob(box, box_len),
			DB_I(role->shard),
			DB_I(role->shards ? role->shards : 1),
			DB_I(role->agents_min ? role->agents_min : 1),
			DB_I(role->allow_reduced)};

		err = lease_exec(db,
				 "INSERT INTO lease (id, run_id, role, "
				 "spec_json, secret_box, shard, shards, "
				 "agents_min, allow_reduced, state) VALUES "
				 "($1, $2, $3, $4, $5, $6, $7, $8, $9, "
				 "'waiting')",
				 LEASE_PARAMS(params));
	}
	if (text)
		secret_wipe_free(text, strlen(text));
	free(public_text);
	free(box);
	return err < 0 ? err : 0;
}

/* Encrypt the test of a run for its further attempts. Without retries *ret
 * stays NULL. */
static int seal_retry(struct store *s, const struct run_new *run, uint8_t **ret,
		      size_t *ret_len)
{
	return run->retries_left
		       ? store_seal_json(s, RETRY_BOX, run->test, ret, ret_len)
		       : 0;
}

/* Take the turn of a project run, schedule or retry: it starts one run only. */
static int take_turn(struct db *db, const struct run_new *run)
{
	const struct db_value retry[] = {DB_I(run->retry_of_id)};
	const struct db_value turn[] = {DB_I(run->project_run_id),
					DB_I(run->project_position)};
	int taken = 1;

	if (run->schedule)
		return schedule_take(db, run->schedule, run->session_id, NULL,
				     run->created_at);
	if (run->capacity)
		return capacity_take(db, run->capacity, run->session_id,
				     run->created_at);
	if (run->retry_of_id)
		taken = lease_exec(db,
				   "UPDATE run SET retry_state = 'started', "
				   "retry_box = NULL "
				   "WHERE id = $1 AND retry_state = 'due'",
				   LEASE_PARAMS(retry));
	else if (run->project_run_id)
		taken = lease_exec(db,
				   "UPDATE project_run_test SET state = "
				   "'started' WHERE project_run_id = $1 AND "
				   "position = $2 AND state = 'waiting'",
				   LEASE_PARAMS(turn));
	if (taken < 0)
		return taken;
	return taken ? 0 : -EALREADY;
}

int store_run_create(struct store *s, const struct run_new *run,
		     int64_t *ret_id)
{
	uint8_t *box = NULL, *callback = NULL;
	size_t box_len = 0, callback_len = 0;
	int64_t id = 0;
	struct db *db;
	int err = seal_retry(s, run, &box, &box_len);

	if (!err)
		err = callback_seal(s, callback_wanted(run->test), &callback,
				    &callback_len);
	if (!err)
		err = store_write_begin(s, &db);
	if (err)
		goto out;
	err = take_turn(db, run);
	if (!err && run->limits)
		err = run_limits_check(db, run->limits,
				       json_integer_value(json_object_get(
					       run->test, "project_id")));
	if (!err)
		err = insert_run(db, run,
				 box ? db_blob(box, box_len) : db_text(NULL),
				 callback ? db_blob(callback, callback_len)
					  : db_text(NULL),
				 &id);
	if (!err)
		err = audit_record(*store_audit(s), db, "run", id);
	for (size_t i = 0; !err && i < run->role_count; i++)
		err = insert_lease(s, db, id, &run->roles[i]);
	if (!err)
		err = idempotency_started(s, db, run->session_id);
	err = store_write_end(s, err);
out:
	free(callback);
	free(box);
	if (err < 0)
		return err;
	*ret_id = id;
	return 0;
}

int store_run_stop(struct store *s, int64_t run_id, int64_t now)
{
	const struct db_value id[] = {DB_I(run_id)};
	int64_t last = 0;
	struct db *db;
	int err = store_write_begin(s, &db), called_off = 0;

	if (err)
		return err;
	err = lease_integer(
		db, "SELECT coalesce(" RUN_LAST_ATTEMPT("id = $1") ", 0)",
		LEASE_PARAMS(id), &last);
	if (!err && !last)
		err = -ENOENT;
	if (!err)
		err = lease_run_stopping(db, last, "user", "stopped by a user",
					 now);
	if (err >= 0)
		called_off = retry_call_off(db, "id", last);
	if (called_off < 0)
		err = called_off;
	else if (err == 0 && called_off == 0)
		err = -EALREADY;
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

static int case_row(const struct db_value *row, size_t columns, void *arg)
{
	struct run_case *c = arg;

	(void)columns;
	c->id = row[0].integer;
	(void)str_copy(c->session_id, sizeof(c->session_id), row[1].bytes);
	(void)str_copy(c->stop_reason, sizeof(c->stop_reason),
		       row[2].type == DB_TEXT ? row[2].bytes : "");
	c->description = strdup(row[3].bytes);
	c->conditions = json_loadb(row[4].bytes, row[4].len, 0, NULL);
	c->specs = json_array();
	c->lost = json_array();
	return c->description && c->conditions && c->specs && c->lost ? 0
								      : -ENOMEM;
}

static int spec_row(const struct db_value *row, size_t columns, void *arg)
{
	struct run_case *c = arg;

	(void)columns;
	return json_array_append_new(
		       c->specs, json_loadb(row[0].bytes, row[0].len, 0, NULL))
		       ? -ENOMEM
		       : 0;
}

static int lost_row(const struct db_value *row, size_t columns, void *arg)
{
	struct run_case *c = arg;

	(void)columns;
	return json_array_append_new(c->lost,
				     json_pack("{s:s, s:I, s:s}", "role",
					       row[0].bytes, "shard",
					       (json_int_t)row[1].integer,
					       "reason", row[2].bytes))
		       ? -ENOMEM
		       : 0;
}

static int read_case(struct store *s, const char *sql,
		     const struct db_value *params, size_t count,
		     struct run_case *ret)
{
	struct run_case c = {.id = 0};
	struct db_value id;
	int err;

	err = db_query(store_reader(s), sql, params, count, case_row, &c);
	if (err >= 0 && !c.id)
		return 0;
	id = DB_I(c.id);
	if (err >= 0)
		err = db_query(store_reader(s),
			       "SELECT spec_json FROM lease WHERE run_id = $1 "
			       "AND shard = 0 ORDER BY role",
			       &id, 1, spec_row, &c);
	if (err >= 0)
		err = db_query(store_reader(s),
			       "SELECT role, shard, reason FROM lease "
			       "WHERE run_id = $1 AND state = 'lost' "
			       "AND allow_reduced = 1 ORDER BY role, shard",
			       &id, 1, lost_row, &c);
	if (err < 0) {
		run_case_release(&c);
		return err;
	}
	*ret = c;
	return 1;
}

#define SELECT_CASE                                                \
	"SELECT id, session_id, stop_reason, result_description, " \
	"conditions_json FROM run WHERE " RUN_ACTIVE

int store_run_to_judge(struct store *s, struct run_case *ret)
{
	return read_case(s,
			 SELECT_CASE "AND phase = 'judging' "
				     "ORDER BY id LIMIT 1",
			 NULL, 0, ret);
}

int store_run_to_watch(struct store *s, int64_t after_id, struct run_case *ret)
{
	const struct db_value after = DB_I(after_id);

	return read_case(s,
			 SELECT_CASE "AND phase = 'running' AND id > $1 "
				     "AND stop_reason IS NULL AND "
				     "conditions_json LIKE '%\"stop_early\"%' "
				     "ORDER BY id LIMIT 1",
			 &after, 1, ret);
}

int store_run_enough(struct store *s, int64_t run_id, const char *text)
{
	const struct db_value params[] = {DB_I(run_id), db_text(text)};
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = lease_exec(db,
			 "UPDATE run SET stop_reason = 'enough', "
			 "result_description = $2 WHERE id = $1 "
			 "AND phase = 'running' AND stop_reason IS NULL",
			 LEASE_PARAMS(params));
	return store_write_end(s, err);
}

void run_case_release(struct run_case *c)
{
	free(c->description);
	json_decref(c->conditions);
	json_decref(c->specs);
	json_decref(c->lost);
	*c = (struct run_case){.id = 0};
}

/* SQL, $2 is the status: true if the run starts again. */
#define AGAIN "$2 " RUN_NOT_PASSED " AND retries_left > 0"

/* SQL: true if the run's failure calls back. */
#define CALLS_ON_FAILURE \
	"callback_state = 'wanted' AND callback_on <> 'recovery'"

#define P_HAS_VERDICT RUN_HAS_VERDICT("p")

/* SQL, $2 is the status: true if the run passed, calls back then, and the
 * verdict of the test before it was another. */
#define CALLS_ON_RECOVERY                                               \
	"$2 = 'passed' AND callback_state = 'wanted' "                  \
	"AND callback_on <> 'failure' AND (SELECT p.status FROM run p " \
	"WHERE p.test_id = run.test_id AND p.id < run.id "              \
	"AND " P_HAS_VERDICT " "                                        \
	"ORDER BY p.id DESC LIMIT 1) " RUN_NOT_PASSED

int store_run_done(struct store *s, int64_t run_id, const char *status,
		   const char *description, json_t *verdicts, int64_t now)
{
	char *text = verdicts ? json_dumps(verdicts, JSON_COMPACT) : NULL;
	const struct db_value params[] = {DB_I(run_id), db_text(status),
					  db_text(description), db_text(text),
					  DB_I(now)};
	struct db *db;
	int err;

	if (verdicts && !text)
		return -ENOMEM;
	err = store_write_begin(s, &db);
	if (!err) {
		err = lease_exec(db,
				 "UPDATE run SET phase = 'done', status = $2, "
				 "result_description = $3, verdicts_json = $4, "
				 "stopped_at = $5, progress = 1, "
				 "retry_state = CASE WHEN " AGAIN
				 " THEN 'due' ELSE 'none' END, "
				 "retry_box = CASE WHEN " AGAIN
				 " THEN retry_box ELSE NULL END, "
				 "callback_box = CASE WHEN $2 " RUN_NOT_PASSED
				 " OR (" CALLS_ON_RECOVERY
				 ") THEN callback_box ELSE NULL END, "
				 "callback_state = CASE "
				 "WHEN NOT (" AGAIN ") AND $2 " RUN_NOT_PASSED
				 " AND " CALLS_ON_FAILURE
				 " THEN 'due' WHEN " CALLS_ON_RECOVERY
				 " THEN 'due' ELSE callback_state END "
				 "WHERE id = $1 AND phase = 'judging'",
				 LEASE_PARAMS(params));
		if (err > 0) {
			int noted = verdict_insert(db, run_id);

			err = noted ? noted : err;
		}
		err = store_write_end(s, err);
	}
	free(text);
	return err;
}

/* ---- what tests refer to ---- */

struct test_reading {
	struct store *store;
	json_t *test;
};

/* Make the callback of a row: url, secret_box, method, content_type, body. */
static int callback_of(struct store *s, const struct db_value *row,
		       json_t **ret)
{
	char *secret = NULL;
	size_t len = 0;
	int err = 0;

	if (row[1].type == DB_BLOB)
		err = secret_open(store_secrets(s), CALLBACK_SECRET_BOX,
				  row[1].bytes, row[1].len, &secret, &len);
	if (err)
		return err;
	*ret = json_pack("{s:s, s:o, s:o, s:o, s:o}", "url",
			 (const char *)row[0].bytes, "secret",
			 secret ? json_stringn(secret, len) : json_null(),
			 "method", record_value(&row[2]), "content_type",
			 record_value(&row[3]), "body", record_value(&row[4]));
	secret_wipe_free(secret, len);
	return *ret ? 0 : -ENOMEM;
}

static int test_row(const struct db_value *row, size_t columns, void *arg)
{
	struct test_reading *reading = arg;
	json_t *callback = NULL;
	int err = callback_of(reading->store, &row[13], &callback);

	(void)columns;
	if (err)
		return err;
	reading->test = json_pack(
		"{s:I, s:s, s:s, s:I, s:s, s:I, s:s, s:o, s:o, s:o, s:s, s:I, "
		"s:I, s:I, s:o}",
		"id", (json_int_t)row[0].integer, "name",
		(const char *)row[1].bytes, "scenario",
		(const char *)row[2].bytes, "project_id",
		(json_int_t)row[3].integer, "project_name",
		(const char *)row[4].bytes, "agentpool_id",
		(json_int_t)row[5].integer, "agentpool_name",
		(const char *)row[6].bytes, "tags", record_json(&row[7]),
		"steps", record_json(&row[8]), "conditions",
		record_json(&row[9]), "record", (const char *)row[10].bytes,
		"callback_on_failure", (json_int_t)row[11].integer,
		"retries_on_failure", (json_int_t)row[12].integer,
		"callback_on_recovery", (json_int_t)row[18].integer, "callback",
		callback);
	return reading->test ? 0 : -ENOMEM;
}

#define TEST_COLUMNS                                                \
	"SELECT t.id, t.name, t.scenario, t.project_id, p.name, "   \
	"t.agentpool_id, a.name, t.tags_json, t.steps_json, "       \
	"t.conditions_json, t.record, t.callback_on_failure, "      \
	"t.retries_on_failure, t.callback_url, "                    \
	"t.callback_secret_box, c.method, c.content_type, c.body, " \
	"t.callback_on_recovery "                                   \
	"FROM test t LEFT JOIN callback_template c "                \
	"ON c.id = t.callback_template_id "                         \
	"JOIN project p ON p.id = t.project_id "                    \
	"JOIN agent_pool a ON a.id = t.agentpool_id "

int store_test_load(struct store *s, int64_t id, const char *name, json_t **ret)
{
	const struct db_value param = id ? DB_I(id) : db_text(name);
	struct test_reading reading = {.store = s};
	int err;

	err = db_query(store_reader(s),
		       id ? TEST_COLUMNS "WHERE t.id = $1"
			  : TEST_COLUMNS "WHERE t.name = $1",
		       &param, 1, test_row, &reading);
	if (err < 0)
		return err;
	if (!reading.test)
		return -ENOENT;
	*ret = reading.test;
	return 0;
}

int store_pool_load(struct store *s, int64_t pool_id, json_t **ret)
{
	return store_credentials_open(s, pool_id, ret);
}

static int target_row(const struct db_value *row, size_t columns, void *arg)
{
	json_t **ret = arg;

	(void)columns;
	*ret = json_pack("{s:o, s:o, s:o, s:o}", "hosts", record_json(&row[0]),
			 "domain", record_value(&row[1]), "outbound_proxy",
			 record_value(&row[2]), "tls", record_json(&row[3]));
	return *ret ? 0 : -ENOMEM;
}

int store_target_load(struct store *s, int64_t target_id, json_t **ret)
{
	const struct db_value id = DB_I(target_id);
	json_t *target = NULL;
	int err;

	err = db_query(store_reader(s),
		       "SELECT hosts_json, domain, outbound_proxy, "
		       "tls_json FROM target "
		       "WHERE id = $1",
		       &id, 1, target_row, &target);
	if (err < 0)
		return err;
	if (!target)
		return -ENOENT;
	*ret = target;
	return 0;
}

/* ---- further attempts ---- */

struct retry_row {
	struct store *store;
	struct retry_turn turn;
};

static int retry_row(const struct db_value *row, size_t columns, void *arg)
{
	struct retry_row *r = arg;
	struct retry_turn *t = &r->turn;

	(void)columns;
	t->run_id = row[0].integer;
	(void)str_copy(t->session_id, sizeof(t->session_id), row[1].bytes);
	(void)str_copy(t->report_mode, sizeof(t->report_mode), row[2].bytes);
	t->attempt = (unsigned)row[3].integer + 1;
	t->retries_left = (unsigned)row[4].integer - 1;
	t->project_run_id = db_integer_or_0(&row[5]);
	t->project_position = db_integer_or_0(&row[6]);
	return store_open_json(r->store, RETRY_BOX, &row[7], &t->test);
}

int store_retry_next(struct store *s, struct retry_turn *ret)
{
	struct retry_row r = {.store = s};
	int err;

	err = db_query(store_reader(s),
		       "SELECT id, session_id, report_mode, attempt, "
		       "retries_left, project_run_id, project_position, "
		       "retry_box FROM run WHERE retry_state = 'due' "
		       "ORDER BY id LIMIT 1",
		       NULL, 0, retry_row, &r);
	if (err <= 0)
		return err;
	*ret = r.turn;
	return 1;
}

int store_retry_refuse(struct store *s, int64_t run_id)
{
	const struct db_value params[] = {DB_I(run_id)};
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = lease_exec(
		db,
		"UPDATE run SET retry_state = 'refused', "
		"retry_box = NULL, callback_state = CASE WHEN " CALLS_ON_FAILURE
		" THEN 'due' ELSE "
		"callback_state END "
		"WHERE id = $1 AND retry_state = 'due'",
		LEASE_PARAMS(params));
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

int retry_call_off(struct db *db, const char *column, int64_t value)
{
	const struct db_value params[] = {DB_I(value)};
	char sql[640];

	if (str_print(
		    sql, sizeof(sql),
		    "UPDATE run SET retries_left = 0, retry_box = NULL, "
		    "callback_state = CASE WHEN retry_state = 'due' AND " CALLS_ON_FAILURE
		    " THEN 'due' ELSE "
		    "callback_state END, retry_state = CASE WHEN "
		    "retry_state = 'due' THEN 'refused' ELSE retry_state END "
		    "WHERE %s = $1 AND (retry_state = 'due' OR (phase <> "
		    "'done' AND retries_left > 0))",
		    column) < 0)
		return -EIO;
	return lease_exec(db, sql, LEASE_PARAMS(params));
}
