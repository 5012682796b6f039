/* Figures of the whole engine: once a second, and when the job ends. */
#include "agent/engine/engine_internal.h"

static struct saturation_counters counters_of(const struct engine *e,
					      const struct media_evidence *m)
{
	struct saturation_counters c = {
		.packets_sent = m->packets_sent,
		.packets_received = m->packets_received,
		.receive_queue_drops = m->receive_queue_drops,
		.ring_drops = m->ring_drops,
		.starts_missed = e->steps ? steps_starts_missed(e->steps) : 0,
	};

	c.sip_known =
		e->accounts &&
		user_agents_receive_drops(e->accounts, &c.sip_queue_drops) == 0;
	return c;
}

void engine_report_second(struct engine *e, int64_t now_ns)
{
	double progress = steps_progress(e->steps);
	struct saturation_counters counters;
	struct media_evidence m;
	bool busy[2];

	steps_busy(e->steps, busy);
	calls_second(e->calls, busy, now_ns);
	report_live(e->report,
		    calls_up(e->calls, false) + calls_up(e->calls, true));
	report_progress(e->report, progress);
	media_engine_evidence(e->media, &m);
	counters = counters_of(e, &m);
	saturation_second(e->saturation, now_ns, &counters);
	report_tick(e->report, now_ns);
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
	if (e->steps)
		steps_starts_flaw(e->steps);
}

void engine_report_rest(struct engine *e)
{
	struct media_evidence m = {0};
	struct saturation_counters counters;
	struct wire_generator generator = {0};
	struct wire_event_evidence evidence;

	if (e->media)
		media_engine_evidence(e->media, &m);
	counters = counters_of(e, &m);
	flaws_report(e, &m);
	report_flaw(
		e->report, "sip_queue_drops", counters.sip_queue_drops,
		"the kernel dropped SIP messages before the engine read them: "
		"peers had to send them again");
	if (e->saturation)
		saturation_end(e->saturation, clock_mono_ns(), &counters,
			       &generator);
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
		.unassigned_packets = m.unassigned_packets,
		.ssrc_collisions = m.ssrc_collisions,
		.srtp_refused = m.srtp_refused,
		.srtp_replayed = m.srtp_replayed,
		.srtp_unkeyed = m.srtp_unkeyed,
		.dtls_dropped = m.dtls_dropped,
		.dtls_refused = m.dtls_refused,
		.packets_unsent = m.packets_unsent,
		.stun_dropped = m.stun_dropped,
		.starts_missed = counters.starts_missed,
		.generator = generator,
		.calibration = e->settings.has_calibration
				       ? &e->settings.calibration
				       : NULL,
		.calls_most = e->calls ? calls_up_most(e->calls) : 0,
		.send_lateness_ms = m.send_lateness_ms,
		.send_lateness_p99_ms = m.send_lateness_p99_ms,
		.send_scheduling =
			e->media ? media_scheduling_name(m.sending) : NULL,
		.receive_scheduling =
			e->media ? media_scheduling_name(m.receiving) : NULL,
	};
	report_engine_event(
		e->report,
		wire_event_evidence(report_time(e->report, clock_mono_ns()),
				    &evidence));
}
