/* One prompt: its samples, and what was made of them. */
#include "media/audio_marker.h"
#include "media/audio_match.h"
#include "media/audio_reduce.h"
#include "media/prompt_internal.h"
#include "media/resample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SILENCE_MS 1200 /* whole packets of nearly every packet time */

struct prompt_encoding *prompt_encoding_free(struct prompt_encoding *e)
{
	if (e)
		clip_release(&e->clip);
	free(e);
	return NULL;
}

struct prompt *prompt_release(struct prompt *p)
{
	if (p) {
		for (size_t i = 0; i < p->encodings; i++)
			prompt_encoding_free(p->encoding[i]);
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

/* The samples at a rate. @param max  as many of them at most */
static int samples_at(int16_t **ret, size_t *ret_count, const struct prompt *p,
		      unsigned rate_hz, size_t max)
{
	const struct prompt_samples *s = &p->samples;

	if (p->kind == PROMPT_TONES)
		return prompt_tones(ret, ret_count, rate_hz, max);
	if (p->kind != PROMPT_SILENCE)
		return resample_loop(ret, ret_count, s->pcm, s->count,
				     s->rate_hz, rate_hz, max);
	*ret_count = (size_t)rate_hz * SILENCE_MS / 1000;
	if (*ret_count > max)
		*ret_count = max;
	*ret = calloc(*ret_count, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

/* Thread: any; reads what is constant of the prompt */
int prompt_encoding_make(struct prompt_encoding **ret, const struct prompt *p,
			 const struct prompt_want *want)
{
	struct prompt_encoding *e = calloc(1, sizeof(*e));
	int16_t *pcm = NULL;
	size_t count;
	int err;

	if (!e)
		return -ENOMEM;
	e->want = *want;
	err = samples_at(&pcm, &count, p, want->codec->sample_hz,
			 prompt_want_samples(want));
	if (!err)
		err = prompt_encode(&e->clip, want, pcm, count);
	/* a short prompt has no more than its head */
	if (count < prompt_want_samples(want))
		e->want.head_ms = 0;
	e->clip.begins = e->want.head_ms > 0;
	free(pcm);
	if (err) {
		prompt_encoding_free(e);
		return err;
	}
	*ret = e;
	return 0;
}

int prompt_reference_make(struct audio_reference **ret, const struct prompt *p)
{
	int16_t *pcm;
	size_t count;
	int err = samples_at(&pcm, &count, p, AUDIO_REDUCED_HZ, SIZE_MAX);

	if (err)
		return err;
	err = audio_reference_new(ret, pcm, count);
	free(pcm);
	return err;
}

const struct clip *prompt_clip_find(const struct prompt *p,
				    const struct prompt_want *want)
{
	for (size_t i = 0; i < p->encodings; i++) {
		if (prompt_want_same(&p->encoding[i]->want, want))
			return &p->encoding[i]->clip;
	}
	return NULL;
}

bool prompt_has_room(const struct prompt *p, const struct prompt_want *want)
{
	size_t wants = 0;

	for (size_t i = 0; i < p->encodings; i++) {
		struct prompt_want other = p->encoding[i]->want;
		bool first = other.head_ms == PROMPT_HEAD_MS;

		other.head_ms = want->head_ms;
		if (prompt_want_same(&other, want))
			return true; /* heads and their whole have one place */
		other.head_ms = PROMPT_HEAD_MS;
		wants += first || !prompt_clip_find(p, &other);
	}
	return wants < PROMPT_CLIPS_MAX;
}

const struct clip *prompt_head(const struct prompt *p,
			       const struct prompt_want *want, uint32_t *ret_ms)
{
	const struct clip *head = NULL;
	struct prompt_want shorter = *want;

	*ret_ms = 0;
	for (uint32_t ms = prompt_head_next(0);
	     ms && (!want->head_ms || ms < want->head_ms);
	     ms = prompt_head_next(ms)) {
		const struct clip *found;

		shorter.head_ms = ms;
		found = prompt_clip_find(p, &shorter);
		if (!found)
			break;
		head = found;
		*ret_ms = ms;
	}
	return head;
}

void prompt_encoding_add(struct prompt *p, struct prompt_encoding *e)
{
	uint32_t ms;

	e->clip.head = prompt_head(p, &e->want, &ms);
	p->encoding[p->encodings++] = e;
}

int prompt_reference(struct audio_reference **ret, struct prompt *p)
{
	int err = p->reference ? 0 : prompt_reference_make(&p->reference, p);

	if (!err)
		*ret = p->reference;
	return err;
}

int prompt_clip(const struct clip **ret, struct prompt *p,
		const struct prompt_want *want)
{
	const struct clip *found = prompt_clip_find(p, want);
	struct prompt_encoding *e;
	int err;

	if (found) {
		*ret = found;
		return 0;
	}
	if (!prompt_has_room(p, want))
		return -ENOSPC;
	err = prompt_encoding_make(&e, p, want);
	if (err)
		return err;
	prompt_encoding_add(p, e);
	*ret = &e->clip;
	return 0;
}
