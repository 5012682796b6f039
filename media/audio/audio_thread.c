/* The audio thread: payloads out of the rings, into sessions, figures out. */
#include "media/audio/audio_thread.h"

#include "base/clock.h"
#include "media/engine/media_engine.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS 20

/* Bytes of the payload rings: how long the thread may be held up before
 * something is lost (and counted). 64 KiB for each session are 6 s of G.711 at
 * 20 ms and 0.7 s of L16 at 44100 Hz. */
#define RING_BYTES_SESSION 65536
#define RING_BYTES_MIN     (1u << 24)
#define RING_BYTES_MAX     (1u << 26)

struct audio {
	struct media_engine *e;
	struct media_session **slots; /* that have audio; NULL: none */
	struct media_session **list;  /* the same ones, in a row */
	uint32_t count;
	uint8_t data[PAYLOAD_BYTES_MAX];
	struct audio_samples samples;
};

/* ---- handing over ---- */

int audio_rings_open(struct media_engine *e)
{
	size_t bytes = RING_BYTES_MIN;
	int err = 0;

	while (bytes < RING_BYTES_MAX &&
	       bytes < (size_t)e->params.sessions_max * RING_BYTES_SESSION)
		bytes *= 2;
	for (int i = 0; !err && i < 2; i++) {
		if (!e->payloads[i])
			err = payload_ring_new(&e->payloads[i], bytes);
	}
	return err;
}

void audio_rings_close(struct media_engine *e)
{
	for (int i = 0; i < 2; i++)
		e->payloads[i] = payload_ring_free(e->payloads[i]);
}

void audio_push(struct media_session *s, const struct payload *head,
		const uint8_t *data)
{
	/* a ring has one producer: RX sees what a tapped program sends */
	bool by_tx = head->sent && !s->tapped;

	if (payload_ring_push(s->engine->payloads[by_tx], head, data))
		return;
	if (head->sent)
		s->tx.audio_dropped++;
	else
		s->rx.audio_dropped++;
}

bool audio_publish(struct media_session *s, const struct media_record *record)
{
	struct media_engine *e = s->engine;
	/* acquire: pairs with the release in media_engine_poll(); what was
	 * polled has left the ring */
	uint64_t polled =
		atomic_load_explicit(&e->audio_polled, memory_order_acquire);

	if (e->audio_pushed - polled >= e->records_count)
		return false;
	ring_push(e->audio_records, record);
	e->audio_pushed++;
	return true;
}

void audio_publish_or_drop(struct media_session *s,
			   const struct media_record *record)
{
	if (!audio_publish(s, record))
		COUNTER_ADD(&s->engine->records_dropped, 1);
}

/* ---- the thread ---- */

static void command_take(struct audio *au, struct command *c)
{
	struct media_session *s = c->session;

	if (c->kind == COMMAND_ADD) {
		au->slots[s->slot] = s;
		au->list[au->count++] = s;
	} else if (c->kind == COMMAND_APPLY) {
		audio_session_apply(s->audio, c, &au->samples);
	} else if (c->kind == COMMAND_LISTEN) {
		audio_session_listen(s->audio, c);
	} else if (c->kind == COMMAND_RECORD) {
		audio_session_record(s->audio, c);
	} else if (c->kind == COMMAND_STOP) {
		s->audio->stop_ns = c->mono_ns;
	}
	command_done(c);
}

static void commands_take(struct audio *au)
{
	struct command *c;

	while (ring_pop(au->e->threads[THREAD_AUDIO].commands, &c))
		command_take(au, c);
}

/* The ring whose oldest payload is older. @return -1: both are empty */
static int older(const struct media_engine *e)
{
	struct payload heads[2];
	bool full[2];

	for (int i = 0; i < 2; i++)
		full[i] = e->payloads[i] &&
			  payload_ring_peek(e->payloads[i], &heads[i]);
	if (full[0] && full[1])
		return heads[1].mono_ns < heads[0].mono_ns;
	return full[0] ? 0 : full[1] ? 1 : -1;
}

static void payloads_take(struct audio *au)
{
	struct payload head;
	int from;

	if (au->count == 0)
		return; /* the rings may not be there yet */
	while ((from = older(au->e)) >= 0) {
		struct media_session *s;

		payload_ring_pop(au->e->payloads[from], &head, au->data);
		s = au->slots[head.slot];
		if (s)
			audio_session_take(s->audio, &head, au->data,
					   &au->samples);
	}
}

/* RX and TX are through with it: nothing more comes into the rings. */
static bool is_over(struct media_session *s)
{
	/* acquire: pairs with the release in session_stop() of RX and TX; what
	 * they pushed before */
	return s->audio->stop_ns &&
	       atomic_load_explicit(&s->rx_done, memory_order_acquire) &&
	       atomic_load_explicit(&s->tx_done, memory_order_acquire);
}

static void session_remove(struct audio *au, uint32_t at)
{
	struct media_session *s = au->list[at];

	au->slots[s->slot] = NULL;
	au->list[at] = au->list[--au->count];
	/* release: pairs with the acquire in stopping_check(); the session is
	 * not touched after, and its records are in the ring */
	atomic_store_explicit(&s->audio_done, true, memory_order_release);
}

static void tick(struct audio *au)
{
	uint64_t before = au->e->audio_pushed;
	int64_t now_ns = clock_mono_ns();

	commands_take(au);
	/* marked before the rings are emptied: what they hold is all */
	for (uint32_t i = 0; i < au->count; i++)
		au->list[i]->audio->over = is_over(au->list[i]);
	payloads_take(au);
	for (uint32_t i = 0; i < au->count;) {
		struct audio_session *a = au->list[i]->audio;

		if (audio_session_time(a, now_ns) && a->over)
			session_remove(au, i);
		else
			i++;
	}
	if (au->e->audio_pushed != before)
		engine_wake(au->e->records_fd);
}

int audio_new(struct audio **ret, struct media_engine *e)
{
	struct audio *au = calloc(1, sizeof(*au));

	if (!au)
		return -ENOMEM;
	au->e = e;
	au->slots = calloc(e->slots, sizeof(struct media_session *));
	au->list = calloc(e->slots, sizeof(struct media_session *));
	if (!au->slots || !au->list) {
		audio_free(au);
		return -ENOMEM;
	}
	*ret = au;
	return 0;
}

struct audio *audio_free(struct audio *au)
{
	if (au) {
		free(au->slots);
		free(au->list);
	}
	free(au);
	return NULL;
}

static void sleep_until_tick(struct audio *au)
{
	struct thread *thread = &au->e->threads[THREAD_AUDIO];
	struct pollfd wake = {.fd = thread->wake.fd, .events = POLLIN};
	bool ticks = au->count > 0;
	bool readable = false;

	wake_sleep(&thread->wake,
		   ticks ? clock_mono_ns() + TICK_MS * NS_PER_MS : WAKE_NEVER);
	if (!ring_front(thread->commands))
		readable = poll(&wake, 1, ticks ? TICK_MS : -1) > 0;
	wake_end(&thread->wake, readable);
}

void *audio_thread(void *arg)
{
	struct audio *au = arg;

	/* acquire: pairs with the release in threads_stop(); nothing else is
	 * published by it */
	while (!atomic_load_explicit(&au->e->quit, memory_order_acquire)) {
		sleep_until_tick(au);
		tick(au);
	}
	return NULL;
}
