#include "media/analysis/skew.h"

#include <math.h>

#include "media/analysis/distribution.h"

#define WINDOW_MS 1000.0

void skew_init(struct skew *s, struct skew_point *points, size_t windows_max)
{
	*s = (struct skew){
		.windows_max = windows_max,
		.now.point = points,
		.now.end_ms = -INFINITY,
		.longest.point = points + windows_max,
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

/* Windows twice as long. */
static void widen(struct skew_epoch *e)
{
	size_t n = 0;
	double end_ms = -INFINITY;

	e->window_ms *= 2;
	for (size_t i = 0; i < e->n; i++) {
		const struct skew_point *p = &e->point[i];

		if (p->media_ms >= end_ms) {
			e->point[n++] = *p;
			end_ms = window_end_ms(e, p->media_ms);
		} else if (p->transit_ms < e->point[n - 1].transit_ms) {
			e->point[n - 1] = *p;
		}
	}
	e->n = n;
	e->end_ms = end_ms;
}

static void add(struct skew_epoch *e, size_t windows_max, double media_ms,
		double transit_ms)
{
	const struct skew_point point = {media_ms, transit_ms};

	/* more than once where points are far apart */
	while (media_ms >= e->end_ms && e->n == windows_max)
		widen(e);
	if (media_ms >= e->end_ms) {
		e->point[e->n++] = point;
		e->end_ms = window_end_ms(e, media_ms);
	} else if (transit_ms < e->point[e->n - 1].transit_ms) {
		/* a reordered packet of an earlier window counts in this one */
		e->point[e->n - 1] = point;
	}
}

void skew_add(struct skew *s, bool epoch, double media_ms, double transit_ms)
{
	if (!s->started || epoch)
		begin_epoch(s);
	add(&s->now, s->windows_max, media_ms, transit_ms);
	if (media_ms > s->now.last_ms)
		s->now.last_ms = media_ms;
}

void skew_add_run(struct skew *s, const struct rtp_run_samples *r)
{
	const double last_ms = rtp_run_media_ms(r, r->count - 1);
	struct skew_epoch *e = &s->now;

	if (last_ms >= e->end_ms ||
	    r->transit_min_ms < e->point[e->n - 1].transit_ms) {
		for (size_t i = 0; i < r->count; i++)
			add(e, s->windows_max, rtp_run_media_ms(r, i),
			    r->transit_ms[i]);
	}
	if (last_ms > e->last_ms)
		e->last_ms = last_ms;
}

bool skew_ppm(const struct skew *s, double *scratch, double *ret_ppm)
{
	const struct skew_epoch *e =
		s->now.last_ms > s->longest.last_ms ? &s->now : &s->longest;
	size_t n = 0;

	if (e->n < SKEW_WINDOWS_MIN)
		return false;
	for (size_t i = 0; i < e->n; i++) {
		for (size_t k = i + 1; k < e->n; k++) {
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
	*ret_ppm = (1.0 / (1.0 + samples_median(scratch, n)) - 1.0) * 1e6;
	return true;
}
