#include "control/server/report/test_metrics.h"

#include "control/server/report/metrics_text.h"
#include "control/server/store/store_metrics.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* Ceiling of one metric's lines: METRICS_TESTS_MAX tests with two names of 200
 * bytes, each byte escaped, fit; so do three lines a test of usual names. */
#define LINES_BYTES (2u << 20)

static const struct {
	const char *name;
	const char *help;
	size_t offset; /* of the figure in struct test_figures */
} figures[] = {
#define FIGURE(member) offsetof(struct test_figures, member)
	{"test_last_run_seconds",
	 "When the test's last run with a verdict ended, since 1970.",
	 FIGURE(ended_s)},
	{"test_duration_seconds", "How long that run took.",
	 FIGURE(duration_s)},
	{"test_mos", "Its mean opinion score, all received streams.",
	 FIGURE(mos)},
	{"test_mos_min", "The lowest score of one second of one stream.",
	 FIGURE(mos_min)},
	{"test_loss_ratio", "Its share of lost packets, all received streams.",
	 FIGURE(loss)},
	{"test_post_dial_delay_seconds", "Its mean post-dial delay.",
	 FIGURE(pdd_s)},
	{"test_post_dial_delay_max_seconds", "Its longest post-dial delay.",
	 FIGURE(pdd_max_s)},
#undef FIGURE
};
#define FIGURES (sizeof(figures) / sizeof(*figures))

/* The format requires the lines of a metric together, and the tests are read
 * once: each metric has a buffer of its own. */
struct lines {
	struct buf verdicts;
	struct buf figures[FIGURES];
	int64_t tests;
};

static int put_labels(struct buf *b, const char *metric,
		      const struct test_figures *test)
{
	int err = buf_print(b, "offhook_%s{", metric);

	if (!err)
		err = metrics_text_label(b, "project", test->project);
	if (!err)
		err = buf_add(b, ",", 1);
	return err ? err : metrics_text_label(b, "test", test->name);
}

static int put_verdicts(struct buf *b, const struct test_figures *test)
{
	static const char *const verdicts[] = {"passed", "failed", "errored"};
	int err = 0;

	for (size_t i = 0; !err && i < 3; i++) {
		err = put_labels(b, "test_verdict", test);
		if (!err)
			err = buf_print(b, ",verdict=\"%s\"} %d\n", verdicts[i],
					strcmp(verdicts[i], test->verdict) ==
						0);
	}
	return err;
}

static int put_test(const struct test_figures *test, void *arg)
{
	struct lines *lines = arg;
	int err = 0;

	lines->tests++;
	if (!test->verdict) /* no run of it has one */
		return 0;
	err = put_verdicts(&lines->verdicts, test);
	for (size_t i = 0; !err && i < FIGURES; i++) {
		struct buf *b = &lines->figures[i];
		struct test_figure f;

		memcpy(&f, (const char *)test + figures[i].offset, sizeof(f));
		if (!f.known)
			continue;
		err = put_labels(b, figures[i].name, test);
		if (!err)
			err = buf_print(b, "} %.15g\n", f.value);
	}
	return err;
}

static int put_lines(struct buf *text, const struct lines *lines)
{
	int err = metrics_text_head(
		text, "test_verdict", "gauge",
		"1: the test's last run with a verdict has this one.");

	if (!err && lines->verdicts.used)
		err = buf_add(text, lines->verdicts.data, lines->verdicts.used);
	for (size_t i = 0; !err && i < FIGURES; i++) {
		const struct buf *b = &lines->figures[i];

		err = metrics_text_head(text, figures[i].name, "gauge",
					figures[i].help);
		if (!err && b->used)
			err = buf_add(text, b->data, b->used);
	}
	return err;
}

static int put_counts(struct buf *text, struct store *store,
		      const struct lines *lines)
{
	int64_t count;
	int err = store_count_tests(store, &count);

	if (!err)
		err = metrics_text_head(text, "tests", "gauge",
					"Stored tests.");
	if (!err)
		err = buf_print(text, "offhook_tests %" PRId64 "\n", count);
	if (!err)
		err = metrics_text_head(
			text, "tests_omitted", "gauge",
			"Of these: too many to have metrics of their own.");
	return err ? err
		   : buf_print(text, "offhook_tests_omitted %" PRId64 "\n",
			       count > lines->tests ? count - lines->tests : 0);
}

int test_metrics_put(struct buf *text, struct store *store)
{
	struct lines lines = {.tests = 0};
	int err;

	buf_init(&lines.verdicts, 3 * LINES_BYTES);
	for (size_t i = 0; i < FIGURES; i++)
		buf_init(&lines.figures[i], LINES_BYTES);
	err = store_each_test(store, put_test, &lines);
	if (!err)
		err = put_lines(text, &lines);
	if (!err)
		err = put_counts(text, store, &lines);
	buf_release(&lines.verdicts);
	for (size_t i = 0; i < FIGURES; i++)
		buf_release(&lines.figures[i]);
	return err;
}
