/* What the loop asks of a session's audio: tones to send, sound to hear. */
#include "base/clock.h"
#include "media/audio/prompt_work.h"
#include "media/engine/media_engine.h"
#include "media/engine/media_session_prompt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- digits as tones ---- */

/* Encoded at a time. */
#define PIECE_MS 100

/** An order while it is encoded. The loop's, but for work(). */
struct tones_work {
	struct prompt_task task;       /* first */
	struct media_session *session; /* NULL: it is gone */
	struct dtmf_order order;
	struct prompt_want want;
	struct prompt_encoder *encoder; /* NULL: nothing more is to do */
	struct dtmf_clip made;          /* may not be whole */
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

/* What cannot be encoded is cut off by TX. */
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
	struct media_session *s = w->session;

	tones_clear(w);
	w->want = session_prompt_want(s);
	/* silence between digits is part of the order */
	w->want.settings.noise = false;
	w->task.due_ns = clock_mono_ns();
	return prompt_cache_give(s->engine->prompts, &w->task);
}

/* What is not there, or not of the codec in force, is cut off by TX. */
static int tones_send(struct tones_work *w)
{
	struct media_session *s = w->session;
	struct command *c;
	int err = command_new(&c, s, COMMAND_TONES);

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
	struct media_session *s = w->session;

	if (!drop && s && !s->stop_given) {
		bool changed = w->want.codec != s->codec ||
			       w->want.ptime_ms != s->ptime_ms;

		/* settled anew, or no room for a command: once more */
		if (changed && tones_give(w) == 0)
			return;
		if (tones_send(w) && tones_give(w) == 0)
			return;
	}
	if (s)
		s->tones = NULL;
	tones_free(w);
}

void session_tones_forget(struct media_session *s)
{
	if (s->tones)
		s->tones->session = NULL;
	s->tones = NULL;
}

int media_session_tones(struct media_session *s, const struct dtmf_order *order)
{
	struct dtmf_order checked = *order;
	struct tones_work *w;
	int err;

	if (s->stop_given || dtmf_order_check(&checked))
		return -EINVAL;
	if (!s->codec)
		return -ENOTCONN;
	if (s->dtmf_busy)
		return -EBUSY;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->task.work = tones_do;
	w->task.take = tones_done;
	w->session = s;
	w->order = checked;
	err = tones_give(w);
	if (err) {
		tones_free(w);
		return err;
	}
	s->tones = w;
	s->dtmf_busy = true;
	return 0;
}

/* ---- what is heard ---- */

int media_session_listen(struct media_session *s,
			 const struct media_listen *what)
{
	struct command *c;
	int err;

	if (s->stop_given)
		return -EINVAL;
	if (!s->audio || !(s->audio_wanted & MEDIA_AUDIO_MEASURE))
		return -ENOTSUP;
	err = command_new(&c, s, COMMAND_LISTEN);
	if (err)
		return err;
	c->audio.listen = *what;
	command_push(c, TO_AUDIO);
	return 0;
}

int media_session_record(struct media_session *s, const char *path_in,
			 const char *path_out)
{
	struct command *c;
	int err;

	if (s->stop_given)
		return -EINVAL;
	if (!s->audio || !(s->audio_wanted & MEDIA_AUDIO_RECORD))
		return -ENOTSUP;
	if (s->recording)
		return -EBUSY;
	err = command_new(&c, s, COMMAND_RECORD);
	if (err)
		return err;
	c->audio.paths[0] = strdup(path_in);
	c->audio.paths[1] = strdup(path_out);
	if (!c->audio.paths[0] || !c->audio.paths[1]) {
		command_drop(c);
		return -ENOMEM;
	}
	s->recording = true;
	command_push(c, TO_AUDIO);
	return 0;
}

int media_session_record_stop(struct media_session *s)
{
	struct command *c;
	int err;

	if (s->stop_given || !s->recording)
		return -EINVAL;
	err = command_new(&c, s, COMMAND_RECORD);
	if (err)
		return err;
	s->recording = false;
	command_push(c, TO_AUDIO);
	return 0;
}
