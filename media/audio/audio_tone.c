#include "media/audio/audio_tone.h"

#include "media/audio/audio_meter.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
/* Minimum part of the power that a tone has. */
#define TONE_SHARE 0.8
/* Parts of a block whose phases are compared, shortest first: the shortest
 * resolves an error of the guess of up to 40 Hz. */
#define STEPS     3
#define SAME_PART 0.015
#define SAME_HZ   4.0

bool audio_tone_same(double a_hz, double b_hz)
{
	double off_hz = fabs(a_hz - b_hz);

	return off_hz <= SAME_HZ || off_hz <= SAME_PART * b_hz;
}

/* Sum of pcm * exp(-i w n), with n starting at `from`. */
static double complex turned(const float *pcm, size_t from, size_t count,
			     double w)
{
	double complex step = cexp(-I * w);
	double complex at = cexp(-I * w * (double)from);
	double complex sum = 0;

	for (size_t n = from; n < from + count; n++) {
		sum += pcm[n] * at;
		at *= step;
	}
	return sum;
}

/* Pisarenko's method: uses the correlations at lags one and two, which white
 * noise does not change. */
static double frequency_guess(const float *pcm, size_t count)
{
	double one = 0;
	double two = 0;
	double c;

	for (size_t n = 2; n < count; n++) {
		one += (double)pcm[n] * pcm[n - 1];
		two += (double)pcm[n] * pcm[n - 2];
	}
	if (one > -1e-12 && one < 1e-12)
		return PI / 2;
	c = (two + sqrt(two * two + 8 * one * one)) / (4 * one);
	return acos(c > 1 ? 1 : c < -1 ? -1 : c);
}

/* The phase difference of the halves is the frequency error times their
 * distance. */
static double frequency_refine(const float *pcm, size_t count, double w)
{
	double complex a = turned(pcm, 0, count / 2, w);
	double complex b = turned(pcm, count / 2, count / 2, w);

	return w + carg(b * conj(a)) / (double)(count / 2);
}

bool audio_tone_find(struct audio_tone *ret, const float *pcm, size_t count,
		     unsigned rate_hz)
{
	double energy = 0;
	double power, w;

	for (size_t n = 0; n < count; n++)
		energy += (double)pcm[n] * pcm[n];
	if (audio_dbov(energy, count) < AUDIO_SILENCE_DBOV)
		return false;
	w = frequency_guess(pcm, count);
	for (size_t part = count >> (STEPS - 1); part <= count; part *= 2)
		w = frequency_refine(pcm, part, w);
	if (w <= 0 || w >= PI)
		return false;
	power = cabs(turned(pcm, 0, count, w));
	power = 2 * power * power / (double)count;
	if (power < TONE_SHARE * energy)
		return false;
	*ret = (struct audio_tone){
		.hz = w * rate_hz / (2 * PI),
		.dbov = audio_dbov(power, count),
		.ms = 1000.0 * (double)count / rate_hz,
	};
	return true;
}

static double mixed(double a, double a_ms, double b, double b_ms)
{
	return (a * a_ms + b * b_ms) / (a_ms + b_ms);
}

static void list_add(struct audio_tones *t, const struct audio_tone *tone)
{
	for (size_t i = 0; i < t->count; i++) {
		struct audio_tone *known = &t->list[i];

		if (!audio_tone_same(tone->hz, known->hz))
			continue;
		known->hz = mixed(known->hz, known->ms, tone->hz, tone->ms);
		known->dbov =
			10 * log10(mixed(pow(10, known->dbov / 10), known->ms,
					 pow(10, tone->dbov / 10), tone->ms));
		known->ms += tone->ms;
		return;
	}
	if (t->count < AUDIO_TONES_MAX)
		t->list[t->count++] = *tone;
}

static void block_close(struct audio_tones *t, struct audio_tone *ret)
{
	t->used = 0;
	if (!audio_tone_find(ret, t->block, AUDIO_TONE_SAMPLES,
			     AUDIO_REDUCED_HZ))
		return;
	t->last = *ret;
	list_add(t, ret);
}

void audio_tones_add(struct audio_tones *t, const float *pcm, size_t count,
		     struct audio_tone *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < count; i++) {
		t->block[t->used++] = pcm[i];
		if (t->used == AUDIO_TONE_SAMPLES)
			block_close(t, ret);
	}
}

void audio_tones_break(struct audio_tones *t)
{
	t->used = 0;
}

void audio_tones_second(struct audio_tones *t, struct audio_tone *ret)
{
	*ret = t->last;
	memset(&t->last, 0, sizeof(t->last));
}
