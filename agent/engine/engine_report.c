/* Figures of the whole engine: once a second, and when the job ends. */
#include "agent/engine/engine_internal.h"
#include "base/log.h"
#include "base/str.h"

static void calls_sample(struct engine *e, int64_t now_ns)
{
	const bool busy[2] = {e->answering != NULL, e->calling.action != NULL};
	double s = (double)(now_ns - e->tick_ns) / (double)NS_PER_S;

	for (int dir = 0; dir < 2; dir++) {
		bool known =
			busy[dir] || e->calls_up[dir] || e->calls_begun[dir];

		if (known && s > 0) {
			report_sample(e->report, dir == 1, MEASURE_calls_active,
				      now_ns, e->calls_up[dir]);
			report_sample(e->report, dir == 1,
				      MEASURE_calls_per_sec, now_ns,
				      e->calls_begun[dir] / s);
		}
		e->calls_begun[dir] = 0;
	}
}

void engine_report_second(struct engine *e, int64_t now_ns)
{
	double progress = steps_progress(e);

	calls_sample(e, now_ns);
	e->tick_ns = now_ns;
	report_live(e->report, e->calls_up[0] + e->calls_up[1]);
	report_progress(e->report, progress);
	report_tick(e->report, now_ns);
}

static void starts_flaw(struct engine *e)
{
	const struct call_starts *s = &e->starts;
	char text[192];

	if (!call_starts_saturated(s))
		return;
	(void)str_print(text, sizeof(text),
			"generator saturated: calls did not start when they "
			"were due, %u calls lingered and held RTP ports, the "
			"engine's loop was %lld ms late",
			s->lingered_max,
			(long long)(s->late_max_ns / NS_PER_MS));
	report_flaw(e->report, "starts_missed", s->missed, text);
}

static void flaws_report(struct engine *e, const struct media_evidence *m)
{
	report_flaw(
		e->report, "receive_queue_drops", m->receive_queue_drops,
		"the kernel dropped packets before the engine read them: the loss "
		"measured is partly our own");
	report_flaw(
		e->report, "ring_drops", m->ring_drops,
		"packets were received but not analysed: a queue between our "
		"threads was full");
	report_flaw(e->report, "send_errors", m->send_errors,
		    "packets could not be handed to the kernel");
	report_flaw(
		e->report, "packets_unsent", m->packets_unsent,
		"packets were not sent in their place: the prompt was not encoded "
		"in time");
	starts_flaw(e);
}

void engine_report_rest(struct engine *e)
{
	struct media_evidence m = {0};
	struct wire_event_evidence evidence;

	if (e->media)
		media_engine_evidence(e->media, &m);
	flaws_report(e, &m);
	report_close(e->report);
	evidence = (struct wire_event_evidence){
		.packets_sent = m.packets_sent,
		.packets_received = m.packets_received,
		.send_errors = m.send_errors,
		.receive_queue_drops = m.receive_queue_drops,
		.ring_drops = m.ring_drops,
		.invalid_packets = m.invalid_packets,
		.rtcp_invalid = m.rtcp_invalid,
		.rtp_send_refused = m.rtp_send_refused,
		.rtcp_send_refused = m.rtcp_send_refused,
		.foreign_packets = m.foreign_packets,
		.ssrc_collisions = m.ssrc_collisions,
		.srtp_refused = m.srtp_refused,
		.srtp_replayed = m.srtp_replayed,
		.srtp_unkeyed = m.srtp_unkeyed,
		.dtls_dropped = m.dtls_dropped,
		.dtls_refused = m.dtls_refused,
		.packets_unsent = m.packets_unsent,
		.stun_dropped = m.stun_dropped,
		.starts_missed = e->starts.missed,
		.send_lateness_ms = m.send_lateness_ms,
		.send_lateness_p99_ms = m.send_lateness_p99_ms,
		.send_scheduling =
			e->media ? media_scheduling_name(m.sending) : NULL,
		.receive_scheduling =
			e->media ? media_scheduling_name(m.receiving) : NULL,
	};
	report_event(e->report, wire_event_evidence(
					report_time(e->report, clock_mono_ns()),
					&evidence));
	if (report_flush(e->report))
		log_error("the last results could not be queued");
}
