/* Encodings that are sent while they are made: a piece at a time, first of the
 * one that will be played to its end first. */
#include "base/clock.h"
#include "media/audio/audio_marker.h"
#include "media/audio/prompt_internal.h"
#include "media/audio/prompt_work.h"

#include <errno.h>
#include <stdlib.h>

/* Of Opus about 2 ms of processor time. */
#define PIECE_MS 100
/* Behind a marker, in which an encoder has settled. */
#define SEAM_MS 20

/** An encoding while a thread makes it. The loop's, but for work(). */
struct growth {
	struct prompt_task task; /* first */
	struct prompt *prompt;   /* held */
	struct prompt_encoding *encoding;
	int64_t given_ns;
	bool failed;
};

/* What is played from the beginning on would be at its end then. */
static void pace(struct growth *g)
{
	const struct prompt_encoding *e = g->encoding;

	g->task.due_ns =
		g->given_ns + prompt_encoder_ms(e->encoder) * NS_PER_MS;
	if (!e->want.once)
		g->task.begin_ns = g->task.due_ns - PROMPT_LEAD_MS * NS_PER_MS;
}

static bool abandoned(const struct prompt *p)
{
	return atomic_load_explicit(&p->abandoned, memory_order_relaxed);
}

/* Thread: a worker */
static bool growth_do(struct prompt_task *task)
{
	struct growth *g = (struct growth *)task;
	int more;

	if (abandoned(g->prompt))
		return false;
	more = prompt_encoding_step(g->encoding, PIECE_MS);
	if (more > 0)
		pace(g);
	g->failed = more < 0;
	return more > 0;
}

static int growth_give(struct prompt *p, struct prompt_encoding *e);

static void growth_done(struct prompt_task *task, bool drop)
{
	struct growth *g = (struct growth *)task;
	struct prompt_encoding *e = g->encoding;
	struct prompt *p = g->prompt;
	/* it was left, and then somebody came; what failed is tried again when
	 * it is asked for */
	bool again = !drop && !g->failed && e->encoder && !abandoned(p);

	free(g);
	e->growing = false;
	p->growing--;
	if (again)
		(void)growth_give(p, e);
	prompt_put(p);
}

static int growth_give(struct prompt *p, struct prompt_encoding *e)
{
	struct prompt_worker *worker =
		e->want.once ? p->cache->worker : p->cache->urgent;
	struct growth *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	g->task.work = growth_do;
	g->task.take = growth_done;
	g->prompt = p;
	g->encoding = e;
	g->given_ns = clock_mono_ns();
	pace(g);
	err = prompt_worker_give(worker, &g->task);
	if (err) {
		free(g);
		return err;
	}
	e->growing = true;
	p->growing++;
	p->references++;
	return 0;
}

/* The seam is to lie in no marker: what is made is one from before it on.
 * @return so much earlier than what is played first, ms */
static uint32_t seam_before(const struct prompt *p, uint32_t from_ms)
{
	if (p->kind == PROMPT_MARKER && from_ms < AUDIO_MARKER_MS + SEAM_MS)
		return from_ms;
	return 0;
}

/* A new one, with its head. */
static int encoding_begin(struct prompt_encoding **ret, struct prompt *p,
			  const struct prompt_want *want, uint32_t from_ms)
{
	uint32_t more_ms = seam_before(p, from_ms);
	struct prompt_encoding *e;
	int err;

	if (!prompt_has_room(p))
		return -ENOSPC;
	err = prompt_encoding_new(&e, p, want, from_ms - more_ms);
	if (err)
		return err;
	if (!want->once)
		err = prompt_encoding_step(e, more_ms + PROMPT_HEAD_MS);
	if (err < 0) {
		prompt_encoding_free(e);
		return err;
	}
	prompt_encoding_add(p, e);
	*ret = e;
	return 0;
}

int prompt_clip_begin(const struct clip **ret, struct prompt *p,
		      const struct prompt_want *want, uint32_t from_ms)
{
	struct prompt_encoding *e = prompt_encoding_find(p, want);
	int err = e ? 0 : encoding_begin(&e, p, want, from_ms);

	if (!err && !e->growing && e->encoder && growth_give(p, e))
		err = prompt_encoding_finish(e);
	if (err)
		return err;
	*ret = &e->clip;
	return clip_whole(&e->clip) ? 0 : -EINPROGRESS;
}
