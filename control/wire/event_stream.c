#include "control/wire/event.h"
#include "control/wire/put_internal.h"

#include <inttypes.h>
#include <stdio.h>

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
		err |= put_value(o, "ta_ms", json_real(b->ta_ms));
		if (b->has_network)
			err |= put_value(o, "network_ms",
					 json_real(b->network_ms));
		err |= put_value(o, "r_factor", json_real(b->r_factor));
		err |= put_value(o, "mos", json_real(b->mos));
	}
	return o ? put_finish(o, err) : NULL;
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
			err |= put_value(o, rest[i].name,
					 json_real(rest[i].value));
	}
	return o ? put_finish(o, err) : NULL;
}

static json_t *summary_encode(const struct remote_summary *s)
{
	json_t *o = json_object();
	int err = 0;

	if (!o)
		return NULL;
	if (s->has_lost)
		err |= put_value(o, "lost", json_integer((json_int_t)s->lost));
	if (s->has_duplicates)
		err |= put_value(o, "duplicates",
				 json_integer((json_int_t)s->duplicates));
	if (s->has_jitter) {
		err |= put_value(o, "jitter_min_ms",
				 json_real(s->jitter_min_ms));
		err |= put_value(o, "jitter_max_ms",
				 json_real(s->jitter_max_ms));
		err |= put_value(o, "jitter_mean_ms",
				 json_real(s->jitter_mean_ms));
		err |= put_value(o, "jitter_dev_ms",
				 json_real(s->jitter_dev_ms));
	}
	return put_finish(o, err);
}

static const char *lost_by_name(enum stream_lost_by by)
{
	switch (by) {
	case STREAM_LOST_RR:
		return "rr";
	case STREAM_LOST_RR_XR:
		return "rr+xr";
	case STREAM_LOST_XR:
		return "xr";
	case STREAM_LOST_OURS:
		break;
	}
	return NULL;
}

/* How the peer counted what we sent, and how far its last report reaches. */
static int put_reports(json_t *o, const struct stream_total *total)
{
	char note[128];
	char ssrc[9];
	int err;

	if (!total->has_reach)
		return 0;
	snprintf(ssrc, sizeof(ssrc), "%08x", total->reporter_ssrc);
	err = put_value(
		o, "last_report",
		json_pack("{s:s, s:I, s:I, s:I}", "ssrc", ssrc, "ext_seq",
			  (json_int_t)total->reported_ext_seq, "sent_ext_seq",
			  (json_int_t)(total->reported_ext_seq +
				       total->unreported),
			  "unreported", (json_int_t)total->unreported));
	if (!total->has_loss)
		return err;
	err |= put_text(o, "lost_by", lost_by_name(total->lost_by));
	if (total->lost < 0) {
		snprintf(
			note, sizeof(note),
			"the peer received %" PRId64
			" packets more than it expected: it counts duplicates as received (RFC 3550 6.4.1)",
			-total->lost);
		err |= put_text(o, "lost_note", note);
	}
	return err;
}

/* What only one direction knows. */
static int put_quality(json_t *o, const struct stream_total *total)
{
	int err = 0;

	if (total->has_quality)
		err |= put_value(o, "out_of_order",
				 json_integer((json_int_t)total->out_of_order));
	if (total->has_gap)
		err |= put_value(o, "gap_max_ms", json_real(total->gap_max_ms));
	if (total->has_skew)
		err |= put_value(o, "skew_ppm", json_real(total->skew_ppm));
	if (total->fixed.known)
		err |= put_value(o, "fixed_buffer",
				 buffer_encode(&total->fixed));
	if (total->adaptive.known)
		err |= put_value(o, "adaptive_buffer",
				 buffer_encode(&total->adaptive));
	if (total->has_lateness)
		err |= put_value(o, "lateness_max_ms",
				 json_real(total->lateness_max_ms));
	if (total->voip.known)
		err |= put_value(o, "xr_voip", voip_encode(&total->voip));
	if (total->summary.known)
		err |= put_value(o, "xr_summary",
				 summary_encode(&total->summary));
	return err;
}

static int put_score(json_t *o, const struct stream_total *total)
{
	int err;

	if (!total->has_score)
		return put_text(o, "no_score", total->no_score_reason);
	err = put_value(o, "r_factor", json_real(total->r_factor));
	err |= put_value(o, "mos_total", json_real(total->mos_total));
	err |= put_text(o, "mos_scale", total->score_scale);
	err |= put_text(o, "mos_declared", total->score_declared);
	if (total->has_mos_wb)
		err |= put_value(o, "mos_wb_total", json_real(total->mos_wb));
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
	err |= put_value(o, "stray", json_integer((json_int_t)total->stray));
	if (total->sources_left_out)
		err |= put_value(
			o, "sources_left_out",
			json_integer((json_int_t)total->sources_left_out));
	if (total->clock_hz)
		err |= put_value(o, "clock_hz", json_integer(total->clock_hz));
	if (total->has_ptime)
		err |= put_value(o, "ptime_ms", json_real(total->ptime_ms));
	if (total->srtp_suite)
		err |= put_text(o, "srtp_suite", total->srtp_suite);
	if (total->srtp_suite && !outgoing) {
		err |= put_value(o, "srtp_auth_failed",
				 json_integer((json_int_t)total->srtp_refused));
		err |= put_value(
			o, "srtp_replayed",
			json_integer((json_int_t)total->srtp_replayed));
	}
	if (total->has_loss) {
		err |= put_value(o, "received",
				 json_integer((json_int_t)total->received));
		err |= put_value(o, "expected",
				 json_integer((json_int_t)total->expected));
		err |= put_value(o, "lost",
				 json_integer((json_int_t)total->lost));
		err |= put_value(o, "loss_pct", json_real(total->loss_pct));
		err |= put_value(o, "burst_ratio",
				 json_real(total->burst_ratio));
	}
	err |= put_distribution(o, "jitter_ms", &total->jitter_ms);
	err |= put_distribution(o, "rtt_ms", &total->rtt_ms);
	err |= put_distribution(o, "mos", &total->mos);
	err |= put_score(o, total);
	err |= put_quality(o, total);
	if (outgoing)
		err |= put_reports(o, total);
	return put_finish(o, err);
}

json_t *wire_source_encode(const struct stream_source *n,
			   int64_t wall_offset_ns)
{
	char ssrc[9];
	json_t *o;
	int err = 0;

	snprintf(ssrc, sizeof(ssrc), "%08x", n->ssrc);
	o = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I}", "ssrc", ssrc, "codec",
		      n->codec, "first_t",
		      (json_int_t)((n->first_ns + wall_offset_ns) / 1000),
		      "last_t",
		      (json_int_t)((n->last_ns + wall_offset_ns) / 1000),
		      "packets", (json_int_t)n->packets, "duplicates",
		      (json_int_t)n->duplicates);
	if (!o)
		return NULL;
	if (n->has_loss) {
		err |= put_value(o, "received",
				 json_integer((json_int_t)n->received));
		err |= put_value(o, "expected",
				 json_integer((json_int_t)n->expected));
		err |= put_value(o, "lost", json_integer(n->lost));
		err |= put_value(o, "loss_pct", json_real(n->loss_pct));
	}
	if (n->has_jitter) {
		err |= put_value(o, "jitter_avg_ms",
				 json_real(n->jitter_avg_ms));
		err |= put_value(o, "jitter_max_ms",
				 json_real(n->jitter_max_ms));
	}
	if (n->has_score) {
		err |= put_value(o, "r_factor", json_real(n->r_factor));
		err |= put_value(o, "mos_total", json_real(n->mos));
		err |= put_text(o, "mos_scale", n->score_scale);
	} else {
		err |= put_text(o, "no_score", n->no_score_reason);
	}
	return put_finish(o, err);
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
	return array ? put_finish(array, err) : NULL;
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
		err |= put_value(o, "peak_dbov", json_real(total->peak_dbov));
		err |= put_value(o, "clipped_pct",
				 json_real(total->clipped_pct));
	}
	if (total->recovered)
		err |= put_value(o, "recovered",
				 json_integer((json_int_t)total->recovered));
	if (total->noise_packets) {
		err |= put_value(
			o, "noise_packets",
			json_integer((json_int_t)total->noise_packets));
		err |= put_value(o, "noise_dbov", json_real(total->noise_dbov));
	}
	if (total->has_level)
		err |= put_value(o, "level_dbov", json_real(total->level_dbov));
	if (!outgoing)
		err |= put_value(o, "one_way_ms", json_real(total->one_way_ms));
	if (total->markers) {
		err |= put_value(o, "markers",
				 json_integer((json_int_t)total->markers));
		err |= put_value(o, "delay_min_ms",
				 json_real(total->delay_min_ms));
		err |= put_value(o, "delay_avg_ms",
				 json_real(total->delay_avg_ms));
		err |= put_value(o, "delay_max_ms",
				 json_real(total->delay_max_ms));
	}
	if (total->has_match) {
		err |= put_value(o, "prompt_match", json_real(total->match));
		err |= put_value(o, "prompt_ms", json_real(total->match_ms));
	}
	if (total->has_match_begin)
		err |= put_value(o, "prompt_begin_ms",
				 json_real(total->match_begin_ms));
	if (total->tone_count)
		err |= put_value(o, "tones", tones_encode(total));
	return put_finish(o, err);
}
