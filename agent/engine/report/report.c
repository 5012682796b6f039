#include "agent/engine/engine_internal.h"

#include "base/log.h"
#include "base/sockaddr.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A stream's second ends a second after the sample's time and reaches us some
 * milliseconds later; then the interval can be closed. */
#define CLOSE_GRACE_NS (3 * NS_PER_S)

struct wire_time report_time(const struct engine *e, int64_t mono_ns)
{
	return (struct wire_time){
		.mono_ns = mono_ns,
		.wall_us = (mono_ns + e->wall_offset_ns) / NS_PER_US,
	};
}

struct writer report_begin(struct engine *e)
{
	struct writer w;

	e->item.used = 0;
	writer_init(&w, &e->item);
	return w;
}

void report_end(struct engine *e, enum outbox_kind kind, const struct writer *w)
{
	outbox_add(e->outbox, kind, w->err ? NULL : w->buf->data, w->buf->used);
}

static void report_json(struct engine *e, enum outbox_kind kind, json_t *item)
{
	struct writer w = report_begin(e);

	writer_json(&w, NULL, item);
	report_end(e, kind, &w);
	json_decref(item);
}

void report_event(struct engine *e, json_t *event)
{
	report_json(e, OUTBOX_EVENTS, event);
}

void report_state(struct engine *e, int64_t mono_ns, enum ua_state state,
		  const char *account, const char *call, const char *text)
{
	struct writer w = report_begin(e);

	wire_event_state(&w, report_time(e, mono_ns), state, account, call,
			 text);
	report_end(e, OUTBOX_EVENTS, &w);
}

void report_sample(struct engine *e, bool outgoing, enum measure m,
		   int64_t mono_ns, double value)
{
	sample_collector_add(e->collect, outgoing, m,
			     mono_ns + e->wall_offset_ns, value);
}

#define ADDR_BYTES (INET6_ADDRSTRLEN + 8)

static void addr_text(char dst[static ADDR_BYTES], const struct media_addr *a)
{
	char host[INET6_ADDRSTRLEN];
	uint16_t port;

	dst[0] = '\0';
	if (a->len > 0 && sockaddr_host(host, &port, &a->ss) == 0)
		snprintf(dst, ADDR_BYTES,
			 a->ss.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u",
			 host, port);
}

void report_sip(const struct sip_trace *trace, void *arg)
{
	static const char *const transports[] = {
		[SIP_TRANSPORT_UDP] = "udp",
		[SIP_TRANSPORT_TCP] = "tcp",
		[SIP_TRANSPORT_TLS] = "tls",
	};
	struct engine *e = arg;
	char local[ADDR_BYTES];
	char peer[ADDR_BYTES];
	struct wire_sip_message message = {
		.sent = trace->sent,
		.transport = transports[trace->transport],
		.local = local,
		.peer = peer,
		.len = trace->len,
	};
	struct writer w;
	char *copy;

	if (!e->job->record_sip)
		return;
	copy = malloc(trace->len);
	if (!copy) {
		outbox_add(e->outbox, OUTBOX_SIP, NULL, 0);
		return;
	}
	memcpy(copy, trace->data, trace->len);
	redact_keys(copy, trace->len);
	message.data = copy;
	addr_text(local, &trace->local);
	addr_text(peer, &trace->peer);
	w = report_begin(e);
	wire_sip_message_write(&w, report_time(e, trace->mono_ns), &message);
	report_end(e, OUTBOX_SIP, &w);
	explicit_bzero(copy, trace->len);
	free(copy);
}

void report_send(struct engine *e, json_t *message)
{
	int err = message ? wire_channel_send(e->channel, message) : -ENOMEM;

	json_decref(message);
	if (err && err != -EPIPE)
		log_error("message to the supervisor lost: %s", strerror(-err));
	/* A broken socket shows in the read handler: a cancel. */
}

static void point_handler(json_t *point, void *arg)
{
	struct engine *e = arg;

	report_json(e, OUTBOX_SERIES, point);
}

static void calls_sample(struct engine *e, int64_t now_ns)
{
	const bool busy[2] = {e->answering != NULL, e->calling.action != NULL};
	double s = (double)(now_ns - e->tick_ns) / (double)NS_PER_S;

	for (int dir = 0; dir < 2; dir++) {
		bool known =
			busy[dir] || e->calls_up[dir] || e->calls_begun[dir];

		if (known && s > 0) {
			report_sample(e, dir == 1, MEASURE_calls_active, now_ns,
				      e->calls_up[dir]);
			report_sample(e, dir == 1, MEASURE_calls_per_sec,
				      now_ns, e->calls_begun[dir] / s);
		}
		e->calls_begun[dir] = 0;
	}
}

void report_tick(struct engine *e, int64_t now_ns)
{
	double progress = steps_progress(e);

	calls_sample(e, now_ns);
	e->tick_ns = now_ns;
	if (e->calls_up[0] + e->calls_up[1] > 0)
		report_send(e, live_encode(&e->live,
					   e->calls_up[0] + e->calls_up[1]));
	if (progress > e->progress_sent) {
		e->progress_sent = progress;
		report_send(e, json_pack("{s:s, s:f}", "type", "progress",
					 "progress", progress));
	}
	sample_collector_close(e->collect,
			       now_ns + e->wall_offset_ns - CLOSE_GRACE_NS,
			       point_handler, e);
	outbox_flush(e->outbox, e->channel);
}

static void flaw(struct engine *e, const char *name, uint64_t count,
		 const char *text)
{
	if (count)
		report_event(e, wire_event_flaw(report_time(e, clock_mono_ns()),
						name, count, text));
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
	flaw(e, "starts_missed", s->missed, text);
}

static void report_flaws(struct engine *e, const struct media_evidence *m)
{
	flaw(e, "receive_queue_drops", m->receive_queue_drops,
	     "the kernel dropped packets before the engine read them: the loss "
	     "measured is partly our own");
	flaw(e, "ring_drops", m->ring_drops,
	     "packets were received but not analysed: a queue between our "
	     "threads was full");
	flaw(e, "send_errors", m->send_errors,
	     "packets could not be handed to the kernel");
	flaw(e, "packets_unsent", m->packets_unsent,
	     "packets were not sent in their place: the prompt was not encoded "
	     "in time");
	starts_flaw(e);
	flaw(e, "samples_dropped", sample_collector_dropped(e->collect),
	     "samples are missing in the statistics");
	flaw(e, "points_dropped", outbox_dropped(e->outbox, OUTBOX_SERIES),
	     "data points were dropped: the queue was full");
	flaw(e, "events_dropped", outbox_dropped(e->outbox, OUTBOX_EVENTS),
	     "events were dropped: the queue was full");
	flaw(e, "sip_dropped", outbox_dropped(e->outbox, OUTBOX_SIP),
	     "SIP messages were dropped: the queue was full");
}

void report_rest(struct engine *e)
{
	struct media_evidence m = {0};
	struct wire_event_evidence evidence;

	sample_collector_close(e->collect, INT64_MAX, point_handler, e);
	if (e->media)
		media_engine_evidence(e->media, &m);
	report_flaws(e, &m);
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
	report_event(e, wire_event_evidence(report_time(e, clock_mono_ns()),
					    &evidence));
	if (outbox_flush(e->outbox, e->channel))
		log_error("the last results could not be queued");
}
