/* What the loop thread tells the media threads. */
#include "base/clock.h"
#include "media/engine.h"

#include <errno.h>
#include <stdlib.h>

static void command_free(struct command *c)
{
	clip_release(&c->tones.clip);
	prompt_put(c->prompt);
	free(c->paths[0]);
	free(c->paths[1]);
	free(c);
}

void command_drop(struct command *c)
{
	/* made last, so it is the first of the list */
	c->session->commands = c->next;
	command_free(c);
}

/* Free what every thread gave back. @return how many are still out */
static size_t commands_sweep(struct media_session *s)
{
	struct command **link = &s->commands;
	size_t held = 0;

	while (*link) {
		struct command *c = *link;

		/* acquire: pairs with the release in command_done() */
		if (atomic_load_explicit(&c->holders, memory_order_acquire)) {
			held++;
			link = &c->next;
			continue;
		}
		*link = c->next;
		command_free(c);
	}
	return held;
}

int command_new(struct command **ret, struct media_session *s,
		enum command_kind kind)
{
	struct command *c;

	/* ADD and STOP have places of their own in the rings */
	if (commands_sweep(s) >= SESSION_COMMANDS_MAX - 2)
		return -EAGAIN;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->kind = kind;
	c->session = s;
	c->mono_ns = clock_mono_ns();
	c->next = s->commands;
	s->commands = c;
	*ret = c;
	return 0;
}

void command_push(struct command *c, unsigned threads)
{
	struct media_engine *e = c->session->engine;

	/* relaxed: the ring's release publishes it */
	atomic_store_explicit(&c->holders,
			      (unsigned)__builtin_popcount(threads),
			      memory_order_relaxed);
	/* the analysis first: see heads_fill() */
	for (int i = THREAD_COUNT - 1; i >= 0; i--) {
		if (!(threads & 1u << i))
			continue;
		/* sized for all commands that can be out: never full */
		ring_push(e->threads[i].commands, &c);
		engine_wake(e->threads[i].wake_fd);
	}
}

void commands_release(struct media_session *s)
{
	while (s->commands) {
		struct command *c = s->commands;

		s->commands = c->next;
		command_free(c);
	}
}

unsigned command_to_audio(const struct media_session *s)
{
	return s->audio ? TO_AUDIO : 0;
}

unsigned command_to_all(const struct media_session *s)
{
	return TO_RX | TO_ANALYSIS | command_to_audio(s) |
	       (s->tapped ? 0 : TO_TX);
}
