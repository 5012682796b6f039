/* The TX thread: sends RTP of all sessions at absolute deadlines, and RTCP. */
#include "media/tx/tx.h"

#include "base/clock.h"
#include "media/tx/tx_internal.h"
#include "media/tx/tx_path_shared.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>

/* ---- commands ---- */

static void session_start(struct tx *t, struct tx_session *s,
			  const struct tx_command *c)
{
	t->sessions[s->slot] = s;
	s->applied = true;
	s->marker = true;
	s->due_ns = c->start_ns;
	tx_rtcp_start(t, s, c->head.mono_ns);
}

/* @param key  NULL: the call is plain now, or the next key is not known yet */
static void key_apply(struct tx_session *s, int socket, struct session_key *key)
{
	struct session_key *before = s->keys[socket];

	if (before == key)
		return;
	s->keys[socket] = key;
	if (!key) {
		s->keys_before[socket] = before;
		return;
	}
	if (before) {
		srtp_context_continue(key->context, before->context);
	} else {
		/* a key that is used again must not begin again: an index used
		 * twice gives the contents away (RFC 3711 section 9.1) */
		before = s->keys_before[socket];
		s->keys_before[socket] = NULL;
		if (before && session_key_same(before, key))
			srtp_context_continue(key->context, before->context);
	}
	session_key_drop(before);
}

static void keys_apply(struct tx_session *s, const struct tx_command *c)
{
	s->encrypted = c->encrypted;
	s->rtcp_keyed = c->rtcp_keyed;
	for (int i = 0; i < SOCKET_COUNT; i++)
		key_apply(s, i, c->keys[i]);
}

/* Send what was due before a change with the old parameters, even if this
 * thread is late. */
static void sent_before(struct tx *t, struct tx_session *s, int64_t change_ns)
{
	while (tx_heap_has(&t->heap, s, TX_TIMER_RTP) && s->due_ns < change_ns)
		tx_rtp_due(t, s);
	s->path->flush(t);
}

static void session_apply(struct tx *t, struct tx_session *s,
			  const struct tx_command *c)
{
	sent_before(t, s, c->head.mono_ns);
	tx_refused_forget(s, c);
	s->rtp = c->rtp;
	s->rtcp = c->rtcp;
	s->joins = c->joins;
	s->rtcp_mux = c->rtcp_mux;
	s->via = c->via;
	s->channel_rtp = c->channel_rtp;
	s->channel_rtcp = c->channel_rtcp;
	keys_apply(s, c);
	s->sends = c->sends && tx_keyed(s, false);
	s->xr = c->xr;
	s->aligned = c->aligned;
	s->pt = c->pt;
	s->mute = c->mute;
	s->mute_at = 0;
	s->noise_pt = c->noise_pt;
	s->ptime_ms = c->ptime_ms;
	s->codec = c->codec;
	s->has_event = c->has_event;
	s->event_pt = c->event_pt;
	s->event_clock_hz = c->event_clock_hz;
	tx_rtp_codec_changed(t, s);
	s->ticks = codec_ticks(c->codec, c->ptime_ms);
	s->clock_hz = c->codec->clock_hz;
	s->stream_bytes = (size_t)c->codec->bytes_per_s * c->ptime_ms / 1000;
	if (s->clip != c->clip)
		s->clip_at = 0;
	s->clip = c->clip;
	if (!s->applied) {
		session_start(t, s, c);
		tx_rtp_align(t, s);
		if (tx_rtp_may(s))
			tx_heap_set(&t->heap, s, TX_TIMER_RTP, s->due_ns);
		return;
	}
	tx_rtp_review(t, s, c->head.mono_ns);
}

static void session_stop(struct tx *t, struct tx_session *s, int64_t stop_ns)
{
	tx_heap_clear(&t->heap, s, TX_TIMER_RTCP);
	sent_before(t, s, stop_ns);
	tx_heap_clear(&t->heap, s, TX_TIMER_RTP);
	tx_rtp_end(s);
	tx_rtcp_leave(t, s);
}

void tx_session_done(struct tx *t, struct tx_session *s)
{
	s->end->tx_last_packet = t->sent_pushed;
	s->end->tx_packets = s->packets;
	s->end->tx_payload_bytes = s->payload_bytes;
	t->sessions[s->slot] = NULL;
	/* release: pairs with the acquire in stopping_check(), publishes the
	 * counts; the session is not touched afterwards */
	atomic_store_explicit(&s->end->tx_done, true, memory_order_release);
}

static void command_take(struct tx *t, const struct tx_command *c)
{
	struct tx_session *s = c->session;
	enum command_kind kind = c->head.kind;
	int64_t mono_ns = c->head.mono_ns;

	if (kind == COMMAND_APPLY) {
		session_apply(t, s, c);
	} else if (kind == COMMAND_UNTIL) {
		s->until_ns = c->until_ns;
		tx_rtp_review(t, s, mono_ns);
	} else if (kind == COMMAND_DTMF) {
		/* one order at a time: the loop ensures that */
		(void)dtmf_send_order(&s->dtmf, &c->order, s->event_clock_hz);
	} else if (kind == COMMAND_TONES) {
		/* also one at a time; the command is returned when the tones
		 * were sent */
		tx_rtp_tones_begin(t, s, c);
		return;
	} else if (kind == COMMAND_PLAY) {
		tx_rtp_play_begin(t, s, c);
		return;
	} else if (kind == COMMAND_MUTE) {
		s->mute = c->mute;
		s->mute_at = 0;
	}
	command_done(&c->head);
	if (kind == COMMAND_STOP)
		session_stop(t, s, mono_ns);
}

static void commands_take(struct tx *t)
{
	struct media_thread *thread = t->p.thread;
	struct tx_command *c;

	tx_rtcp_answers(t);
	while (ring_pop(thread->commands, &c))
		command_take(t, c);
}

/* ---- the thread ---- */

static const struct tx_path *const paths[] = {&tx_path_call, &tx_path_shared};

/* Sessions lie far apart and are in no cache. While one packet is sent,
 * prefetch what sending the next ones will touch. */
static void prefetch_next(const struct tx_heap *heap)
{
	for (uint32_t i = 1; i <= 2 && i < heap->count; i++)
		prefetch(heap->entries[i].session, TX_HOT_BYTES);
}

static void timers_run(struct tx *t)
{
	int64_t now_ns = clock_mono_ns();
	const struct tx_entry *first;

	while ((first = tx_heap_first(&t->heap)) && first->due_ns <= now_ns) {
		prefetch_next(&t->heap);
		if (tx_timer_of(first) == TX_TIMER_RTP)
			tx_rtp_due(t, first->session);
		else
			tx_rtcp_due(t, first->session, now_ns);
	}
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		paths[i]->flush(t);
}

/* @param wait_ns  WAKE_NEVER: wait until signalled */
static void wait_for_signal(struct tx *t, int64_t wait_ns, int64_t until_ns)
{
	struct media_thread *thread = t->p.thread;
	struct pollfd wake = {.fd = thread->wake.fd, .events = POLLIN};
	const struct timespec timeout = {.tv_sec = wait_ns / NS_PER_S,
					 .tv_nsec = wait_ns % NS_PER_S};
	bool readable = false;

	wake_sleep(&thread->wake, until_ns);
	if (!ring_front(thread->commands) && !ring_front(t->p.answers))
		readable =
			ppoll(&wake, 1, wait_ns == WAKE_NEVER ? NULL : &timeout,
			      NULL) > 0;
	wake_end(&thread->wake, readable);
}

static void wait_for_work(struct tx *t)
{
	const struct tx_entry *first = tx_heap_first(&t->heap);
	int64_t now_ns = clock_mono_ns();
	bool waits = !first || first->due_ns > now_ns;

	scheduling_watch(&t->p.thread->scheduling, waits, now_ns);
	if (!first)
		wait_for_signal(t, WAKE_NEVER, WAKE_NEVER);
	else if (waits)
		wait_for_signal(t, first->due_ns - now_ns, first->due_ns);
}

int tx_new(struct tx **ret, const struct tx_params *params)
{
	struct tx *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->p = *params;
	t->sessions = calloc(params->slots, sizeof(*t->sessions));
	err = t->sessions ? tx_heap_init(&t->heap, params->slots) : -ENOMEM;
	if (err) {
		tx_free(t);
		return err;
	}
	*ret = t;
	return 0;
}

struct tx *tx_free(struct tx *t)
{
	if (t) {
		tx_heap_release(&t->heap);
		free(t->sessions);
	}
	free(t);
	return NULL;
}

const struct tx_counters *tx_counters(const struct tx *t)
{
	return &t->counters;
}

void *tx_thread(void *tx)
{
	struct tx *t = tx;

	/* the default timer slack of 50 us would make packets late */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	media_thread_schedule(t->p.thread, SCHEDULING_PRIORITY_TX);
	while (!media_thread_quits(t->p.thread)) {
		wait_for_work(t);
		/* before the timers: needed_ns() relies on this order */
		commands_take(t);
		timers_run(t);
	}
	return NULL;
}
