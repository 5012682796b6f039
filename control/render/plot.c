#include "control/render/plot.h"

#include "control/render/document.h"
#include "control/render/figures.h"
#include "control/wire/text.h"

#include <math.h>
#include <string.h>

const char *const plot_measures[] = {
	"rtp_mos", "rtp_lost_pct",  "rtp_jitter",   "rtp_rtt",
	"sip_pdd", "calls_per_sec", "calls_active", NULL,
};

/* The view box, and the plot area within it. */
#define WIDTH  640
#define HEIGHT 180
#define LEFT   56
#define RIGHT  8
#define TOP    10
#define BOTTOM 24

/* Lines of a plot, and points of a line; a line with more is thinned out. */
#define LINES_MAX  6
#define POINTS_MAX 400

struct range {
	double t_min;
	double t_max;
	double low;
	double high;
	bool has_points;
};

static double number(const json_t *point, const char *name)
{
	return json_number_value(json_object_get(point, name));
}

static void range_add(struct range *r, const json_t *point, double bound)
{
	double t = number(point, "t"), value = number(point, "avg");

	if (!r->has_points)
		*r = (struct range){t, t, value, value, true};
	r->t_min = fmin(r->t_min, t);
	r->t_max = fmax(r->t_max, t);
	r->low = fmin(r->low, value);
	r->high = fmax(r->high, value + bound);
}

/* Times of all series, so that the plots of a page have one axis. */
static void measure_range(struct range *r, const json_t *all,
			  const char *measure)
{
	const json_t *series, *point;
	struct range times = {0};
	size_t i, k;

	json_array_foreach(all, i, series)
	{
		bool ours = strcmp(text_of(series, "measure"), measure) == 0;

		json_array_foreach(json_object_get(series, "points"), k, point)
		{
			range_add(&times, point, 0);
			if (ours)
				range_add(r, point, number(series, "bound"));
		}
	}
	r->t_min = times.t_min;
	r->t_max = times.t_max;
	if (strcmp(measure, "rtp_mos") == 0) { /* its whole scale */
		r->low = 1;
		r->high = 5;
		return;
	}
	r->low = fmin(r->low, 0);
	if (r->high <= r->low)
		r->high = r->low + 1;
}

static double x_of(const struct range *r, double t)
{
	double span = fmax(r->t_max - r->t_min, 1);

	return LEFT + (t - r->t_min) / span * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct range *r, double value)
{
	return TOP +
	       (r->high - value) / (r->high - r->low) * (HEIGHT - TOP - BOTTOM);
}

static void axes(struct document *d, const struct range *r)
{
	for (int i = 0; i <= 4; i++) {
		double value = r->low + (r->high - r->low) * i / 4;
		double y = y_of(r, value);

		document_print(d,
			       "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" "
			       "x2=\"%d\" y2=\"%.1f\"/>"
			       "<text x=\"%d\" y=\"%.1f\" "
			       "text-anchor=\"end\">%.4g</text>\n",
			       LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4,
			       value);
	}
	document_print(d,
		       "<text x=\"%d\" y=\"%d\">0 s</text>"
		       "<text x=\"%d\" y=\"%d\" "
		       "text-anchor=\"end\">%.0f s</text>\n",
		       LEFT, HEIGHT - 6, WIDTH - RIGHT, HEIGHT - 6,
		       r->t_max - r->t_min);
}

/* The error bound of a line as a band about it. */
static void band(struct document *d, const struct range *r,
		 const json_t *points, double bound, size_t class)
{
	size_t count = json_array_size(points);
	size_t step = (count + POINTS_MAX - 1) / POINTS_MAX;
	size_t last = count ? (count - 1) / step : 0;

	document_print(d, "<polygon class=\"s%zu\" points=\"", class);
	for (size_t i = 0; i <= 2 * last + 1; i++) {
		bool upper = i <= last;
		const json_t *point = json_array_get(
			points, step * (upper ? i : 2 * last + 1 - i));
		double value = number(point, "avg") + (upper ? bound : -bound);

		document_print(d, "%s%.1f,%.2f", i ? " " : "",
			       x_of(r, number(point, "t")),
			       y_of(r, fmax(value, r->low)));
	}
	document_put(d, "\"/>\n");
}

static void line(struct document *d, const struct range *r,
		 const json_t *points, size_t class)
{
	size_t count = json_array_size(points);
	size_t step = (count + POINTS_MAX - 1) / POINTS_MAX;
	const json_t *point = json_array_get(points, 0);

	if (count == 1) {
		document_print(d,
			       "<circle class=\"s%zu\" cx=\"%.1f\" "
			       "cy=\"%.1f\" r=\"3\"/>\n",
			       class, x_of(r, number(point, "t")),
			       y_of(r, number(point, "avg")));
		return;
	}
	document_print(d, "<polyline class=\"s%zu\" points=\"", class);
	for (size_t i = 0; i < count; i += step) {
		point = json_array_get(points, i);
		document_print(d, "%s%.1f,%.1f", i ? " " : "",
			       x_of(r, number(point, "t")),
			       y_of(r, number(point, "avg")));
	}
	document_put(d, "\"/>\n");
}

static void caption(struct document *d, const json_t *const *lines,
		    size_t count, const char *measure)
{
	const char *unit = text_of(lines[0], "unit");
	char bound[FIGURES_BOUND_BYTES];
	bool bounded = false;

	document_print(d, "<figcaption><b>%s</b> ", measure);
	if (unit[0]) {
		document_put(d, "(");
		document_xml(d, unit, DOCUMENT_NAME_BYTES);
		document_put(d, ") ");
	}
	for (size_t i = 0; i < count; i++) {
		bounded |= json_is_number(json_object_get(lines[i], "bound"));
		document_print(d, "<span class=\"key s%zu\">", i);
		document_xml(d, text_of(lines[i], "role"), DOCUMENT_NAME_BYTES);
		document_put(d, " ");
		document_xml(d, text_of(lines[i], "dir"), DOCUMENT_NAME_BYTES);
		document_put(d, figure_bound_of(bound, lines[i]));
		document_put(d, "</span> ");
	}
	if (bounded)
		document_put(d, "(band: error bound of the tester)");
	document_put(d, "</figcaption>");
}

bool plot_write(struct document *d, const json_t *series, const char *measure)
{
	const json_t *lines[LINES_MAX], *one;
	struct range range = {0};
	size_t count = 0, i;

	json_array_foreach(series, i, one)
	{
		if (strcmp(text_of(one, "measure"), measure) == 0 &&
		    json_array_size(json_object_get(one, "points")) &&
		    count < LINES_MAX)
			lines[count++] = one;
	}
	if (!count)
		return false;
	measure_range(&range, series, measure);
	document_put(d, "<figure class=\"plot\">");
	caption(d, lines, count, measure);
	document_print(d,
		       "\n<svg viewBox=\"0 0 %d %d\" role=\"img\" "
		       "aria-label=\"%s over time\">\n",
		       WIDTH, HEIGHT, measure);
	axes(d, &range);
	for (i = 0; i < count; i++) {
		const json_t *points = json_object_get(lines[i], "points");

		if (json_is_number(json_object_get(lines[i], "bound")))
			band(d, &range, points, number(lines[i], "bound"), i);
		line(d, &range, points, i);
	}
	document_put(d, "</svg></figure>\n");
	return true;
}
