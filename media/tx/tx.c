/* The TX thread: RTP of all sessions by absolute deadlines, and RTCP. */
#include "base/clock.h"
#include "media/tx/tx_internal.h"

#include <poll.h>
#include <sys/prctl.h>

/* ---- commands ---- */

static void session_start(struct media_engine *e, struct media_session *s,
			  const struct command *c)
{
	struct tx_session *tx = &s->tx;

	e->tx_sessions[s->slot] = s;
	tx->applied = true;
	tx->marker = true;
	tx->due_ns = c->start_ns;
	tx_rtcp_start(e, s, c->mono_ns);
}

static void keys_apply(struct tx_session *tx, const struct command *c)
{
	tx->encrypted = c->encrypted;
	tx->rtcp_keyed = c->rtcp_keyed;
	for (int i = 0; i < SOCKET_COUNT; i++) {
		struct session_key *key = c->keys_tx[i];

		if (tx->keys[i] == key)
			continue;
		if (tx->keys[i] && key)
			srtp_context_continue(key->context,
					      tx->keys[i]->context);
		session_key_drop(tx->keys[i]);
		tx->keys[i] = key;
	}
}

/* What was due before a change is sent as things were then, however late this
 * thread is. */
static void sent_before(struct media_engine *e, struct media_session *s,
			int64_t change_ns)
{
	while (tx_heap_has(&e->heap, s, TX_TIMER_RTP) &&
	       s->tx.due_ns < change_ns)
		tx_rtp_due(e, s);
}

static void session_apply(struct media_engine *e, struct media_session *s,
			  const struct command *c)
{
	struct tx_session *tx = &s->tx;

	sent_before(e, s, c->mono_ns);
	tx_refused_forget(tx, c);
	tx->rtp = c->rtp;
	tx->rtcp = c->rtcp;
	tx->rtcp_mux = c->rtcp_mux;
	tx->via = c->via;
	tx->channel_rtp = c->channel_rtp;
	tx->channel_rtcp = c->channel_rtcp;
	keys_apply(tx, c);
	tx->sends = c->sends && tx_keyed(tx, false);
	tx->xr = c->xr;
	tx->aligned = c->aligned;
	tx->pt = c->pt;
	tx->mute = c->mute;
	tx->mute_at = 0;
	tx->noise_pt = c->noise_pt;
	if (tx->play.command && !tx_play_fits(&tx->play, c->codec, c->ptime_ms))
		tx_rtp_play_cut(e, s);
	if (tx->tones.command &&
	    !tx_tones_fit(&tx->tones, c->codec, c->ptime_ms))
		tx_rtp_tones_cut(e, s);
	tx->ptime_ms = c->ptime_ms;
	tx->codec = c->codec;
	tx->ticks = codec_ticks(c->codec, c->ptime_ms);
	tx->clock_hz = c->codec->clock_hz;
	tx->has_event = c->has_event;
	tx->event_pt = c->event_pt;
	tx->event_clock_hz = c->event_clock_hz;
	tx->stream_bytes = (size_t)c->codec->bytes_per_s * c->ptime_ms / 1000;
	if (tx->clip != c->clip)
		tx->clip_at = 0;
	tx->clip = c->clip;
	if (!tx->applied) {
		session_start(e, s, c);
		tx_rtp_align(e, tx);
		if (tx_rtp_may(tx))
			tx_heap_set(&e->heap, s, TX_TIMER_RTP, tx->due_ns);
		return;
	}
	tx_rtp_review(e, s, c->mono_ns);
}

static void session_stop(struct media_engine *e, struct media_session *s,
			 int64_t stop_ns)
{
	struct tx_session *tx = &s->tx;

	tx_heap_clear(&e->heap, s, TX_TIMER_RTCP);
	sent_before(e, s, stop_ns);
	tx_heap_clear(&e->heap, s, TX_TIMER_RTP);
	tx_tones_end(&tx->tones);
	tx_play_end(&tx->play);
	tx_rtcp_leave(e, s);
}

void tx_session_done(struct media_engine *e, struct media_session *s)
{
	const struct tx_session *tx = &s->tx;

	s->tx_last_packet = e->sent_pushed;
	s->tx_packets = tx->packets;
	s->tx_payload_bytes = tx->payload_bytes;
	e->tx_sessions[s->slot] = NULL;
	/* release: pairs with the acquire in stopping_check(), publishes the
	 * counts; the session is not touched after */
	atomic_store_explicit(&s->tx_done, true, memory_order_release);
}

static void command_take(struct media_engine *e, struct command *c)
{
	struct media_session *s = c->session;
	enum command_kind kind = c->kind;
	int64_t mono_ns = c->mono_ns;

	if (kind == COMMAND_APPLY) {
		session_apply(e, s, c);
	} else if (kind == COMMAND_UNTIL) {
		s->tx.until_ns = c->until_ns;
		tx_rtp_review(e, s, mono_ns);
	} else if (kind == COMMAND_DTMF) {
		/* one at a time: the loop sees to that */
		(void)dtmf_send_order(&s->tx.dtmf, &c->order,
				      s->tx.event_clock_hz);
	} else if (kind == COMMAND_TONES) {
		/* one at a time, too; given back when they were sent */
		tx_tones_begin(&s->tx.tones, c);
		if (!tx_tones_fit(&s->tx.tones, s->tx.codec, s->tx.ptime_ms))
			tx_rtp_tones_cut(e, s);
		return;
	} else if (kind == COMMAND_PLAY) {
		tx_rtp_play_cut(e, s);
		tx_play_begin(&s->tx.play, c);
		if (!tx_play_fits(&s->tx.play, s->tx.codec, s->tx.ptime_ms))
			tx_rtp_play_cut(e, s);
		return;
	} else if (kind == COMMAND_MUTE) {
		s->tx.mute = c->mute;
		s->tx.mute_at = 0;
	}
	command_done(c);
	if (kind == COMMAND_STOP)
		session_stop(e, s, mono_ns);
}

static void commands_take(struct media_engine *e)
{
	struct thread *thread = &e->threads[THREAD_TX];
	struct command *c;

	tx_rtcp_answers(e);
	while (ring_pop(thread->commands, &c))
		command_take(e, c);
}

/* ---- the thread ---- */

/* Sessions lie far apart, and are in no cache when their turn comes: ask for
 * what sending a packet of the next one touches while this one is sent. */
static void prefetch_next(const struct tx_heap *heap)
{
	for (uint32_t i = 1; i <= 2 && i < heap->count; i++) {
		const struct media_session *s = heap->entries[i].session;

		prefetch(s, PREFETCH_LINE);
		prefetch(&s->tx, TX_HOT_BYTES);
		prefetch(&s->rx.sockets[SOCKET_RTP], PREFETCH_LINE);
	}
}

static void timers_run(struct media_engine *e)
{
	int64_t now_ns = clock_mono_ns();
	const struct tx_entry *first;

	while ((first = tx_heap_first(&e->heap)) && first->due_ns <= now_ns) {
		prefetch_next(&e->heap);
		if (tx_timer_of(first) == TX_TIMER_RTP)
			tx_rtp_due(e, first->session);
		else
			tx_rtcp_due(e, first->session, now_ns);
	}
}

/* @param wait_ns  WAKE_NEVER: until it is signalled */
static void wait_for_signal(struct media_engine *e, int64_t wait_ns,
			    int64_t until_ns)
{
	struct thread *thread = &e->threads[THREAD_TX];
	struct pollfd wake = {.fd = thread->wake.fd, .events = POLLIN};
	const struct timespec timeout = {.tv_sec = wait_ns / NS_PER_S,
					 .tv_nsec = wait_ns % NS_PER_S};
	bool readable = false;

	wake_sleep(&thread->wake, until_ns);
	if (!ring_front(thread->commands) && !ring_front(e->answers))
		readable =
			ppoll(&wake, 1, wait_ns == WAKE_NEVER ? NULL : &timeout,
			      NULL) > 0;
	wake_end(&thread->wake, readable);
}

static void wait_for_work(struct media_engine *e)
{
	const struct tx_entry *first = tx_heap_first(&e->heap);
	int64_t now_ns = clock_mono_ns();
	bool waits = !first || first->due_ns > now_ns;

	scheduling_watch(&e->threads[THREAD_TX].scheduling, waits, now_ns);
	if (!first)
		wait_for_signal(e, WAKE_NEVER, WAKE_NEVER);
	else if (waits)
		wait_for_signal(e, first->due_ns - now_ns, first->due_ns);
}

void *tx_thread(void *engine)
{
	struct media_engine *e = engine;

	/* the default slack of 50 us would be lateness of our own making */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	engine_schedule(e, THREAD_TX, SCHEDULING_PRIORITY_TX);
	/* acquire: pairs with the release in threads_stop(); nothing else is
	 * published by it */
	while (!atomic_load_explicit(&e->quit, memory_order_acquire)) {
		wait_for_work(e);
		/* before what is due: needed_ns() relies on it */
		commands_take(e);
		timers_run(e);
	}
	return NULL;
}
