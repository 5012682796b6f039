/* Digits as packets tell of them: heard on the wire, or sent. */
#include "media/measure/measure_internal.h"

static void dtmf_publish(struct measure_thread *an, struct media_session *s,
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

	measure_publish_or_drop(an, &record);
}

static void dtmf_heard(struct measure_thread *an, struct media_session *s,
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

void measure_dtmf_time(struct measure_thread *an, struct media_session *s,
		       int64_t mono_ns)
{
	struct dtmf_heard heard;

	dtmf_receive_time(&s->analysis.dtmf, mono_ns, &heard);
	dtmf_heard(an, s, &heard);
}

void measure_dtmf_event(struct measure_thread *an, struct media_session *s,
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

void measure_digit_sent(struct measure_thread *an, struct media_session *s,
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
