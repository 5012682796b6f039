#include "agent/merge/interval_merge.h"

#include "base/clock.h"
#include "control/wire/measure.h"
#include "control/wire/point.h"
#include "control/wire/share.h"
#include "control/wire/sketch.h"
#include "media/analysis/distribution.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* An engine whose loop stood still reports the calls of the next second that it sees:
 * they stand for so many seconds before it, too. */
#define SECONDS_FILLED_MAX 10

/* Calls of one second, of all engines. */
struct second {
	bool known[2]; /* taken, placed */
	double up[2];
	double per_s[2];
};

struct interval {
	bool open;
	int64_t t_s;
	/* the engines' points; NULL: it has none */
	json_t *points[2][MEASURE_COUNT][WIRE_ENGINES_MAX];
	struct second *seconds; /* interval_s of them */
};

struct engine {
	bool ended;
	int64_t closed_s; /* its intervals that begin before it are closed */
	int64_t second;   /* the last one that it reported; 0: none */
};

struct interval_merge {
	struct interval_merge_params p;
	struct engine engines[WIRE_ENGINES_MAX];
	struct interval intervals[INTERVAL_MERGE_OPEN_MAX];
	int64_t sent_s; /* intervals that begin before it were sent */
	uint64_t dropped;
	double *samples;      /* scratch of the calls, interval_s of them */
	struct sketch sketch; /* scratch */
};

int interval_merge_new(struct interval_merge **ret,
		       const struct interval_merge_params *params)
{
	struct interval_merge *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->p = *params;
	m->samples = calloc(params->interval_s, sizeof(*m->samples));
	if (!m->samples) {
		free(m);
		return -ENOMEM;
	}
	*ret = m;
	return 0;
}

static void interval_release(struct interval *interval)
{
	for (int dir = 0; dir < 2; dir++) {
		for (int k = 0; k < MEASURE_COUNT; k++) {
			for (uint32_t e = 0; e < WIRE_ENGINES_MAX; e++)
				json_decref(interval->points[dir][k][e]);
		}
	}
	free(interval->seconds);
	*interval = (struct interval){.open = false};
}

struct interval_merge *interval_merge_free(struct interval_merge *m)
{
	if (!m)
		return NULL;
	for (uint32_t i = 0; i < INTERVAL_MERGE_OPEN_MAX; i++)
		interval_release(&m->intervals[i]);
	free(m->samples);
	free(m);
	return NULL;
}

/* ---- the points of an interval ---- */

static json_t *point_of(struct interval_merge *m, struct wire_point *point,
			const struct moments *moments)
{
	const struct sketch *s = &m->sketch;
	json_t *object;

	point->d = (struct distribution){
		.n = moments->n,
		.min = moments->min,
		.max = moments->max,
		.avg = moments->mean,
		.median = sketch_quantile(s, 0.5),
		.p75 = sketch_quantile(s, 0.75),
		.p90 = sketch_quantile(s, 0.9),
		.p95 = sketch_quantile(s, 0.95),
		.stddev = moments_stddev(moments),
	};
	point->sketch = wire_sketch_encode(s);
	object = point->sketch ? wire_point_encode(point) : NULL;
	json_decref(point->sketch);
	return object;
}

/* The union of the samples of several points.
 * @param points  of one series and interval, an element an engine; NULL: none
 * @return a new reference; NULL: there is none, or out of memory */
static json_t *points_merge(struct interval_merge *m, json_t *const *points)
{
	struct wire_point point = {.role = NULL};
	struct moments all = {0};
	char reason[WIRE_REASON_BYTES];
	json_t *only = NULL, *merged;
	uint32_t count = 0;

	memset(&m->sketch, 0, sizeof(m->sketch));
	for (uint32_t e = 0; e < m->p.engines; e++) {
		struct moments part;

		if (!points[e])
			continue;
		only = points[e];
		count++;
		if (wire_point_decode(&point, points[e], reason) ||
		    wire_sketch_add(&m->sketch, point.sketch)) {
			m->dropped++;
			continue;
		}
		part = (struct moments){
			.n = point.d.n,
			.min = point.d.min,
			.max = point.d.max,
			.mean = point.d.avg,
			.m2 = point.d.stddev * point.d.stddev *
			      (double)point.d.n,
		};
		moments_merge(&all, &part);
	}
	if (count == 1)
		return json_incref(only);
	if (all.n == 0)
		return NULL;
	merged = point_of(m, &point, &all);
	m->dropped += !merged;
	return merged;
}

/* Calls of the whole job: the sums of its seconds are the samples. */
static json_t *calls_merge(struct interval_merge *m,
			   const struct interval *interval, bool outgoing,
			   enum measure measure)
{
	struct wire_point point = {
		.role = m->p.role,
		.outgoing = outgoing,
		.measure = measure,
		.t_s = interval->t_s,
	};
	size_t n = 0;
	json_t *object;

	memset(&m->sketch, 0, sizeof(m->sketch));
	for (uint32_t i = 0; interval->seconds && i < m->p.interval_s; i++) {
		const struct second *s = &interval->seconds[i];

		if (!s->known[outgoing])
			continue;
		m->samples[n] = measure == MEASURE_calls_active
					? s->up[outgoing]
					: s->per_s[outgoing];
		sketch_add(&m->sketch, m->samples[n++]);
	}
	if (n == 0)
		return NULL;
	distribution_of_samples(&point.d, m->samples, n);
	point.sketch = wire_sketch_encode(&m->sketch);
	object = point.sketch ? wire_point_encode(&point) : NULL;
	json_decref(point.sketch);
	m->dropped += !object;
	return object;
}

static bool of_calls(enum measure measure)
{
	return measure == MEASURE_calls_active ||
	       measure == MEASURE_calls_per_sec;
}

static void interval_send(struct interval_merge *m, struct interval *interval)
{
	json_t *series = json_array();

	for (int dir = 0; dir < 2; dir++) {
		for (int k = 0; k < MEASURE_COUNT; k++) {
			json_t *point =
				of_calls((enum measure)k)
					? calls_merge(m, interval, dir == 1,
						      (enum measure)k)
					: points_merge(
						  m, interval->points[dir][k]);

			if (point && json_array_append_new(series, point))
				m->dropped++;
		}
	}
	if (json_array_size(series) > 0)
		m->p.points_h(series, m->p.arg);
	json_decref(series);
	interval_release(interval);
}

/* @return the oldest open interval; NULL: none is open */
static struct interval *oldest(struct interval_merge *m)
{
	struct interval *found = NULL;

	for (uint32_t i = 0; i < INTERVAL_MERGE_OPEN_MAX; i++) {
		struct interval *interval = &m->intervals[i];

		if (interval->open && (!found || interval->t_s < found->t_s))
			found = interval;
	}
	return found;
}

static void send_before(struct interval_merge *m, int64_t t_s)
{
	struct interval *interval;

	while ((interval = oldest(m)) && interval->t_s < t_s)
		interval_send(m, interval);
	if (t_s > m->sent_s)
		m->sent_s = t_s;
}

/* Send what no engine adds to any more. */
static void send_closed(struct interval_merge *m)
{
	int64_t closed_s = INT64_MAX;

	for (uint32_t e = 0; e < m->p.engines; e++) {
		if (!m->engines[e].ended && m->engines[e].closed_s < closed_s)
			closed_s = m->engines[e].closed_s;
	}
	send_before(m, closed_s);
}

/* ---- what the engines send ---- */

/* Find or open an interval. @return NULL: it was sent, or out of memory */
static struct interval *interval_at(struct interval_merge *m, int64_t t_s)
{
	struct interval *unused = NULL;

	if (t_s < m->sent_s)
		return NULL;
	for (uint32_t i = 0; i < INTERVAL_MERGE_OPEN_MAX; i++) {
		struct interval *interval = &m->intervals[i];

		if (interval->open && interval->t_s == t_s)
			return interval;
		if (!interval->open)
			unused = interval;
	}
	if (!unused) {
		unused = oldest(m);
		if (t_s < unused->t_s)
			return NULL;
		send_before(m, unused->t_s + m->p.interval_s);
	}
	unused->seconds = calloc(m->p.interval_s, sizeof(*unused->seconds));
	if (!unused->seconds)
		return NULL;
	unused->open = true;
	unused->t_s = t_s;
	return unused;
}

static void point_add(struct interval_merge *m, uint32_t engine, json_t *item)
{
	char reason[WIRE_REASON_BYTES];
	struct wire_point point;
	struct interval *interval;
	json_t **place;

	if (wire_point_decode(&point, item, reason) ||
	    of_calls(point.measure)) {
		m->dropped++;
		return;
	}
	interval = interval_at(m, point.t_s);
	place = interval ? &interval->points[point.outgoing][point.measure]
					    [engine]
			 : NULL;
	if (!place || *place) {
		m->dropped++;
		return;
	}
	*place = json_incref(item);
}

/* Add an engine's calls of a second, monotonic. */
static void second_add(struct interval_merge *m, int64_t second,
		       json_t *const pairs[static 2])
{
	int64_t wall_s = (second * NS_PER_S + m->p.wall_offset_ns) / NS_PER_S;
	int64_t t_s = wall_s / m->p.interval_s * m->p.interval_s;
	struct interval *interval;

	if (json_array_size(pairs[0]) != 2 && json_array_size(pairs[1]) != 2)
		return;
	interval = interval_at(m, t_s);
	if (!interval) {
		m->dropped++;
		return;
	}
	for (int dir = 0; dir < 2; dir++) {
		struct second *s = &interval->seconds[wall_s - t_s];

		if (json_array_size(pairs[dir]) != 2)
			continue;
		s->known[dir] = true;
		s->up[dir] += json_number_value(json_array_get(pairs[dir], 0));
		s->per_s[dir] +=
			json_number_value(json_array_get(pairs[dir], 1));
	}
}

static void calls_add(struct interval_merge *m, uint32_t engine, json_t *item)
{
	json_int_t second = json_integer_value(json_object_get(item, "second"));
	json_t *const pairs[2] = {json_object_get(item, "in"),
				  json_object_get(item, "out")};
	struct engine *e = &m->engines[engine];
	int64_t from = e->second ? e->second + 1 : second;

	if (second <= e->second || second > INT32_MAX) {
		m->dropped++;
		return;
	}
	if (second - from > SECONDS_FILLED_MAX)
		from = second - SECONDS_FILLED_MAX;
	for (int64_t s = from; s <= second; s++)
		second_add(m, s, pairs);
	e->second = second;
}

void interval_merge_add(struct interval_merge *m, uint32_t engine,
			json_t *items)
{
	struct engine *e = &m->engines[engine];
	json_t *item, *closed;
	size_t i;

	json_array_foreach(items, i, item)
	{
		closed = json_object_get(item, "closed");
		if (json_object_get(item, "second"))
			calls_add(m, engine, item);
		else if (!closed)
			point_add(m, engine, item);
		else if (json_integer_value(closed) > e->closed_s)
			e->closed_s = json_integer_value(closed);
	}
	send_closed(m);
}

void interval_merge_end(struct interval_merge *m, uint32_t engine)
{
	m->engines[engine].ended = true;
	send_closed(m);
}

uint64_t interval_merge_dropped(const struct interval_merge *m)
{
	return m->dropped;
}
