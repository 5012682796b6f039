#include "media/audio/audio_match.h"

#include "base/clock.h"
#include "media/audio/audio_meter.h"
#include "media/audio/audio_reduce.h"
#include "media/audio/fft.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW AUDIO_MATCH_WINDOW
/* A window is searched within this many samples of its expected position: 20
 * ms. */
#define NEAR 160

/* ---- the prompt ---- */

struct audio_reference {
	size_t count;   /* samples of the prompt */
	size_t size;    /* of the transform: the prompt, followed by its first
		       * window */
	float *pcm;     /* count + WINDOW: the prompt continues with its
		       * beginning */
	double *energy; /* of all samples before each */
	double complex *spectrum; /* NULL: not needed yet */
	struct fft *fft;          /* for the spectrum */
};

static size_t power_of_two(size_t least)
{
	size_t n = 1;

	while (n < least)
		n *= 2;
	return n;
}

int audio_reference_new(struct audio_reference **ret, const int16_t *pcm,
			size_t count)
{
	struct audio_reference *r;

	if (count == 0)
		return -EINVAL;
	if (count > (size_t)AUDIO_MATCH_SECONDS_MAX * AUDIO_REDUCED_HZ)
		return -EFBIG;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->count = count;
	r->size = power_of_two(count + 2 * WINDOW);
	r->pcm = calloc(count + WINDOW, sizeof(*r->pcm));
	r->energy = calloc(count + WINDOW + 1, sizeof(*r->energy));
	if (!r->pcm || !r->energy) {
		audio_reference_free(r);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count + WINDOW; i++) {
		r->pcm[i] = (float)pcm[i % count] / 32768.0f;
		r->energy[i + 1] = r->energy[i] + (double)r->pcm[i] * r->pcm[i];
	}
	*ret = r;
	return 0;
}

struct audio_reference *audio_reference_free(struct audio_reference *r)
{
	if (r) {
		free(r->pcm);
		free(r->energy);
		free(r->spectrum);
		fft_free(r->fft);
	}
	free(r);
	return NULL;
}

static double energy_at(const struct audio_reference *r, size_t at)
{
	return r->energy[at + WINDOW] - r->energy[at];
}

static bool spectrum_have(struct audio_reference *r)
{
	if (r->spectrum)
		return true;
	if (!r->fft && fft_new(&r->fft, r->size))
		return false;
	r->spectrum = calloc(r->size, sizeof(*r->spectrum));
	if (!r->spectrum)
		return false;
	for (size_t i = 0; i < r->count + WINDOW; i++)
		r->spectrum[i] = r->pcm[i];
	fft_run(r->fft, r->spectrum, false);
	return true;
}

/* ---- received audio ---- */

struct audio_match {
	struct audio_reference *r; /* borrowed */
	float window[WINDOW];
	size_t used;
	int64_t window_ns; /* time of its first sample */
	bool found;        /* the previous window was the prompt */
	size_t at;         /* expected position of the next one, if found */
	bool seam;         /* the end of the prompt was passed */
	double weight;
	double weighted;
	double same_ms;
	bool has_begin;
	int64_t begin_ns;
};

int audio_match_new(struct audio_match **ret, struct audio_reference *reference)
{
	struct audio_match *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->r = reference;
	*ret = m;
	return 0;
}

struct audio_match *audio_match_free(struct audio_match *m)
{
	free(m);
	return NULL;
}

struct place {
	size_t at;
	double correlation;
};

/* Try a position. The sign of the correlation is ignored: a line may invert the
 * phase. */
static void place_try(struct place *best, size_t at, double sum, double energy,
		      double energy_there)
{
	double correlation = 0;

	/* silence in the prompt resembles nothing */
	if (energy_there / WINDOW > 1e-9)
		correlation = fabs(sum) / sqrt(energy * energy_there);
	if (correlation > best->correlation)
		*best = (struct place){at, correlation};
}

/* Search around the expected position. */
static struct place search_near(const struct audio_match *m, double energy)
{
	const struct audio_reference *r = m->r;
	struct place best = {0, -1};

	for (size_t i = 0; i <= 2 * NEAR; i++) {
		size_t at = (m->at + i + r->count - NEAR % r->count) % r->count;
		const float *there = r->pcm + at;
		double sum = 0;

		for (size_t k = 0; k < WINDOW; k++)
			sum += (double)m->window[k] * there[k];
		place_try(&best, at, sum, energy, energy_at(r, at));
	}
	return best;
}

/* Search in the whole prompt. */
static struct place search_all(const struct audio_match *m, double energy)
{
	struct audio_reference *r = m->r;
	double complex *x = calloc(r->size, sizeof(*x));
	struct place best = {0, -1};

	if (!x || !spectrum_have(r)) {
		free(x);
		return best;
	}
	for (size_t i = 0; i < WINDOW; i++)
		x[i] = m->window[i];
	fft_run(r->fft, x, false);
	for (size_t i = 0; i < r->size; i++) {
		double complex a = r->spectrum[i];
		double re = creal(a) * creal(x[i]) + cimag(a) * cimag(x[i]);
		double im = cimag(a) * creal(x[i]) - creal(a) * cimag(x[i]);

		x[i] = re + im * I; /* a, and x inverted */
	}
	fft_run(r->fft, x, true);
	for (size_t at = 0; at < r->count; at++)
		place_try(&best, at, creal(x[at]) / (double)r->size, energy,
			  energy_at(r, at));
	free(x);
	return best;
}

static void place_take(struct audio_match *m, const struct place *p)
{
	int64_t at;

	m->found = p->correlation >= AUDIO_MATCH_SAME;
	if (!m->found)
		return;
	m->at = (p->at + WINDOW) % m->r->count;
	m->seam = p->at + WINDOW >= m->r->count;
	m->same_ms += 1000.0 * WINDOW / AUDIO_REDUCED_HZ;
	if (m->has_begin)
		return;
	m->has_begin = true;
	/* a window across the seam contains the prompt's beginning */
	at = (int64_t)p->at;
	if (p->at + WINDOW > m->r->count && m->r->count > WINDOW)
		at -= (int64_t)m->r->count;
	m->begin_ns = m->window_ns - at * NS_PER_S / AUDIO_REDUCED_HZ;
}

/* A window is silent where the prompt should continue. */
static void silence_take(struct audio_match *m)
{
	double energy = energy_at(m->r, m->at);

	if (!m->found)
		return;
	/* the prompt may be over: it need not be repeated */
	if (m->seam || m->at + WINDOW > m->r->count) {
		m->found = false;
		return;
	}
	if (audio_dbov(energy, WINDOW) >= AUDIO_SILENCE_DBOV)
		m->weight += energy;
	m->at += WINDOW;
	m->at %= m->r->count;
}

static double window_close(struct audio_match *m)
{
	struct place p = {0, -1};
	double energy = 0;

	m->used = 0;
	for (size_t i = 0; i < WINDOW; i++)
		energy += (double)m->window[i] * m->window[i];
	if (audio_dbov(energy, WINDOW) < AUDIO_SILENCE_DBOV) {
		silence_take(m);
		return -1;
	}
	if (m->found)
		p = search_near(m, energy);
	if (p.correlation < AUDIO_MATCH_SAME)
		p = search_all(m, energy);
	if (p.correlation < 0)
		return -1; /* no memory */
	m->weight += energy;
	m->weighted += energy * p.correlation;
	place_take(m, &p);
	return p.correlation;
}

static double sample_take(struct audio_match *m, float x, int64_t mono_ns)
{
	if (m->used == 0)
		m->window_ns = mono_ns;
	m->window[m->used++] = x;
	return m->used == WINDOW ? window_close(m) : -1;
}

/* A window begins with sound while the position is unknown. */
static bool is_lead(const struct audio_match *m, const float *pcm, size_t count)
{
	double energy = 0;

	if (m->found || m->used)
		return false;
	for (size_t i = 0; i < count; i++)
		energy += (double)pcm[i] * pcm[i];
	return audio_dbov(energy, count) < AUDIO_SILENCE_DBOV;
}

double audio_match_add(struct audio_match *m, const float *pcm, size_t count,
		       int64_t mono_ns, double gap_ms)
{
	size_t gap = (size_t)(gap_ms * AUDIO_REDUCED_HZ / 1000);
	double best = -1;

	/* a longer gap has the same effect */
	if (gap > 2 * WINDOW) {
		gap = 2 * WINDOW;
		m->found = false;
	}
	if (is_lead(m, pcm, count))
		return -1;
	if (!m->found && !m->used)
		gap = 0;
	for (size_t i = 0; i < gap + count; i++) {
		int64_t at_ns = mono_ns + ((int64_t)i - (int64_t)gap) *
						  NS_PER_S / AUDIO_REDUCED_HZ;
		double correlation =
			sample_take(m, i < gap ? 0 : pcm[i - gap], at_ns);

		if (correlation > best)
			best = correlation;
	}
	return best;
}

void audio_match_result(const struct audio_match *m, struct audio_matched *ret)
{
	*ret = (struct audio_matched){
		.known = m->weight > 0,
		.correlation = m->weight > 0 ? m->weighted / m->weight : 0,
		.same_ms = m->same_ms,
		.has_begin = m->has_begin,
		.begin_ns = m->begin_ns,
	};
}
