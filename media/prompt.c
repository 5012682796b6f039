#include "media/prompt.h"

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

#define PI             3.14159265358979323846
#define CHANNELS_MAX   16
#define READ_FRAMES    4096
#define PROMPTS_SHARED 64 /* distinct clips in the cache; more are not shared */

struct prompt {
	struct prompt_cache *cache; /* NULL: not shared */
	size_t references;
	char *path;           /* NULL: built in */
	struct stat identity; /* of the file, when path is set */
	size_t count;
	uint8_t *data[G711_LAW_COUNT];
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

static size_t tone_samples(const struct tone *t)
{
	return (size_t)t->ms * RESAMPLE_RATE_HZ / 1000;
}

static void tone_write(int16_t *dst, const struct tone *t)
{
	size_t fade = TONE_FADE_MS * RESAMPLE_RATE_HZ / 1000;
	size_t n = tone_samples(t);

	for (size_t i = 0; i < n; i++) {
		size_t edge = i < n - 1 - i ? i : n - 1 - i;
		double gain = edge < fade ? (double)edge / (double)fade : 1.0;
		double phase = 2 * PI * t->hz * (double)i / RESAMPLE_RATE_HZ;

		dst[i] = (int16_t)lrint(TONE_LEVEL * gain * sin(phase));
	}
}

static int tones_make(int16_t **ret, size_t *ret_count)
{
	size_t kinds = sizeof(tones) / sizeof(tones[0]);
	size_t count = 0;
	int16_t *pcm;

	for (size_t i = 0; i < kinds; i++)
		count += tone_samples(&tones[i]);
	pcm = calloc(count, sizeof(*pcm));
	if (!pcm)
		return -ENOMEM;
	*ret = pcm;
	*ret_count = count;
	for (size_t i = 0; i < kinds; i++) {
		tone_write(pcm, &tones[i]);
		pcm += tone_samples(&tones[i]);
	}
	return 0;
}

/* Read all frames and mix them down. dst has room for `frames`. */
static size_t read_mono(SNDFILE *file, const SF_INFO *info, float *dst,
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
			dst[done + i] = sum / (float)channels;
		}
		done += (size_t)got;
	}
	return done;
}

static int decode_checked(SNDFILE *file, const SF_INFO *info, int16_t **ret,
			  size_t *ret_count)
{
	float *block = NULL;
	float *mono = NULL;
	size_t count;
	int err = -ENOMEM;

	mono = calloc((size_t)info->frames, sizeof(*mono));
	block = calloc(READ_FRAMES * (size_t)info->channels, sizeof(*block));
	if (!mono || !block)
		goto out;
	count = read_mono(file, info, mono, block);
	err = count == 0 ? -EILSEQ
			 : resample_loop(ret, ret_count, mono, count,
					 (unsigned)info->samplerate);
out:
	free(block);
	free(mono);
	return err;
}

static int file_decode(int fd, int16_t **ret, size_t *ret_count)
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
		err = decode_checked(file, &info, ret, ret_count);
	sf_close(file);
	return err;
}

static struct prompt *prompt_release(struct prompt *p)
{
	if (p) {
		for (size_t law = 0; law < G711_LAW_COUNT; law++)
			free(p->data[law]);
		free(p->path);
		free(p);
	}
	return NULL;
}

static int prompt_make(struct prompt **ret, int16_t *pcm, size_t count)
{
	struct prompt *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->references = 1;
	p->count = count;
	for (int law = 0; law < G711_LAW_COUNT; law++) {
		p->data[law] = malloc(count);
		if (!p->data[law]) {
			prompt_release(p);
			return -ENOMEM;
		}
		g711_encode((enum g711_law)law, p->data[law], pcm, count);
	}
	*ret = p;
	return 0;
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
	struct prompt *p = NULL;
	int16_t *pcm = NULL;
	size_t count;
	int err;

	err = path ? file_decode(fd, &pcm, &count) : tones_make(&pcm, &count);
	if (err)
		return err;
	err = prompt_make(&p, pcm, count);
	free(pcm);
	if (err)
		return err;
	if (path) {
		p->identity = *identity;
		p->path = strdup(path);
		if (!p->path) {
			prompt_release(p);
			return -ENOMEM;
		}
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

const uint8_t *prompt_data(const struct prompt *p, enum g711_law law,
			   size_t *ret_count)
{
	*ret_count = p->count;
	return p->data[law];
}
