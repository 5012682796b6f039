#include "base/str.h"
#include "control/wire/event.h"
#include "control/wire/put_internal.h"

#include <inttypes.h>
#include <stdio.h>

#define SSRC_DIGITS 8

static void write_ssrc(struct writer *w, uint32_t ssrc)
{
	char text[STR_HEX_BYTES];

	writer_text_n(w, "ssrc", str_hexadecimal(text, ssrc, SSRC_DIGITS),
		      SSRC_DIGITS);
}

static void write_count(struct writer *w, const char *name, uint64_t count)
{
	writer_integer(w, name, (int64_t)count);
}

/** Write a distribution as a member. @param d  empty: no member is written */
static void write_distribution(struct writer *w, const char *name,
			       const struct distribution *d)
{
	json_t *o;

	if (d->n == 0)
		return;
	o = wire_distribution_encode(d);
	writer_json(w, name, o);
	json_decref(o);
}

static void write_buffer(struct writer *w, const char *name,
			 const struct stream_buffer *b)
{
	if (!b->known)
		return;
	writer_open(w, name, '{');
	write_count(w, "discarded", b->discarded);
	writer_real(w, "delay_ms", b->delay_ms);
	write_count(w, "burst_lost", b->burst_lost);
	writer_real(w, "burst_density_pct", b->burst_density_pct);
	writer_real(w, "gap_density_pct", b->gap_density_pct);
	writer_real(w, "burst_duration_ms", b->burst_duration_ms);
	writer_real(w, "gap_duration_ms", b->gap_duration_ms);
	writer_real(w, "burst_ratio", b->burst_ratio);
	if (b->has_score) {
		writer_real(w, "ta_ms", b->ta_ms);
		if (b->has_network)
			writer_real(w, "network_ms", b->network_ms);
		writer_real(w, "r_factor", b->r_factor);
		writer_real(w, "mos", b->mos);
	}
	writer_close(w, '}');
}

static void write_voip(struct writer *w, const struct remote_voip *v)
{
	const struct {
		bool known;
		const char *name;
		double value;
	} members[] = {
		{true, "loss_pct", v->loss_pct},
		{true, "discard_pct", v->discard_pct},
		{true, "burst_density_pct", v->burst_density_pct},
		{true, "gap_density_pct", v->gap_density_pct},
		{true, "burst_duration_ms", v->burst_duration_ms},
		{true, "gap_duration_ms", v->gap_duration_ms},
		{v->has_rtt, "rtt_ms", v->rtt_ms},
		{v->has_delay, "delay_ms", v->delay_ms},
		{v->has_buffer, "buffer_ms", v->buffer_ms},
		{v->has_r_factor, "r_factor", v->r_factor},
		{v->has_mos_lq, "mos_lq", v->mos_lq},
		{v->has_mos_cq, "mos_cq", v->mos_cq},
	};

	writer_open(w, "xr_voip", '{');
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (members[i].known)
			writer_real(w, members[i].name, members[i].value);
	}
	writer_close(w, '}');
}

static void write_summary(struct writer *w, const struct remote_summary *s)
{
	writer_open(w, "xr_summary", '{');
	if (s->has_lost)
		write_count(w, "lost", s->lost);
	if (s->has_duplicates)
		write_count(w, "duplicates", s->duplicates);
	if (s->has_jitter) {
		writer_real(w, "jitter_min_ms", s->jitter_min_ms);
		writer_real(w, "jitter_max_ms", s->jitter_max_ms);
		writer_real(w, "jitter_mean_ms", s->jitter_mean_ms);
		writer_real(w, "jitter_dev_ms", s->jitter_dev_ms);
	}
	writer_close(w, '}');
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

/* Write what the peer's RTCP reports say about the stream we sent, and how far
 * its last report reaches. */
static void write_reports(struct writer *w, const struct stream_total *total)
{
	char note[128];

	if (!total->has_reach)
		return;
	writer_open(w, "last_report", '{');
	write_ssrc(w, total->reporter_ssrc);
	write_count(w, "ext_seq", total->reported_ext_seq);
	write_count(w, "sent_ext_seq",
		    total->reported_ext_seq + total->unreported);
	write_count(w, "unreported", total->unreported);
	writer_close(w, '}');
	if (!total->has_loss)
		return;
	writer_text(w, "lost_by", lost_by_name(total->lost_by));
	if (total->lost < 0) {
		snprintf(
			note, sizeof(note),
			"the peer received %" PRId64
			" packets more than it expected: it counts duplicates as received (RFC 3550 6.4.1)",
			-total->lost);
		writer_text(w, "lost_note", note);
	}
}

/* Write the figures that exist for one direction only. */
static void write_quality(struct writer *w, const struct stream_total *total)
{
	if (total->has_quality)
		write_count(w, "out_of_order", total->out_of_order);
	if (total->has_gap)
		writer_real(w, "gap_max_ms", total->gap_max_ms);
	if (total->has_skew)
		writer_real(w, "skew_ppm", total->skew_ppm);
	write_buffer(w, "fixed_buffer", &total->fixed);
	write_buffer(w, "adaptive_buffer", &total->adaptive);
	if (total->has_lateness)
		writer_real(w, "lateness_max_ms", total->lateness_max_ms);
	if (total->voip.known)
		write_voip(w, &total->voip);
	if (total->summary.known)
		write_summary(w, &total->summary);
}

static void write_score(struct writer *w, const struct stream_total *total)
{
	if (!total->has_score) {
		writer_text(w, "no_score", total->no_score_reason);
		return;
	}
	writer_real(w, "r_factor", total->r_factor);
	writer_real(w, "mos_total", total->mos_total);
	writer_text(w, "mos_scale", total->score_scale);
	writer_text(w, "mos_declared", total->score_declared);
	if (total->has_mos_wb)
		writer_real(w, "mos_wb_total", total->mos_wb);
}

static void write_counts(struct writer *w, const struct stream_total *total,
			 bool outgoing)
{
	write_count(w, "packets", total->packets);
	write_count(w, "bytes", total->bytes);
	write_count(w, "reordered", total->reordered);
	write_count(w, "duplicates", total->duplicates);
	write_count(w, "stray", total->stray);
	if (total->sources_left_out)
		write_count(w, "sources_left_out", total->sources_left_out);
	if (total->clock_hz)
		write_count(w, "clock_hz", total->clock_hz);
	if (total->has_ptime)
		writer_real(w, "ptime_ms", total->ptime_ms);
	writer_text(w, "srtp_suite", total->srtp_suite);
	if (total->srtp_suite && !outgoing) {
		write_count(w, "srtp_auth_failed", total->srtp_refused);
		write_count(w, "srtp_replayed", total->srtp_replayed);
	}
	if (total->has_loss) {
		write_count(w, "received", total->received);
		write_count(w, "expected", total->expected);
		writer_integer(w, "lost", total->lost);
		writer_real(w, "loss_pct", total->loss_pct);
		writer_real(w, "burst_ratio", total->burst_ratio);
	}
}

void wire_stream_begin(struct writer *w, const struct stream_total *total,
		       bool outgoing)
{
	writer_open(w, NULL, '{');
	writer_text(w, "dir", outgoing ? "out" : "in");
	write_ssrc(w, total->ssrc);
	writer_text(w, "codec", total->codec);
	write_counts(w, total, outgoing);
	write_distribution(w, "jitter_ms", &total->jitter_ms);
	write_distribution(w, "rtt_ms", &total->rtt_ms);
	write_distribution(w, "mos", &total->mos);
	write_score(w, total);
	write_quality(w, total);
	if (outgoing)
		write_reports(w, total);
}

void wire_stream_bounds(struct writer *w, const struct stream_total *total,
			bool outgoing, const struct wire_calibration *c)
{
	if (c->has_jitter_bound && total->jitter_ms.n && !outgoing)
		writer_real(w, "jitter_bound_ms", c->jitter_bound_ms);
	if (c->has_rtt_bound && total->rtt_ms.n)
		writer_real(w, "rtt_bound_ms", c->rtt_bound_ms);
	if (c->has_loss_bound && total->has_loss && !outgoing)
		writer_real(w, "loss_bound_pct", c->loss_bound_pct);
}

void wire_stream_sources(struct writer *w, const struct buf *sources)
{
	if (sources->used == 0)
		return;
	writer_open(w, "sources", '[');
	writer_raw(w, sources->data, sources->used);
	writer_close(w, ']');
}

void wire_stream_finish(struct writer *w, const struct buf *begun,
			const json_t *audio)
{
	if (begun->used == 0)
		return;
	writer_raw(w, begun->data, begun->used);
	if (audio)
		writer_json(w, "audio", audio);
	writer_close(w, '}');
}

void wire_source_write(struct writer *w, const struct stream_source *n,
		       int64_t wall_offset_ns)
{
	writer_open(w, NULL, '{');
	write_ssrc(w, n->ssrc);
	writer_text(w, "codec", n->codec);
	writer_integer(w, "first_t", (n->first_ns + wall_offset_ns) / 1000);
	writer_integer(w, "last_t", (n->last_ns + wall_offset_ns) / 1000);
	write_count(w, "packets", n->packets);
	write_count(w, "duplicates", n->duplicates);
	if (n->has_loss) {
		write_count(w, "received", n->received);
		write_count(w, "expected", n->expected);
		writer_integer(w, "lost", n->lost);
		writer_real(w, "loss_pct", n->loss_pct);
	}
	if (n->has_jitter) {
		writer_real(w, "jitter_avg_ms", n->jitter_avg_ms);
		writer_real(w, "jitter_max_ms", n->jitter_max_ms);
	}
	if (n->has_score) {
		writer_real(w, "r_factor", n->r_factor);
		writer_real(w, "mos_total", n->mos);
		writer_text(w, "mos_scale", n->score_scale);
	} else {
		writer_text(w, "no_score", n->no_score_reason);
	}
	writer_close(w, '}');
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
