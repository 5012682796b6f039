#include "media/engine/thread_command.h"

#include "base/clock.h"
#include "media/measure/measure.h"
#include "media/media.h"

#include <errno.h>
#include <stdlib.h>

#define UNTIL_SOON_MS 50

/* The threads have returned the command, or never had it. The analysis goes on
 * to read the map of the newest one. */
static void map_return(struct command *c)
{
	struct session_commands *owner = c->owner;

	if (!c->map)
		return;
	if (c->issue < owner->map_issue) {
		payload_map_put(c->map);
		return;
	}
	payload_map_put(owner->map);
	owner->map = c->map;
	owner->map_issue = c->issue;
}

static void command_free(struct command *c)
{
	clip_release(&c->tx.tones.clip);
	prompt_put(c->prompt);
	free(c->audio.paths[0]);
	free(c->audio.paths[1]);
	free(c);
}

void command_drop(struct command *c)
{
	/* it is the newest one, so the first of the list */
	c->owner->list = c->next;
	payload_map_put(c->map);
	command_free(c);
}

size_t commands_sweep(struct session_commands *owner)
{
	struct command **link = &owner->list;
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
		map_return(c);
		command_free(c);
	}
	return held;
}

int command_new(struct command **ret, struct session_commands *owner,
		enum command_kind kind)
{
	struct command *c;

	/* COMMAND_STOP is embedded in the session and needs room, too */
	if (commands_sweep(owner) >= SESSION_COMMANDS_MAX - 1)
		return -EAGAIN;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->kind = kind;
	c->owner = owner;
	c->issue = ++owner->issues;
	c->mono_ns = clock_mono_ns();
	c->next = owner->list;
	owner->list = c;
	*ret = c;
	return 0;
}

/*
 * Whether the thread may get the command some milliseconds later. RX takes its
 * commands before it reads a socket, and TX before it sends. So every command
 * that has no effect before the next packet may be deferred. Packets wait in
 * the socket, with the kernel's receive time, until RX knows the session. TX
 * stops by itself at until_ns. A stopped session lingers.
 */
static bool deferrable(const struct command *c, enum media_thread_id thread)
{
	if (c->kind == COMMAND_UNTIL)
		return c->tx.until_ns - c->mono_ns > UNTIL_SOON_MS * NS_PER_MS;
	if (c->kind == COMMAND_APPLY)
		return thread == THREAD_RX ||
		       (thread == THREAD_TX && c->begins && !c->tx.sends);
	return c->kind == COMMAND_ADD || c->kind == COMMAND_STOP;
}

/* Time at which the thread needs the command.
 * @return monotonic, ns; WAKE_NOW */
static int64_t needed_ns(const struct command *c, enum media_thread_id thread)
{
	if (thread == THREAD_ANALYSIS) /* it takes no command earlier */
		return c->mono_ns + ANALYSIS_DELAY_NS;
	if (deferrable(c, thread))
		return c->mono_ns + MEDIA_FLUSH_MS * NS_PER_MS;
	if (c->kind == COMMAND_APPLY && thread == THREAD_TX && c->begins)
		return c->tx.start_ns; /* time of the first packet */
	return WAKE_NOW;
}

static void thread_wake(struct engine_thread *t, int64_t now_ns)
{
	wake_signal(&t->shared.wake);
	t->woken_ns = now_ns;
	t->wake_due = false;
}

/* Wake a thread for a command. A thread that was woken just now is woken again
 * by engine_threads_flush(): at a thousand calls a second, once for several
 * commands. */
static void thread_wake_for(struct engine_threads *threads,
			    enum media_thread_id thread,
			    const struct command *c)
{
	struct engine_thread *t = &threads->list[thread];

	if (wake_comes(&t->shared.wake, needed_ns(c, thread)))
		return;
	if (!threads->flush_h || !deferrable(c, thread) ||
	    c->mono_ns - t->woken_ns >= MEDIA_FLUSH_MS * NS_PER_MS) {
		thread_wake(t, c->mono_ns);
		return;
	}
	t->wake_due = true;
	if (!threads->flush_requested) {
		threads->flush_requested = true;
		threads->flush_h(threads->flush_arg);
	}
}

void engine_threads_flush(struct engine_threads *threads)
{
	int64_t now_ns = clock_mono_ns();

	threads->flush_requested = false;
	for (int i = 0; i < THREAD_COUNT; i++) {
		if (threads->list[i].wake_due)
			thread_wake(&threads->list[i], now_ns);
	}
}

/* Push to the thread's ring. The ring has room for all commands that can be in
 * use, so it is never full. */
static void thread_give(struct command *c, enum media_thread_id thread)
{
	const struct session_commands *s = c->owner;
	struct ring *ring = s->threads->list[thread].shared.commands;
	const struct command_head head = {c->kind, c->mono_ns, &c->holders};

	if (thread == THREAD_RX) {
		struct rx_command *rx = &c->rx;

		rx->head = head;
		rx->session = s->rx;
		ring_push(ring, &rx);
	} else if (thread == THREAD_TX) {
		struct tx_command *tx = &c->tx;

		tx->head = head;
		tx->session = s->tx;
		ring_push(ring, &tx);
	} else if (thread == THREAD_ANALYSIS) {
		struct measure_command *measure = &c->measure;

		measure->head = head;
		measure->session = s->measure;
		ring_push(ring, &measure);
	} else {
		struct audio_command *audio = &c->audio;

		audio->head = head;
		audio->session = s->audio;
		ring_push(ring, &audio);
	}
}

void command_push(struct command *c, unsigned threads)
{
	struct engine_threads *all = c->owner->threads;

	/* relaxed: the release of the ring publishes it */
	atomic_store_explicit(&c->holders,
			      (unsigned)__builtin_popcount(threads),
			      memory_order_relaxed);
	/* analysis first: see heads_fill() */
	for (int i = THREAD_COUNT - 1; i >= 0; i--) {
		if (!(threads & 1u << i))
			continue;
		thread_give(c, (enum media_thread_id)i);
		thread_wake_for(all, (enum media_thread_id)i, c);
	}
}

void commands_release(struct session_commands *owner)
{
	while (owner->list) {
		struct command *c = owner->list;

		owner->list = c->next;
		payload_map_put(c->map);
		command_free(c);
	}
	payload_map_put(owner->map);
	owner->map = NULL;
}

unsigned command_to_audio(const struct session_commands *owner)
{
	return owner->audio ? TO_AUDIO : 0;
}

unsigned command_to_all(const struct session_commands *owner)
{
	return TO_RX | TO_ANALYSIS | command_to_audio(owner) |
	       (owner->tx ? TO_TX : 0);
}
