/* The audio thread: takes payloads from the rings, gives them to the sessions,
 * and publishes results. */
#include "media/audio/audio_thread.h"

#include "base/clock.h"
#include "media/audio/audio_session.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS 20

/* Size of the payload rings: how long the thread may be delayed before a
 * payload is lost (and counted). 64 KiB per session are 6 s of G.711 at 20 ms,
 * or 0.7 s of L16 at 44100 Hz. */
#define RING_BYTES_SESSION 65536
#define RING_BYTES_MIN     (1u << 24)
#define RING_BYTES_MAX     (1u << 26)

struct audio {
	struct audio_params p;
	/* written by RX and by TX; NULL until a session wants audio */
	struct payload_ring *payloads[2];
	struct audio_session **slots; /* NULL: none */
	struct audio_session **list;  /* the same sessions, without gaps */
	uint32_t count;
	uint8_t data[PAYLOAD_BYTES_MAX];
	struct audio_samples samples;
};

/* ---- payload rings ---- */

int audio_rings_open(struct audio *au)
{
	size_t bytes = RING_BYTES_MIN;
	int err = 0;

	while (bytes < RING_BYTES_MAX &&
	       bytes < (size_t)au->p.sessions_max * RING_BYTES_SESSION)
		bytes *= 2;
	for (int i = 0; !err && i < 2; i++) {
		if (!au->payloads[i])
			err = payload_ring_new(&au->payloads[i], bytes);
	}
	return err;
}

struct payload_ring *audio_ring(const struct audio *au, bool of_tx)
{
	return au->payloads[of_tx];
}

/* ---- the thread ---- */

static void command_take(struct audio *au, struct audio_command *c)
{
	struct audio_session *a = c->session;

	if (c->head.kind == COMMAND_ADD) {
		au->slots[a->p.slot] = a;
		au->list[au->count++] = a;
	} else if (c->head.kind == COMMAND_APPLY) {
		audio_session_apply(a, c, &au->samples);
	} else if (c->head.kind == COMMAND_LISTEN) {
		audio_session_listen(a, c);
	} else if (c->head.kind == COMMAND_RECORD) {
		audio_session_record(a, c);
	} else if (c->head.kind == COMMAND_STOP) {
		a->stop_ns = c->head.mono_ns;
	}
	command_done(&c->head);
}

static void commands_take(struct audio *au)
{
	struct audio_command *c;

	while (ring_pop(au->p.thread->commands, &c))
		command_take(au, c);
}

/* @return index of the ring with the older payload; -1: both are empty */
static int older(const struct audio *au)
{
	struct payload heads[2];
	bool full[2];

	for (int i = 0; i < 2; i++)
		full[i] = au->payloads[i] &&
			  payload_ring_peek(au->payloads[i], &heads[i]);
	if (full[0] && full[1])
		return heads[1].mono_ns < heads[0].mono_ns;
	return full[0] ? 0 : full[1] ? 1 : -1;
}

static void payloads_take(struct audio *au)
{
	struct payload head;
	int from;

	if (au->count == 0)
		return; /* the rings may not exist yet */
	while ((from = older(au)) >= 0) {
		struct audio_session *a;

		payload_ring_pop(au->payloads[from], &head, au->data);
		a = au->slots[head.slot];
		if (a)
			audio_session_take(a, &head, au->data, &au->samples);
	}
}

/* @return RX and TX have finished with the session: nothing more is pushed */
static bool is_over(struct audio_session *a)
{
	/* acquire: pairs with the release in session_stop() of RX and TX, which
	 * publishes what they pushed before */
	return a->stop_ns &&
	       atomic_load_explicit(&a->p.end->rx_done, memory_order_acquire) &&
	       atomic_load_explicit(&a->p.end->tx_done, memory_order_acquire);
}

static void session_remove(struct audio *au, uint32_t at)
{
	struct audio_session *a = au->list[at];

	au->slots[a->p.slot] = NULL;
	au->list[at] = au->list[--au->count];
	/* release: pairs with the acquire in stopping_check(); the session is
	 * not touched afterwards, and its records are in the ring */
	atomic_store_explicit(&a->p.end->audio_done, true,
			      memory_order_release);
}

static void tick(struct audio *au)
{
	uint64_t before = au->p.records->pushed;
	int64_t now_ns = clock_mono_ns();

	commands_take(au);
	/* check before the rings are emptied: they then contain everything */
	for (uint32_t i = 0; i < au->count; i++)
		au->list[i]->over = is_over(au->list[i]);
	payloads_take(au);
	for (uint32_t i = 0; i < au->count;) {
		struct audio_session *a = au->list[i];

		if (audio_session_time(a, now_ns) && a->over)
			session_remove(au, i);
		else
			i++;
	}
	if (au->p.records->pushed != before)
		wake_fd_signal(au->p.loop_fd);
}

int audio_new(struct audio **ret, const struct audio_params *params)
{
	struct audio *au = calloc(1, sizeof(*au));

	if (!au)
		return -ENOMEM;
	au->p = *params;
	au->slots = calloc(params->slots, sizeof(struct audio_session *));
	au->list = calloc(params->slots, sizeof(struct audio_session *));
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
		for (int i = 0; i < 2; i++)
			payload_ring_free(au->payloads[i]);
		free(au->slots);
		free(au->list);
	}
	free(au);
	return NULL;
}

static void sleep_until_tick(struct audio *au)
{
	struct media_thread *thread = au->p.thread;
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

	while (!media_thread_quits(au->p.thread)) {
		sleep_until_tick(au);
		tick(au);
	}
	return NULL;
}
