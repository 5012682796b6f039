/* The end of a session: all that was recorded of it is taken, then its totals
 * go out. */
#include "media/analysis/rtp_header.h"
#include "media/measure/measure_internal.h"
#include "media/measure/measure_session.h"

#include <string.h>

/* All that RX and TX recorded of it has been taken. */
static bool stopping_check(const struct measure_thread *an,
			   struct media_session *s)
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

static void last_second(struct measure_thread *an, struct media_session *s)
{
	struct measure_session *a = &s->analysis;
	int64_t end_ns = a->stop_ns;

	if (a->second_ns == 0)
		return; /* never applied */
	measure_session_finish(a);
	if (end_ns <= a->second_ns) {
		/* stopped on the boundary: a second of no length only if a
		 * packet would else be in none */
		if (!measure_session_second_open(a))
			return;
		end_ns = a->second_ns + 1;
	}
	measure_second_close(an, s, end_ns);
}

/* @return false: the ring is full, to be tried again */
static bool sources_publish(struct measure_thread *an, struct media_session *s)
{
	struct measure_session *a = &s->analysis;
	struct media_record record = {
		.kind = MEDIA_RECORD_SOURCE,
		.session = s,
		.mono_ns = a->stop_ns,
	};

	while (measure_session_source(a, a->closing_source, &record.u.source)) {
		if (!measure_publish(an, &record))
			return false;
		a->closing_source++;
	}
	return true;
}

/* @return false: the ring is full, to be tried again */
static bool closing_publish(struct measure_thread *an, struct media_session *s)
{
	struct measure_session *a = &s->analysis;
	struct media_record record = {.session = s, .mono_ns = a->stop_ns};

	if (a->second_ns != 0 && !sources_publish(an, s))
		return false;
	while (a->second_ns != 0 && a->closing_step < 2) {
		record.kind = MEDIA_RECORD_TOTAL;
		record.outgoing = a->closing_step == 1;
		memset(&record.u, 0, sizeof(record.u));
		if (record.outgoing) {
			rtp_sender_total(&a->sender, &record.u.total);
			/* what TX counted: exact even if a ring was full */
			if (!s->tapped) {
				record.u.total.has_ptime = a->ptime_ms > 0;
				record.u.total.ptime_ms = a->ptime_ms;
				record.u.total.packets = s->tx_packets;
				record.u.total.bytes =
					s->tx_payload_bytes +
					s->tx_packets * RTP_HEADER_BYTES;
			}
			record.u.total.srtp_suite = a->suite_out;
		} else {
			measure_session_total_in(a, &record.u.total);
		}
		if (!measure_publish(an, &record))
			return false;
		a->closing_step++;
	}
	if (measure_records_full(an->e))
		return false;
	/* before the record: the loop may free the session at once */
	an->slots[s->slot] = NULL;
	an->slots_used--;
	memset(&record.u, 0, sizeof(record.u));
	record.kind = MEDIA_RECORD_STOPPED;
	record.outgoing = false;
	measure_publish(an, &record);
	return true;
}

void measure_endings_check(struct measure_thread *an)
{
	for (uint32_t i = 0; i < an->ending_count;) {
		struct media_session *s = an->ending[i];

		if (s->analysis.state == ANALYSIS_STOPPING &&
		    stopping_check(an, s)) {
			if (s->analysis.dtmf.open)
				measure_dtmf_time(an, s, INT64_MAX);
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
