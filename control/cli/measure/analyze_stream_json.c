#include "control/cli/measure/analyze_stream_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "control/cli/measure/emodel.h"
#include "control/rescore/rescore.h"
#include "control/wire/json.h"

static const char *const series_names[DETAIL_SERIES_COUNT] = {
	"ipdv_ms", "jit_ms", "delta_ms", "pdv_ms"};

static json_int_t count(uint64_t n)
{
	return (json_int_t)n;
}

json_t *json_distribution(const struct distribution *d)
{
	double n = (double)d->n;

	if (d->n == 0)
		return json_pack("{s:i}", "n", 0);
	return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o}",
			 "n", count(d->n), "min", d->min, "max", d->max, "avg",
			 d->avg, "median", d->median, "p75", d->p75, "p90",
			 d->p90, "p95", d->p95, "stddev_pop", d->stddev,
			 "stddev_samp",
			 json_real_or_null(
				 d->n > 1,
				 d->n > 1 ? d->stddev * sqrt(n / (n - 1)) : 0));
}

static json_t *json_counters(const struct rtp_stream *s,
			     const struct rtp_counters *n)
{
	return json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I,"
		" s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"packets", count(n->packets), "received", count(n->received),
		"duplicates", count(n->duplicates), "reordered",
		count(n->reordered), "very_late", count(n->very_late), "stray",
		count(n->stray + n->pending), "restarts", count(n->restarts),
		"outages", count(n->outages), "max_reorder_distance",
		count(n->max_reorder_distance), "te_packets",
		count(s->te_packets), "cn_packets", count(s->cn_packets),
		"unknown_pt_packets", count(s->unknown_pt_packets),
		"marker_packets", count(s->marker_packets), "same_ts_packets",
		count(s->timing.same_ts), "ts_discontinuities",
		count(s->timing.discontinuities), "clock_changes",
		count(s->timing.clock_changes), "pt_changes",
		count(s->pt_changes), "payload_bytes", count(s->payload_bytes),
		"expected", count(n->expected), "lost", count(n->lost));
}

static json_t *json_strict(const struct rtp_strict *s)
{
	if (!s->valid)
		return json_pack("{s:b, s:I}", "valid", 0, "rejected",
				 count(s->rejected));
	return json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "valid", 1, "base_seq", count(s->base_seq), "ext_max",
			 count(rtp_strict_ext_max(s)), "received",
			 count(s->received), "expected",
			 count(rtp_strict_expected(s)), "lost",
			 (json_int_t)rtp_strict_lost(s), "lost_24bit",
			 (json_int_t)rtp_strict_lost_24bit(s), "rejected",
			 count(s->rejected), "resyncs", count(s->resyncs));
}

static void add_run(json_t *histogram, uint64_t length, uint64_t runs)
{
	char name[24];

	if (runs == 0)
		return;
	snprintf(name, sizeof(name), "%" PRIu64, length);
	json_object_set_new(histogram, name, json_integer(count(runs)));
}

static json_t *json_runs(const struct run_histogram *h)
{
	json_t *histogram = json_object();

	for (uint64_t i = 1; i < RUN_LENGTHS_SHORT; i++)
		add_run(histogram, i, h->shorter[i]);
	for (size_t i = 0; i < h->count; i++)
		add_run(histogram, h->longer[i].length, h->longer[i].runs);
	return histogram;
}

static json_t *json_pattern(const struct loss_pattern *p)
{
	const struct loss_runs *r = &p->runs;
	json_t *gilbert;
	json_t *o;
	double to_bad;
	double to_good;
	double burst_r;

	if (pattern_gilbert(p, &to_bad, &to_good, &burst_r))
		gilbert = json_pack("{s:f, s:f, s:f}", "p", to_bad, "q",
				    to_good, "burst_r", burst_r);
	else
		gilbert = json_null();
	o = json_pack("{s:I, s:I, s:I, s:f, s:f, s:o, s:o}", "lost",
		      count(r->lost), "runs", count(r->runs), "longest_run",
		      count(r->longest), "mean_run",
		      r->runs ? (double)r->lost / (double)r->runs : 0.0,
		      "burst_r", loss_runs_burst_r(r, p->packets), "gilbert",
		      gilbert, "run_histogram", json_runs(p->histogram));
	/* runs that the histogram had no memory for: without this member its
	 * counts would not add up to `runs` */
	if (p->histogram->left_out > 0)
		json_object_set_new(
			o, "run_histogram_left_out",
			json_integer(count(p->histogram->left_out)));
	return o;
}

/* A score computed from values that the user declared (--codec). It stands
 * beside the score from the standard's values. */
static json_t *json_declared(const struct score *s)
{
	return json_pack(
		"{s:s, s:s, s:f, s:o, s:s, s:f, s:f}", "codec", s->codec->name,
		"model", emodel_model_name(s->codec->scale), "Ie", s->codec->ie,
		"Bpl", json_real_or_null(s->codec->has_bpl, s->codec->bpl),
		"source", s->codec->source, "R", s->r, "MOS", s->mos);
}

/* Encoding name of the payload type with most audio packets. */
static json_t *json_codec_name(const struct rtp_stream *r)
{
	const struct codec_count_entry *codec = rtp_stream_codec(r);

	return codec ? json_string(codec->name) : json_null();
}

/* @param s     score from the values of G.113 only
 * @param used  score from the payload type's values, declared ones included */
static json_t *json_score(const struct rtp_stream *r, const struct score *s,
			  const struct score *used, double ta_ms)
{
	const struct emodel_codec *codec = rtp_stream_values(r)->standard;
	json_t *o = json_object();

	json_object_set_new(o, "codec",
			    codec ? json_string(codec->name)
				  : json_codec_name(r));
	if (codec) {
		json_object_set_new(o, "Ppl", json_real(s->ppl));
		json_object_set_new(o, "BurstR", json_real(s->burst_r));
		json_object_set_new(o, "Ta", json_real(ta_ms));
		json_object_set_new(o, "extrapolated",
				    json_boolean(s->extrapolated));
	}
	if (codec && s->valid) {
		json_object_set_new(
			o, "model",
			json_string(emodel_model_name(codec->scale)));
		json_object_set_new(o, "provenance", json_string("standard"));
	}
	json_object_set_new(o, "R", json_real_or_null(s->valid, s->r));
	json_object_set_new(o, "MOS", json_real_or_null(s->valid, s->mos));
	if (!s->valid)
		json_object_set_new(
			o, "reason",
			json_string(s->reason ? s->reason : "not computable"));
	if (used->valid && used->codec->provenance == EMODEL_DECLARED)
		json_object_set_new(o, "declared", json_declared(used));
	/* the part of Ta that cannot be measured from a capture */
	if (ta_ms > 0.0)
		json_object_set_new(o, "network_delay_ms", json_null());
	return o;
}

static json_t *json_mos(struct capture_stream *s)
{
	struct stream_total total;
	struct detail_score fixed;
	struct detail_score adaptive;
	struct score network;
	struct score used;

	rtp_stream_total(&s->stream, &total);
	score_rate(&network, rtp_stream_values(&s->stream)->standard,
		   total.loss_pct, total.burst_ratio, 0.0);
	score_rate_values(&used, rtp_stream_values(&s->stream), total.loss_pct,
			  total.burst_ratio, 0.0);
	stream_detail_score_fixed(&s->detail->figures, &fixed);
	stream_detail_score_adaptive(&s->detail->figures, &adaptive);
	return json_pack("{s:o, s:o, s:o}", "network",
			 json_score(&s->stream, &network, &used, 0.0),
			 "jb_fixed",
			 json_score(&s->stream, &fixed.standard, &fixed.score,
				    fixed.ta_ms),
			 "jb_adaptive",
			 json_score(&s->stream, &adaptive.standard,
				    &adaptive.score, adaptive.ta_ms));
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static void add_buffers(json_t *o, const struct stream_detail *d)
{
	const struct jb_fixed *f = &d->jb_fixed;
	const struct jb_adaptive *a = &d->jb_adaptive;
	uint64_t expected = d->network.packets;
	struct burst_gap_figures b;
	struct rtcp_voip_metrics v;

	json_object_set_new(o, "jb_fixed",
			    json_pack("{s:f, s:I, s:I, s:I, s:f}", "delay_ms",
				      f->delay_ms, "late", count(f->late),
				      "early", count(f->early), "resyncs",
				      count(f->resyncs), "discard_pct",
				      percent(f->late + f->early, expected)));
	json_object_set_new(o, "jb_adaptive",
			    json_pack("{s:I, s:f, s:f}", "late", count(a->late),
				      "discard_pct", percent(a->late, expected),
				      "mean_delay_ms",
				      jb_adaptive_delay_ms(a)));
	burst_gap_figures(&d->fixed.burst_gap, stream_detail_period_ms(d, NULL),
			  &b);
	json_object_set_new(
		o, "burst_gap",
		json_pack("{s:I, s:I, s:f, s:f, s:f, s:f}", "bursts",
			  count(d->fixed.burst_gap.bursts), "gaps",
			  count(d->fixed.burst_gap.gaps), "burst_density",
			  b.burst_density, "gap_density", b.gap_density,
			  "burst_duration_ms", b.burst_duration_ms,
			  "gap_duration_ms", b.gap_duration_ms));
	stream_detail_xr(d, &v);
	json_object_set_new(
		o, "xr",
		json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "gmin",
			  (int)v.gmin, "loss_rate", (int)v.loss_rate,
			  "discard_rate", (int)v.discard_rate, "burst_density",
			  (int)v.burst_density, "gap_density",
			  (int)v.gap_density, "burst_duration_ms",
			  (int)v.burst_duration_ms, "gap_duration_ms",
			  (int)v.gap_duration_ms));
}

static void add_payloads(json_t *o, const struct capture_stream *s)
{
	json_t *packets = json_object();
	json_t *map = json_object();
	char name[4];

	for (unsigned pt = 0; pt < 128; pt++) {
		uint64_t n = s->detail->figures.pt_packets[pt];

		if (n == 0)
			continue;
		snprintf(name, sizeof(name), "%u", pt);
		json_object_set_new(packets, name, json_integer(count(n)));
	}
	json_object_set_new(o, "pt_packets", packets);
	for (size_t i = 0; s->announced && i < s->map.count; i++) {
		const struct rtp_payload *p = &s->map.entries[i];
		static const char *const kinds[] = {"audio", "cn", "te"};

		snprintf(name, sizeof(name), "%u", p->pt);
		json_object_set_new(
			map, name,
			json_pack("{s:s, s:I, s:s}", "name", p->codec, "clock",
				  count(p->clock_hz), "kind", kinds[p->kind]));
	}
	json_object_set_new(o, "pt_map", map);
}

static void add_series(json_t *o, struct capture_detail *d)
{
	struct distribution all;
	bool exact = true;

	for (size_t k = 0; k < DETAIL_SERIES_COUNT; k++) {
		if (!samples_distribution(&d->samples[k],
					  &d->figures.series[k].all, &all))
			exact = false;
		json_object_set_new(o, series_names[k],
				    json_distribution(&all));
	}
	json_object_set_new(o, "exact_percentiles", json_boolean(exact));
}

static void add_times(json_t *o, const struct capture_stream *s)
{
	char ns[24];

	snprintf(ns, sizeof(ns), "%" PRId64, s->first_ns);
	json_object_set_new(o, "first_ns", json_string(ns));
	snprintf(ns, sizeof(ns), "%" PRId64, s->last_ns);
	json_object_set_new(o, "last_ns", json_string(ns));
	json_object_set_new(
		o, "duration_ms",
		json_real((double)(s->last_ns - s->first_ns) / 1e6));
	json_object_set_new(o, "timed", json_boolean(!s->untimed));
}

json_t *json_stream(struct capture_stream *s, double *scratch)
{
	const struct stream_detail *d = &s->detail->figures;
	struct rtp_stream *r = &s->stream;
	struct rtp_counters n;
	json_t *o = json_object();
	double x = 0.0;
	bool known;

	rtp_stream_counters(r, &n);
	json_object_set_new(o, "key", rescore_key_json(&s->key));
	json_object_set_new(o, "announced", json_boolean(s->announced));
	json_object_set_new(o, "counters", json_counters(r, &n));
	json_object_set_new(o, "loss_pct",
			    json_real(percent(n.lost, n.expected)));
	json_object_set_new(o, "loss", json_pattern(&d->network));
	json_object_set_new(o, "loss_plus_discard_fixed",
			    json_pattern(&d->fixed));
	json_object_set_new(o, "loss_plus_discard_adaptive",
			    json_pattern(&d->adaptive));
	json_object_set_new(o, "a1_strict", json_strict(&r->strict));
	json_object_set_new(o, "a1_no_probation",
			    json_strict(&d->no_probation));
	json_object_set_new(o, "jitter_last_ms",
			    json_real(r->timing.jitter_ms));
	json_object_set_new(o, "jitter_int_last_ticks",
			    json_integer(jitter_ticks_last(&d->jitter_ticks)));
	json_object_set_new(o, "jitter_int_max_ticks",
			    json_integer(d->jitter_ticks.highest));
	add_series(o, s->detail);
	known = skew_ppm(&d->skew, scratch, &x);
	json_object_set_new(o, "skew_ppm", json_real_or_null(known, x));
	x = stream_detail_period_ms(d, &known);
	json_object_set_new(o, "ptime_ms", json_real_or_null(known, x));
	json_object_set_new(o, "codec", json_codec_name(r));
	add_payloads(o, s);
	add_buffers(o, d);
	json_object_set_new(o, "mos", json_mos(s));
	add_times(o, s);
	return o;
}

json_t *json_interval(const struct capture_interval *i, int64_t interval_ns)
{
	const struct stream_second *n = &i->second;
	json_t *o = json_pack(
		"{s:I, s:f, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I}",
		"index", count(i->index), "t_ms",
		(double)i->index * (double)interval_ns / 1e6, "expected",
		count(n->expected), "received", count(i->received), "lost",
		(json_int_t)n->lost, "rr_fraction_lost",
		i->has_fraction ? json_integer(i->fraction) : json_null(),
		"packets", count(n->packets), "duplicates",
		count(n->duplicates), "reordered", count(n->reordered),
		"payload_bytes", count(i->payload_bytes), "te", count(i->te),
		"cn", count(i->cn));

	if (!o || n->packets == 0)
		return o;
	for (size_t k = 0; k < DETAIL_SERIES_COUNT; k++)
		json_object_set_new(o, series_names[k],
				    json_distribution(&i->series[k]));
	if (i->codec[0]) {
		json_object_set_new(o, "codec", json_string(i->codec));
		json_object_set_new(o, "R",
				    json_real_or_null(i->has_score, i->r));
		json_object_set_new(o, "MOS",
				    json_real_or_null(i->has_score, i->mos));
	}
	if (i->has_declared)
		json_object_set_new(o, "declared",
				    json_pack("{s:f, s:f}", "R", i->declared_r,
					      "MOS", i->declared_mos));
	return o;
}
