/*
 * A prompt file, as the agent reads it and as it is converted for another program
 * (libsndfile). The first octet of the input: what else is done with it (enum
 * action). A rate that needs a large filter takes a second: that of a WAV file is
 * rounded, unless ACTION_ANY_RATE is whole.
 */
#include "base/clock.h"
#include "base/file.h"
#include "media/audio/prompt.h"
#include "media/audio/prompt_load.h"
#include "media/audio/resample.h"
#include "media/prompt_wav.h"
#include "tests/fuzz/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RATE_MAX_HZ 48000
#define TAIL_MS     40

enum action {
	ACTION_CONVERT = 1,
	ACTION_REFERENCE = 2,
	ACTION_RESAMPLE = 4,
	ACTION_ANY_RATE = 0xf8,
};

/* One file each, rewritten for each input. */
struct files {
	int prompt, converted;
	char path[32]; /* of the prompt */
};

static bool is_error_of_load(int err)
{
	return err == -EILSEQ || err == -ENODATA || err == -ERANGE ||
	       err == -EFBIG || err == -ENOMEM;
}

static void rewrite(int fd, const uint8_t *data, size_t size)
{
	check(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	check(file_write(fd, data, size) == 0 && lseek(fd, 0, SEEK_SET) == 0);
}

/* As rates of prompt_load() that need no large filter. */
static void round_rate(int fd, const uint8_t *data, size_t size)
{
	const size_t at = 24; /* in "RIFF....WAVEfmt ...." */
	uint32_t rate_hz;

	if (size < at + sizeof(rate_hz) || memcmp(data, "RIFF", 4) != 0 ||
	    memcmp(data + 8, "WAVEfmt ", 8) != 0)
		return;
	memcpy(&rate_hz, data + at, sizeof(rate_hz));
	if (rate_hz < RATE_MAX_HZ)
		rate_hz -= rate_hz % 25;
	else
		rate_hz -= rate_hz % RATE_MAX_HZ;
	check(pwrite(fd, &rate_hz, sizeof(rate_hz), (off_t)at) ==
	      sizeof(rate_hz));
}

/* What was converted can be read, and has the length that was said. */
static void convert(const struct files *f, const struct prompt_samples *p)
{
	const int64_t ns = (int64_t)p->count * NS_PER_S / p->rate_hz;
	struct prompt_samples again;
	int64_t said_ns = -1, ms;
	int err;

	check(ftruncate(f->converted, 0) == 0);
	check(lseek(f->converted, 0, SEEK_SET) == 0);
	check(lseek(f->prompt, 0, SEEK_SET) == 0);
	err = prompt_wav(&said_ns, f->prompt, f->converted, TAIL_MS);
	check(err == (ns > PROMPT_WAV_SECONDS_MAX * NS_PER_S ? -EFBIG : 0));
	if (err)
		return;
	check(said_ns == ns);
	check(lseek(f->converted, 0, SEEK_SET) == 0);
	check(prompt_load(&again, f->converted) == 0);
	check(again.rate_hz == PROMPT_WAV_HZ);
	ms = (int64_t)again.count * 1000 / PROMPT_WAV_HZ -
	     (ns / NS_PER_MS + TAIL_MS);
	check(ms >= -1 && ms <= 1);
	free(again.pcm);
}

/* The cache reads the same file. */
static void reference(const struct files *f)
{
	struct prompt_cache *cache;
	struct audio_reference *ret = NULL;
	struct prompt *prompt, *same;

	check(prompt_cache_new(&cache, -1, false) == 0);
	check(prompt_get(&prompt, cache, PROMPT_FILE, f->path) == 0);
	check(prompt_get(&same, cache, PROMPT_FILE, f->path) == 0);
	check(same == prompt);
	check(prompt_reference(&ret, prompt) == 0 ? ret != NULL : !ret);
	prompt_put(same);
	prompt_put(prompt);
	prompt_cache_free(cache);
}

/* A piece is the same as that part of the whole. */
static void resample(const struct prompt_samples *p, unsigned rate_hz)
{
	struct resampler *r;
	int16_t *whole, piece[16];
	size_t count, from, n;

	check(resample_loop(&whole, &count, p->pcm, p->count, p->rate_hz,
			    rate_hz) == 0);
	check(resampler_new(&r, p->pcm, p->count, p->rate_hz, rate_hz) == 0);
	check(resampler_count(r) == count && count >= 1);
	from = count / 3;
	n = count - from < 16 ? count - from : 16;
	resampler_read(r, piece, from, n);
	for (size_t i = 0; i < n; i++)
		check(piece[i] == whole[from + i]);
	resampler_free(r);
	free(whole);
}

static void files_open(struct files *f)
{
	f->prompt = memfd_create("prompt", MFD_CLOEXEC);
	f->converted = memfd_create("converted", MFD_CLOEXEC);
	check(f->prompt >= 0 && f->converted >= 0);
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->prompt);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct files f = {.prompt = -1};
	struct prompt_samples p = {.pcm = NULL};
	int err;

	if (size < 1)
		return 0;
	if (f.prompt < 0)
		files_open(&f);
	rewrite(f.prompt, data + 1, size - 1);
	if ((data[0] & ACTION_ANY_RATE) != ACTION_ANY_RATE)
		round_rate(f.prompt, data + 1, size - 1);
	err = prompt_load(&p, f.prompt);
	check(fcntl(f.prompt, F_GETFD) >= 0); /* it is borrowed */
	if (err) {
		check(is_error_of_load(err) && !p.pcm);
		return 0;
	}
	check(p.pcm && p.count > 0 && p.rate_hz >= RESAMPLE_RATE_MIN_HZ &&
	      p.rate_hz <= RATE_MAX_HZ);
	check(p.count <= (size_t)PROMPT_SECONDS_MAX * p.rate_hz);
	if (data[0] & ACTION_CONVERT)
		convert(&f, &p);
	if (data[0] & ACTION_REFERENCE)
		reference(&f);
	if (data[0] & ACTION_RESAMPLE)
		resample(&p, 16000);
	free(p.pcm);
	return 0;
}
