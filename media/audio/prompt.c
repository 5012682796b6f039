/* One prompt: its samples, and what was made of them. */
#include "media/audio/audio_marker.h"
#include "media/audio/audio_match.h"
#include "media/audio/audio_reduce.h"
#include "media/audio/prompt_internal.h"
#include "media/audio/resample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SILENCE_MS 1200 /* whole packets of nearly every packet time */

struct prompt_encoding *prompt_encoding_free(struct prompt_encoding *e)
{
	if (e) {
		prompt_encoder_free(e->encoder);
		clip_release(&e->clip);
	}
	free(e);
	return NULL;
}

struct prompt *prompt_release(struct prompt *p)
{
	if (p) {
		for (size_t i = 0; i < p->encodings; i++)
			prompt_encoding_free(p->encoding[i]);
		for (size_t i = 0; i < PROMPT_RATES_MAX; i++)
			resampler_free(p->resamplers[i]);
		audio_reference_free(p->reference);
		free(p->samples.pcm);
		free(p->path);
		free(p);
	}
	return NULL;
}

static int marker_make(struct prompt_samples *s)
{
	s->rate_hz = AUDIO_MARKER_RATE_HZ;
	s->count = AUDIO_MARKER_COUNT;
	s->pcm = calloc(s->count, sizeof(*s->pcm));
	if (!s->pcm)
		return -ENOMEM;
	audio_marker_write(s->pcm);
	return 0;
}

/* @param fd  of the file; not used for what is built in */
int prompt_make(struct prompt **ret, enum prompt_kind kind, int fd,
		const char *path, const struct stat *identity)
{
	struct prompt *p = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return -ENOMEM;
	p->references = 1;
	p->kind = kind;
	if (kind == PROMPT_FILE) {
		p->identity = *identity;
		p->path = strdup(path);
		err = p->path ? prompt_load(&p->samples, fd) : -ENOMEM;
	} else if (kind == PROMPT_MARKER) {
		err = marker_make(&p->samples);
	}
	if (err) {
		prompt_release(p);
		return err;
	}
	*ret = p;
	return 0;
}

/* @param ret_fd  -1: what is built in has no file */
int prompt_file_open(int *ret_fd, struct stat *ret, enum prompt_kind kind,
		     const char *path)
{
	int err = 0;
	int fd;

	*ret_fd = -1;
	memset(ret, 0, sizeof(*ret));
	if (kind != PROMPT_FILE)
		return 0;
	/* non-blocking: a FIFO must not hold the loop */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, ret) < 0)
		err = -errno;
	else if (!S_ISREG(ret->st_mode))
		err = -EILSEQ;
	if (err)
		close(fd);
	else
		*ret_fd = fd;
	return err;
}

/* ---- its samples ---- */

static void silence_read(const struct pcm_source *s, int16_t *dst, size_t from,
			 size_t count)
{
	(void)s;
	(void)from;
	memset(dst, 0, count * sizeof(*dst));
}

static void tones_read(const struct pcm_source *s, int16_t *dst, size_t from,
		       size_t count)
{
	prompt_tones_read(dst, from, count, s->rate_hz);
}

static void resampled_read(const struct pcm_source *s, int16_t *dst,
			   size_t from, size_t count)
{
	resampler_read(s->arg, dst, from, count);
}

static int resampler_have(const struct resampler **ret, struct prompt *p,
			  unsigned rate_hz)
{
	const struct prompt_samples *s = &p->samples;
	size_t i = 0;
	int err;

	while (i < PROMPT_RATES_MAX && p->resamplers[i] &&
	       p->resampled_hz[i] != rate_hz)
		i++;
	if (i == PROMPT_RATES_MAX)
		return -EINVAL;
	if (!p->resamplers[i]) {
		err = resampler_new(&p->resamplers[i], s->pcm, s->count,
				    s->rate_hz, rate_hz);
		if (err)
			return err;
		p->resampled_hz[i] = rate_hz;
	}
	*ret = p->resamplers[i];
	return 0;
}

/* Its samples at a rate, as long as the prompt is there. */
static int source_of(struct pcm_source *ret, struct prompt *p, unsigned rate_hz)
{
	const struct resampler *r;
	int err = 0;

	memset(ret, 0, sizeof(*ret));
	ret->rate_hz = rate_hz;
	if (p->kind == PROMPT_TONES) {
		ret->count = prompt_tones_count(rate_hz);
		ret->read = tones_read;
	} else if (p->kind == PROMPT_SILENCE) {
		ret->count = (size_t)rate_hz * SILENCE_MS / 1000;
		ret->read = silence_read;
	} else {
		err = resampler_have(&r, p, rate_hz);
		ret->count = err ? 0 : resampler_count(r);
		ret->read = resampled_read;
		ret->arg = err ? NULL : r;
	}
	return err;
}

int prompt_reference_make(struct audio_reference **ret, struct prompt *p)
{
	struct pcm_source source;
	int16_t *pcm;
	int err = source_of(&source, p, AUDIO_REDUCED_HZ);

	if (err)
		return err;
	pcm = calloc(source.count, sizeof(*pcm));
	if (!pcm)
		return -ENOMEM;
	source.read(&source, pcm, 0, source.count);
	err = audio_reference_new(ret, pcm, source.count);
	free(pcm);
	return err;
}

int prompt_reference(struct audio_reference **ret, struct prompt *p)
{
	int err = p->reference ? 0 : prompt_reference_make(&p->reference, p);

	if (!err)
		*ret = p->reference;
	return err;
}

/* ---- its encodings ---- */

int prompt_encoding_new(struct prompt_encoding **ret, struct prompt *p,
			const struct prompt_want *want, uint32_t from_ms)
{
	struct prompt_encoding *e = calloc(1, sizeof(*e));
	struct pcm_source source;
	int err;

	if (!e)
		return -ENOMEM;
	e->want = *want;
	err = source_of(&source, p, want->codec->sample_hz);
	if (!err)
		err = prompt_encoder_new(&e->encoder, &e->clip, want, &source,
					 from_ms);
	if (err) {
		prompt_encoding_free(e);
		return err;
	}
	*ret = e;
	return 0;
}

int prompt_encoding_step(struct prompt_encoding *e, uint32_t ms)
{
	int more = prompt_encoder_step(e->encoder, ms);

	if (more == 0)
		e->encoder = prompt_encoder_free(e->encoder);
	return more;
}

int prompt_encoding_finish(struct prompt_encoding *e)
{
	return prompt_encoding_step(e, UINT32_MAX / 2);
}

struct prompt_encoding *prompt_encoding_find(const struct prompt *p,
					     const struct prompt_want *want)
{
	for (size_t i = 0; i < p->encodings; i++) {
		if (prompt_want_same(&p->encoding[i]->want, want))
			return p->encoding[i];
	}
	return NULL;
}

bool prompt_has_room(const struct prompt *p)
{
	return p->encodings < PROMPT_CLIPS_MAX;
}

void prompt_encoding_add(struct prompt *p, struct prompt_encoding *e)
{
	p->encoding[p->encodings++] = e;
}
