#include "media/measure/measure.h"

#include "media/analysis/rtp_header.h"
#include "media/measure/measure_session.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define PACKETS_AHEAD 8 /* prefetch this many records ahead */

/* A source of records; its oldest record was looked at. */
struct head {
	bool full;
	int64_t mono_ns;
	uint64_t taken; /* number of records processed */
};

struct running {
	int64_t second_end_ns; /* a copy, so that walking the list stays in the
				* cache */
	struct measure_session *session;
};

struct measure_thread {
	struct measure_params p;
	struct measure_session **slots; /* all sessions; NULL: free */
	uint32_t slots_used;
	struct running *running;
	uint32_t running_count;
	struct measure_session **ending; /* sessions in STOPPING and CLOSING */
	uint32_t ending_count;
	bool published; /* a record was published since the loop was last
			 * woken */
	bool answered;  /* an answer was written since TX was last woken */

	struct head received_head;
	struct head sent_head;
	struct head rtcp_head;
	struct head command_head;
	/* the oldest records, in place in the rings; valid if the head is
	 * full */
	const struct packet_record *received;
	const struct packet_record *sent;
	const struct rtcp_event *rtcp;
	struct measure_command *command;
};

/* ---- records for the loop ---- */

/* @return false: there is no room */
static bool publish(struct measure_thread *an,
		    const struct media_record *record)
{
	if (!record_ring_push(an->p.records, record))
		return false;
	an->published = true;
	return true;
}

/* If the loop does not keep up, the record is lost and counted. */
static void publish_or_drop(struct measure_thread *an,
			    const struct media_record *record)
{
	if (!publish(an, record))
		record_ring_drop(an->p.records);
}

/* Publish a record without contents.
 * @return false: there is no room; the next packet tries again */
static bool publish_event(struct measure_thread *an, struct measure_session *s,
			  enum media_record_kind kind, int64_t mono_ns)
{
	struct media_record record = {
		.kind = kind,
		.session = s->session,
		.mono_ns = mono_ns,
	};

	return publish(an, &record);
}

/* Close the second of one direction, written in place in the loop's ring. If
 * the loop does not keep up, the second is closed, lost and counted. */
static void second_publish(struct measure_thread *an, struct measure_session *s,
			   int64_t end_ns, bool outgoing)
{
	struct media_record *record = record_ring_reserve(an->p.records);
	struct stream_second unheard;
	struct stream_second *second = record ? &record->u.second : &unheard;

	if (outgoing)
		measure_session_close_out(s, end_ns, second);
	else
		measure_session_close_in(s, end_ns, second);
	if (!record) {
		record_ring_drop(an->p.records);
		return;
	}
	record->kind = MEDIA_RECORD_SECOND;
	record->session = s->session;
	record->outgoing = outgoing;
	record->mono_ns = end_ns;
	record_ring_commit(an->p.records);
	an->published = true;
}

/* Close the open second of both directions. */
static void second_close(struct measure_thread *an, struct measure_session *s,
			 int64_t end_ns)
{
	second_publish(an, s, end_ns, false);
	second_publish(an, s, end_ns, true);
	s->second_ns = end_ns;
}

/* ---- the list of running sessions ---- */

static void running_add(struct measure_thread *an, struct measure_session *s)
{
	s->running_at = an->running_count;
	an->running[an->running_count++] = (struct running){
		.second_end_ns = s->second_ns + NS_PER_S,
		.session = s,
	};
}

static void running_remove(struct measure_thread *an, struct measure_session *s)
{
	uint32_t at = s->running_at;

	an->running[at] = an->running[--an->running_count];
	an->running[at].session->running_at = at;
}

/* Close every second that has ended at this time. */
static void close_seconds(struct measure_thread *an, struct measure_session *s,
			  int64_t mono_ns)
{
	struct running *r = &an->running[s->running_at];

	while (mono_ns >= r->second_end_ns) {
		second_close(an, s, r->second_end_ns);
		r->second_end_ns += NS_PER_S;
	}
}

/* ---- digits, received as telephone-events or sent ---- */

static void dtmf_publish(struct measure_thread *an, struct measure_session *s,
			 int64_t mono_ns, const struct media_dtmf *dtmf,
			 bool outgoing)
{
	struct media_record record = {
		.kind = MEDIA_RECORD_DTMF,
		.session = s->session,
		.outgoing = outgoing,
		.mono_ns = mono_ns,
		.u.dtmf = *dtmf,
	};

	publish_or_drop(an, &record);
}

static void dtmf_heard(struct measure_thread *an, struct measure_session *s,
		       const struct dtmf_heard *h)
{
	for (size_t i = 0; i < h->count; i++) {
		const struct dtmf_step *step = &h->steps[i];
		const struct media_dtmf dtmf = {
			.digit = step->digit,
			.via = DTMF_RTPEVENT,
			.ended = step->ended,
			.ms = step->ms,
		};

		dtmf_publish(an, s, step->mono_ns, &dtmf, false);
	}
}

/* A digit ends if no packets of it arrive for a while; only while s->dtmf.open.
 * @param mono_ns  now; INT64_MAX: the session ends */
static void dtmf_time(struct measure_thread *an, struct measure_session *s,
		      int64_t mono_ns)
{
	struct dtmf_heard heard;

	dtmf_receive_time(&s->dtmf, mono_ns, &heard);
	dtmf_heard(an, s, &heard);
}

/* A telephone-event packet was received. */
static void dtmf_event(struct measure_thread *an, struct measure_session *s,
		       const struct packet_record *r)
{
	const struct dtmf_arrival arrival = {
		.payload = {.event = (uint8_t)r->seq,
			    .end = r->marker_pt != 0,
			    .duration = r->payload_bytes},
		.ssrc = r->ssrc,
		.ts = r->rtp_ts,
		.clock_hz = (uint32_t)r->lateness_us,
		.mono_ns = r->mono_ns,
	};
	struct dtmf_heard heard;

	dtmf_receive_packet(&s->dtmf, &arrival, &heard);
	dtmf_heard(an, s, &heard);
}

/* TX has sent a digit. */
static void digit_sent(struct measure_thread *an, struct measure_session *s,
		       const struct packet_record *r)
{
	const struct media_dtmf dtmf = {
		.digit = (char)r->seq,
		.via = r->marker_pt & DIGIT_TONE ? DTMF_INBAND : DTMF_RTPEVENT,
		.ended = true,
		.ms = r->payload_bytes,
		.last = r->marker_pt & DIGIT_LAST,
	};

	dtmf_publish(an, s, r->mono_ns, &dtmf, true);
}

/* ---- packets and events ---- */

static void played(struct measure_thread *an, struct measure_session *s,
		   const struct packet_record *r)
{
	struct media_record record = {
		.kind = MEDIA_RECORD_PLAYED,
		.session = s->session,
		.outgoing = true,
		.mono_ns = r->mono_ns,
		.u.played = r->marker_pt,
	};

	publish_or_drop(an, &record);
}

static void unreachable(struct measure_thread *an, struct measure_session *s,
			const struct packet_record *r)
{
	struct media_record record = {
		.kind = MEDIA_RECORD_UNREACHABLE,
		.session = s->session,
		.outgoing = true,
		.mono_ns = r->mono_ns,
		.u.unreachable = {.err = -(int)r->seq, .rtcp = r->marker_pt},
	};

	publish_or_drop(an, &record);
}

static void received_one(struct measure_thread *an, struct measure_session *s,
			 const struct packet_record *r)
{
	if (s->state == ANALYSIS_RUNNING) {
		close_seconds(an, s, r->mono_ns);
		if (s->dtmf.open)
			dtmf_time(an, s, r->mono_ns);
		if (!s->has_rtp)
			s->has_rtp = publish_event(
				an, s, MEDIA_RECORD_FIRST_RTP, r->mono_ns);
	} else {
		measure_session_late(s, r, false);
	}
	measure_session_received(s, r);
}

static void tapped_one(struct measure_thread *an, struct measure_session *s,
		       const struct packet_record *r)
{
	if (s->state == ANALYSIS_RUNNING)
		close_seconds(an, s, r->mono_ns);
	else
		measure_session_late(s, r, true);
	measure_session_tapped(s, r);
}

/* A packet that was kept until the start. */
static void early_one(struct measure_thread *an, struct measure_session *s,
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
	struct measure_session *s = an->slots[r->session];

	if (!s || s->state == ANALYSIS_CLOSING) {
		/* This should not happen. If it does, the packet must not
		 * vanish uncounted. */
		record_ring_drop(an->p.records);
		return;
	}
	if (r->kind == PACKET_EVENT_RECEIVED) {
		dtmf_event(an, s, r);
		return;
	}
	if (r->kind == PACKET_TAPPED_SENT && s->state != ANALYSIS_WAITING) {
		tapped_one(an, s, r);
		return;
	}
	if (r->kind >= PACKET_PRIVATE && r->kind != PACKET_TAPPED_SENT) {
		if (s->state == ANALYSIS_RUNNING)
			close_seconds(an, s, r->mono_ns);
		measure_session_srtp(s, r);
		return;
	}
	if (s->state == ANALYSIS_WAITING)
		measure_session_early(s, r);
	else
		received_one(an, s, r);
}

static void report_answer(struct measure_thread *an, struct measure_session *s)
{
	struct report_answer answer = {
		.slot = s->slot,
		.ssrc = s->ssrc,
		.final = an->sent->marker_pt == REPORT_FINAL,
	};

	measure_session_report(s, &answer);
	/* if the ring is full, TX sends without a block when no answer comes */
	if (ring_push(an->p.answers, &answer))
		an->answered = true;
}

static void sent_take(struct measure_thread *an)
{
	const struct packet_record *r = an->sent;
	struct measure_session *s = an->slots[r->session];

	if (!s || s->state == ANALYSIS_WAITING || s->state == ANALYSIS_CLOSING)
		return;
	if (s->state == ANALYSIS_RUNNING)
		close_seconds(an, s, r->mono_ns);
	else if (r->kind == PACKET_RTP_SENT)
		measure_session_late(s, r, true);
	if (r->kind == PACKET_RTP_SENT)
		rtp_sender_update(&s->sender, r);
	else if (r->kind == PACKET_REPORT_WANTED)
		report_answer(an, s);
	else if (r->kind == PACKET_DIGIT_SENT)
		digit_sent(an, s, r);
	else if (r->kind == PACKET_PLAYED)
		played(an, s, r);
	else if (r->kind == PACKET_UNREACHABLE)
		unreachable(an, s, r);
}

static void rtcp_take(struct measure_thread *an)
{
	const struct rtcp_event *event = an->rtcp;
	struct measure_session *s = an->slots[event->slot];

	if (!s || s->state == ANALYSIS_WAITING || s->state == ANALYSIS_CLOSING)
		return;
	if (s->state == ANALYSIS_RUNNING) {
		close_seconds(an, s, event->mono_ns);
		if (!s->has_rtcp && event->kind != RTCP_EVENT_TAPPED_SENT)
			s->has_rtcp = publish_event(an, s, MEDIA_RECORD_RTCP,
						    event->mono_ns);
	}
	measure_session_rtcp(s, event,
			     rtcp_ntp_middle(rtcp_ntp(event->mono_ns +
						      an->p.ntp_offset_ns)));
}

static void session_stop(struct measure_thread *an, struct measure_session *s,
			 int64_t stop_ns)
{
	if (s->state == ANALYSIS_RUNNING) {
		close_seconds(an, s, stop_ns);
		running_remove(an, s);
	} else {
		measure_session_never(s);
	}
	s->stop_ns = stop_ns;
	s->state = ANALYSIS_STOPPING;
	an->ending[an->ending_count++] = s;
}

static void session_start(struct measure_thread *an, struct measure_session *s,
			  const struct measure_command *c)
{
	struct packet_record early[EARLY_PACKETS_MAX];
	size_t count = measure_session_start(s, c, early);

	running_add(an, s);
	for (size_t i = 0; i < count; i++)
		early_one(an, s, &early[i]);
}

static void command_take(struct measure_thread *an)
{
	struct measure_command *c = an->command;
	struct measure_session *s = c->session;

	if (c->head.kind == COMMAND_ADD) {
		an->slots[s->slot] = s;
		an->slots_used++;
	} else if (c->head.kind == COMMAND_APPLY) {
		if (s->state == ANALYSIS_RUNNING)
			measure_session_apply(s, c);
		else
			session_start(an, s, c);
	} else if (c->head.kind == COMMAND_STOP) {
		session_stop(an, s, c->head.mono_ns);
	}
	command_done(&c->head);
}

/* ---- the records in order of time ---- */

/*
 * Packets of many calls follow one another, and each writes to cache lines that
 * are not in the cache any more: prefetch them some packets before. Which of
 * the session's streams it will be is not known yet; nearly always it is the
 * first.
 */
static void prefetch_received(const struct measure_thread *an)
{
	const struct ring *ring = an->p.received;
	const struct packet_record *soon = ring_ahead(ring, PACKETS_AHEAD);
	const struct packet_record *later = ring_ahead(ring, 2 * PACKETS_AHEAD);
	const struct measure_session *s;

	if (later && (s = an->slots[later->session])) {
		prefetch(&s->state, PREFETCH_LINE);
		rtp_stream_prefetch(&s->first_stream.rtp);
	}
	if (soon && (s = an->slots[soon->session]) && s->stream_count > 0) {
		const struct rtp_stream *stream = &s->first_stream.rtp;

		if (soon->mono_ns >= an->running[s->running_at].second_end_ns)
			rtp_stream_prefetch_second(stream);
		else
			rtp_stream_prefetch_run(stream);
	}
}

static void prefetch_sent(const struct measure_thread *an)
{
	const struct packet_record *soon =
		ring_ahead(an->p.sent, PACKETS_AHEAD);
	const struct measure_session *s;

	if (soon && (s = an->slots[soon->session])) {
		prefetch(&s->state, PREFETCH_LINE);
		prefetch(&s->sender, RTP_SENDER_HOT_BYTES);
	}
}

static void heads_fill(struct measure_thread *an)
{
	struct measure_params *p = &an->p;

	if (!an->received_head.full &&
	    (an->received = ring_front(p->received))) {
		an->received_head.full = true;
		an->received_head.mono_ns = an->received->mono_ns;
		prefetch_received(an);
	}
	if (!an->rtcp_head.full && (an->rtcp = ring_front(p->rtcp))) {
		an->rtcp_head.full = true;
		an->rtcp_head.mono_ns = an->rtcp->mono_ns;
	}
	if (!an->sent_head.full && (an->sent = ring_front(p->sent))) {
		an->sent_head.full = true;
		an->sent_head.mono_ns = an->sent->mono_ns;
		prefetch_sent(an);
	}
	/* last: the loop gave us a command before RX or TX could act on it, so
	 * it is in our ring if a record that depends on it is */
	while (!an->command_head.full &&
	       ring_pop(p->thread->commands, &an->command)) {
		if (an->command->head.kind == COMMAND_ADD) {
			command_take(an); /* no record of the session can be
					   * older */
			continue;
		}
		an->command_head.full = true;
		an->command_head.mono_ns = an->command->head.mono_ns;
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

/* Process everything up to a time, in order. */
static void take_until(struct measure_thread *an, int64_t until_ns)
{
	for (;;) {
		struct head *next;

		heads_fill(an);
		/* commands first if times are equal */
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
			ring_release(an->p.sent);
		} else if (next == &an->received_head) {
			received_take(an);
			ring_release(an->p.received);
		} else {
			rtcp_take(an);
			ring_release(an->p.rtcp);
		}
		next->full = false;
		next->taken++;
	}
}

/* ---- the end of a session: process all its records, then publish its totals
 * ---- */

/* @return all records of RX and TX about the session are processed */
static bool stopping_check(const struct measure_thread *an,
			   struct measure_session *s)
{
	/* acquire: pairs with the release in session_stop() of RX and TX, which
	 * publishes their counts */
	return atomic_load_explicit(&s->end->rx_done, memory_order_acquire) &&
	       atomic_load_explicit(&s->end->tx_done, memory_order_acquire) &&
	       /* acquire: pairs with the release in session_remove() of the
		* audio thread; its records come before ours */
	       (!s->decodes || atomic_load_explicit(&s->end->audio_done,
						    memory_order_acquire)) &&
	       an->received_head.taken >= s->end->rx_last_packet &&
	       an->rtcp_head.taken >= s->end->rx_last_rtcp &&
	       an->sent_head.taken >= s->end->tx_last_packet;
}

static void last_second(struct measure_thread *an, struct measure_session *s)
{
	int64_t end_ns = s->stop_ns;

	if (s->second_ns == 0)
		return; /* never applied */
	measure_session_finish(s);
	if (end_ns <= s->second_ns) {
		/* stopped on the boundary: a second of (almost) no length only
		 * if a packet would otherwise be in no second */
		if (!measure_session_second_open(s))
			return;
		end_ns = s->second_ns + 1;
	}
	second_close(an, s, end_ns);
}

/* @return false: the ring is full, try again */
static bool sources_publish(struct measure_thread *an,
			    struct measure_session *s)
{
	struct media_record record = {
		.kind = MEDIA_RECORD_SOURCE,
		.session = s->session,
		.mono_ns = s->stop_ns,
	};

	while (measure_session_source(s, s->closing_source, &record.u.source)) {
		if (!publish(an, &record))
			return false;
		s->closing_source++;
	}
	return true;
}

/* @return false: the ring is full, try again */
static bool closing_publish(struct measure_thread *an,
			    struct measure_session *s)
{
	struct media_record record = {.session = s->session,
				      .mono_ns = s->stop_ns};

	if (s->second_ns != 0 && !sources_publish(an, s))
		return false;
	while (s->second_ns != 0 && s->closing_step < 2) {
		record.kind = MEDIA_RECORD_TOTAL;
		record.outgoing = s->closing_step == 1;
		memset(&record.u, 0, sizeof(record.u));
		if (record.outgoing) {
			rtp_sender_total(&s->sender, &record.u.total);
			/* TX's own counts are exact even if a ring was full */
			if (!s->tapped) {
				record.u.total.has_ptime = s->ptime_ms > 0;
				record.u.total.ptime_ms = s->ptime_ms;
				record.u.total.packets = s->end->tx_packets;
				record.u.total.bytes =
					s->end->tx_payload_bytes +
					s->end->tx_packets * RTP_HEADER_BYTES;
			}
			record.u.total.srtp_suite = s->suite_out;
		} else {
			measure_session_total_in(s, &record.u.total);
		}
		if (!publish(an, &record))
			return false;
		s->closing_step++;
	}
	if (record_ring_full(an->p.records))
		return false;
	/* before the record: the loop may free the session as soon as it is
	 * published */
	an->slots[s->slot] = NULL;
	an->slots_used--;
	memset(&record.u, 0, sizeof(record.u));
	record.kind = MEDIA_RECORD_STOPPED;
	record.outgoing = false;
	publish(an, &record);
	return true;
}

/* Close the ending sessions whose records are all processed. */
static void endings_check(struct measure_thread *an)
{
	for (uint32_t i = 0; i < an->ending_count;) {
		struct measure_session *s = an->ending[i];

		if (s->state == ANALYSIS_STOPPING && stopping_check(an, s)) {
			if (s->dtmf.open)
				dtmf_time(an, s, INT64_MAX);
			last_second(an, s);
			s->state = ANALYSIS_CLOSING;
		}
		if (s->state == ANALYSIS_CLOSING && closing_publish(an, s))
			an->ending[i] = an->ending[--an->ending_count];
		else
			i++;
	}
}

/* ---- the thread ---- */

static void tick(struct measure_thread *an)
{
	/* relaxed: one wake-up too many or too late does no harm */
	if (atomic_load_explicit(an->p.ticking, memory_order_relaxed))
		wake_fd_signal(an->p.loop_fd);
	int64_t until_ns = clock_mono_ns() - ANALYSIS_DELAY_NS;

	take_until(an, until_ns);
	if (an->answered) {
		an->answered = false;
		wake_by(an->p.tx_wake, WAKE_NOW);
	}
	for (uint32_t i = 0; i < an->running_count; i++) {
		if (until_ns >= an->running[i].second_end_ns)
			close_seconds(an, an->running[i].session, until_ns);
	}
	endings_check(an);
	if (an->published) {
		an->published = false;
		wake_fd_signal(an->p.loop_fd);
	}
}

int measure_thread_new(struct measure_thread **ret,
		       const struct measure_params *params)
{
	struct measure_thread *an = calloc(1, sizeof(*an));
	size_t max = params->slots;

	if (!an)
		return -ENOMEM;
	an->p = *params;
	an->slots = calloc(max, sizeof(struct measure_session *));
	an->running = calloc(max, sizeof(*an->running));
	an->ending = calloc(max, sizeof(struct measure_session *));
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

/* While there are sessions the thread ticks, and no command is needed before
 * the next tick; see needed_ns(). */
static void sleep_until_tick(struct measure_thread *an)
{
	struct media_thread *thread = an->p.thread;
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

	media_thread_schedule(an->p.thread, SCHEDULING_NICE_ONLY);
	while (!media_thread_quits(an->p.thread)) {
		sleep_until_tick(an);
		tick(an);
	}
	return NULL;
}
