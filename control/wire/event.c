#include "control/wire/event.h"
#include "control/wire/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every json_object_set_new() below releases its value also on failure, so a
 * failed build only has to drop the object. */
static json_t *finish(json_t *object, int err)
{
	if (err) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static int put(json_t *object, const char *name, json_t *value)
{
	return json_object_set_new(object, name, value);
}

static int put_text(json_t *object, const char *name, const char *text)
{
	return text ? put(object, name, wire_text(text)) : 0;
}

static int put_distribution(json_t *object, const char *name,
			    const struct distribution *d)
{
	return d->n ? put(object, name, wire_distribution_encode(d)) : 0;
}

json_t *wire_event_new(struct wire_time when, const char *kind)
{
	return json_pack("{s:I, s:I, s:s}", "t", (json_int_t)when.wall_us,
			 "mono", (json_int_t)when.mono_ns, "kind", kind);
}

static json_t *buffer_encode(const struct stream_buffer *b)
{
	json_t *o = json_pack(
		"{s:I, s:f, s:I, s:f, s:f, s:f, s:f, s:f}", "discarded",
		(json_int_t)b->discarded, "delay_ms", b->delay_ms, "burst_lost",
		(json_int_t)b->burst_lost, "burst_density_pct",
		b->burst_density_pct, "gap_density_pct", b->gap_density_pct,
		"burst_duration_ms", b->burst_duration_ms, "gap_duration_ms",
		b->gap_duration_ms, "burst_ratio", b->burst_ratio);
	int err = 0;

	if (o && b->has_score) {
		err |= put(o, "ta_ms", json_real(b->ta_ms));
		if (b->has_network)
			err |= put(o, "network_ms", json_real(b->network_ms));
		err |= put(o, "r_factor", json_real(b->r_factor));
		err |= put(o, "mos", json_real(b->mos));
	}
	return o ? finish(o, err) : NULL;
}

static json_t *voip_encode(const struct remote_voip *v)
{
	json_t *o = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "loss_pct",
			      v->loss_pct, "discard_pct", v->discard_pct,
			      "burst_density_pct", v->burst_density_pct,
			      "gap_density_pct", v->gap_density_pct,
			      "burst_duration_ms", v->burst_duration_ms,
			      "gap_duration_ms", v->gap_duration_ms);
	const struct {
		bool known;
		const char *name;
		double value;
	} rest[] = {
		{v->has_rtt, "rtt_ms", v->rtt_ms},
		{v->has_delay, "delay_ms", v->delay_ms},
		{v->has_buffer, "buffer_ms", v->buffer_ms},
		{v->has_r_factor, "r_factor", v->r_factor},
		{v->has_mos_lq, "mos_lq", v->mos_lq},
		{v->has_mos_cq, "mos_cq", v->mos_cq},
	};
	int err = 0;

	for (size_t i = 0; o && i < sizeof(rest) / sizeof(rest[0]); i++) {
		if (rest[i].known)
			err |= put(o, rest[i].name, json_real(rest[i].value));
	}
	return o ? finish(o, err) : NULL;
}

static json_t *summary_encode(const struct remote_summary *s)
{
	json_t *o = json_object();
	int err = 0;

	if (!o)
		return NULL;
	if (s->has_lost)
		err |= put(o, "lost", json_integer((json_int_t)s->lost));
	if (s->has_duplicates)
		err |= put(o, "duplicates",
			   json_integer((json_int_t)s->duplicates));
	if (s->has_jitter) {
		err |= put(o, "jitter_min_ms", json_real(s->jitter_min_ms));
		err |= put(o, "jitter_max_ms", json_real(s->jitter_max_ms));
		err |= put(o, "jitter_mean_ms", json_real(s->jitter_mean_ms));
		err |= put(o, "jitter_dev_ms", json_real(s->jitter_dev_ms));
	}
	return finish(o, err);
}

/* What only one direction knows. */
static int put_quality(json_t *o, const struct stream_total *total)
{
	int err = 0;

	if (total->has_quality)
		err |= put(o, "out_of_order",
			   json_integer((json_int_t)total->out_of_order));
	if (total->has_gap)
		err |= put(o, "gap_max_ms", json_real(total->gap_max_ms));
	if (total->has_skew)
		err |= put(o, "skew_ppm", json_real(total->skew_ppm));
	if (total->fixed.known)
		err |= put(o, "fixed_buffer", buffer_encode(&total->fixed));
	if (total->adaptive.known)
		err |= put(o, "adaptive_buffer",
			   buffer_encode(&total->adaptive));
	if (total->has_lateness)
		err |= put(o, "lateness_max_ms",
			   json_real(total->lateness_max_ms));
	if (total->voip.known)
		err |= put(o, "xr_voip", voip_encode(&total->voip));
	if (total->summary.known)
		err |= put(o, "xr_summary", summary_encode(&total->summary));
	return err;
}

static int put_score(json_t *o, const struct stream_total *total)
{
	int err;

	if (!total->has_score)
		return put_text(o, "no_score", total->no_score_reason);
	err = put(o, "r_factor", json_real(total->r_factor));
	err |= put(o, "mos_total", json_real(total->mos_total));
	err |= put_text(o, "mos_scale", total->score_scale);
	err |= put_text(o, "mos_declared", total->score_declared);
	if (total->has_mos_wb)
		err |= put(o, "mos_wb_total", json_real(total->mos_wb));
	return err;
}

json_t *wire_stream_encode(const struct stream_total *total, bool outgoing)
{
	char ssrc[9];
	json_t *o;
	int err = 0;

	snprintf(ssrc, sizeof(ssrc), "%08x", total->ssrc);
	o = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "dir",
		      outgoing ? "out" : "in", "ssrc", ssrc, "codec",
		      total->codec, "packets", (json_int_t)total->packets,
		      "bytes", (json_int_t)total->bytes, "reordered",
		      (json_int_t)total->reordered, "duplicates",
		      (json_int_t)total->duplicates);
	if (!o)
		return NULL;
	err |= put(o, "stray", json_integer((json_int_t)total->stray));
	if (total->clock_hz)
		err |= put(o, "clock_hz", json_integer(total->clock_hz));
	if (total->has_ptime)
		err |= put(o, "ptime_ms", json_real(total->ptime_ms));
	if (total->srtp_suite)
		err |= put_text(o, "srtp_suite", total->srtp_suite);
	if (total->srtp_suite && !outgoing) {
		err |= put(o, "srtp_auth_failed",
			   json_integer((json_int_t)total->srtp_refused));
		err |= put(o, "srtp_replayed",
			   json_integer((json_int_t)total->srtp_replayed));
	}
	if (total->has_loss) {
		err |= put(o, "received",
			   json_integer((json_int_t)total->received));
		err |= put(o, "expected",
			   json_integer((json_int_t)total->expected));
		err |= put(o, "lost", json_integer((json_int_t)total->lost));
		err |= put(o, "loss_pct", json_real(total->loss_pct));
		err |= put(o, "burst_ratio", json_real(total->burst_ratio));
	}
	err |= put_distribution(o, "jitter_ms", &total->jitter_ms);
	err |= put_distribution(o, "rtt_ms", &total->rtt_ms);
	err |= put_distribution(o, "mos", &total->mos);
	err |= put_score(o, total);
	err |= put_quality(o, total);
	return finish(o, err);
}

static json_t *tones_encode(const struct audio_total *total)
{
	json_t *array = json_array();
	int err = 0;

	for (size_t i = 0; array && i < total->tone_count; i++) {
		const struct audio_tone *t = &total->tones[i];

		err |= json_array_append_new(
			array, json_pack("{s:f, s:f, s:f}", "hz", t->hz, "dbov",
					 t->dbov, "ms", t->ms));
	}
	return array ? finish(array, err) : NULL;
}

json_t *wire_audio_encode(const struct audio_total *total, bool outgoing)
{
	json_t *o = json_pack(
		"{s:f, s:f, s:f, s:I, s:I, s:I, s:I}", "expected_ms",
		total->expected_ms, "heard_ms", total->heard_ms,
		"silence_max_ms", total->silence_max_ms, "packets",
		(json_int_t)total->packets, "late", (json_int_t)total->late,
		"undecodable", (json_int_t)total->undecodable, "dropped",
		(json_int_t)total->dropped);
	int err = 0;

	if (!o)
		return NULL;
	if (total->packets) {
		err |= put(o, "peak_dbov", json_real(total->peak_dbov));
		err |= put(o, "clipped_pct", json_real(total->clipped_pct));
	}
	if (total->recovered)
		err |= put(o, "recovered",
			   json_integer((json_int_t)total->recovered));
	if (total->noise_packets) {
		err |= put(o, "noise_packets",
			   json_integer((json_int_t)total->noise_packets));
		err |= put(o, "noise_dbov", json_real(total->noise_dbov));
	}
	if (total->has_level)
		err |= put(o, "level_dbov", json_real(total->level_dbov));
	if (!outgoing)
		err |= put(o, "one_way_ms", json_real(total->one_way_ms));
	if (total->markers) {
		err |= put(o, "markers",
			   json_integer((json_int_t)total->markers));
		err |= put(o, "delay_min_ms", json_real(total->delay_min_ms));
		err |= put(o, "delay_avg_ms", json_real(total->delay_avg_ms));
		err |= put(o, "delay_max_ms", json_real(total->delay_max_ms));
	}
	if (total->has_match) {
		err |= put(o, "prompt_match", json_real(total->match));
		err |= put(o, "prompt_ms", json_real(total->match_ms));
	}
	if (total->has_match_begin)
		err |= put(o, "prompt_begin_ms",
			   json_real(total->match_begin_ms));
	if (total->tone_count)
		err |= put(o, "tones", tones_encode(total));
	return finish(o, err);
}

json_t *wire_event_state(struct wire_time when, enum ua_state state,
			 const char *account, const char *call,
			 const char *text)
{
	json_t *o = wire_event_new(when, "state");
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "state", ua_state_name(state));
	err |= put_text(o, "account", account);
	err |= put_text(o, "call", call);
	err |= put_text(o, "text", text);
	return finish(o, err);
}

json_t *wire_event_register(struct wire_time when,
			    const struct wire_event_register *r)
{
	json_t *o = wire_event_new(when, "register");
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "account", r->account);
	err |= put(o, "ok", json_boolean(r->ok));
	err |= put(o, "code", json_integer(r->code));
	err |= put_text(o, "reason", r->reason);
	err |= put(o, "ms", json_real(r->ms));
	if (r->ok)
		err |= put(o, "expires_s", json_integer(r->expires_s));
	return finish(o, err);
}

static json_t *names(const char *const *texts, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < count; i++)
		json_array_append_new(list, json_string(texts[i]));
	return list;
}

json_t *wire_event_call(struct wire_time when, const struct wire_event_call *c)
{
	json_t *o = wire_event_new(when, "call");
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "call", c->call);
	err |= put_text(o, "account", c->account);
	err |= put_text(o, "direction", c->outgoing ? "out" : "in");
	err |= put_text(o, "placed_for", c->placed_for);
	err |= put_text(o, "peer", c->peer);
	err |= put_text(o, "call_id", c->call_id);
	err |= put(o, "established", json_boolean(c->established));
	if (c->has_pdd)
		err |= put(o, "pdd_ms", json_real(c->pdd_ms));
	if (c->has_setup)
		err |= put(o, "setup_ms", json_real(c->setup_ms));
	if (c->has_duration)
		err |= put(o, "duration_ms", json_real(c->duration_ms));
	err |= put_text(o, "end", c->end);
	if (c->code)
		err |= put(o, "code", json_integer(c->code));
	err |= put_text(o, "reason", c->reason);
	if (c->codec_count)
		err |= put(o, "audio_codecs", names(c->codecs, c->codec_count));
	err |= put_text(o, "media_encryption", c->encryption);
	err |= put(o, "streams",
		   c->streams ? json_incref(c->streams) : json_array());
	if (c->path)
		err |= put(o, "path", json_incref(c->path));
	return finish(o, err);
}

json_t *wire_path_encode(const struct wire_path *path)
{
	static const char *const names[] = {"rtp", "rtcp"};
	json_t *o = json_object();
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "by", path->mode);
	err |= put(o, "connected", json_boolean(path->reason == NULL));
	err |= put_text(o, "reason", path->reason);
	if (strcmp(path->mode, "ice") == 0) {
		err |= put_text(o, "role",
				path->controlling ? "controlling"
						  : "controlled");
		err |= put(o, "lite", json_boolean(path->lite));
	}
	for (size_t i = 0; i < path->pair_count && i < 2; i++) {
		const struct wire_path_pair *p = &path->pairs[i];

		err |= put(o, names[i],
			   json_pack("{s:s, s:s, s:s*, s:s}", "local_type",
				     p->local_type, "local", p->local,
				     "remote_type", p->remote_type, "remote",
				     p->remote));
	}
	return finish(o, err);
}

json_t *wire_event_path(struct wire_time when, const char *call, json_t *path)
{
	json_t *o = wire_event_new(when, "path");
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "call", call);
	err |= put(o, "path", json_incref(path));
	return finish(o, err);
}

json_t *wire_event_dtmf(struct wire_time when, const struct wire_event_dtmf *d)
{
	const char digit[2] = {d->digit, '\0'};
	json_t *o = wire_event_new(when, "dtmf");
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "call", d->call);
	err |= put_text(o, "direction", d->outgoing ? "out" : "in");
	err |= put_text(o, "digit", digit);
	err |= put_text(o, "via", d->via);
	if (d->has_ms)
		err |= put(o, "ms", json_real(d->ms));
	return finish(o, err);
}

json_t *wire_event_assert(struct wire_time when, const char *call,
			  const char *action, const char *argument,
			  const char *text)
{
	json_t *o = wire_event_new(when, "assert");
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "call", call);
	err |= put_text(o, "action", action);
	err |= put_text(o, "argument", argument);
	err |= put_text(o, "text", text);
	return finish(o, err);
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
		{"foreign_packets", e->foreign_packets},
		{"ssrc_collisions", e->ssrc_collisions},
		{"srtp_refused", e->srtp_refused},
		{"srtp_replayed", e->srtp_replayed},
		{"srtp_unkeyed", e->srtp_unkeyed},
		{"dtls_dropped", e->dtls_dropped},
		{"dtls_refused", e->dtls_refused},
		{"packets_unsent", e->packets_unsent},
		{"stun_dropped", e->stun_dropped},
	};
	json_t *o = wire_event_new(when, "evidence");
	json_t *lateness;
	int err = 0;

	if (!o)
		return NULL;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		err |= put(o, counts[i].name,
			   json_integer((json_int_t)counts[i].value));
	if (e->send_lateness_ms.n) {
		lateness = wire_distribution_encode(&e->send_lateness_ms);
		err |= lateness ? put(lateness, "p99",
				      json_real(e->send_lateness_p99_ms))
				: -1;
		err |= put(o, "send_lateness_ms", lateness);
	}
	if (e->send_scheduling)
		err |= put_text(o, "send_scheduling", e->send_scheduling);
	if (e->receive_scheduling)
		err |= put_text(o, "receive_scheduling", e->receive_scheduling);
	return finish(o, err);
}

json_t *wire_event_flaw(struct wire_time when, const char *name, uint64_t count,
			const char *text)
{
	json_t *o = wire_event_new(when, "flaw");
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "name", name);
	err |= put(o, "count", json_integer((json_int_t)count));
	err |= put_text(o, "text", text);
	return finish(o, err);
}

json_t *wire_event_artifact_lost(struct wire_time when, const char *name,
				 const char *text)
{
	json_t *o = wire_event_new(when, "artifact_lost");
	int err;

	if (!o)
		return NULL;
	err = put_text(o, "name", name);
	err |= put_text(o, "text", text);
	return finish(o, err);
}

/** RFC 4648 section 4. @return text to free(), NULL when out of memory */
static char *base64(const char *data, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = (const unsigned char *)data;
	char *text = malloc((len + 2) / 3 * 4 + 1);
	char *out = text;

	if (!text)
		return NULL;
	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		unsigned v = (unsigned)in[i] << 16;

		if (left > 1)
			v |= (unsigned)in[i + 1] << 8;
		if (left > 2)
			v |= in[i + 2];
		*out++ = digits[v >> 18];
		*out++ = digits[v >> 12 & 63];
		*out++ = left > 1 ? digits[v >> 6 & 63] : '=';
		*out++ = left > 2 ? digits[v & 63] : '=';
	}
	*out = '\0';
	return text;
}

json_t *wire_sip_message_encode(struct wire_time when,
				const struct wire_sip_message *m)
{
	json_t *o = json_pack("{s:I, s:I, s:s, s:s, s:s, s:s}", "t",
			      (json_int_t)when.wall_us, "mono",
			      (json_int_t)when.mono_ns, "dir",
			      m->sent ? "sent" : "received", "transport",
			      m->transport, "local", m->local, "peer", m->peer);
	json_t *data = json_stringn(m->data, m->len);
	int err = 0;

	if (!o) {
		json_decref(data);
		return NULL;
	}
	/* A NUL is UTF-8 but no text a JSON reader takes back. */
	if (data && memchr(m->data, '\0', m->len)) {
		json_decref(data);
		data = NULL;
	}
	if (!data) {
		char *text = base64(m->data, m->len);

		data = text ? json_string(text) : NULL;
		free(text);
		err |= put(o, "encoding", json_string("base64"));
	}
	err |= put(o, "data", data);
	return finish(o, err);
}
