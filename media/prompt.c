#include "media/prompt.h"

#include "media/audio_marker.h"
#include "media/audio_match.h"
#include "media/audio_reduce.h"
#include "media/resample.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sndfile.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PI               3.14159265358979323846
#define CHANNELS_MAX     16
#define READ_FRAMES      4096
#define RATE_KEPT_MAX_HZ 48000
#define PROMPTS_SHARED   64 /* distinct clips in the cache; more are not shared */

/** One encoding and what it was made for. */
struct encoding {
	const struct codec *codec;
	uint16_t ptime_ms; /* 0: any */
	struct codec_settings settings;
	struct clip clip;
};

struct prompt {
	struct prompt_cache *cache; /* NULL: not shared */
	size_t references;
	char *path;           /* NULL: built in, no samples */
	struct stat identity; /* of the file, when path is set */
	int16_t *pcm;
	size_t count;
	unsigned rate_hz;
	struct audio_reference *reference; /* NULL: not asked for */
	size_t encodings;
	struct encoding *encoding[PROMPT_CLIPS_MAX];
};

struct prompt_cache {
	struct prompt *prompts[PROMPTS_SHARED];
};

/* The built-in sequence: tones of the voice band with pauses. */
struct tone {
	double hz; /* 0: pause */
	unsigned ms;
};

static const struct tone tones[] = {
	{425, 400},  {0, 100}, {850, 400},  {0, 100},
	{1020, 400}, {0, 100}, {1700, 400}, {0, 600},
};

#define TONE_LEVEL   7200.0 /* about -16 dBm0 */
#define TONE_FADE_MS 5      /* no clicks */

static size_t tone_samples(const struct tone *t, unsigned rate_hz)
{
	return (size_t)t->ms * rate_hz / 1000;
}

static void tone_write(int16_t *dst, const struct tone *t, unsigned rate_hz)
{
	size_t fade = (size_t)TONE_FADE_MS * rate_hz / 1000;
	size_t n = tone_samples(t, rate_hz);

	for (size_t i = 0; i < n; i++) {
		size_t edge = i < n - 1 - i ? i : n - 1 - i;
		double gain = edge < fade ? (double)edge / (double)fade : 1.0;
		double phase = 2 * PI * t->hz * (double)i / rate_hz;

		dst[i] = (int16_t)lrint(TONE_LEVEL * gain * sin(phase));
	}
}

static int tones_make(int16_t **ret, size_t *ret_count, unsigned rate_hz)
{
	size_t kinds = sizeof(tones) / sizeof(tones[0]);
	size_t count = 0;
	int16_t *pcm;

	for (size_t i = 0; i < kinds; i++)
		count += tone_samples(&tones[i], rate_hz);
	pcm = calloc(count, sizeof(*pcm));
	if (!pcm)
		return -ENOMEM;
	*ret = pcm;
	*ret_count = count;
	for (size_t i = 0; i < kinds; i++) {
		tone_write(pcm, &tones[i], rate_hz);
		pcm += tone_samples(&tones[i], rate_hz);
	}
	return 0;
}

static int16_t to_sample(float v)
{
	float scaled = v * 32768.0f;

	if (!(scaled > -32768.0f)) /* NaN from a float file lands here too */
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
			break; /* a cut file: what is there is played */
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

/* Rates that no codec has are not kept: they cost memory only. */
static int rate_limit(struct prompt *p)
{
	int16_t *fewer;
	int err;

	if (p->rate_hz <= RATE_KEPT_MAX_HZ)
		return 0;
	err = resample_loop(&fewer, &p->count, p->pcm, p->count, p->rate_hz,
			    RATE_KEPT_MAX_HZ);
	if (err)
		return err;
	free(p->pcm);
	p->pcm = fewer;
	p->rate_hz = RATE_KEPT_MAX_HZ;
	return 0;
}

static int decode_checked(struct prompt *p, SNDFILE *file, const SF_INFO *info)
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
	return p->count == 0 ? -EILSEQ : rate_limit(p);
}

static int file_decode(struct prompt *p, int fd)
{
	SF_INFO info = {0};
	SNDFILE *file = sf_open_fd(fd, SFM_READ, &info, 0);
	int err;

	if (!file)
		return -EILSEQ;
	if (info.frames <= 0 || info.channels < 1 ||
	    info.channels > CHANNELS_MAX ||
	    info.samplerate < RESAMPLE_RATE_MIN_HZ ||
	    info.samplerate > RESAMPLE_RATE_MAX_HZ)
		err = -EILSEQ;
	else if (info.frames / info.samplerate >= PROMPT_SECONDS_MAX)
		err = -EFBIG;
	else
		err = decode_checked(p, file, &info);
	sf_close(file);
	return err;
}

static struct prompt *prompt_release(struct prompt *p)
{
	if (p) {
		for (size_t i = 0; i < p->encodings; i++) {
			clip_release(&p->encoding[i]->clip);
			free(p->encoding[i]);
		}
		audio_reference_free(p->reference);
		free(p->pcm);
		free(p->path);
		free(p);
	}
	return NULL;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static struct prompt *cache_find(struct prompt_cache *cache, const char *path,
				 const struct stat *identity)
{
	for (size_t i = 0; i < PROMPTS_SHARED; i++) {
		struct prompt *p = cache->prompts[i];

		if (!p || !p->path != !path)
			continue;
		if (!path || (strcmp(p->path, path) == 0 &&
			      same_file(&p->identity, identity)))
			return p;
	}
	return NULL;
}

static void cache_add(struct prompt_cache *cache, struct prompt *p)
{
	for (size_t i = 0; i < PROMPTS_SHARED; i++) {
		if (!cache->prompts[i]) {
			cache->prompts[i] = p;
			p->cache = cache;
			return;
		}
	}
}

static int prompt_load(struct prompt **ret, int fd, const char *path,
		       const struct stat *identity)
{
	struct prompt *p = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return -ENOMEM;
	p->references = 1;
	if (path) {
		err = file_decode(p, fd);
		p->identity = *identity;
		p->path = strdup(path);
		if (!err && !p->path)
			err = -ENOMEM;
	}
	if (err) {
		prompt_release(p);
		return err;
	}
	*ret = p;
	return 0;
}

int prompt_cache_new(struct prompt_cache **ret)
{
	struct prompt_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	*ret = cache;
	return 0;
}

struct prompt_cache *prompt_cache_free(struct prompt_cache *cache)
{
	free(cache);
	return NULL;
}

int prompt_get(struct prompt **ret, struct prompt_cache *cache,
	       const char *path)
{
	struct stat identity = {0};
	struct prompt *p;
	int fd = -1;
	int err = 0;

	if (path) {
		/* non-blocking: a FIFO must not hold the loop */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			return -errno;
		if (fstat(fd, &identity) < 0)
			err = -errno;
		else if (!S_ISREG(identity.st_mode))
			err = -EILSEQ;
		if (err)
			goto out;
	}
	p = cache_find(cache, path, &identity);
	if (p) {
		p->references++;
	} else {
		err = prompt_load(&p, fd, path, &identity);
		if (err)
			goto out;
		cache_add(cache, p);
	}
	*ret = p;
out:
	if (fd >= 0)
		close(fd);
	return err;
}

int prompt_get_marker(struct prompt **ret)
{
	struct prompt *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->references = 1;
	p->rate_hz = AUDIO_MARKER_RATE_HZ;
	p->count = AUDIO_MARKER_COUNT;
	p->pcm = calloc(p->count, sizeof(*p->pcm));
	if (!p->pcm) {
		free(p);
		return -ENOMEM;
	}
	audio_marker_write(p->pcm);
	*ret = p;
	return 0;
}

struct prompt *prompt_put(struct prompt *p)
{
	if (!p || --p->references > 0)
		return NULL;
	for (size_t i = 0; p->cache && i < PROMPTS_SHARED; i++) {
		if (p->cache->prompts[i] == p)
			p->cache->prompts[i] = NULL;
	}
	return prompt_release(p);
}

static bool same_settings(const struct codec_settings *a,
			  const struct codec_settings *b)
{
	return a->max_playback_hz == b->max_playback_hz &&
	       a->max_bitrate == b->max_bitrate && a->fec == b->fec &&
	       a->dtx == b->dtx && a->cbr == b->cbr;
}

/* All samples at a rate. */
static int samples_at(int16_t **ret, size_t *ret_count, const struct prompt *p,
		      unsigned rate_hz)
{
	return p->pcm ? resample_loop(ret, ret_count, p->pcm, p->count,
				      p->rate_hz, rate_hz)
		      : tones_make(ret, ret_count, rate_hz);
}

int prompt_reference(struct audio_reference **ret, struct prompt *p)
{
	int16_t *pcm;
	size_t count;
	int err = 0;

	if (!p->reference) {
		err = samples_at(&pcm, &count, p, AUDIO_REDUCED_HZ);
		if (err)
			return err;
		err = audio_reference_new(&p->reference, pcm, count);
		free(pcm);
	}
	if (!err)
		*ret = p->reference;
	return err;
}

static int encoding_make(struct encoding **ret, const struct prompt *p,
			 const struct encoding *want)
{
	struct encoding *e = malloc(sizeof(*e));
	const struct codec *codec = want->codec;
	int16_t *pcm = NULL;
	size_t count;
	int err;

	if (!e)
		return -ENOMEM;
	*e = *want;
	err = samples_at(&pcm, &count, p, codec->sample_hz);
	if (!err)
		err = codec->encode(codec, &e->clip, pcm, count, want->ptime_ms,
				    &want->settings);
	free(pcm);
	if (err) {
		free(e);
		return err;
	}
	*ret = e;
	return 0;
}

int prompt_clip(const struct clip **ret, struct prompt *p,
		const struct codec *codec, uint16_t ptime_ms,
		const struct codec_settings *settings)
{
	struct encoding want = {.codec = codec};
	int err;

	if (codec->bytes_per_s == 0) { /* else nothing depends on them */
		want.ptime_ms = ptime_ms;
		want.settings = *settings;
	}
	for (size_t i = 0; i < p->encodings; i++) {
		const struct encoding *e = p->encoding[i];

		if (e->codec != codec || e->ptime_ms != want.ptime_ms ||
		    !same_settings(&e->settings, &want.settings))
			continue;
		*ret = &e->clip;
		return 0;
	}
	if (p->encodings == PROMPT_CLIPS_MAX)
		return -ENOSPC;
	err = encoding_make(&p->encoding[p->encodings], p, &want);
	if (err)
		return err;
	*ret = &p->encoding[p->encodings++]->clip;
	return 0;
}
