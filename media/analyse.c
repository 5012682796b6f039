/* The analysis thread: takes what RX and TX recorded in the order in which it
 * happened, and publishes seconds and totals. */
#include "base/clock.h"
#include "media/analyse_session.h"
#include "media/analysis/rtp_header.h"
#include "media/engine.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define PACKETS_AHEAD 8 /* that memory is asked for */

/* A source of records, with the next one taken out and looked at. */
struct head {
	bool full;
	int64_t mono_ns;
	uint64_t taken; /* records of it that are dealt with */
};

struct running {
	int64_t second_end_ns; /* here, so that the walk stays in the cache */
	struct media_session *session;
};

struct analyse {
	struct media_engine *e;
	struct media_session **slots; /* all that exist; NULL: free */
	uint32_t slots_used;
	struct running *running;
	uint32_t running_count;
	struct media_session **ending; /* STOPPING and CLOSING */
	uint32_t ending_count;
	bool published; /* since the loop was last woken */

	struct head received_head;
	struct head sent_head;
	struct head rtcp_head;
	struct head command_head;
	/* the oldest records, where they lie in the rings; valid if the head
	 * is full */
	const struct packet_record *received;
	const struct packet_record *sent;
	const struct rtcp_event *rtcp;
	struct command *command;
};

/* ---- publishing ---- */

static bool records_full(const struct media_engine *e)
{
	/* acquire: pairs with the release in media_engine_poll(); what was
	 * polled has left the ring */
	uint64_t polled =
		atomic_load_explicit(&e->records_polled, memory_order_acquire);

	return e->records_pushed - polled >= e->records_count;
}

static bool publish(struct analyse *an, const struct media_record *record)
{
	if (records_full(an->e))
		return false;
	ring_push(an->e->records, record);
	an->e->records_pushed++;
	an->published = true;
	return true;
}

/* A record that is lost, and counted, when the loop does not keep up. */
static void publish_or_drop(struct analyse *an,
			    const struct media_record *record)
{
	if (!publish(an, record))
		COUNTER_ADD(&an->e->records_dropped, 1);
}

/* @return false: the ring is full; the next packet tries again */
static bool publish_event(struct analyse *an, struct media_session *s,
			  enum media_record_kind kind, int64_t mono_ns)
{
	struct media_record record = {
		.kind = kind,
		.session = s,
		.mono_ns = mono_ns,
	};

	return publish(an, &record);
}

/* A second of one direction, written where the loop will read it; closed all
 * the same, and counted, when the loop does not keep up. */
static void second_publish(struct analyse *an, struct media_session *s,
			   int64_t end_ns, bool outgoing)
{
	struct media_engine *e = an->e;
	struct media_record *record =
		records_full(e) ? NULL : ring_reserve(e->records);
	struct stream_second unheard;
	struct stream_second *second = record ? &record->u.second : &unheard;

	if (outgoing)
		rtp_sender_close_second(&s->analysis.sender, end_ns, second);
	else
		analysis_close_in(&s->analysis, end_ns, second);
	if (!record) {
		COUNTER_ADD(&e->records_dropped, 1);
		return;
	}
	record->kind = MEDIA_RECORD_SECOND;
	record->session = s;
	record->outgoing = outgoing;
	record->mono_ns = end_ns;
	ring_commit(e->records);
	e->records_pushed++;
	an->published = true;
}

static void second_close(struct analyse *an, struct media_session *s,
			 int64_t end_ns)
{
	second_publish(an, s, end_ns, false);
	second_publish(an, s, end_ns, true);
	s->analysis.second_ns = end_ns;
}

/* ---- the list of running sessions ---- */

static void running_add(struct analyse *an, struct media_session *s)
{
	s->analysis.running_at = an->running_count;
	an->running[an->running_count++] = (struct running){
		.second_end_ns = s->analysis.second_ns + NS_PER_S,
		.session = s,
	};
}

static void running_remove(struct analyse *an, struct media_session *s)
{
	uint32_t at = s->analysis.running_at;

	an->running[at] = an->running[--an->running_count];
	an->running[at].session->analysis.running_at = at;
}

/* Close every second that is over at this time. */
static void advance(struct analyse *an, struct media_session *s,
		    int64_t mono_ns)
{
	struct running *r = &an->running[s->analysis.running_at];

	while (mono_ns >= r->second_end_ns) {
		second_close(an, s, r->second_end_ns);
		r->second_end_ns += NS_PER_S;
	}
}

/* ---- what happened ---- */

static void dtmf_publish(struct analyse *an, struct media_session *s,
			 int64_t mono_ns, const struct media_dtmf *dtmf,
			 bool outgoing)
{
	struct media_record record = {
		.kind = MEDIA_RECORD_DTMF,
		.session = s,
		.outgoing = outgoing,
		.mono_ns = mono_ns,
		.u.dtmf = *dtmf,
	};

	publish_or_drop(an, &record);
}

static void dtmf_heard(struct analyse *an, struct media_session *s,
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

static void dtmf_time(struct analyse *an, struct media_session *s,
		      int64_t mono_ns)
{
	struct dtmf_heard heard;

	if (!s->analysis.dtmf.open)
		return;
	dtmf_receive_time(&s->analysis.dtmf, mono_ns, &heard);
	dtmf_heard(an, s, &heard);
}

static void event_take(struct analyse *an, struct media_session *s,
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

	dtmf_receive_packet(&s->analysis.dtmf, &arrival, &heard);
	dtmf_heard(an, s, &heard);
}

static void digit_sent(struct analyse *an, struct media_session *s,
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

static void played(struct analyse *an, struct media_session *s,
		   const struct packet_record *r)
{
	struct media_record record = {
		.kind = MEDIA_RECORD_PLAYED,
		.session = s,
		.outgoing = true,
		.mono_ns = r->mono_ns,
		.u.played = r->marker_pt,
	};

	publish_or_drop(an, &record);
}

static void received_one(struct analyse *an, struct media_session *s,
			 const struct packet_record *r)
{
	if (s->analysis.state == ANALYSIS_RUNNING) {
		advance(an, s, r->mono_ns);
		dtmf_time(an, s, r->mono_ns);
		if (!s->analysis.has_rtp)
			s->analysis.has_rtp = publish_event(
				an, s, MEDIA_RECORD_FIRST_RTP, r->mono_ns);
	}
	analysis_received(&s->analysis, r);
}

static void tapped_one(struct analyse *an, struct media_session *s,
		       const struct packet_record *r)
{
	if (s->analysis.state == ANALYSIS_RUNNING)
		advance(an, s, r->mono_ns);
	analysis_tapped(&s->analysis, r);
}

/* What was kept until the start. */
static void early_one(struct analyse *an, struct media_session *s,
		      const struct packet_record *r)
{
	if (r->kind == PACKET_TAPPED_SENT)
		tapped_one(an, s, r);
	else
		received_one(an, s, r);
}

static void received_take(struct analyse *an)
{
	const struct packet_record *r = an->received;
	struct media_session *s = an->slots[r->session];

	if (!s || s->analysis.state == ANALYSIS_CLOSING) {
		/* cannot be; if it is, the count must not vanish */
		COUNTER_ADD(&an->e->records_dropped, 1);
		return;
	}
	if (r->kind == PACKET_EVENT_RECEIVED) {
		event_take(an, s, r);
		return;
	}
	if (r->kind == PACKET_TAPPED_SENT &&
	    s->analysis.state != ANALYSIS_WAITING) {
		tapped_one(an, s, r);
		return;
	}
	if (r->kind >= PACKET_PRIVATE && r->kind != PACKET_TAPPED_SENT) {
		if (s->analysis.state == ANALYSIS_RUNNING)
			advance(an, s, r->mono_ns);
		analysis_srtp(&s->analysis, r);
		return;
	}
	if (s->analysis.state == ANALYSIS_WAITING)
		analysis_early(&s->analysis, r);
	else
		received_one(an, s, r);
}

static void report_answer(struct analyse *an, struct media_session *s)
{
	struct report_answer answer = {.slot = s->slot, .ssrc = s->ssrc};

	analysis_report(&s->analysis, &answer);
	/* full: TX sends without a block when no answer comes */
	if (ring_push(an->e->answers, &answer))
		engine_wake(an->e->threads[THREAD_TX].wake_fd);
}

static void sent_take(struct analyse *an)
{
	const struct packet_record *r = an->sent;
	struct media_session *s = an->slots[r->session];

	if (!s || s->analysis.state == ANALYSIS_WAITING ||
	    s->analysis.state == ANALYSIS_CLOSING)
		return;
	if (s->analysis.state == ANALYSIS_RUNNING)
		advance(an, s, r->mono_ns);
	if (r->kind == PACKET_RTP_SENT)
		rtp_sender_update(&s->analysis.sender, r);
	else if (r->kind == PACKET_REPORT_WANTED)
		report_answer(an, s);
	else if (r->kind == PACKET_DIGIT_SENT)
		digit_sent(an, s, r);
	else if (r->kind == PACKET_PLAYED)
		played(an, s, r);
}

static void rtcp_take(struct analyse *an)
{
	const struct rtcp_event *event = an->rtcp;
	struct media_session *s = an->slots[event->slot];

	if (!s || s->analysis.state == ANALYSIS_WAITING ||
	    s->analysis.state == ANALYSIS_CLOSING)
		return;
	if (s->analysis.state == ANALYSIS_RUNNING) {
		advance(an, s, event->mono_ns);
		if (!s->analysis.has_rtcp)
			s->analysis.has_rtcp = publish_event(
				an, s, MEDIA_RECORD_RTCP, event->mono_ns);
	}
	analysis_rtcp(&s->analysis, event,
		      rtcp_ntp_middle(engine_ntp(an->e, event->mono_ns)));
}

static void session_stop(struct analyse *an, struct media_session *s,
			 int64_t stop_ns)
{
	if (s->analysis.state == ANALYSIS_RUNNING) {
		advance(an, s, stop_ns);
		running_remove(an, s);
	} else {
		analysis_never(&s->analysis);
	}
	s->analysis.stop_ns = stop_ns;
	s->analysis.state = ANALYSIS_STOPPING;
	an->ending[an->ending_count++] = s;
}

static void command_take(struct analyse *an)
{
	struct command *c = an->command;
	struct media_session *s = c->session;

	if (c->kind == COMMAND_ADD) {
		an->slots[s->slot] = s;
		an->slots_used++;
	} else if (c->kind == COMMAND_APPLY) {
		if (s->analysis.state == ANALYSIS_RUNNING) {
			analysis_apply(&s->analysis, c);
		} else {
			analysis_start(&s->analysis, c, s->ssrc);
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
static void prefetch_ahead(const struct analyse *an)
{
	const struct ring *ring = an->e->received;
	const struct packet_record *soon = ring_ahead(ring, PACKETS_AHEAD);
	const struct packet_record *later = ring_ahead(ring, 2 * PACKETS_AHEAD);
	const struct media_session *s;

	if (later && (s = an->slots[later->session])) {
		prefetch(&s->analysis, PREFETCH_LINE);
		rtp_stream_prefetch(&s->analysis.streams[0].rtp);
	}
	if (soon && (s = an->slots[soon->session])) {
		const struct rtp_stream *stream = &s->analysis.streams[0].rtp;

		if (soon->mono_ns >=
		    an->running[s->analysis.running_at].second_end_ns)
			rtp_stream_prefetch_second(stream);
		else
			rtp_stream_prefetch_run(stream);
	}
}

static void heads_fill(struct analyse *an)
{
	struct media_engine *e = an->e;

	if (!an->received_head.full &&
	    (an->received = ring_front(e->received))) {
		an->received_head.full = true;
		an->received_head.mono_ns = an->received->mono_ns;
		prefetch_ahead(an);
	}
	if (!an->rtcp_head.full && (an->rtcp = ring_front(e->rtcp))) {
		an->rtcp_head.full = true;
		an->rtcp_head.mono_ns = an->rtcp->mono_ns;
	}
	if (!an->sent_head.full && (an->sent = ring_front(e->sent))) {
		an->sent_head.full = true;
		an->sent_head.mono_ns = an->sent->mono_ns;
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
static void take_until(struct analyse *an, int64_t until_ns)
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

/* ---- the end of a session ---- */

/* All that RX and TX recorded of it has been taken. */
static bool stopping_check(const struct analyse *an, struct media_session *s)
{
	/* acquire: pairs with the release in session_stop() of RX and TX; the
	 * counts they stored before */
	return atomic_load_explicit(&s->rx_done, memory_order_acquire) &&
	       atomic_load_explicit(&s->tx_done, memory_order_acquire) &&
	       /* acquire: pairs with the release in session_remove() of the
		* audio thread; its records are before ours */
	       (!s->audio ||
		atomic_load_explicit(&s->audio_done, memory_order_acquire)) &&
	       an->received_head.taken >= s->rx_last_packet &&
	       an->rtcp_head.taken >= s->rx_last_rtcp &&
	       an->sent_head.taken >= s->tx_last_packet;
}

static void last_second(struct analyse *an, struct media_session *s)
{
	struct analysis_session *a = &s->analysis;
	int64_t end_ns = a->stop_ns;

	if (a->second_ns == 0)
		return; /* never applied */
	analysis_finish(a);
	if (end_ns <= a->second_ns) {
		/* stopped on the boundary: a second of no length only if a
		 * packet would else be in none */
		if (!analysis_second_open(a))
			return;
		end_ns = a->second_ns + 1;
	}
	second_close(an, s, end_ns);
}

/* @return false: the ring is full, to be tried again */
static bool closing_publish(struct analyse *an, struct media_session *s)
{
	struct analysis_session *a = &s->analysis;
	struct media_record record = {.session = s, .mono_ns = a->stop_ns};

	while (a->second_ns != 0 && a->closing_step < 2) {
		record.kind = MEDIA_RECORD_TOTAL;
		record.outgoing = a->closing_step == 1;
		memset(&record.u, 0, sizeof(record.u));
		if (record.outgoing) {
			rtp_sender_total(&a->sender, &record.u.total);
			/* what TX counted: exact even if a ring was full */
			if (!s->tapped) {
				record.u.total.packets = s->tx_packets;
				record.u.total.bytes =
					s->tx_payload_bytes +
					s->tx_packets * RTP_HEADER_BYTES;
			}
			record.u.total.srtp_suite = a->suite_out;
		} else {
			analysis_total_in(a, &record.u.total);
		}
		if (!publish(an, &record))
			return false;
		a->closing_step++;
	}
	if (records_full(an->e))
		return false;
	/* before the record: the loop may free the session at once */
	an->slots[s->slot] = NULL;
	an->slots_used--;
	memset(&record.u, 0, sizeof(record.u));
	record.kind = MEDIA_RECORD_STOPPED;
	record.outgoing = false;
	publish(an, &record);
	return true;
}

static void endings_check(struct analyse *an)
{
	for (uint32_t i = 0; i < an->ending_count;) {
		struct media_session *s = an->ending[i];

		if (s->analysis.state == ANALYSIS_STOPPING &&
		    stopping_check(an, s)) {
			dtmf_time(an, s, INT64_MAX);
			last_second(an, s);
			s->analysis.state = ANALYSIS_CLOSING;
		}
		if (s->analysis.state == ANALYSIS_CLOSING &&
		    closing_publish(an, s))
			an->ending[i] = an->ending[--an->ending_count];
		else
			i++;
	}
}

/* ---- the thread ---- */

static void tick(struct analyse *an)
{
	/* relaxed: a wake-up too many or too late does no harm */
	if (atomic_load_explicit(&an->e->ticking, memory_order_relaxed))
		engine_wake(an->e->records_fd);
	int64_t until_ns = clock_mono_ns() - ANALYSIS_DELAY_NS;

	take_until(an, until_ns);
	for (uint32_t i = 0; i < an->running_count; i++) {
		if (until_ns >= an->running[i].second_end_ns)
			advance(an, an->running[i].session, until_ns);
	}
	endings_check(an);
	if (an->published) {
		an->published = false;
		engine_wake(an->e->records_fd);
	}
}

int analyse_new(struct analyse **ret, struct media_engine *e)
{
	struct analyse *an = calloc(1, sizeof(*an));
	size_t max = e->slots;

	if (!an)
		return -ENOMEM;
	an->e = e;
	an->slots = calloc(max, sizeof(struct media_session *));
	an->running = calloc(max, sizeof(*an->running));
	an->ending = calloc(max, sizeof(struct media_session *));
	if (!an->slots || !an->running || !an->ending) {
		analyse_free(an);
		return -ENOMEM;
	}
	*ret = an;
	return 0;
}

struct analyse *analyse_free(struct analyse *an)
{
	if (an) {
		free(an->slots);
		free(an->running);
		free(an->ending);
		free(an);
	}
	return NULL;
}

void *analyse_thread(void *arg)
{
	struct analyse *an = arg;
	struct pollfd wake = {
		.fd = an->e->threads[THREAD_ANALYSIS].wake_fd,
		.events = POLLIN,
	};

	engine_schedule(an->e, THREAD_ANALYSIS, SCHEDULING_NICE_ONLY);
	/* acquire: pairs with the release in threads_stop(); nothing else is
	 * published by it */
	while (!atomic_load_explicit(&an->e->quit, memory_order_acquire)) {
		int wait_ms = an->slots_used > 0 ? ANALYSIS_TICK_MS : -1;

		if (poll(&wake, 1, wait_ms) > 0)
			engine_wake_clear(wake.fd);
		tick(an);
	}
	return NULL;
}
