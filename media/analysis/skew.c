#include "media/analysis/skew.h"

#include <math.h>

#include "media/analysis/distribution.h"

#define WINDOW_MS 1000.0
/* Minimum ratio of our time to the sender's: below it all packets arrived at
 * once. */
#define RATIO_MIN 1e-3

void skew_init(struct skew *s, struct skew_point *points,
	       struct skew_point *others, size_t windows_max)
{
	*s = (struct skew){
		.windows_max = windows_max,
		.now.point = points,
		.now.end_ms = -INFINITY,
		.longest.point = others,
		.longest.end_ms = -INFINITY,
	};
}

static void begin_epoch(struct skew *s)
{
	struct skew_epoch *longest = &s->longest;

	if (s->started && s->now.last_ms > longest->last_ms) {
		struct skew_epoch before = *longest;

		*longest = s->now;
		s->now = before;
	}
	s->now = (struct skew_epoch){
		.window_ms = WINDOW_MS,
		.end_ms = -INFINITY,
		.point = s->now.point,
	};
	s->started = true;
}

static double window_end_ms(const struct skew_epoch *e, double media_ms)
{
	return (floor(media_ms / e->window_ms) + 1.0) * e->window_ms;
}

static bool has_newest(const struct skew_epoch *e)
{
	return e->end_ms > -INFINITY;
}

/* The newest window has ended, or none was open. A reordered packet of an
 * earlier window counts in the newest. */
static void begin_window(struct skew_epoch *e, struct skew_point first)
{
	if (has_newest(e))
		e->point[e->n++] = e->newest;
	e->newest = first;
	e->end_ms = window_end_ms(e, first.media_ms);
}

static void take_point(struct skew_epoch *e, struct skew_point p)
{
	if (p.media_ms >= e->end_ms)
		begin_window(e, p);
	else if (p.transit_ms < e->newest.transit_ms)
		e->newest = p;
}

/* Double the length of the windows: add their points again. */
static void widen(struct skew_epoch *e)
{
	const struct skew_point newest = e->newest;
	const size_t n = e->n;

	e->window_ms *= 2;
	e->end_ms = -INFINITY;
	e->n = 0;
	for (size_t i = 0; i < n; i++)
		take_point(e, e->point[i]);
	take_point(e, newest);
}

/* A packet after the newest window. */
static void enter_window(struct skew_epoch *e, size_t windows_max,
			 struct skew_point first)
{
	/* repeatedly if points are far apart */
	while (has_newest(e) && first.media_ms >= e->end_ms &&
	       e->n + 1 == windows_max)
		widen(e);
	take_point(e, first);
}

void skew_add(struct skew *s, bool epoch, double media_ms, double transit_ms)
{
	struct skew_epoch *e = &s->now;
	const struct skew_point p = {media_ms, transit_ms};

	if (!s->started || epoch)
		begin_epoch(s);
	if (media_ms >= e->end_ms)
		enter_window(e, s->windows_max, p);
	else
		take_point(e, p);
	if (media_ms > e->last_ms)
		e->last_ms = media_ms;
}

/* The packet with the smallest transit time in [from, to). */
static struct skew_point lowest(const struct rtp_run_samples *r, size_t from,
				size_t to)
{
	size_t at = from;

	for (size_t i = from + 1; i < to; i++) {
		if (r->transit_ms[i] < r->transit_ms[at])
			at = i;
	}
	return (struct skew_point){rtp_run_media_ms(r, at), r->transit_ms[at]};
}

/* Number of packets of the run before this media time. */
static size_t packets_before(const struct rtp_run_samples *r, double media_ms)
{
	size_t n = 0;

	while (n < r->count && rtp_run_media_ms(r, n) < media_ms)
		n++;
	return n;
}

void skew_add_run(struct skew *s, const struct rtp_run_samples *r)
{
	const double last_ms = rtp_run_media_ms(r, r->count - 1);
	struct skew_epoch *e = &s->now;
	size_t from = 0;

	while (last_ms >= e->end_ms) {
		size_t to = packets_before(r, e->end_ms);

		if (to > from)
			take_point(e, lowest(r, from, to));
		enter_window(e, s->windows_max,
			     (struct skew_point){rtp_run_media_ms(r, to),
						 r->transit_ms[to]});
		from = to + 1;
	}
	if (from < r->count && r->transit_min_ms < e->newest.transit_ms)
		take_point(e, lowest(r, from, r->count));
	if (last_ms > e->last_ms)
		e->last_ms = last_ms;
}

bool skew_ppm(const struct skew *s, double *scratch, double *ret_ppm)
{
	const struct skew_epoch *e =
		s->now.last_ms > s->longest.last_ms ? &s->now : &s->longest;
	size_t points = e->n;
	size_t n = 0;
	double ratio;

	if (has_newest(e))
		e->point[points++] = e->newest; /* there is room for it */
	if (points < SKEW_WINDOWS_MIN)
		return false;
	for (size_t i = 0; i < points; i++) {
		for (size_t k = i + 1; k < points; k++) {
			double run =
				e->point[k].media_ms - e->point[i].media_ms;

			if (run != 0.0)
				scratch[n++] = (e->point[k].transit_ms -
						e->point[i].transit_ms) /
					       run;
		}
	}
	if (n == 0)
		return false;
	ratio = 1.0 + samples_median(scratch, n);
	if (ratio < RATIO_MIN)
		return false;
	*ret_ppm = (1.0 / ratio - 1.0) * 1e6;
	return true;
}
