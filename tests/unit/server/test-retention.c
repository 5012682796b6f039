#include "control/server/retention/policy.h"
#include "control/server/retention/retention.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_secret.h"
#include "tests/unit/temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define DAY INT64_C(86400000)
#define NOW (1000 * DAY)

#define METRICS   (1u << RETENTION_METRICS)
#define SIP       (1u << RETENTION_SIP)
#define ARTIFACTS (1u << RETENTION_ARTIFACTS)
#define RUN       (1u << RETENTION_RUN)

/* A run that ended some days ago: 100 bytes of metrics, 10 of SIP, 1000 of
 * files, 5 of events. */
static struct retention_run ended(int64_t days_ago)
{
	return (struct retention_run){.id = 1,
				      .stopped_at = NOW - days_ago * DAY,
				      .bytes = {100, 10, 1000, 1115}};
}

static unsigned due(const struct retention_policy *policy,
		    const struct retention_run *run,
		    int64_t stored[RETENTION_KINDS])
{
	return retention_due(policy, NOW, run, stored);
}

static void test_nothing_without_limits(void **state)
{
	const struct retention_policy policy = {0};
	const struct retention_run run = ended(999);
	int64_t stored[RETENTION_KINDS] = {INT64_MAX, INT64_MAX, INT64_MAX,
					   INT64_MAX};

	(void)state;
	assert_false(retention_limits_anything(&policy));
	assert_int_equal(due(&policy, &run, stored), 0);
	assert_true(stored[RETENTION_METRICS] == INT64_MAX);
}

static void test_age_of_each_kind(void **state)
{
	struct retention_policy policy = {0};
	struct retention_run run = ended(7);
	int64_t stored[RETENTION_KINDS] = {500, 50, 5000, 5575};

	(void)state;
	policy.limits[RETENTION_METRICS].age_ms = 8 * DAY;
	policy.limits[RETENTION_SIP].age_ms = 7 * DAY;
	policy.limits[RETENTION_ARTIFACTS].age_ms = DAY;
	assert_true(retention_limits_anything(&policy));
	assert_int_equal(due(&policy, &run, stored), SIP | ARTIFACTS);
	assert_int_equal(stored[RETENTION_METRICS], 500);
	assert_int_equal(stored[RETENTION_SIP], 40);
	assert_int_equal(stored[RETENTION_ARTIFACTS], 4000);
	assert_int_equal(stored[RETENTION_RUN], 5575 - 1010);
	/* a millisecond less than the age */
	run.stopped_at++;
	assert_int_equal(due(&policy, &run, stored), ARTIFACTS);
}

static void test_a_clock_set_back(void **state)
{
	struct retention_policy policy = {0};
	const struct retention_run run = ended(-1);
	int64_t stored[RETENTION_KINDS] = {100, 10, 1000, 1115};

	(void)state;
	policy.limits[RETENTION_RUN].age_ms = DAY;
	assert_int_equal(due(&policy, &run, stored), 0);
}

static void test_size_takes_the_oldest_until_the_rest_fits(void **state)
{
	struct retention_policy policy = {0};
	int64_t stored[RETENTION_KINDS] = {400, 40, 4000, 4460};
	unsigned decisions[4];

	(void)state;
	policy.limits[RETENTION_ARTIFACTS].bytes = 2000;
	for (int i = 0; i < 4; i++) {
		const struct retention_run run = ended(10 - i);

		decisions[i] = due(&policy, &run, stored);
	}
	assert_int_equal(decisions[0], ARTIFACTS);
	assert_int_equal(decisions[1], ARTIFACTS);
	/* exactly the limit is within it */
	assert_int_equal(decisions[2], 0);
	assert_int_equal(decisions[3], 0);
	assert_int_equal(stored[RETENTION_ARTIFACTS], 2000);
}

static void test_a_whole_run_stands_alone(void **state)
{
	struct retention_policy policy = {0};
	const struct retention_run run = ended(10);
	int64_t stored[RETENTION_KINDS] = {200, 20, 2000, 2230};

	(void)state;
	policy.limits[RETENTION_RUN].bytes = 2000;
	policy.limits[RETENTION_SIP].age_ms = DAY;
	policy.limits[RETENTION_METRICS].bytes = 150;
	assert_int_equal(due(&policy, &run, stored), RUN);
	assert_int_equal(stored[RETENTION_METRICS], 100);
	assert_int_equal(stored[RETENTION_RUN], 1115);
	/* what the whole run took counts for its kinds */
	assert_int_equal(due(&policy, &run, stored), SIP);
}

static void test_kept_runs_stay_and_count(void **state)
{
	struct retention_policy policy = {0};
	struct retention_run run = ended(500);
	int64_t stored[RETENTION_KINDS] = {200, 20, 2000, 2230};

	(void)state;
	for (unsigned k = 0; k < RETENTION_KINDS; k++)
		policy.limits[k] = (struct retention_limit){DAY, 1};
	run.keep = true;
	assert_int_equal(due(&policy, &run, stored), 0);
	assert_int_equal(stored[RETENTION_RUN], 2230);
	run.keep = false;
	assert_int_equal(due(&policy, &run, stored), RUN);
}

static void test_what_is_gone_is_not_due_again(void **state)
{
	struct retention_policy policy = {0};
	struct retention_run run = ended(500);
	int64_t stored[RETENTION_KINDS] = {0, 10, 1000, 1015};

	(void)state;
	policy.limits[RETENTION_METRICS].age_ms = DAY;
	run.bytes[RETENTION_METRICS] = 0;
	assert_int_equal(due(&policy, &run, stored), 0);
}

/* ---- a plan ---- */

struct stored {
	struct temp temp;
	struct secrets *secrets;
	struct database *database;
	struct store *store;
};

static void stored_open(struct stored *s)
{
	temp_make(&s->temp);
	assert_int_equal(secrets_load(&s->secrets, temp_path(&s->temp, "key")),
			 0);
	assert_int_equal(database_open(&s->database, temp_path(&s->temp, "db"),
				       s->secrets),
			 0);
	assert_int_equal(store_new(&s->store, s->database), 0);
}

static void stored_close(struct stored *s)
{
	store_free(s->store);
	database_close(s->database);
	secrets_free(s->secrets);
	temp_remove(&s->temp);
}

static void stored_query(struct stored *s, const char *sql)
{
	struct db *db;

	assert_int_equal(store_write_begin(s->store, &db), 0);
	assert_true(store_write_end(s->store, db_query(db, sql, NULL, 0, NULL,
						       NULL)) >= 0);
}

#define RUNS(from, to)                                                      \
	"WITH RECURSIVE n (i) AS (SELECT " from                             \
	" UNION ALL SELECT i + 1 FROM n WHERE i < " to ") "                 \
	"INSERT INTO run (id, session_id, test_name, testcase_name, "       \
	"project_name, agentpool_id, agentpool_name, phase, status, "       \
	"conditions_json, record, interval_s, max_duration_s, created_at, " \
	"stopped_at) SELECT i, 's' || i, '', '', '', 1, '', 'done', "       \
	"'passed', '[]', 'sip', 1, 1, 1, 1 FROM n"
#define SIZES(from) \
	"INSERT INTO run_size SELECT id, 0, 0, 0, 5 FROM run WHERE id >= " from

static void test_plan_names_so_many_runs(void **state)
{
	const struct retention_policy policy = {
		.limits = {[RETENTION_RUN] = {.age_ms = DAY}}};
	static struct retention_plan plan;
	struct stored s;

	(void)state;
	stored_open(&s);
	stored_query(&s, RUNS("1", "1000"));
	stored_query(&s, SIZES("1"));
	assert_int_equal(retention_plan(s.store, &policy, NOW, &plan), 0);
	assert_int_equal(plan.due[RETENTION_RUN].runs, RETENTION_IDS_MAX);
	assert_int_equal(plan.due[RETENTION_RUN].ids[999], 1000);
	stored_query(&s, RUNS("1001", "1003"));
	stored_query(&s, SIZES("1001"));
	assert_int_equal(retention_plan(s.store, &policy, NOW, &plan), 0);
	assert_int_equal(plan.due[RETENTION_RUN].runs, 1003);
	assert_int_equal(plan.due[RETENTION_RUN].bytes, 5 * 1003);
	assert_int_equal(plan.due[RETENTION_RUN].ids[0], 1);
	assert_int_equal(plan.due[RETENTION_RUN].ids[999], 1000);
	stored_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_without_limits),
		cmocka_unit_test(test_age_of_each_kind),
		cmocka_unit_test(test_a_clock_set_back),
		cmocka_unit_test(
			test_size_takes_the_oldest_until_the_rest_fits),
		cmocka_unit_test(test_a_whole_run_stands_alone),
		cmocka_unit_test(test_kept_runs_stay_and_count),
		cmocka_unit_test(test_what_is_gone_is_not_due_again),
		cmocka_unit_test(test_plan_names_so_many_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
