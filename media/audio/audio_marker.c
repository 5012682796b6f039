#include "media/audio/audio_marker.h"

#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI      3.14159265358979323846
#define RATE_HZ 8000
#define CHIRP   (RATE_HZ / 1000 * AUDIO_MARKER_MS)
#define LEVEL   8000.0
#define FROM_HZ 400.0
#define TO_HZ   3000.0
#define FADE_S  0.005
/* Minimum correlation of a chirp. Its position is that of the largest
 * correlation within AFTER samples. */
#define SAME  0.6
#define AFTER 160
/* Below this power (-60 dBov) no chirp is searched. */
#define POWER_MIN 1e-6

/* A sample of the chirp, t seconds after its beginning. */
static double chirp(double t)
{
	double length = AUDIO_MARKER_MS / 1000.0;
	double rise = (TO_HZ - FROM_HZ) / length;
	double edge = t < length - t ? t : length - t;
	double gain = edge < FADE_S ? edge / FADE_S : 1;

	return edge < 0 ? 0
			: gain * sin(2 * PI * (FROM_HZ * t + rise * t * t / 2));
}

void audio_marker_write(int16_t *dst)
{
	for (size_t i = 0; i < AUDIO_MARKER_COUNT; i++)
		dst[i] = (int16_t)lrint(
			LEVEL * chirp((double)i / AUDIO_MARKER_RATE_HZ));
}

struct audio_marker {
	/* constant */
	float chirp[CHIRP];
	double chirp_energy;

	/* the last samples, with their times */
	float held[2 * CHIRP];
	int64_t times[2 * CHIRP];
	size_t count;
	double energy; /* of the last CHIRP samples */
	/* position of the largest correlation so far */
	double best;
	int64_t best_ns;
	size_t since; /* samples since then */
};

int audio_marker_new(struct audio_marker **ret)
{
	struct audio_marker *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	for (size_t i = 0; i < CHIRP; i++) {
		m->chirp[i] = (float)chirp((double)i / RATE_HZ);
		m->chirp_energy += (double)m->chirp[i] * m->chirp[i];
	}
	*ret = m;
	return 0;
}

struct audio_marker *audio_marker_free(struct audio_marker *m)
{
	free(m);
	return NULL;
}

/* Make room for one more sample. */
static void held_shift(struct audio_marker *m)
{
	if (m->count < 2 * CHIRP)
		return;
	memmove(m->held, m->held + CHIRP, CHIRP * sizeof(*m->held));
	memmove(m->times, m->times + CHIRP, CHIRP * sizeof(*m->times));
	m->count = CHIRP;
	/* sum up again, so that rounding errors do not accumulate */
	m->energy = 0;
	for (size_t i = 0; i < CHIRP; i++)
		m->energy += (double)m->held[i] * m->held[i];
}

static void sample_keep(struct audio_marker *m, float x, int64_t wall_ns)
{
	held_shift(m);
	m->held[m->count] = x;
	m->times[m->count++] = wall_ns;
	m->energy += (double)x * x;
	if (m->count > CHIRP) {
		double gone = m->held[m->count - CHIRP - 1];

		m->energy -= gone * gone;
	}
}

/* Correlation of the last samples with the chirp, 0..1. */
static double likeness(const struct audio_marker *m)
{
	const float *from = m->held + m->count - CHIRP;
	double sum = 0;

	if (m->count < CHIRP || m->energy < POWER_MIN * CHIRP)
		return 0;
	for (size_t i = 0; i < CHIRP; i++)
		sum += (double)from[i] * m->chirp[i];
	return fabs(sum) / sqrt(m->energy * m->chirp_energy);
}

static double late_ms(int64_t wall_ns)
{
	int64_t late_ns = wall_ns % AUDIO_MARKER_PERIOD_NS;

	if (late_ns >= AUDIO_MARKER_PERIOD_NS / 2)
		late_ns -= AUDIO_MARKER_PERIOD_NS;
	return (double)late_ns / (double)NS_PER_MS;
}

/* @return a marker ended with this sample */
static bool sample_take(struct audio_marker *m, float x, int64_t wall_ns,
			double *ret_ms)
{
	double like;

	sample_keep(m, x, wall_ns);
	like = likeness(m);
	m->since++;
	if (like >= SAME && like > m->best) {
		m->best = like;
		m->best_ns = m->times[m->count - CHIRP];
		m->since = 0;
	} else if (m->best > 0 && m->since >= AFTER) {
		*ret_ms = late_ms(m->best_ns);
		m->best = 0;
		return true;
	}
	return false;
}

bool audio_marker_add(struct audio_marker *m, const float *pcm, size_t count,
		      int64_t wall_ns, double gap_ms, double *ret_ms)
{
	/* more would only push out silence */
	const double room_ms = 1000.0 * (CHIRP + AFTER) / RATE_HZ;
	int64_t gap = (int64_t)(fmin(gap_ms, room_ms) * RATE_HZ / 1000);
	bool found = false;

	for (int64_t i = -gap; i < (int64_t)count; i++)
		found |= sample_take(m, i < 0 ? 0 : pcm[i],
				     wall_ns + i * NS_PER_S / RATE_HZ, ret_ms);
	return found;
}
