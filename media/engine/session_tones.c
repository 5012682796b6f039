#include "media/engine/session_tones.h"

#include "base/clock.h"
#include "media/audio/dtmf_tones.h"
#include "media/audio/prompt_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A worker encodes this much at a time. */
#define PIECE_MS 100

/** An order that is being encoded. Used by the loop, and by the worker in
 * work(). */
struct tones_work {
	struct prompt_task task;     /* first: tasks are cast to this struct */
	struct session_tones *owner; /* NULL: cancelled */
	struct dtmf_order order;
	struct prompt_want want;
	struct prompt_encoder *encoder; /* NULL: not begun, or finished */
	struct dtmf_clip made;          /* may be incomplete */
};

static void tones_clear(struct tones_work *w)
{
	w->encoder = prompt_encoder_free(w->encoder);
	clip_release(&w->made.clip);
	memset(&w->made, 0, sizeof(w->made));
}

static void tones_free(struct tones_work *w)
{
	tones_clear(w);
	free(w);
}

/* If encoding fails, the TX thread ends the order. */
static bool tones_do(struct prompt_task *task)
{
	struct tones_work *w = (struct tones_work *)task;

	if (!w->encoder &&
	    dtmf_clip_begin(&w->made, &w->encoder, &w->order, &w->want))
		return false;
	if (prompt_encoder_step(w->encoder, PIECE_MS) > 0) {
		w->task.due_ns += PIECE_MS * NS_PER_MS;
		return true;
	}
	w->encoder = prompt_encoder_free(w->encoder);
	return false;
}

static int tones_give(struct tones_work *w)
{
	const struct session_prompt *p = w->owner->prompt;

	tones_clear(w);
	w->want = p->in_force;
	/* silence between digits is part of the order, not comfort noise */
	w->want.settings.noise = false;
	w->task.due_ns = clock_mono_ns();
	return prompt_cache_give(p->cache, &w->task);
}

/* If the order has no clip, or one for another codec than that in force, the TX
 * thread ends it. */
static int tones_send(struct tones_work *w)
{
	struct command *c;
	int err = command_new(&c, w->owner->prompt->commands, COMMAND_TONES);

	if (err)
		return err;
	c->tx.codec = w->want.codec;
	if (w->made.packets > 0 && clip_whole(&w->made.clip))
		c->tx.tones = w->made;
	else
		clip_release(&w->made.clip);
	c->tx.tones.order = w->order;
	memset(&w->made, 0, sizeof(w->made));
	command_push(c, TO_TX);
	return 0;
}

static void tones_done(struct prompt_task *task, bool drop)
{
	struct tones_work *w = (struct tones_work *)task;
	struct session_tones *t = w->owner;

	if (!drop && t) {
		const struct prompt_want *now = &t->prompt->in_force;
		bool changed = w->want.codec != now->codec ||
			       w->want.ptime_ms != now->ptime_ms;

		/* codec changed, or no room for a command: try again */
		if (changed && tones_give(w) == 0)
			return;
		if (tones_send(w) && tones_give(w) == 0)
			return;
	}
	if (t)
		t->work = NULL;
	tones_free(w);
}

void session_tones_cancel(struct session_tones *t)
{
	if (t->work)
		t->work->owner = NULL;
	t->work = NULL;
}

int session_tones_send(struct session_tones *t, const struct dtmf_order *order)
{
	struct tones_work *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->task.work = tones_do;
	w->task.take = tones_done;
	w->owner = t;
	w->order = *order;
	err = tones_give(w);
	if (err) {
		tones_free(w);
		return err;
	}
	t->work = w;
	return 0;
}
