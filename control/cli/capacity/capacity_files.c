#include "control/cli/capacity/capacity_files.h"

#include "base/buf.h"
#include "control/capacity/capacity_result.h"
#include "control/capacity/trial.h"
#include "control/cli/capacity/capacity_print.h"
#include "control/cli/common/exit_code.h"
#include "control/render/document.h"
#include "control/wire/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define FILE_BYTES ((size_t)4 << 20)

/* The view box, and the plot area within it. */
#define WIDTH  720
#define HEIGHT 360
#define LEFT   56
#define RIGHT  16
#define TOP    48
#define BOTTOM 48
#define POINTS 200 /* of the curve */
#define MARK   6   /* of a trial: radius, and how far apart they are */

static int save(const struct buf *b, const char *file)
{
	FILE *out = fopen(file, "we");
	int err = 0;

	if (!out)
		return -errno;
	if (fwrite(b->data, 1, b->used, out) != b->used)
		err = -errno;
	if (fclose(out) && !err)
		err = -errno;
	return err;
}

/* ---- the curve ---- */

struct axis { /* of loads, logarithmic as the search is */
	double low;
	double high;
};

static double x_of(const struct axis *a, double load)
{
	return LEFT + log(load / a->low) / log(a->high / a->low) *
			      (WIDTH - LEFT - RIGHT);
}

static double y_of(double chance)
{
	return TOP + (1 - chance) * (HEIGHT - TOP - BOTTOM);
}

static void vertical_axis(struct document *d)
{
	for (int percent = 0; percent <= 100; percent += 25) {
		double y = y_of(percent / 100.0);

		document_print(d,
			       "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" "
			       "x2=\"%d\" y2=\"%.1f\"/><text x=\"%d\" "
			       "y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n",
			       LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4,
			       percent);
	}
}

/* 1, 2 and 5 of each power of ten, and both ends. */
static void load_axis(struct document *d, const struct axis *a,
		      const char *unit)
{
	static const double leading[] = {1, 2, 5};
	const int last = (int)ceil(log10(a->high));

	for (int power = (int)floor(log10(a->low)); power <= last; power++)
		for (size_t i = 0; i < 3; i++) {
			double load = leading[i] * pow(10, power);

			if (load < a->low || load > a->high)
				continue;
			document_print(
				d,
				"<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" "
				"x2=\"%.1f\" y2=\"%d\"/><text x=\"%.1f\" "
				"y=\"%d\" text-anchor=\"middle\">%.10g</text>\n",
				x_of(a, load), TOP, x_of(a, load),
				HEIGHT - BOTTOM, x_of(a, load),
				HEIGHT - BOTTOM + 16, load);
		}
	document_print(
		d, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n",
		WIDTH - RIGHT, HEIGHT - 8, unit);
}

static void interval(struct document *d, const struct axis *a,
		     const struct search_result *r)
{
	double from = x_of(a, r->has_lower ? r->lower : a->low);
	double to = x_of(a, r->has_upper ? r->upper : a->high);

	document_print(d,
		       "<rect class=\"interval\" x=\"%.1f\" y=\"%d\" "
		       "width=\"%.1f\" height=\"%d\"/>\n",
		       from, TOP, fmax(to - from, 1), HEIGHT - TOP - BOTTOM);
}

static void curve(struct document *d, const struct capacity_result *o,
		  const struct axis *a)
{
	document_put(d, "<polyline class=\"curve\" points=\"");
	for (int i = 0; i <= POINTS; i++) {
		double load =
			a->low * pow(a->high / a->low, (double)i / POINTS);

		document_print(d, "%s%.1f,%.1f", i ? " " : "", x_of(a, load),
			       y_of(search_chance(o->search, load)));
	}
	document_put(d, "\"/>\n");
}

/* Trials that held hang from the top, the others stand on the bottom; trials at one load beside each
 * other. */
static void marks(struct document *d, const struct capacity_result *o,
		  const struct axis *a)
{
	size_t count;
	const struct search_trial *trials = search_trials(o->search, &count);

	for (size_t i = 0; i < count; i++) {
		bool held = trials[i].outcome == SEARCH_HELD;
		size_t before = 0;
		double y;

		for (size_t k = 0; k < i; k++)
			before += trials[k].load == trials[i].load &&
				  (trials[k].outcome == SEARCH_HELD) == held;
		y = held ? y_of(1) + MARK + 2.0 * MARK * (double)before
			 : y_of(0) - MARK - 2.0 * MARK * (double)before;
		document_print(d,
			       "<circle class=\"%s%s\" cx=\"%.1f\" "
			       "cy=\"%.1f\" r=\"%.1f\"><title>trial %zu: %.10g "
			       "%s, %s",
			       trial_outcome_name(trials[i].outcome),
			       trials[i].discarded ? " discarded" : "",
			       x_of(a, trials[i].load), y, MARK - 1.5, i + 1,
			       trials[i].load, capacity_result_unit(o->is_rate),
			       trial_outcome_name(trials[i].outcome));
		document_put(d, ": ");
		document_xml(d, text_of(json_array_get(o->runs, i), "sentence"),
			     DOCUMENT_NAME_BYTES);
		document_put(d, "</title></circle>\n");
	}
}

static void head(struct document *d, const struct capacity_result *o,
		 const struct search_result *r)
{
	char text[CAPACITY_TEXT_BYTES];

	capacity_result_text(o, r, text);
	document_print(
		d,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d "
		"%d\" width=\"%d\" height=\"%d\" role=\"img\" "
		"aria-labelledby=\"what\">\n<style>"
		"svg{background:#fff;font:12px sans-serif}text{fill:#444}"
		".grid{stroke:#ddd}.interval{fill:#1a6fb0;fill-opacity:.15}"
		".curve{fill:none;stroke:#1a6fb0;stroke-width:2}"
		".held{fill:#2a8a3e}.failed{fill:#c0392b}.saturated{fill:#b07d00}"
		".discarded{fill-opacity:.3}.title{font-weight:bold;fill:#222}"
		"</style>\n<title id=\"what\">Capacity of ",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	document_xml(d, o->test, DOCUMENT_NAME_BYTES);
	document_print(d,
		       ": %s</title>\n<text class=\"title\" x=\"%d\" y=\"20\">",
		       text, LEFT);
	document_xml(d, o->test, 40);
	document_print(d,
		       ": %s</text>\n<text x=\"%d\" y=\"36\">share of trials "
		       "that hold; each trial: "
		       "<tspan class=\"held\">held</tspan>, "
		       "<tspan class=\"failed\">failed</tspan>, "
		       "<tspan class=\"saturated\">tester saturated</tspan>"
		       "</text>\n",
		       text, LEFT);
}

int capacity_files_plot(const struct capacity_result *o, const char *file)
{
	const struct axis a = {o->params->min, o->params->max};
	struct search_result r;
	struct buf out;
	struct document d = {.out = &out};

	buf_init(&out, FILE_BYTES);
	search_result(o->search, &r);
	head(&d, o, &r);
	interval(&d, &a, &r);
	vertical_axis(&d);
	load_axis(&d, &a, capacity_result_unit(o->is_rate));
	curve(&d, o, &a);
	marks(&d, o, &a);
	document_put(&d, "</svg>\n");
	if (!d.err)
		d.err = save(&out, file);
	buf_release(&out);
	return d.err;
}

/* ---- JUnit ---- */

static void property(struct document *d, const char *name, double value)
{
	document_print(d, "<property name=\"%s\" value=\"%.10g\"/>\n", name,
		       value);
}

static void verdict(struct document *d, const struct capacity_result *o,
		    const struct search_result *r, const char *text)
{
	const char *kind =
		capacity_print_exit(o) == CLI_EXIT_FAILED ? "failure" : "error";

	if (capacity_print_exit(o) == CLI_EXIT_OK)
		return;
	document_print(d, "<%s type=\"capacity\" message=\"%s", kind, text);
	if (o->broken_off) {
		document_put(d, "; ");
		document_xml(d, o->broken_off, DOCUMENT_SENTENCE_BYTES);
	}
	document_put(d, "\">");
	document_xml(d, capacity_result_cause(o, r), DOCUMENT_SENTENCE_BYTES);
	document_put(d, "\n");
	document_xml(d, capacity_result_sentence(o, r),
		     DOCUMENT_SENTENCE_BYTES);
	document_print(d, "</%s>\n", kind);
}

int capacity_files_junit(const struct capacity_result *o, const char *file)
{
	int status = capacity_print_exit(o);
	char text[CAPACITY_TEXT_BYTES];
	struct search_result r;
	struct buf out;
	struct document d = {.out = &out};
	size_t count;

	buf_init(&out, FILE_BYTES);
	search_result(o->search, &r);
	(void)search_trials(o->search, &count);
	capacity_result_text(o, &r, text);
	document_print(&d,
		       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		       "<testsuites name=\"offhook\">\n<testsuite "
		       "name=\"capacity\" tests=\"1\" failures=\"%d\" "
		       "errors=\"%d\" time=\"%.3f\">\n<properties>\n",
		       status == CLI_EXIT_FAILED, status == CLI_EXIT_ERRORED,
		       o->seconds);
	if (r.has_lower)
		property(&d, "capacity.lower", r.lower);
	if (r.has_upper)
		property(&d, "capacity.upper", r.upper);
	property(&d, "capacity.trials", (double)count);
	document_put(&d, "</properties>\n<testcase classname=\"capacity\" "
			 "name=\"");
	document_xml(&d, o->test, DOCUMENT_NAME_BYTES);
	document_print(&d, "\" time=\"%.3f\">\n", o->seconds);
	verdict(&d, o, &r, text);
	document_print(&d,
		       "</testcase>\n<system-out>%s</system-out>\n"
		       "</testsuite>\n</testsuites>\n",
		       text);
	if (!d.err)
		d.err = save(&out, file);
	buf_release(&out);
	return d.err;
}
