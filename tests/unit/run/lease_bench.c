#include "lease_bench.h"

#include "control/server/run/run.h"
#include "control/server/store/db_postgresql.h"
#include "control/server/store/store_db.h"
#include "control/wire/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void bench_sql(struct bench *b, const char *sql)
{
	struct db *db;

	assert_int_equal(store_write_begin(b->store, &db), 0);
	assert_true(store_write_end(b->store, db_query(db, sql, NULL, 0, NULL,
						       NULL)) >= 0);
}

void bench_open(struct bench *b, int64_t capacity)
{
	bench_open_at(b, NULL, capacity);
}

void bench_open_at(struct bench *b, const char *database, int64_t capacity)
{
	struct db *db;
	uint8_t hash[SECRET_HASH_BYTES];

	memset(b, 0, sizeof(*b));
	temp_make(&b->temp);
	assert_int_equal(secrets_load(&b->secrets, temp_path(&b->temp, "key")),
			 0);
	if (!database)
		database = temp_path(&b->temp, "db");
	assert_int_equal(database_open(&b->database, database, b->secrets), 0);
	assert_int_equal(store_new(&b->store, b->database), 0);
	secret_hash(b->secrets, "token", hash);
	const struct db_value params[] = {db_blob(hash, sizeof(hash))};
	assert_int_equal(store_write_begin(b->store, &db), 0);
	assert_int_equal(
		store_write_end(
			b->store,
			db_query(db,
				 "INSERT INTO agent_pool (id, name, "
				 "join_token_hash, created_at, updated_at) "
				 "VALUES (1, 'lab', $1, 0, 0)",
				 params, 1, NULL, NULL)),
		1);
	for (int i = 0; i < 2; i++) {
		struct agent_new agent = {.token = "token",
					  .name = i ? "two" : "one",
					  .version = "1",
					  .protocol = 1,
					  .capacity = capacity,
					  .now = T0};
		char secret[SECRET_TOKEN_BYTES];

		assert_int_equal(store_agent_enrol(b->store, &agent, secret,
						   &b->agents[i]),
				 0);
	}
}

void bench_open_either(struct bench *b, int64_t capacity)
{
	const char *uri = getenv("OFFHOOK_TEST_DATABASE");
	struct db *db;

	if (uri) {
		assert_int_equal(db_postgresql_open(&db, uri, false), 0);
		assert_int_equal(db_script(db, "DROP SCHEMA public CASCADE;"
					       "CREATE SCHEMA public;"),
				 0);
		db_close(db);
	}
	bench_open_at(b, uri, capacity);
}

void bench_close(struct bench *b)
{
	store_free(b->store);
	database_close(b->database);
	secrets_free(b->secrets);
	temp_remove(&b->temp);
}

static json_t *spec_of(const char *role)
{
	return json_pack("{s:s, s:[[{s:s}]]}", "role", role, "steps", "type",
			 "answer");
}

static struct run_role role_of(const char *role)
{
	return (struct run_role){.role = role,
				 .spec = spec_of(role),
				 .public_spec = spec_of(role)};
}

static void run_create(struct bench *b, struct run_role *roles,
		       size_t role_count)
{
	struct run_new run = {
		.session_id = b->session_id,
		.test = json_pack("{s:i, s:s, s:s, s:i, s:s, s:i, s:s, s:[], "
				  "s:s}",
				  "id", 1, "name", "t", "scenario", "s",
				  "project_id", 1, "project_name", "p",
				  "agentpool_id", 1, "agentpool_name", "lab",
				  "tags", "record", "none"),
		.conditions = json_array(),
		.report_mode = "full",
		.interval_s = 10,
		.max_duration_s = 60,
		.created_at = T0,
		.roles = roles,
		.role_count = role_count,
	};

	b->role_count = role_count;
	uuid_make(b->session_id);
	assert_int_equal(store_run_create(b->store, &run, &b->run_id), 0);
	json_decref(run.test);
	json_decref(run.conditions);
	for (size_t i = 0; i < role_count; i++) {
		json_decref(roles[i].spec);
		json_decref(roles[i].public_spec);
	}
}

void bench_run(struct bench *b)
{
	struct run_role roles[] = {role_of("callee"), role_of("caller")};

	run_create(b, roles, 2);
}

void bench_run_alone(struct bench *b)
{
	struct run_role roles[] = {role_of("callee")};

	run_create(b, roles, 1);
}

void bench_run_shards(struct bench *b, uint32_t shards, uint32_t agents_min)
{
	struct run_role roles[8];

	for (uint32_t k = 0; k < shards; k++) {
		const struct wire_share share = {k, shards};

		roles[k] = role_of("caller");
		json_object_set_new(roles[k].public_spec, "share",
				    wire_share_encode(&share));
		roles[k].shard = k;
		roles[k].shards = shards;
		roles[k].agents_min = agents_min;
		roles[k].allow_reduced = b->allow_reduced;
	}
	run_create(b, roles, shards);
}

struct lease_times bench_times(int64_t now)
{
	return (struct lease_times){.now = now,
				    .offer_ms = 30000,
				    .lease_ms = 60000,
				    .grace_ms = 900000};
}

json_t *bench_poll(struct bench *b, struct store *store, int agent,
		   int64_t free_jobs, int64_t now)
{
	const struct lease_times times = bench_times(now);
	struct lease_poll poll = {.agent_id = b->agents[agent],
				  .free = free_jobs,
				  .arrived = now};
	json_t *jobs;
	bool spread;

	assert_int_equal(lease_poll(store, &poll, &times, &jobs, &spread), 0);
	return jobs;
}

const char *bench_lease(json_t *jobs, size_t i)
{
	return json_string_value(
		json_object_get(json_array_get(jobs, i), "lease_id"));
}

int bench_sweep(struct bench *b, int64_t now, int64_t grace_until)
{
	const struct sweep_times times = {.now = now,
					  .lease_ms = 60000,
					  .claim_timeout_ms = 30000,
					  .grace_until = grace_until};

	return run_advance(b->store, &times);
}

struct text {
	char value[512];
};

static int text_row(const struct db_value *row, size_t columns, void *arg)
{
	struct text *text = arg;

	(void)columns;
	snprintf(text->value, sizeof(text->value), "%s",
		 row[0].type == DB_TEXT ? (const char *)row[0].bytes : "");
	return 0;
}

void bench_expect(struct bench *b, const char *column, const char *value)
{
	struct text text = {""};
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT %s FROM run", column);
	assert_true(db_query(store_reader(b->store), sql, NULL, 0, text_row,
			     &text) >= 0);
	if (!strstr(text.value, value) || (!value[0] && text.value[0]))
		fail_msg("%s is '%s', not '%s'", column, text.value, value);
}

json_t *bench_start(struct bench *b, int64_t now)
{
	const struct lease_times times = bench_times(now);
	json_t *jobs = bench_poll(b, b->store, 0, 4, now);

	assert_int_equal(json_array_size(jobs), b->role_count);
	bench_expect(b, "phase", "dispatching");
	for (size_t i = 0; i < b->role_count; i++)
		assert_int_equal(lease_start(b->store, b->agents[0],
					     bench_lease(jobs, i), 0, &times),
				 0);
	bench_expect(b, "phase", "running");
	return jobs;
}

void bench_finish(struct bench *b, const char *lease, const char *outcome,
		  int64_t now)
{
	const struct lease_times times = bench_times(now);
	const struct lease_end end = {outcome, "because", 0};
	json_t *missing = NULL;

	assert_int_equal(lease_finish(b->store, b->agents[0], lease, &end,
				      &times, &missing),
			 0);
}
