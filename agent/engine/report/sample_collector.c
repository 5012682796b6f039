#include "agent/engine/report/sample_collector.h"

#include "base/clock.h"
#include "control/wire/point.h"
#include "control/wire/sketch.h"
#include "media/analysis/distribution.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_FIRST 64

struct series {
	double *samples;
	size_t n;
	size_t allocated;
};

struct interval {
	bool open;
	int64_t t_s;
	struct series series[2][MEASURE_COUNT]; /* in, out */
};

struct sample_collector {
	char *role;
	int64_t interval_s;
	int64_t closed_s; /* intervals that begin before it are closed */
	uint64_t dropped;
	struct interval intervals[COLLECT_OPEN_MAX];
	struct sketch
		sketch; /* scratch of sample_collector_close(): it is large */
};

int sample_collector_new(struct sample_collector **ret, const char *role,
			 uint32_t interval_s)
{
	struct sample_collector *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->role = strdup(role);
	if (!c->role) {
		free(c);
		return -ENOMEM;
	}
	c->interval_s = interval_s;
	c->closed_s = INT64_MIN;
	*ret = c;
	return 0;
}

static void interval_release(struct interval *interval)
{
	for (int dir = 0; dir < 2; dir++) {
		for (int m = 0; m < MEASURE_COUNT; m++)
			free(interval->series[dir][m].samples);
	}
	*interval = (struct interval){.open = false};
}

struct sample_collector *sample_collector_free(struct sample_collector *c)
{
	if (c) {
		for (size_t i = 0; i < COLLECT_OPEN_MAX; i++)
			interval_release(&c->intervals[i]);
		free(c->role);
		free(c);
	}
	return NULL;
}

/** Find or open the interval of a time. @return NULL: it is closed, or too many are
 * open */
static struct interval *interval_at(struct sample_collector *c, int64_t wall_ns)
{
	int64_t t_s = wall_ns / NS_PER_S / c->interval_s * c->interval_s;
	struct interval *unused = NULL;

	if (wall_ns < 0 || t_s < c->closed_s)
		return NULL;
	for (size_t i = 0; i < COLLECT_OPEN_MAX; i++) {
		struct interval *interval = &c->intervals[i];

		if (interval->open && interval->t_s == t_s)
			return interval;
		if (!interval->open)
			unused = interval;
	}
	if (unused) {
		unused->open = true;
		unused->t_s = t_s;
	}
	return unused;
}

static int series_add(struct series *s, double value)
{
	if (s->n >= COLLECT_SAMPLES_MAX)
		return -ENOBUFS;
	if (s->n == s->allocated) {
		size_t size = s->allocated ? s->allocated * 2 : SAMPLES_FIRST;
		double *samples = realloc(s->samples, size * sizeof(*samples));

		if (!samples)
			return -ENOMEM;
		s->samples = samples;
		s->allocated = size;
	}
	s->samples[s->n++] = value;
	return 0;
}

void sample_collector_add(struct sample_collector *c, bool outgoing,
			  enum measure m, int64_t wall_ns, double value)
{
	struct interval *interval =
		isfinite(value) ? interval_at(c, wall_ns) : NULL;

	if (!interval || series_add(&interval->series[outgoing][m], value))
		c->dropped++;
}

struct sample {
	bool known;
	enum measure measure;
	double value;
};

static void samples_add(struct sample_collector *c, bool outgoing,
			int64_t wall_ns, const struct sample *samples, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (samples[i].known)
			sample_collector_add(c, outgoing, samples[i].measure,
					     wall_ns, samples[i].value);
	}
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Add the figures of the peer's RTCP XR. */
static void remote_add(struct sample_collector *c, int64_t wall_ns,
		       const struct remote_voip *v,
		       const struct remote_summary *s)
{
	const struct sample voip[] = {
		{true, MEASURE_rtp_xr_loss, v->loss_pct},
		{true, MEASURE_rtp_xr_discard, v->discard_pct},
		{true, MEASURE_rtp_xr_burst_density, v->burst_density_pct},
		{true, MEASURE_rtp_xr_gap_density, v->gap_density_pct},
		{true, MEASURE_rtp_xr_burst_duration, v->burst_duration_ms},
		{true, MEASURE_rtp_xr_gap_duration, v->gap_duration_ms},
		{v->has_rtt, MEASURE_rtp_xr_rtt, v->rtt_ms},
		{v->has_delay, MEASURE_rtp_xr_delay, v->delay_ms},
		{v->has_buffer, MEASURE_rtp_xr_buffer, v->buffer_ms},
		{v->has_r_factor, MEASURE_rtp_xr_r_factor, v->r_factor},
		{v->has_mos_lq, MEASURE_rtp_xr_mos_lq, v->mos_lq},
		{v->has_mos_cq, MEASURE_rtp_xr_mos_cq, v->mos_cq},
	};
	const struct sample summary[] = {
		{s->has_lost, MEASURE_rtp_xr_lost, (double)s->lost},
		{s->has_duplicates, MEASURE_rtp_xr_duplicates,
		 (double)s->duplicates},
		{s->has_jitter, MEASURE_rtp_xr_jitter_mean, s->jitter_mean_ms},
		{s->has_jitter, MEASURE_rtp_xr_jitter_max, s->jitter_max_ms},
	};

	if (v->known)
		samples_add(c, true, wall_ns, voip, COUNT(voip));
	if (s->known)
		samples_add(c, true, wall_ns, summary, COUNT(summary));
}

void sample_collector_second(struct sample_collector *c, bool outgoing,
			     const struct stream_second *second,
			     int64_t wall_offset_ns)
{
	int64_t wall_ns = second->start_ns + wall_offset_ns;
	double s = (double)second->duration_ns / (double)NS_PER_S;
	bool has_rate = second->duration_ns >= STREAM_RATE_NS_MIN;
	const struct sample samples[] = {
		{has_rate, MEASURE_rtp_pkt_per_sec,
		 (double)(second->packets - second->outside_packets) / s},
		{has_rate, MEASURE_rtp_byte_per_sec,
		 (double)(second->bytes - second->outside_bytes) / s},
		{!outgoing && has_rate && second->has_loss,
		 MEASURE_rtp_lost_per_sec, (double)second->lost / s},
		{second->has_lost_rate, MEASURE_rtp_lost_per_sec,
		 second->lost_per_s},
		{second->has_loss, MEASURE_rtp_lost, (double)second->lost},
		{second->has_loss && second->expected > 0, MEASURE_rtp_lost_pct,
		 100.0 * (double)second->lost / (double)second->expected},
		{!outgoing, MEASURE_rtp_reordered, (double)second->reordered},
		{!outgoing, MEASURE_rtp_duplicates, (double)second->duplicates},
		{second->has_jitter, MEASURE_rtp_jitter, second->jitter_ms},
		{second->has_rtt, MEASURE_rtp_rtt, second->rtt_ms},
		{second->has_mos, MEASURE_rtp_mos, second->mos},
		{second->has_mos, MEASURE_rtp_r_factor, second->r_factor},
		{second->has_mos_wb, MEASURE_rtp_mos_wb, second->mos_wb},
		{second->has_quality, MEASURE_rtp_discarded,
		 (double)second->discarded},
		{second->has_quality, MEASURE_rtp_burst_lost,
		 (double)second->burst_lost},
		{second->has_quality, MEASURE_rtp_ooo,
		 (double)second->out_of_order},
		{second->has_gap, MEASURE_rtp_gap, second->gap_ms},
		{second->has_srtp, MEASURE_srtp_auth_failed,
		 (double)second->srtp_refused},
		{second->has_srtp, MEASURE_srtp_replayed,
		 (double)second->srtp_replayed},
		{second->has_lateness, MEASURE_rtp_send_lateness,
		 second->lateness_ms},
	};

	samples_add(c, outgoing, wall_ns, samples, COUNT(samples));
	remote_add(c, wall_ns, &second->voip, &second->summary);
}

void sample_collector_audio(struct sample_collector *c, bool outgoing,
			    const struct audio_second *second,
			    int64_t wall_offset_ns)
{
	const struct sample samples[] = {
		{second->has_level, MEASURE_audio_level, second->level_dbov},
		{second->has_level, MEASURE_audio_peak, second->peak_dbov},
		{second->has_level, MEASURE_audio_clipping,
		 second->clipped_pct},
		{second->expected && second->duration_ns == NS_PER_S,
		 MEASURE_audio_heard, second->heard_ms},
		{second->has_delay, MEASURE_audio_delay, second->delay_ms},
	};

	samples_add(c, outgoing, second->start_ns + wall_offset_ns, samples,
		    COUNT(samples));
}

static int series_close(struct sample_collector *c,
			const struct interval *interval, bool outgoing,
			enum measure m, collect_point_h *handler, void *arg)
{
	const struct series *s = &interval->series[outgoing][m];
	struct wire_point point = {
		.role = c->role,
		.outgoing = outgoing,
		.measure = m,
		.t_s = interval->t_s,
	};
	json_t *object;

	if (s->n == 0)
		return 0;
	memset(&c->sketch, 0, sizeof(c->sketch));
	for (size_t i = 0; i < s->n; i++)
		sketch_add(&c->sketch, s->samples[i]);
	distribution_of_samples(&point.d, s->samples, s->n);
	point.sketch = wire_sketch_encode(&c->sketch);
	object = point.sketch ? wire_point_encode(&point) : NULL;
	json_decref(point.sketch);
	if (!object) {
		c->dropped += s->n;
		return -ENOMEM;
	}
	handler(object, arg);
	return 0;
}

static int interval_close(struct sample_collector *c, struct interval *interval,
			  collect_point_h *handler, void *arg)
{
	int ret = 0;

	for (int dir = 0; dir < 2; dir++) {
		for (int m = 0; m < MEASURE_COUNT; m++) {
			int err = series_close(c, interval, dir == 1,
					       (enum measure)m, handler, arg);

			if (err)
				ret = err;
		}
	}
	c->closed_s = interval->t_s + c->interval_s;
	interval_release(interval);
	return ret;
}

/** @return the oldest open interval that ended, NULL if there is none */
static struct interval *oldest(struct sample_collector *c, int64_t wall_ns)
{
	struct interval *found = NULL;

	for (size_t i = 0; i < COLLECT_OPEN_MAX; i++) {
		struct interval *interval = &c->intervals[i];

		if (interval->open &&
		    interval->t_s + c->interval_s <= wall_ns / NS_PER_S &&
		    (!found || interval->t_s < found->t_s))
			found = interval;
	}
	return found;
}

int sample_collector_close(struct sample_collector *c, int64_t wall_ns,
			   collect_point_h *handler, void *arg)
{
	struct interval *interval;
	int ret = 0;

	while ((interval = oldest(c, wall_ns))) {
		int err = interval_close(c, interval, handler, arg);

		if (err)
			ret = err;
	}
	return ret;
}

uint64_t sample_collector_dropped(const struct sample_collector *c)
{
	return c->dropped;
}
