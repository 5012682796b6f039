#include "media/analysis/skew.h"

#include <math.h>
#include <string.h>

#include "media/analysis/distribution.h"

#define WINDOW_MS 1000.0

void skew_init(struct skew *s)
{
	memset(s, 0, sizeof(*s));
}

static void halve(struct skew_epoch *e)
{
	size_t n = 0;
	int64_t last = INT64_MIN;

	e->window_ms *= 2;
	for (size_t i = 0; i < e->n; i++) {
		int64_t w = (int64_t)floor(e->point[i].media_ms / e->window_ms);

		if (n > 0 && w == last) {
			if (e->point[i].transit_ms < e->point[n - 1].transit_ms)
				e->point[n - 1] = e->point[i];
			continue;
		}
		e->point[n++] = e->point[i];
		last = w;
	}
	e->n = n;
	e->window = last;
}

void skew_add(struct skew *s, bool epoch, double media_ms, double transit_ms)
{
	struct skew_epoch *e = &s->now;
	int64_t window;

	if (!s->started || epoch) {
		if (e->last_ms > s->longest.last_ms)
			s->longest = *e;
		e->n = 0;
		e->last_ms = 0.0;
		e->window_ms = WINDOW_MS;
		s->started = true;
	}
	window = (int64_t)floor(media_ms / e->window_ms);
	if (e->n > 0 && window <= e->window) {
		/* a reordered packet of an earlier window counts in this one */
		if (transit_ms < e->point[e->n - 1].transit_ms) {
			e->point[e->n - 1].media_ms = media_ms;
			e->point[e->n - 1].transit_ms = transit_ms;
		}
	} else {
		if (e->n == SKEW_WINDOWS_MAX) {
			halve(e);
			window = (int64_t)floor(media_ms / e->window_ms);
		}
		e->point[e->n].media_ms = media_ms;
		e->point[e->n].transit_ms = transit_ms;
		e->n++;
		e->window = window;
	}
	if (media_ms > e->last_ms)
		e->last_ms = media_ms;
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
	samples_sort(scratch, n);
	*ret_ppm = (1.0 / (1.0 + percentile(scratch, n, 0.5)) - 1.0) * 1e6;
	return true;
}
