#include "control/server/store/store_verdict.h"

#include "base/str.h"
#include "control/server/store/record_json.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_run_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* In the order of VERDICT_STATES. */
enum state {
	FAILED,
	FLAKY,
	ERRORED,
	STOPPED,
	NEVER_RUN,
	PASSED,
	STATES
};

static const char *const names[STATES] = {
	[FAILED] = "failed",   [FLAKY] = "flaky",         [ERRORED] = "errored",
	[STOPPED] = "stopped", [NEVER_RUN] = "never_run", [PASSED] = "passed",
};

struct verdict_run {
	int64_t id, created_at, started_at;
	enum state status; /* PASSED FAILED ERRORED STOPPED */
	char session_id[UUID_TEXT_BYTES];
	char print[VERDICT_PRINT_BYTES]; /* "": not known */
};

struct tested {
	int64_t id, project_id, updated_at;
	char *name, *project, *tags;
	struct verdict_run runs[VERDICT_RUNS]; /* newest first */
	size_t count;
	/* what they say */
	enum state state;
	unsigned changes;
	int64_t since_id; /* the run that began the state; 0: none */
	int64_t streak;
	bool is_longer; /* the streak may have begun before runs[] */
};

/* The last runs of all tests, shared by the threads (STORE_SHARED_VERDICTS): constant
 * once it is kept, but for what read_streak() finds. */
struct verdicts {
	atomic_uint users;
	int64_t revision;
	struct tested *tests; /* by id, ascending */
	size_t count, room;
	size_t at;               /* the test of the row before */
	pthread_mutex_t streaks; /* of since_id, streak, is_longer */
};

static void verdicts_release(void *cache)
{
	struct verdicts *v = cache;

	if (!v || atomic_fetch_sub(&v->users, 1) > 1)
		return;
	for (size_t i = 0; i < v->count; i++) {
		free(v->tests[i].name);
		free(v->tests[i].project);
		free(v->tests[i].tags);
	}
	free(v->tests);
	pthread_mutex_destroy(&v->streaks);
	free(v);
}

static int test_row(const struct db_value *row, size_t columns, void *arg)
{
	struct verdicts *v = arg;
	struct tested *t;

	(void)columns;
	if (v->count == v->room) {
		size_t room = v->room ? 2 * v->room : 64;
		void *larger = realloc(v->tests, room * sizeof(*t));

		if (!larger)
			return -ENOMEM;
		v->tests = larger;
		v->room = room;
	}
	t = &v->tests[v->count++];
	memset(t, 0, sizeof(*t));
	t->id = row[0].integer;
	t->name = strdup(row[1].bytes);
	t->project_id = row[2].integer;
	t->project = strdup(row[3].bytes);
	t->tags = strdup(row[4].bytes);
	t->updated_at = row[5].integer;
	return t->name && t->project && t->tags ? 0 : -ENOMEM;
}

static int read_status(const char *text, enum state *ret)
{
	for (size_t i = 0; i < STATES; i++) {
		if (strcmp(names[i], text) == 0) {
			*ret = (enum state)i;
			return 0;
		}
	}
	return -EIO;
}

static int verdict_row(const struct db_value *row, size_t columns, void *arg)
{
	struct verdicts *v = arg;
	struct verdict_run *run;
	struct tested *t;

	(void)columns;
	while (v->at < v->count && v->tests[v->at].id < row[0].integer)
		v->at++;
	t = &v->tests[v->at];
	/* a test that was made since the tests were read */
	if (v->at == v->count || t->id != row[0].integer ||
	    t->count == VERDICT_RUNS)
		return 0;
	run = &t->runs[t->count++];
	run->id = row[1].integer;
	run->created_at = row[5].integer;
	run->started_at = row[6].integer;
	if (str_copy(run->session_id, sizeof(run->session_id), row[2].bytes) ||
	    str_copy(run->print, sizeof(run->print),
		     row[4].type == DB_TEXT ? row[4].bytes : ""))
		return -EIO;
	return read_status(row[3].bytes, &run->status);
}

/* The last runs of each test. The oldest of them is looked for once a test: in the
 * join PostgreSQL may look for it with each verdict. */
static const char last_runs[] =
	"WITH oldest (test_id, run_id) AS MATERIALIZED ("
	"SELECT t.id, coalesce((SELECT o.run_id FROM run_verdict o "
	"WHERE o.test_id = t.id ORDER BY o.run_id DESC LIMIT 1 OFFSET $1), 0) "
	"FROM test t) "
	"SELECT v.test_id, v.run_id, v.session_id, v.status, v.test_print, "
	"v.created_at, coalesce(v.started_at, v.created_at) "
	"FROM oldest t JOIN run_verdict v ON v.test_id = t.test_id "
	"AND v.run_id >= t.run_id ORDER BY v.test_id, v.run_id DESC";

static int read_all(struct store *s, struct verdicts *v)
{
	const struct db_value older = DB_I(VERDICT_RUNS - 1);
	int err;

	err = db_query(store_reader(s),
		       "SELECT t.id, t.name, t.project_id, p.name, "
		       "t.tags_json, t.updated_at FROM test t "
		       "JOIN project p ON p.id = t.project_id ORDER BY t.id",
		       NULL, 0, test_row, v);
	if (err >= 0)
		err = db_query(store_reader(s), last_runs, &older, 1,
			       verdict_row, v);
	return err < 0 ? err : 0;
}

int store_revision(struct store *s, const char *name, int64_t *ret)
{
	const struct db_value param = db_text(name);
	int err = db_query(store_reader(s),
			   "SELECT value FROM revision WHERE name = $1", &param,
			   1, db_integer_row, ret);

	return err == 1 ? 0 : -EIO;
}

/* ---- what the runs of a test say ---- */

static bool is_judged(const struct verdict_run *run)
{
	return run->status == PASSED || run->status == FAILED;
}

/* A run from before prints were kept counts if the test has not changed
 * since. */
static bool is_unchanged(const struct tested *t, const struct verdict_run *run,
			 const char *print)
{
	return run->print[0] ? strcmp(run->print, print) == 0
			     : run->created_at >= t->updated_at;
}

/* Collect the judged runs of the test as it is in the newest one.
 * @return how many; newest first */
static size_t judged_runs(const struct tested *t,
			  const struct verdict_run *ret[static VERDICT_RUNS])
{
	const char *print = "";
	size_t count = 0;

	for (size_t i = 0; i < t->count && !print[0]; i++)
		print = t->runs[i].print;
	for (size_t i = 0; i < t->count; i++)
		if (is_judged(&t->runs[i]) &&
		    is_unchanged(t, &t->runs[i], print))
			ret[count++] = &t->runs[i];
	return count;
}

/* Count the changes from passed to failed and back. @param ret_first  the run
 * that made the first of them; unchanged if there is none */
static unsigned count_changes(const struct tested *t, int64_t *ret_first)
{
	const struct verdict_run *runs[VERDICT_RUNS];
	size_t count = judged_runs(t, runs);
	unsigned changes = 0;

	for (size_t i = 1; i < count; i++) {
		if (runs[i - 1]->status == runs[i]->status)
			continue;
		changes++;
		*ret_first = runs[i - 1]->id;
	}
	return changes;
}

/* The runs since the last other verdict. Stopped runs, and runs that could not
 * be judged, say nothing of the system under test. */
static void find_streak(struct tested *t, enum state status)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct verdict_run *run = &t->runs[i];

		if (run->status == status) {
			t->since_id = run->id;
			t->streak++;
		} else if (is_judged(run)) {
			return;
		}
	}
	t->is_longer = t->count == VERDICT_RUNS;
}

static void judge_test(struct tested *t)
{
	const struct verdict_run *last = t->runs;
	int64_t began = 0;

	t->state = t->count ? STOPPED : NEVER_RUN;
	while (last < t->runs + t->count && last->status == STOPPED)
		last++;
	if (last == t->runs + t->count)
		return;
	t->state = last->status;
	t->changes = count_changes(t, &began);
	find_streak(t, last->status);
	if (t->changes >= VERDICT_CHANGES &&
	    (t->state == PASSED ||
	     (t->state == FAILED && t->streak < VERDICT_STREAK))) {
		t->state = FLAKY;
		t->since_id = began;
		t->is_longer = false;
	}
}

/* Read the last runs of all tests, and judge. @param ret  released by the caller */
static int read_verdicts(struct store *s, int64_t revision,
			 struct verdicts **ret)
{
	struct verdicts *v = calloc(1, sizeof(*v));
	int err;

	if (!v)
		return -ENOMEM;
	atomic_init(&v->users, 1);
	pthread_mutex_init(&v->streaks, NULL);
	v->revision = revision;
	err = read_all(s, v);
	if (err) {
		verdicts_release(v);
		return err;
	}
	for (size_t i = 0; i < v->count; i++)
		judge_test(&v->tests[i]);
	*ret = v;
	return 0;
}

/* Get the last runs of all tests as they are now.
 * @param ret  the caller calls verdicts_release() */
static int current(struct store *s, struct verdicts **ret)
{
	struct verdicts *v, *now;
	int64_t revision = 0;
	void *kept;
	int err = store_shared_lock(s, STORE_SHARED_VERDICTS, &kept);

	if (err)
		return err;
	v = kept;
	/* read before the rows: what changes in between is read again */
	err = store_revision(s, "verdicts", &revision);
	if (!err && (!v || v->revision != revision)) {
		err = read_verdicts(s, revision, &now);
		if (!err) {
			verdicts_release(v);
			v = now;
			store_shared_keep(s, STORE_SHARED_VERDICTS, v,
					  verdicts_release);
		}
	}
	if (!err) {
		atomic_fetch_add(&v->users, 1);
		*ret = v;
	}
	store_shared_unlock(s, STORE_SHARED_VERDICTS);
	return err;
}

int store_verdict_history(struct store *s, int64_t test_id,
			  struct verdict_history *ret)
{
	const struct verdict_run *runs[VERDICT_RUNS];
	struct verdict_history history = {.changes = 0};
	struct verdicts *v;
	size_t i = 0;
	int err = current(s, &v);

	if (err)
		return err;
	while (i < v->count && v->tests[i].id != test_id)
		i++;
	if (i == v->count) {
		verdicts_release(v);
		return -ENOENT;
	}
	history.changes = v->tests[i].changes;
	history.count = judged_runs(&v->tests[i], runs);
	for (i = 0; i < history.count; i++)
		history.runs[i] = (struct verdict_judged){
			.run_id = runs[i]->id,
			.started_at = runs[i]->started_at,
			.failed = runs[i]->status == FAILED,
		};
	verdicts_release(v);
	*ret = history;
	return 0;
}

struct id_list {
	int64_t *ids;
	size_t count;
};

static int id_row(const struct db_value *row, size_t columns, void *arg)
{
	struct id_list *list = arg;

	(void)columns;
	list->ids[list->count++] = row[0].integer;
	return 0;
}

int store_verdict_passed_before(struct store *s, int64_t run_id, size_t max,
				int64_t *ret)
{
	const struct db_value params[] = {DB_I(run_id), DB_I((int64_t)max)};
	struct id_list list = {.ids = ret};
	int err =
		db_query(store_reader(s),
			 "SELECT v.run_id FROM run r JOIN run_verdict v "
			 "ON v.test_id = r.test_id JOIN run o "
			 "ON o.id = v.run_id WHERE r.id = $1 "
			 "AND v.status = 'passed' AND v.run_id < r.id "
			 "AND v.stopped_at <= r.created_at "
			 "AND o." RUN_SHOWN " ORDER BY v.run_id DESC LIMIT $2",
			 params, 2, id_row, &list);

	return err < 0 ? err : (int)list.count;
}

/* ---- selection ---- */

static bool has_tag(const struct tested *t, const char *tag)
{
	json_t *tags = json_loads(t->tags, 0, NULL), *each;
	bool found = false;
	size_t i;

	json_array_foreach(tags, i, each)
	{
		const char *text = json_string_value(each);

		found = found || (text && strcmp(text, tag) == 0);
	}
	json_decref(tags);
	return found;
}

static bool is_broken(const struct tested *t)
{
	return t->state == FAILED || t->state == FLAKY || t->state == ERRORED;
}

static bool is_counted(const struct tested *t, const struct verdict_query *q)
{
	return (!q->test_id || t->id == q->test_id) &&
	       (!q->name || strcasestr(t->name, q->name)) &&
	       (!q->project || strcmp(t->project, q->project) == 0) &&
	       (!q->tag || has_tag(t, q->tag));
}

static bool is_selected(const struct tested *t, const struct verdict_query *q)
{
	return (!q->state || strcmp(names[t->state], q->state) == 0) &&
	       (!q->broken || is_broken(t));
}

static int by_severity(const void *one, const void *other)
{
	const struct tested *a = *(struct tested *const *)one;
	const struct tested *b = *(struct tested *const *)other;

	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	return strcasecmp(a->name, b->name);
}

static int by_last_run(const void *one, const void *other)
{
	const struct tested *a = *(struct tested *const *)one;
	const struct tested *b = *(struct tested *const *)other;

	return a->runs[0].id > b->runs[0].id ? -1
					     : a->runs[0].id < b->runs[0].id;
}

/* ---- as JSON ---- */

/* A mean to three digits behind the point: the rest is noise. */
static json_t *mean(const struct db_value *v)
{
	if (v->type == DB_NULL)
		return json_null();
	return json_real(round(db_number(v) * 1000) / 1000);
}

/* The id of a run as a key of a JSON object. */
#define RUN_KEY_BYTES sizeof("-9223372036854775808")

static void run_key(char key[static RUN_KEY_BYTES], int64_t id)
{
	str_print(key, RUN_KEY_BYTES, "%" PRId64, id);
}

static int run_row(const struct db_value *row, size_t columns, void *arg)
{
	char key[RUN_KEY_BYTES];
	json_t *run;

	(void)columns;
	run = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
			record_value(&row[0]), "session_id",
			record_value(&row[1]), "status", record_value(&row[2]),
			"result_description", record_value(&row[3]),
			"started_at", record_time(&row[4]), "stopped_at",
			record_time(&row[5]), "mos", mean(&row[6]), "pdd_ms",
			mean(&row[7]), "register_ms", mean(&row[8]));
	run_key(key, row[0].integer);
	return json_object_set_new(arg, key, run) ? -ENOMEM : 0;
}

/* One statement reads so many runs: a statement a run made most of the time of a
 * page from PostgreSQL. */
#define RUNS_READ 32

/* Read runs by their ids. @param runs  gets them; those that were deleted
 * meanwhile are left out */
static int read_runs(struct store *s, const int64_t *ids, size_t count,
		     json_t *runs)
{
	static const char sql[] =
		"SELECT v.run_id, v.session_id, v.status, "
		"r.result_description, v.started_at, v.stopped_at, v.mos, "
		"v.pdd_ms, v.register_ms FROM run_verdict v "
		"JOIN run r ON r.id = v.run_id WHERE v.run_id IN ($1, $2, $3, "
		"$4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, "
		"$17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, "
		"$29, $30, $31, $32)";
	int err = 0;

	for (size_t at = 0; at < count && err >= 0; at += RUNS_READ) {
		struct db_value params[RUNS_READ];

		for (size_t i = 0; i < RUNS_READ; i++)
			params[i] = DB_I(at + i < count ? ids[at + i] : 0);
		err = db_query(store_reader(s), sql, params, RUNS_READ, run_row,
			       runs);
	}
	return err < 0 ? err : 0;
}

static int streak_row(const struct db_value *row, size_t columns, void *arg)
{
	struct tested *t = arg;

	(void)columns;
	t->since_id = row[0].integer;
	t->streak = row[1].integer;
	return 0;
}

/* All verdicts that were read are the same: find the run with which this series
 * of equal verdicts began, and its length. */
static int read_streak(struct store *s, struct tested *t)
{
	const struct db_value params[] = {DB_I(t->id),
					  db_text(names[t->state])};
	int err = db_query(
		store_reader(s),
		"SELECT min(v.run_id), count(*) FROM run_verdict v WHERE "
		"v.test_id = $1 AND v.status = $2 AND v.run_id > "
		"coalesce((SELECT o.run_id FROM run_verdict o WHERE "
		"o.test_id = $1 AND o.status IN ('passed', 'failed') AND "
		"o.status <> $2 ORDER BY o.run_id DESC LIMIT 1), 0) "
		"HAVING count(*) > 0",
		params, 2, streak_row, t);

	t->is_longer = err < 0;
	return err < 0 ? err : 0;
}

static json_t *history(const struct tested *t)
{
	json_t *runs = json_array();

	for (size_t i = 0; i < t->count; i++)
		json_array_append_new(
			runs, json_pack("{s:I, s:s, s:s}", "id",
					(json_int_t)t->runs[i].id, "session_id",
					t->runs[i].session_id, "status",
					names[t->runs[i].status]));
	return runs;
}

/* The newest run that did not pass, of a test that is broken. @return 0: none */
static int64_t cause_id(const struct tested *t)
{
	if (!is_broken(t))
		return 0;
	for (size_t i = 0; i < t->count; i++)
		if (t->runs[i].status == FAILED || t->runs[i].status == ERRORED)
			return t->runs[i].id;
	return 0;
}

static int64_t last_id(const struct tested *t)
{
	return t->count ? t->runs[0].id : 0;
}

/* @return borrowed; null if it was deleted meanwhile, or id is 0 */
static json_t *run_of(const json_t *runs, int64_t id)
{
	char key[RUN_KEY_BYTES];
	json_t *run;

	run_key(key, id);
	run = json_object_get(runs, key);
	return run ? run : json_null();
}

/* @return borrowed, null where the run is */
static json_t *member_of(const json_t *run, const char *name)
{
	json_t *value = json_object_get(run, name);

	return value ? value : json_null();
}

/* @param runs  those of the page, from read_runs() */
static json_t *test_json(const struct tested *t, const json_t *runs)
{
	json_t *first = run_of(runs, t->since_id);

	return json_pack(
		"{s:I, s:s, s:I, s:s, s:s, s:s, s:b, s:i, s:o, s:O, s:O, s:O, "
		"s:I, s:O}",
		"test_id", (json_int_t)t->id, "test_name", t->name,
		"project_id", (json_int_t)t->project_id, "project_name",
		t->project, "tags", t->tags, "state", names[t->state], "flaky",
		t->changes >= VERDICT_CHANGES, "changes", (int)t->changes,
		"runs", history(t), "first", first, "last",
		run_of(runs, last_id(t)), "cause",
		member_of(run_of(runs, cause_id(t)), "result_description"),
		"streak", (json_int_t)t->streak, "since",
		member_of(first, "started_at"));
}

enum {
	RUNS_SHOWN = 3 /* of a test: first, last, cause */
};

/* Find the streaks of the page that are longer than what was read of their tests. */
static int read_streaks(struct store *s, struct verdicts *v,
			struct tested **page, size_t count)
{
	int err = 0;

	pthread_mutex_lock(&v->streaks);
	for (size_t i = 0; i < count && !err; i++)
		if (page[i]->is_longer)
			err = read_streak(s, page[i]);
	pthread_mutex_unlock(&v->streaks);
	return err;
}

/* Read the runs that the page shows. */
static int read_page(struct store *s, struct tested **page, size_t count,
		     json_t *runs)
{
	int64_t *ids = calloc(RUNS_SHOWN * count + 1, sizeof(*ids));
	int err = ids ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !err; i++) {
		const struct tested *t = page[i];

		ids[RUNS_SHOWN * i] = t->since_id;
		ids[RUNS_SHOWN * i + 1] = last_id(t);
		ids[RUNS_SHOWN * i + 2] = cause_id(t);
	}
	if (!err)
		err = read_runs(s, ids, RUNS_SHOWN * count, runs);
	free(ids);
	return err;
}

static int write_page(struct store *s, struct verdicts *v,
		      struct tested **order, const struct verdict_query *q,
		      size_t count, json_t **ret)
{
	json_t *list = json_array(), *runs = json_object();
	struct tested **page = order;
	size_t shown = 0;
	int err;

	qsort(order, count, sizeof(*order),
	      q->recent ? by_last_run : by_severity);
	if (q->start < (int64_t)count && q->count > 0) {
		page = order + q->start;
		shown = count - (size_t)q->start;
		if (shown > (size_t)q->count)
			shown = (size_t)q->count;
	}
	err = read_streaks(s, v, page, shown);
	if (!err)
		err = read_page(s, page, shown, runs);
	for (size_t i = 0; i < shown && !err; i++)
		if (json_array_append_new(list, test_json(page[i], runs)))
			err = -ENOMEM;
	json_decref(runs);
	if (err)
		json_decref(list);
	else
		*ret = list;
	return err;
}

static json_t *counts_json(const json_int_t counts[static STATES])
{
	json_t *object = json_object();

	for (size_t i = 0; i < STATES; i++)
		json_object_set_new(object, names[i], json_integer(counts[i]));
	return object;
}

int store_verdicts(struct store *s, const struct verdict_query *query,
		   json_t **ret, json_t **counts, int64_t *total)
{
	json_int_t by_state[STATES] = {0};
	struct verdicts *v;
	struct tested **order;
	size_t count = 0;
	int err = current(s, &v);

	if (err)
		return err;
	order = calloc(v->count + 1, sizeof(*order));
	for (size_t i = 0; order && i < v->count; i++) {
		struct tested *t = &v->tests[i];

		if (!is_counted(t, query))
			continue;
		by_state[t->state]++;
		if (is_selected(t, query))
			order[count++] = t;
	}
	err = order ? write_page(s, v, order, query, count, ret) : -ENOMEM;
	free(order);
	verdicts_release(v);
	if (err)
		return err;
	*total = (int64_t)count;
	if (counts)
		*counts = counts_json(by_state);
	return 0;
}
