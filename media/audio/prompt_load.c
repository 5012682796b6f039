/* The samples of a prompt: decoded from a file, or built in. */
#include "media/audio/prompt_load.h"

#include "media/audio/prompt.h"
#include "media/audio/resample.h"
#include "media/audio/sound_file.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#define PI               3.14159265358979323846
#define CHANNELS_MAX     16
#define READ_FRAMES      4096
#define RATE_KEPT_MAX_HZ 48000
#define RATE_STEP_HZ     25 /* greatest common divisor of 8000, 11025, 44100 */

/* The built-in sequence: tones of the voice band with pauses. */
struct tone {
	double hz; /* 0: pause */
	unsigned ms;
};

static const struct tone tones[] = {
	{425, 400},  {0, 100}, {850, 400},  {0, 100},
	{1020, 400}, {0, 100}, {1700, 400}, {0, 600},
};

#define TONES        (sizeof(tones) / sizeof(tones[0]))
#define TONE_LEVEL   7200.0 /* about -16 dBm0 */
#define TONE_FADE_MS 5      /* no clicks */

static size_t tone_samples(const struct tone *t, unsigned rate_hz)
{
	return (size_t)t->ms * rate_hz / 1000;
}

/* Sample i of n. */
static int16_t tone_sample(const struct tone *t, size_t i, size_t n,
			   unsigned rate_hz)
{
	size_t fade = (size_t)TONE_FADE_MS * rate_hz / 1000;
	size_t edge = i < n - 1 - i ? i : n - 1 - i;
	double gain = edge < fade ? (double)edge / (double)fade : 1.0;
	double phase = 2 * PI * t->hz * (double)i / rate_hz;

	return (int16_t)lrint(TONE_LEVEL * gain * sin(phase));
}

size_t prompt_tones_count(unsigned rate_hz)
{
	size_t count = 0;

	for (size_t i = 0; i < TONES; i++)
		count += tone_samples(&tones[i], rate_hz);
	return count;
}

void prompt_tones_read(int16_t *dst, size_t from, size_t count,
		       unsigned rate_hz)
{
	for (size_t k = 0; k < TONES && count > 0; k++) {
		size_t n = tone_samples(&tones[k], rate_hz);

		for (; from < n && count > 0; from++, count--)
			*dst++ = tone_sample(&tones[k], from, n, rate_hz);
		from -= from < n ? from : n;
	}
}

static int16_t to_sample(float v)
{
	float scaled = v * 32768.0f;

	if (!(scaled > -32768.0f)) /* also true for NaN in a float file */
		return -32768;
	if (scaled > 32767.0f)
		return 32767;
	return (int16_t)lrintf(scaled);
}

/* Read all frames and mix them down. dst has room for `frames`. */
static size_t read_mono(SNDFILE *file, const SF_INFO *info, int16_t *dst,
			float *block)
{
	size_t channels = (size_t)info->channels;
	size_t done = 0;

	while (done < (size_t)info->frames) {
		size_t left = (size_t)info->frames - done;
		size_t want = left < READ_FRAMES ? left : READ_FRAMES;
		sf_count_t got = sf_readf_float(file, block, (sf_count_t)want);

		if (got <= 0)
			break; /* a truncated file: play what was read */
		for (size_t i = 0; i < (size_t)got; i++) {
			float sum = 0;

			for (size_t c = 0; c < channels; c++)
				sum += block[i * channels + c];
			dst[done + i] = to_sample(sum / (float)channels);
		}
		done += (size_t)got;
	}
	return done;
}

/* Higher rates than those of the codecs would only cost memory; rates without a
 * large common divisor would need a large filter. */
static bool rate_kept(unsigned rate_hz)
{
	return rate_hz <= RATE_KEPT_MAX_HZ && rate_hz % RATE_STEP_HZ == 0;
}

static int rate_limit(struct prompt_samples *p)
{
	int16_t *other;
	int err;

	if (rate_kept(p->rate_hz))
		return 0;
	err = resample_loop(&other, &p->count, p->pcm, p->count, p->rate_hz,
			    RATE_KEPT_MAX_HZ);
	if (err)
		return err;
	free(p->pcm);
	p->pcm = other;
	p->rate_hz = RATE_KEPT_MAX_HZ;
	return 0;
}

static int decode_checked(struct prompt_samples *p, SNDFILE *file,
			  const SF_INFO *info)
{
	float *block;

	p->rate_hz = (unsigned)info->samplerate;
	p->pcm = calloc((size_t)info->frames, sizeof(*p->pcm));
	block = calloc(READ_FRAMES * (size_t)info->channels, sizeof(*block));
	if (!p->pcm || !block) {
		free(block);
		return -ENOMEM;
	}
	p->count = read_mono(file, info, p->pcm, block);
	free(block);
	return p->count == 0 ? -ENODATA : rate_limit(p);
}

int prompt_load(struct prompt_samples *ret, int fd)
{
	struct prompt_samples p = {0};
	SF_INFO info = {0};
	struct stat st;
	SNDFILE *file;
	int err;

	if (fstat(fd, &st) == 0 && st.st_size == 0)
		return -ENODATA;
	file = sound_file_open(&fd, SFM_READ, &info);
	if (!file)
		return -EILSEQ;
	if (info.frames <= 0)
		err = -ENODATA;
	else if (info.channels < 1 || info.channels > CHANNELS_MAX ||
		 info.samplerate < RESAMPLE_RATE_MIN_HZ ||
		 info.samplerate > RESAMPLE_RATE_MAX_HZ)
		err = -ERANGE;
	else if (info.frames / info.samplerate >= PROMPT_SECONDS_MAX)
		err = -EFBIG;
	else
		err = decode_checked(&p, file, &info);
	sf_close(file);
	if (err)
		free(p.pcm);
	else
		*ret = p;
	return err;
}
