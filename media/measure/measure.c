/* The analysis thread: takes what RX and TX recorded in the order in which it
 * happened, and publishes seconds and totals. */
#include "base/clock.h"
#include "media/measure/measure_internal.h"
#include "media/measure/measure_session.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#define PACKETS_AHEAD 8 /* that memory is asked for */

/* ---- the list of running sessions ---- */

static void running_add(struct measure_thread *an, struct media_session *s)
{
	s->analysis.running_at = an->running_count;
	an->running[an->running_count++] = (struct running){
		.second_end_ns = s->analysis.second_ns + NS_PER_S,
		.session = s,
	};
}

static void running_remove(struct measure_thread *an, struct media_session *s)
{
	uint32_t at = s->analysis.running_at;

	an->running[at] = an->running[--an->running_count];
	an->running[at].session->analysis.running_at = at;
}

/* Close every second that is over at this time. */
static void close_seconds(struct measure_thread *an, struct media_session *s,
			  int64_t mono_ns)
{
	struct running *r = &an->running[s->analysis.running_at];

	while (mono_ns >= r->second_end_ns) {
		measure_second_close(an, s, r->second_end_ns);
		r->second_end_ns += NS_PER_S;
	}
}

/* ---- what happened ---- */

static void played(struct measure_thread *an, struct media_session *s,
		   const struct packet_record *r)
{
	struct media_record record = {
		.kind = MEDIA_RECORD_PLAYED,
		.session = s,
		.outgoing = true,
		.mono_ns = r->mono_ns,
		.u.played = r->marker_pt,
	};

	measure_publish_or_drop(an, &record);
}

static void unreachable(struct measure_thread *an, struct media_session *s,
			const struct packet_record *r)
{
	struct media_record record = {
		.kind = MEDIA_RECORD_UNREACHABLE,
		.session = s,
		.outgoing = true,
		.mono_ns = r->mono_ns,
		.u.unreachable = {.err = -(int)r->seq, .rtcp = r->marker_pt},
	};

	measure_publish_or_drop(an, &record);
}

static void received_one(struct measure_thread *an, struct media_session *s,
			 const struct packet_record *r)
{
	if (s->analysis.state == ANALYSIS_RUNNING) {
		close_seconds(an, s, r->mono_ns);
		if (s->analysis.dtmf.open)
			measure_dtmf_time(an, s, r->mono_ns);
		if (!s->analysis.has_rtp)
			s->analysis.has_rtp = measure_publish_event(
				an, s, MEDIA_RECORD_FIRST_RTP, r->mono_ns);
	}
	measure_session_received(&s->analysis, r);
}

static void tapped_one(struct measure_thread *an, struct media_session *s,
		       const struct packet_record *r)
{
	if (s->analysis.state == ANALYSIS_RUNNING)
		close_seconds(an, s, r->mono_ns);
	measure_session_tapped(&s->analysis, r);
}

/* What was kept until the start. */
static void early_one(struct measure_thread *an, struct media_session *s,
		      const struct packet_record *r)
{
	if (r->kind == PACKET_TAPPED_SENT)
		tapped_one(an, s, r);
	else
		received_one(an, s, r);
}

static void received_take(struct measure_thread *an)
{
	const struct packet_record *r = an->received;
	struct media_session *s = an->slots[r->session];

	if (!s || s->analysis.state == ANALYSIS_CLOSING) {
		/* cannot be; if it is, the count must not vanish */
		COUNTER_ADD(&an->e->records_dropped, 1);
		return;
	}
	if (r->kind == PACKET_EVENT_RECEIVED) {
		measure_dtmf_event(an, s, r);
		return;
	}
	if (r->kind == PACKET_TAPPED_SENT &&
	    s->analysis.state != ANALYSIS_WAITING) {
		tapped_one(an, s, r);
		return;
	}
	if (r->kind >= PACKET_PRIVATE && r->kind != PACKET_TAPPED_SENT) {
		if (s->analysis.state == ANALYSIS_RUNNING)
			close_seconds(an, s, r->mono_ns);
		measure_session_srtp(&s->analysis, r);
		return;
	}
	if (s->analysis.state == ANALYSIS_WAITING)
		measure_session_early(&s->analysis, r);
	else
		received_one(an, s, r);
}

static void report_answer(struct measure_thread *an, struct media_session *s)
{
	struct report_answer answer = {
		.slot = s->slot,
		.ssrc = s->ssrc,
		.final = an->sent->marker_pt == REPORT_FINAL,
	};

	measure_session_report(&s->analysis, &answer);
	/* full: TX sends without a block when no answer comes */
	if (ring_push(an->e->answers, &answer))
		wake_by(&an->e->threads[THREAD_TX].wake, WAKE_NOW);
}

static void sent_take(struct measure_thread *an)
{
	const struct packet_record *r = an->sent;
	struct media_session *s = an->slots[r->session];

	if (!s || s->analysis.state == ANALYSIS_WAITING ||
	    s->analysis.state == ANALYSIS_CLOSING)
		return;
	if (s->analysis.state == ANALYSIS_RUNNING)
		close_seconds(an, s, r->mono_ns);
	if (r->kind == PACKET_RTP_SENT)
		rtp_sender_update(&s->analysis.sender, r);
	else if (r->kind == PACKET_REPORT_WANTED)
		report_answer(an, s);
	else if (r->kind == PACKET_DIGIT_SENT)
		measure_digit_sent(an, s, r);
	else if (r->kind == PACKET_PLAYED)
		played(an, s, r);
	else if (r->kind == PACKET_UNREACHABLE)
		unreachable(an, s, r);
}

static void rtcp_take(struct measure_thread *an)
{
	const struct rtcp_event *event = an->rtcp;
	struct media_session *s = an->slots[event->slot];

	if (!s || s->analysis.state == ANALYSIS_WAITING ||
	    s->analysis.state == ANALYSIS_CLOSING)
		return;
	if (s->analysis.state == ANALYSIS_RUNNING) {
		close_seconds(an, s, event->mono_ns);
		if (!s->analysis.has_rtcp)
			s->analysis.has_rtcp = measure_publish_event(
				an, s, MEDIA_RECORD_RTCP, event->mono_ns);
	}
	measure_session_rtcp(
		&s->analysis, event,
		rtcp_ntp_middle(engine_ntp(an->e, event->mono_ns)));
}

static void session_stop(struct measure_thread *an, struct media_session *s,
			 int64_t stop_ns)
{
	if (s->analysis.state == ANALYSIS_RUNNING) {
		close_seconds(an, s, stop_ns);
		running_remove(an, s);
	} else {
		measure_session_never(&s->analysis);
	}
	s->analysis.stop_ns = stop_ns;
	s->analysis.state = ANALYSIS_STOPPING;
	an->ending[an->ending_count++] = s;
}

static void command_take(struct measure_thread *an)
{
	struct command *c = an->command;
	struct media_session *s = c->session;

	if (c->kind == COMMAND_ADD) {
		an->slots[s->slot] = s;
		an->slots_used++;
	} else if (c->kind == COMMAND_APPLY) {
		if (s->analysis.state == ANALYSIS_RUNNING) {
			measure_session_apply(&s->analysis, c);
		} else {
			measure_session_start(&s->analysis, c, s->ssrc);
			running_add(an, s);
			for (size_t i = 0; i < s->analysis.early_count; i++)
				early_one(an, s, &s->analysis.early[i]);
		}
	} else if (c->kind == COMMAND_STOP) {
		session_stop(an, s, c->mono_ns);
	}
	command_done(c);
}

/* ---- the order of things ---- */

/*
 * Packets of many calls come one after another, and each is written to lines
 * that are in no cache any more: ask for them some packets before. Which of a
 * session's streams it will be is not known yet: nearly always the first.
 */
static void prefetch_received(const struct measure_thread *an)
{
	const struct ring *ring = an->e->received;
	const struct packet_record *soon = ring_ahead(ring, PACKETS_AHEAD);
	const struct packet_record *later = ring_ahead(ring, 2 * PACKETS_AHEAD);
	const struct media_session *s;

	if (later && (s = an->slots[later->session])) {
		prefetch(&s->analysis.state, PREFETCH_LINE);
		rtp_stream_prefetch(&s->analysis.streams[0].rtp);
	}
	if (soon && (s = an->slots[soon->session]) &&
	    s->analysis.stream_count > 0) {
		const struct rtp_stream *stream = &s->analysis.streams[0].rtp;

		if (soon->mono_ns >=
		    an->running[s->analysis.running_at].second_end_ns)
			rtp_stream_prefetch_second(stream);
		else
			rtp_stream_prefetch_run(stream);
	}
}

static void prefetch_sent(const struct measure_thread *an)
{
	const struct packet_record *soon =
		ring_ahead(an->e->sent, PACKETS_AHEAD);
	const struct media_session *s;

	if (soon && (s = an->slots[soon->session])) {
		prefetch(&s->analysis.state, PREFETCH_LINE);
		prefetch(&s->analysis.sender, RTP_SENDER_HOT_BYTES);
	}
}

static void heads_fill(struct measure_thread *an)
{
	struct media_engine *e = an->e;

	if (!an->received_head.full &&
	    (an->received = ring_front(e->received))) {
		an->received_head.full = true;
		an->received_head.mono_ns = an->received->mono_ns;
		prefetch_received(an);
	}
	if (!an->rtcp_head.full && (an->rtcp = ring_front(e->rtcp))) {
		an->rtcp_head.full = true;
		an->rtcp_head.mono_ns = an->rtcp->mono_ns;
	}
	if (!an->sent_head.full && (an->sent = ring_front(e->sent))) {
		an->sent_head.full = true;
		an->sent_head.mono_ns = an->sent->mono_ns;
		prefetch_sent(an);
	}
	/* last: the loop gave a command to us before RX or TX could act on it,
	 * so it is there when a record of theirs is */
	while (!an->command_head.full &&
	       ring_pop(e->threads[THREAD_ANALYSIS].commands, &an->command)) {
		if (an->command->kind == COMMAND_ADD) {
			command_take(an); /* nothing can be before it */
			continue;
		}
		an->command_head.full = true;
		an->command_head.mono_ns = an->command->mono_ns;
	}
}

static struct head *earlier(struct head *a, struct head *b)
{
	if (!b->full)
		return a;
	if (!a || b->mono_ns < a->mono_ns)
		return b;
	return a;
}

/* Take everything up to a time, in order. */
static void take_until(struct measure_thread *an, int64_t until_ns)
{
	for (;;) {
		struct head *next;

		heads_fill(an);
		/* commands first where times are equal */
		next = earlier(NULL, &an->command_head);
		next = earlier(next, &an->sent_head);
		next = earlier(next, &an->received_head);
		next = earlier(next, &an->rtcp_head);
		if (!next || next->mono_ns > until_ns)
			break;
		if (next == &an->command_head) {
			command_take(an);
		} else if (next == &an->sent_head) {
			sent_take(an);
			ring_release(an->e->sent);
		} else if (next == &an->received_head) {
			received_take(an);
			ring_release(an->e->received);
		} else {
			rtcp_take(an);
			ring_release(an->e->rtcp);
		}
		next->full = false;
		next->taken++;
	}
}

/* ---- the thread ---- */

static void tick(struct measure_thread *an)
{
	/* relaxed: a wake-up too many or too late does no harm */
	if (atomic_load_explicit(&an->e->ticking, memory_order_relaxed))
		engine_wake(an->e->records_fd);
	int64_t until_ns = clock_mono_ns() - ANALYSIS_DELAY_NS;

	take_until(an, until_ns);
	for (uint32_t i = 0; i < an->running_count; i++) {
		if (until_ns >= an->running[i].second_end_ns)
			close_seconds(an, an->running[i].session, until_ns);
	}
	measure_endings_check(an);
	if (an->published) {
		an->published = false;
		engine_wake(an->e->records_fd);
	}
}

int measure_thread_new(struct measure_thread **ret, struct media_engine *e)
{
	struct measure_thread *an = calloc(1, sizeof(*an));
	size_t max = e->slots;

	if (!an)
		return -ENOMEM;
	an->e = e;
	an->slots = calloc(max, sizeof(struct media_session *));
	an->running = calloc(max, sizeof(*an->running));
	an->ending = calloc(max, sizeof(struct media_session *));
	if (!an->slots || !an->running || !an->ending) {
		measure_thread_free(an);
		return -ENOMEM;
	}
	*ret = an;
	return 0;
}

struct measure_thread *measure_thread_free(struct measure_thread *an)
{
	if (an) {
		free(an->slots);
		free(an->running);
		free(an->ending);
		free(an);
	}
	return NULL;
}

/* While there are sessions it ticks, and no command needs it before a tick; see
 * needed_ns(). */
static void sleep_until_tick(struct measure_thread *an)
{
	struct thread *thread = &an->e->threads[THREAD_ANALYSIS];
	struct pollfd wake = {.fd = thread->wake.fd, .events = POLLIN};
	bool ticks = an->slots_used > 0;
	bool readable = false;

	wake_sleep(&thread->wake,
		   ticks ? clock_mono_ns() + ANALYSIS_TICK_NS : WAKE_NEVER);
	if (ticks || !ring_front(thread->commands))
		readable = poll(&wake, 1, ticks ? ANALYSIS_TICK_MS : -1) > 0;
	wake_end(&thread->wake, readable);
}

void *measure_thread(void *arg)
{
	struct measure_thread *an = arg;

	engine_schedule(an->e, THREAD_ANALYSIS, SCHEDULING_NICE_ONLY);
	/* acquire: pairs with the release in threads_stop(); nothing else is
	 * published by it */
	while (!atomic_load_explicit(&an->e->quit, memory_order_acquire)) {
		sleep_until_tick(an);
		tick(an);
	}
	return NULL;
}
