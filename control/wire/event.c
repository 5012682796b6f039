#include "control/wire/event.h"

#include "control/wire/put_internal.h"
#include "control/wire/text.h"

#include <string.h>

/* Make {t, mono, kind}; the caller adds the other members. */
static json_t *event_new(struct wire_time when, const char *kind)
{
	return json_pack("{s:I, s:I, s:s}", "t", (json_int_t)when.wall_us,
			 "mono", (json_int_t)when.mono_ns, "kind", kind);
}

/* Begin {t, mono, kind; the caller writes the rest and the closing brace. */
static void event_open(struct writer *w, struct wire_time when,
		       const char *kind)
{
	writer_open(w, NULL, '{');
	writer_integer(w, "t", when.wall_us);
	writer_integer(w, "mono", when.mono_ns);
	writer_text(w, "kind", kind);
}

void wire_event_state(struct writer *w, struct wire_time when,
		      enum ua_state state, const char *account,
		      const char *call, const char *text)
{
	event_open(w, when, "state");
	writer_text(w, "state", ua_state_name(state));
	writer_text(w, "account", account);
	writer_text(w, "call", call);
	writer_text(w, "text", text);
	writer_close(w, '}');
}

json_t *wire_event_register(struct wire_time when,
			    const struct wire_event_register *r)
{
	json_t *o = event_new(when, "register");
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "account", r->account);
	err |= put_value(o, "ok", json_boolean(r->ok));
	err |= put_value(o, "code", json_integer(r->code));
	err |= put_text(o, "reason", r->reason);
	err |= put_value(o, "ms", json_real(r->ms));
	if (r->ok)
		err |= put_value(o, "expires_s", json_integer(r->expires_s));
	return put_finish(o, err);
}

static void names(struct writer *w, const char *name, const char *const *texts,
		  size_t count)
{
	writer_open(w, name, '[');
	for (size_t i = 0; i < count; i++)
		writer_text(w, NULL, texts[i]);
	writer_close(w, ']');
}

void wire_event_call(struct writer *w, struct wire_time when,
		     const struct wire_event_call *c)
{
	event_open(w, when, "call");
	writer_text(w, "call", c->call);
	writer_text(w, "account", c->account);
	writer_text(w, "direction", c->outgoing ? "out" : "in");
	writer_text(w, "placed_for", c->placed_for);
	writer_text(w, "peer", c->peer);
	writer_text(w, "call_id", c->call_id);
	writer_bool(w, "established", c->established);
	if (c->has_pdd)
		writer_real(w, "pdd_ms", c->pdd_ms);
	if (c->has_setup)
		writer_real(w, "setup_ms", c->setup_ms);
	if (c->has_duration)
		writer_real(w, "duration_ms", c->duration_ms);
	writer_text(w, "end", c->end);
	writer_bool(w, "expected_end", c->expected_end);
	if (c->code)
		writer_integer(w, "code", c->code);
	writer_text(w, "reason", c->reason);
	writer_text(w, "warning", c->warning);
	if (c->codec_count)
		names(w, "audio_codecs", c->codecs, c->codec_count);
	writer_text(w, "media_encryption", c->encryption);
	writer_open(w, "streams", '[');
	for (size_t i = 0; i < 2; i++)
		wire_stream_finish(w, &c->streams[i], c->audio[i]);
	writer_close(w, ']');
	if (c->path)
		writer_json(w, "path", c->path);
	writer_close(w, '}');
}

json_t *wire_path_encode(const struct wire_path *path)
{
	static const char *const names[] = {"rtp", "rtcp"};
	json_t *o = json_object();
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "by", path->mode);
	err |= put_value(o, "connected", json_boolean(path->reason == NULL));
	err |= put_text(o, "reason", path->reason);
	if (strcmp(path->mode, "ice") == 0) {
		err |= put_text(o, "role",
				path->controlling ? "controlling"
						  : "controlled");
		err |= put_value(o, "lite", json_boolean(path->lite));
	}
	for (size_t i = 0; i < path->pair_count && i < 2; i++) {
		const struct wire_path_pair *p = &path->pairs[i];

		err |= put_value(o, names[i],
				 json_pack("{s:s, s:s, s:s*, s:s}",
					   "local_type", p->local_type, "local",
					   p->local, "remote_type",
					   p->remote_type, "remote",
					   p->remote));
	}
	return put_finish(o, err);
}

json_t *wire_event_path(struct wire_time when, const char *call, json_t *path)
{
	json_t *o = event_new(when, "path");
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "call", call);
	err |= put_value(o, "path", json_incref(path));
	return put_finish(o, err);
}

json_t *wire_event_dtmf(struct wire_time when, const struct wire_event_dtmf *d)
{
	const char digit[2] = {d->digit, '\0'};
	json_t *o = event_new(when, "dtmf");
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "call", d->call);
	err |= put_text(o, "direction", d->outgoing ? "out" : "in");
	err |= put_text(o, "digit", digit);
	err |= put_text(o, "via", d->via);
	if (d->has_ms)
		err |= put_value(o, "ms", json_real(d->ms));
	return put_finish(o, err);
}

json_t *wire_event_assert(struct wire_time when, const char *call,
			  const char *action, const char *argument,
			  const char *text)
{
	json_t *o = event_new(when, "assert");
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "call", call);
	err |= put_text(o, "action", action);
	err |= put_text(o, "argument", argument);
	err |= put_text(o, "text", text);
	return put_finish(o, err);
}

static int put_real(json_t *o, bool known, const char *name, double value)
{
	return known ? put_value(o, name, json_real(value)) : 0;
}

static int put_generator(json_t *o, const struct wire_generator *g)
{
	bool throttled = g->known & WIRE_GENERATOR_THROTTLED;
	bool sent = g->known & WIRE_GENERATOR_SENT;
	bool loop = g->known & WIRE_GENERATOR_LOOP;
	int err = 0;

	if (sent)
		err |= put_value(o, "packets_late",
				 json_integer((json_int_t)g->packets_late));
	if (g->known & WIRE_GENERATOR_SIP)
		err |= put_value(o, "sip_queue_drops",
				 json_integer((json_int_t)g->sip_queue_drops));
	if (throttled)
		err |= put_value(o, "throttled",
				 json_integer((json_int_t)g->throttled));
	err |= put_real(o, throttled, "throttled_ms", g->throttled_ms);
	err |= put_real(o, loop, "loop_lateness_p99_ms",
			g->loop_lateness_p99_ms);
	err |= put_real(o, loop, "loop_lateness_max_ms",
			g->loop_lateness_max_ms);
	err |= put_real(o, loop, "processor_pct", g->processor_pct);
	err |= put_real(o, g->known & WIRE_GENERATOR_WAIT, "processor_wait_pct",
			g->processor_wait_pct);
	err |= put_real(o, g->known & WIRE_GENERATOR_STEAL, "steal_pct",
			g->steal_pct);
	err |= put_real(o, loop, "clock_step_ms", g->clock_step_ms);
	return err;
}

json_t *wire_event_generator(struct wire_time when,
			     const struct wire_event_generator *e)
{
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
		{"packets_sent", e->packets_sent},
		{"packets_received", e->packets_received},
		{"receive_queue_drops", e->receive_queue_drops},
		{"ring_drops", e->ring_drops},
		{"starts_missed", e->starts_missed},
	};
	bool sent = e->generator.known & WIRE_GENERATOR_SENT;
	json_t *o = event_new(when, "generator");
	int err = 0;

	if (!o)
		return NULL;
	err |= put_real(o, true, "interval_s", e->interval_s);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		err |= put_value(o, counts[i].name,
				 json_integer((json_int_t)counts[i].value));
	err |= put_real(o, sent, "send_lateness_p99_ms",
			e->generator.send_lateness_p99_ms);
	err |= put_real(o, sent, "send_lateness_max_ms",
			e->generator.send_lateness_max_ms);
	err |= put_generator(o, &e->generator);
	return put_finish(o, err);
}

json_t *wire_event_evidence(struct wire_time when,
			    const struct wire_event_evidence *e)
{
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
		{"packets_sent", e->packets_sent},
		{"packets_received", e->packets_received},
		{"send_errors", e->send_errors},
		{"receive_queue_drops", e->receive_queue_drops},
		{"ring_drops", e->ring_drops},
		{"invalid_packets", e->invalid_packets},
		{"rtcp_invalid", e->rtcp_invalid},
		{"rtp_send_refused", e->rtp_send_refused},
		{"rtcp_send_refused", e->rtcp_send_refused},
		{"foreign_packets", e->foreign_packets},
		{"unassigned_packets", e->unassigned_packets},
		{"ssrc_collisions", e->ssrc_collisions},
		{"srtp_refused", e->srtp_refused},
		{"srtp_replayed", e->srtp_replayed},
		{"srtp_unkeyed", e->srtp_unkeyed},
		{"dtls_dropped", e->dtls_dropped},
		{"dtls_refused", e->dtls_refused},
		{"packets_unsent", e->packets_unsent},
		{"stun_dropped", e->stun_dropped},
		{"starts_missed", e->starts_missed},
	};
	json_t *o = event_new(when, "evidence");
	json_t *lateness;
	int err = 0;

	if (!o)
		return NULL;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		err |= put_value(o, counts[i].name,
				 json_integer((json_int_t)counts[i].value));
	if (e->send_lateness_ms.n) {
		lateness = wire_distribution_encode(&e->send_lateness_ms);
		err |= lateness ? put_value(lateness, "p99",
					    json_real(e->send_lateness_p99_ms))
				: -1;
		err |= put_value(o, "send_lateness_ms", lateness);
	}
	err |= put_generator(o, &e->generator);
	if (e->calibration) {
		err |= put_value(o, "calibration",
				 wire_calibration_encode(e->calibration));
		err |= put_value(o, "calls_most", json_integer(e->calls_most));
	}
	if (e->send_scheduling)
		err |= put_text(o, "send_scheduling", e->send_scheduling);
	if (e->receive_scheduling)
		err |= put_text(o, "receive_scheduling", e->receive_scheduling);
	return put_finish(o, err);
}

json_t *wire_event_sipp(struct wire_time when, const struct wire_event_sipp *e)
{
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
		{"errors_left_out", e->more_errors},
		{"calls_unmeasured", e->unmeasured},
		{"calls_unreported", e->unreported},
		{"messages_unread", e->unread},
	};
	json_t *o = event_new(when, "sipp");
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "scenario", e->scenario);
	err |= put_value(o, "ok", json_boolean(e->ok));
	err |= put_text(o, "end", e->end);
	if (e->status >= 0)
		err |= put_value(o, "status", json_integer(e->status));
	if (e->counters)
		err |= put_value(o, "counters", json_incref(e->counters));
	err |= put_value(o, "errors", json_incref(e->errors));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		err |= put_value(o, counts[i].name,
				 json_integer((json_int_t)counts[i].value));
	return put_finish(o, err);
}

json_t *wire_event_flaw(struct wire_time when, const char *name, uint64_t count,
			const char *text)
{
	json_t *o = event_new(when, "flaw");
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "name", name);
	err |= put_value(o, "count", json_integer((json_int_t)count));
	err |= put_text(o, "text", text);
	return put_finish(o, err);
}

static json_t *artifact_event(struct wire_time when, const char *kind,
			      const char *name, const char *text)
{
	json_t *o = event_new(when, kind);
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "name", name);
	err |= put_text(o, "text", text);
	return put_finish(o, err);
}

json_t *wire_event_artifact_lost(struct wire_time when, const char *name,
				 const char *text)
{
	return artifact_event(when, "artifact_lost", name, text);
}

json_t *wire_event_artifact_cut(struct wire_time when, const char *name,
				const char *text)
{
	return artifact_event(when, "artifact_cut", name, text);
}
