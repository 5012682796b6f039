#include "control/server/store/store_overview.h"

#include "base/clock.h"
#include "control/server/store/record_db.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_verdict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS_PER_DAY INT64_C(86400000)

/* ---- trends ---- */

enum figure {
	MOS,
	PDD,
	REGISTER,
	FIGURES
};

/* The share of runs that are not above the value shown: of a MOS the bad ones
 * are low. */
static const struct {
	const char *name;
	double fraction;
} figures[FIGURES] = {
	[MOS] = {"mos", 0.05},
	[PDD] = {"pdd_ms", 0.95},
	[REGISTER] = {"register_ms", 0.95},
};

struct numbers {
	double *v;
	size_t count, room;
};

struct day {
	json_int_t passed, failed, errored, stopped;
	struct numbers of[FIGURES];
};

struct trend {
	int64_t first_ms; /* start of the first day */
	struct day days[TREND_DAYS];
};

/* Days before the last two: today and yesterday, as a run that ended before midnight
 * may be judged after it. */
#define LAST_DAYS (TREND_DAYS - 2)

/* The days of all tests, shared by the threads (STORE_SHARED_TREND). The last two change
 * with each run that ends, those before only if a run is deleted. */
struct kept_days {
	int64_t first_ms;
	int64_t gone;     /* revision of what is deleted */
	json_t *past;     /* NULL: not read yet */
	int64_t verdicts; /* revision of all */
	json_t *last;     /* NULL: not read yet */
};

static int add_number(struct numbers *n, double value)
{
	if (n->count == n->room) {
		size_t room = n->room ? 2 * n->room : 64;
		double *larger = realloc(n->v, room * sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		n->v = larger;
		n->room = room;
	}
	n->v[n->count++] = value;
	return 0;
}

static int trend_row(const struct db_value *row, size_t columns, void *arg)
{
	struct trend *t = arg;
	int64_t at = (row[0].integer - t->first_ms) / MS_PER_DAY;
	const char *status = row[1].bytes;
	struct day *day;
	int err = 0;

	(void)columns;
	if (at < 0 || at >= TREND_DAYS)
		return 0; /* ended by a clock that was ahead */
	day = &t->days[at];
	day->passed += strcmp(status, "passed") == 0;
	day->failed += strcmp(status, "failed") == 0;
	day->errored += strcmp(status, "errored") == 0;
	day->stopped += strcmp(status, "stopped") == 0;
	for (size_t i = 0; i < FIGURES && !err; i++)
		if (row[2 + i].type == DB_REAL || row[2 + i].type == DB_INT)
			err = add_number(&day->of[i], db_number(&row[2 + i]));
	return err;
}

static int ascending(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return a < b ? -1 : a > b;
}

/* The smallest value with at least this share of all at or below it. */
static json_t *percentile(struct numbers *n, double fraction)
{
	size_t at;

	if (!n->count)
		return json_null();
	qsort(n->v, n->count, sizeof(*n->v), ascending);
	at = (size_t)(fraction * (double)n->count);
	if ((double)at == fraction * (double)n->count && at > 0)
		at--;
	return json_real((double)(int64_t)(n->v[at] * 1000 + 0.5) / 1000);
}

static json_t *day_json(struct day *day, int64_t start_ms)
{
	const json_int_t judged = day->passed + day->failed;
	char text[CLOCK_TEXT_BYTES];
	json_t *object;
	int err = 0;

	clock_format_ms(text, start_ms);
	text[strcspn(text, " ")] = '\0';
	object = json_pack(
		"{s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "day", text, "runs",
		judged + day->errored + day->stopped, "passed", day->passed,
		"failed", day->failed, "errored", day->errored, "stopped",
		day->stopped, "pass_rate",
		judged ? json_real((double)(json_int_t)(1e5 *
							(double)day->passed /
							(double)judged) /
				   1e3)
		       : json_null());
	for (size_t i = 0; i < FIGURES; i++)
		err |= json_object_set_new(
			object, figures[i].name,
			percentile(&day->of[i], figures[i].fraction));
	if (err) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static void trend_clear(struct trend *t)
{
	for (size_t i = 0; i < TREND_DAYS; i++)
		for (size_t k = 0; k < FIGURES; k++)
			free(t->days[i].of[k].v);
}

/* Append the days [from, to) of the trend that begins with this day. Those of
 * all tests are read from one index, those of a test from its own rows: the
 * sign keeps the planner from the index. */
static int read_days(struct store *s, int64_t first_ms, int64_t test_id,
		     int64_t from, int64_t to, json_t *list)
{
	struct trend t = {.first_ms = first_ms};
	const struct db_value params[] = {DB_I(first_ms + from * MS_PER_DAY),
					  DB_I(first_ms + to * MS_PER_DAY),
					  DB_I(test_id)};
	int err = test_id ? db_query(store_reader(s),
				     "SELECT stopped_at, status, mos, pdd_ms, "
				     "register_ms FROM run_verdict "
				     "WHERE test_id = $3 AND +stopped_at >= $1 "
				     "AND +stopped_at < $2",
				     params, 3, trend_row, &t)
			  : db_query(store_reader(s),
				     "SELECT stopped_at, status, mos, pdd_ms, "
				     "register_ms FROM run_verdict "
				     "WHERE stopped_at >= $1 "
				     "AND stopped_at < $2",
				     params, 2, trend_row, &t);

	for (int64_t i = from; i < to && err >= 0; i++)
		if (json_array_append_new(
			    list,
			    day_json(&t.days[i], first_ms + i * MS_PER_DAY)))
			err = -ENOMEM;
	trend_clear(&t);
	return err < 0 ? err : 0;
}

static void kept_clear(struct kept_days *kept)
{
	json_decref(kept->past);
	json_decref(kept->last);
	*kept = (struct kept_days){.past = NULL};
}

static void kept_free(void *cache)
{
	kept_clear(cache);
	free(cache);
}

/* Read days [from, to) anew. @param ret  replaced */
static int refresh(struct store *s, int64_t first_ms, int64_t from, int64_t to,
		   json_t **ret)
{
	json_t *days = json_array();
	int err = days ? read_days(s, first_ms, 0, from, to, days) : -ENOMEM;

	if (err) {
		json_decref(days);
		return err;
	}
	json_decref(*ret);
	*ret = days;
	return 0;
}

/* Bring the days of all tests up to date. */
static int refresh_days(struct store *s, struct kept_days *kept,
			int64_t first_ms)
{
	int64_t gone = 0, verdicts = 0;
	/* read before the rows: what changes in between is read again */
	int err = store_revision(s, "verdicts_gone", &gone);

	if (!err)
		err = store_revision(s, "verdicts", &verdicts);
	if (err)
		return err;
	if (kept->first_ms != first_ms || kept->gone != gone)
		kept_clear(kept);
	kept->first_ms = first_ms;
	kept->gone = gone;
	if (!kept->past)
		err = refresh(s, first_ms, 0, LAST_DAYS, &kept->past);
	if (!err && (!kept->last || kept->verdicts != verdicts))
		err = refresh(s, first_ms, LAST_DAYS, TREND_DAYS, &kept->last);
	if (!err)
		kept->verdicts = verdicts;
	return err;
}

/* Copy the days of all tests as they are now. @param ret  new reference */
static int current_days(struct store *s, int64_t first_ms, json_t **ret)
{
	struct kept_days *kept;
	json_t *list, *last;
	void *cache;
	int err = store_shared_lock(s, STORE_SHARED_TREND, &cache);

	if (err)
		return err;
	kept = cache;
	if (!kept) {
		kept = calloc(1, sizeof(*kept));
		store_shared_keep(s, STORE_SHARED_TREND, kept, kept_free);
	}
	err = kept ? refresh_days(s, kept, first_ms) : -ENOMEM;
	/* deep: another thread may read them at the same time */
	list = err ? NULL : json_deep_copy(kept->past);
	last = err ? NULL : json_deep_copy(kept->last);
	store_shared_unlock(s, STORE_SHARED_TREND);
	if (!err && json_array_extend(list, last))
		err = -ENOMEM;
	json_decref(last);
	if (err)
		json_decref(list);
	else
		*ret = list;
	return err;
}

int store_trend(struct store *s, int64_t now_ms, int64_t test_id, json_t **ret)
{
	const int64_t first_ms =
		(now_ms / MS_PER_DAY - TREND_DAYS + 1) * MS_PER_DAY;
	json_t *list;
	int err;

	if (!test_id)
		return current_days(s, first_ms, ret);
	list = json_array();
	err = list ? read_days(s, first_ms, test_id, 0, TREND_DAYS, list)
		   : -ENOMEM;
	if (err)
		json_decref(list);
	else
		*ret = list;
	return err;
}

/* ---- lists ---- */

int store_running(struct store *s, int64_t max, json_t **ret, int64_t *total)
{
	static const struct column columns[] = {
		{"id", "r.id", NULL, COLUMN_INT},
		{"session_id", "r.session_id", NULL, COLUMN_TEXT},
		{"test_id", "r.test_id", NULL, COLUMN_INT},
		{"test_name", "r.test_name", NULL, COLUMN_TEXT},
		{"project_name", "r.project_name", NULL, COLUMN_TEXT},
		{"phase", "r.phase", NULL, COLUMN_TEXT},
		{"progress", "r.progress", NULL, COLUMN_REAL},
		{"created_at", "r.created_at", NULL, COLUMN_TIME},
		{"started_at", "r.started_at", NULL, COLUMN_TIME},
	};
	static const struct table runs = {.name = "run",
					  .from = "run r",
					  .id = "r.id",
					  .columns = columns,
					  .column_count = sizeof(columns) /
							  sizeof(*columns)};
	/* the text of the partial index (store_lease_db.h); the sign keeps the
	 * planner from reading all runs in the order of their ids */
	static const struct selection active = {.where = "phase <> 'done'",
						.order = "+r.id"};
	const struct page page = {.count = max};

	return record_select(s, &runs, &active, &page, ret, total);
}

int store_next_starts(struct store *s, int64_t max, json_t **ret)
{
	static const struct column columns[] = {
		{"id", "s.id", NULL, COLUMN_INT},
		{"name", "s.name", NULL, COLUMN_TEXT},
		{"test_id", "s.test_id", NULL, COLUMN_INT},
		{"project_id", "s.project_id", NULL, COLUMN_INT},
		{"next_at", "s.next_at", NULL, COLUMN_TIME},
	};
	static const struct table schedules = {
		.name = "schedule",
		.from = "schedule s",
		.id = "s.id",
		.columns = columns,
		.column_count = sizeof(columns) / sizeof(*columns)};
	static const struct selection enabled = {
		.where = "s.next_at IS NOT NULL AND s.enabled = 1",
		.order = "s.next_at, s.id"};
	const struct page page = {.count = max};

	return record_select(s, &schedules, &enabled, &page, ret, NULL);
}

/* clang-format off */
#define CHANGED(kind, table) \
	"SELECT '" kind "' AS kind, id, name, created_at = updated_at AS created, " \
	"updated_at FROM " table
#define CHANGES "(" \
	CHANGED("tests", "test") \
	" UNION ALL " CHANGED("projects", "project") \
	" UNION ALL " CHANGED("targets", "target") \
	" UNION ALL " CHANGED("credential-pools", "credential_pool") \
	" UNION ALL " CHANGED("agent-pools", "agent_pool") \
	" UNION ALL " CHANGED("schedules", "schedule") \
	" UNION ALL " CHANGED("callback-templates", "callback_template") \
	" UNION ALL " CHANGED("appimages", "appimage") \
	")"
/* clang-format on */

int store_recent_changes(struct store *s, int64_t max, json_t **ret)
{
	static const struct column columns[] = {
		{"kind", "c.kind", NULL, COLUMN_TEXT},
		{"id", "c.id", NULL, COLUMN_INT},
		{"name", "c.name", NULL, COLUMN_TEXT},
		{"created", "c.created", NULL, COLUMN_INT},
		{"at", "c.updated_at", NULL, COLUMN_TIME},
	};
	static const struct table changes = {.name = "change",
					     .from = CHANGES " c",
					     .id = "c.id",
					     .columns = columns,
					     .column_count = sizeof(columns) /
							     sizeof(*columns)};
	static const struct selection all = {
		.order = "c.updated_at DESC, c.kind, c.id DESC"};
	const struct page page = {.count = max};

	return record_select(s, &changes, &all, &page, ret, NULL);
}
