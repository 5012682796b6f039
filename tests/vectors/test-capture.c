/* Compare one capture with its expectation. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vectors/capture.h"
#include "tests/vectors/check.h"

#define TIME_TOLERANCE_MS  0.001 /* 1 us */
#define RATIO_TOLERANCE    1e-6
#define R_TOLERANCE        1e-3
#define MOS_TOLERANCE      1e-4
#define TICK_TOLERANCE     1
#define SKEW_TOLERANCE_PPM 1

static const char *const series_names[DETAIL_SERIES_COUNT] = {
	"ipdv_ms", "jit_ms", "delta_ms", "pdv_ms"};

static void check_distribution(struct check *c, const json_t *object,
			       const char *name, const struct distribution *d)
{
	const json_t *want = check_member(c, object, name);
	const char *where = c->where;
	char path[200];

	if (!want)
		return;
	snprintf(path, sizeof(path), "%s %s", where, name);
	c->where = path;
	check_int(c, want, "n", (int64_t)d->n);
	if (d->n > 0) {
		double samp = d->n > 1 ? d->stddev * sqrt((double)d->n /
							  (double)(d->n - 1))
				       : 0;

		check_real(c, want, "min", d->min, TIME_TOLERANCE_MS);
		check_real(c, want, "max", d->max, TIME_TOLERANCE_MS);
		check_real(c, want, "avg", d->avg, TIME_TOLERANCE_MS);
		check_real(c, want, "median", d->median, TIME_TOLERANCE_MS);
		check_real(c, want, "p75", d->p75, TIME_TOLERANCE_MS);
		check_real(c, want, "p90", d->p90, TIME_TOLERANCE_MS);
		check_real(c, want, "p95", d->p95, TIME_TOLERANCE_MS);
		check_real(c, want, "stddev_pop", d->stddev, TIME_TOLERANCE_MS);
		check_maybe(c, want, "stddev_samp", d->n > 1, samp,
			    TIME_TOLERANCE_MS);
	}
	c->where = where;
}

static void check_counters(struct check *c, const json_t *want,
			   struct rtp_stream *s)
{
	struct rtp_counters n;

	rtp_stream_counters(s, &n);
	check_int(c, want, "packets", (int64_t)n.packets);
	check_int(c, want, "received", (int64_t)n.received);
	check_int(c, want, "duplicates", (int64_t)n.duplicates);
	check_int(c, want, "reordered", (int64_t)n.reordered);
	check_int(c, want, "very_late", (int64_t)n.very_late);
	check_int(c, want, "stray", (int64_t)(n.stray + n.pending));
	check_int(c, want, "restarts", (int64_t)n.restarts);
	check_int(c, want, "outages", (int64_t)n.outages);
	check_int(c, want, "expected", (int64_t)n.expected);
	check_int(c, want, "lost", (int64_t)n.lost);
	check_int(c, want, "max_reorder_distance", n.max_reorder_distance);
	check_int(c, want, "te_packets", (int64_t)s->te_packets);
	check_int(c, want, "cn_packets", (int64_t)s->cn_packets);
	check_int(c, want, "unknown_pt_packets",
		  (int64_t)s->unknown_pt_packets);
	check_int(c, want, "marker_packets", (int64_t)s->marker_packets);
	check_int(c, want, "same_ts_packets", (int64_t)s->timing.same_ts);
	check_int(c, want, "ts_discontinuities",
		  (int64_t)s->timing.discontinuities);
	check_int(c, want, "clock_changes", (int64_t)s->timing.clock_changes);
	check_int(c, want, "pt_changes", (int64_t)s->pt_changes);
	check_int(c, want, "payload_bytes", (int64_t)s->payload_bytes);
}

static void check_strict(struct check *c, const json_t *want,
			 const struct rtp_strict *s)
{
	check_bool(c, want, "valid", s->valid);
	check_int(c, want, "rejected", s->rejected);
	if (!s->valid)
		return;
	check_int(c, want, "base_seq", s->base_seq);
	check_int(c, want, "ext_max", rtp_strict_ext_max(s));
	check_int(c, want, "received", s->received);
	check_int(c, want, "expected", rtp_strict_expected(s));
	check_int(c, want, "lost", rtp_strict_lost(s));
	check_int(c, want, "lost_24bit", rtp_strict_lost_24bit(s));
	check_int(c, want, "resyncs", s->resyncs);
}

static void check_histogram(struct check *c, const json_t *want,
			    const struct loss_pattern *p)
{
	const json_t *runs = check_member(c, want, "run_histogram");
	const struct run_histogram *h = p->histogram;
	uint64_t kinds = 0;
	char length[24];

	for (uint64_t i = 1; i < RUN_LENGTHS_SHORT; i++) {
		if (h->shorter[i] == 0)
			continue;
		kinds++;
		snprintf(length, sizeof(length), "%" PRIu64, i);
		check_int(c, runs, length, (int64_t)h->shorter[i]);
	}
	if (h->count + h->left_out > 0)
		check_fail(c, "run_histogram", "no vector has such long runs");
	if (json_object_size(runs) != kinds)
		check_fail(c, "run_histogram", "another number of lengths");
}

static void check_pattern(struct check *c, const json_t *stream,
			  const char *name, const struct loss_pattern *pattern)
{
	const json_t *want = check_member(c, stream, name);
	const struct loss_runs *runs = &pattern->runs;
	const json_t *gilbert = check_member(c, want, "gilbert");
	double mean = runs->runs ? (double)runs->lost / (double)runs->runs : 0;
	double p = 0;
	double q = 0;
	double burst_r = 0;

	check_int(c, want, "lost", (int64_t)runs->lost);
	check_int(c, want, "runs", (int64_t)runs->runs);
	check_int(c, want, "longest_run", (int64_t)runs->longest);
	check_real(c, want, "mean_run", mean, RATIO_TOLERANCE);
	check_real(c, want, "burst_r",
		   loss_runs_burst_r(runs, pattern->packets), RATIO_TOLERANCE);
	check_histogram(c, want, pattern);
	if (pattern_gilbert(pattern, &p, &q, &burst_r) ==
	    json_is_null(gilbert)) {
		check_fail(c, name, "gilbert known or unknown");
	} else if (!json_is_null(gilbert)) {
		check_real(c, gilbert, "p", p, RATIO_TOLERANCE);
		check_real(c, gilbert, "q", q, RATIO_TOLERANCE);
		check_real(c, gilbert, "burst_r", burst_r, RATIO_TOLERANCE);
	}
}

static void check_buffers(struct check *c, const json_t *want,
			  const struct stream_detail *d)
{
	const json_t *fixed = check_member(c, want, "jb_fixed");
	const json_t *adaptive = check_member(c, want, "jb_adaptive");
	const double expected = (double)d->network.packets;
	const struct jb_fixed *f = &d->jb_fixed;

	check_real(c, fixed, "delay_ms", f->delay_ms, 0);
	check_int(c, fixed, "late", (int64_t)f->late);
	check_int(c, fixed, "early", (int64_t)f->early);
	check_int(c, fixed, "resyncs", (int64_t)f->resyncs);
	check_real(c, fixed, "discard_pct",
		   100 * (double)(f->late + f->early) / expected,
		   RATIO_TOLERANCE);
	check_int(c, adaptive, "late", (int64_t)d->jb_adaptive.late);
	check_real(c, adaptive, "discard_pct",
		   100 * (double)d->jb_adaptive.late / expected,
		   RATIO_TOLERANCE);
	check_real(c, adaptive, "mean_delay_ms",
		   jb_adaptive_delay_ms(&d->jb_adaptive), 5e-6);
}

static void check_burst_gap(struct check *c, const json_t *want,
			    const struct stream_detail *d)
{
	const json_t *bg = check_member(c, want, "burst_gap");
	const json_t *xr = check_member(c, want, "xr");
	const struct burst_gap *b = &d->fixed.burst_gap;
	struct burst_gap_figures f;
	struct rtcp_voip_metrics v;

	burst_gap_figures(b, stream_detail_period_ms(d, NULL), &f);
	check_int(c, bg, "bursts", (int64_t)b->bursts);
	check_int(c, bg, "gaps", (int64_t)b->gaps);
	check_real(c, bg, "burst_density", f.burst_density, RATIO_TOLERANCE);
	check_real(c, bg, "gap_density", f.gap_density, RATIO_TOLERANCE);
	check_real(c, bg, "burst_duration_ms", f.burst_duration_ms,
		   TIME_TOLERANCE_MS);
	check_real(c, bg, "gap_duration_ms", f.gap_duration_ms,
		   TIME_TOLERANCE_MS);
	stream_detail_xr(d, &v);
	check_int(c, xr, "gmin", v.gmin);
	check_int(c, xr, "loss_rate", v.loss_rate);
	check_int(c, xr, "discard_rate", v.discard_rate);
	check_int(c, xr, "burst_density", v.burst_density);
	check_int(c, xr, "gap_density", v.gap_density);
	check_int(c, xr, "burst_duration_ms", v.burst_duration_ms);
	check_int(c, xr, "gap_duration_ms", v.gap_duration_ms);
}

static void check_detail_score(struct check *c, const json_t *mos,
			       const char *name, const struct detail_score *s)
{
	const json_t *want = check_member(c, mos, name);

	if (json_object_get(want, "Ppl")) {
		check_real(c, want, "Ppl", s->standard.ppl, RATIO_TOLERANCE);
		check_real(c, want, "BurstR", s->standard.burst_r,
			   RATIO_TOLERANCE);
		check_real(c, want, "Ta", s->ta_ms, 5e-6);
		check_bool(c, want, "extrapolated", s->standard.extrapolated);
	}
	check_maybe(c, want, "R", s->standard.valid, s->standard.r,
		    R_TOLERANCE);
	check_maybe(c, want, "MOS", s->standard.valid, s->standard.mos,
		    MOS_TOLERANCE);
}

/*
 * Check the same figure from the histogram, which works for streams of any
 * length.
 */
static void check_bounded(struct check *c, const char *name,
			  const struct distribution *exact,
			  const struct histogram *h)
{
	const double p[] = {0.5, 0.75, 0.9, 0.95};
	const double want[] = {exact->median, exact->p75, exact->p90,
			       exact->p95};

	if (h->moments.n != exact->n)
		check_fail(c, name, "histogram: another n");
	for (size_t i = 0; i < 4 && exact->n > 0; i++) {
		double got = histogram_percentile(h, p[i]);

		c->compared++;
		if (fabs(got - want[i]) > 0.016 * want[i] + 0.0006)
			check_fail(c, name, "histogram: percentile is off");
	}
}

static void check_detail(struct check *c, const json_t *want,
			 const struct stream_detail *d)
{
	static double scratch[SKEW_SCRATCH(SKEW_WINDOWS_CAPTURE)];
	const json_t *mos = check_member(c, want, "mos");
	struct detail_score score;
	double ppm = 0;
	bool measured;
	double period_ms = stream_detail_period_ms(d, &measured);

	check_pattern(c, want, "loss", &d->network);
	check_pattern(c, want, "loss_plus_discard_fixed", &d->fixed);
	check_pattern(c, want, "loss_plus_discard_adaptive", &d->adaptive);
	check_buffers(c, want, d);
	check_burst_gap(c, want, d);
	stream_detail_score_fixed(d, &score);
	check_detail_score(c, mos, "jb_fixed", &score);
	stream_detail_score_adaptive(d, &score);
	check_detail_score(c, mos, "jb_adaptive", &score);
	check_maybe(c, want, "ptime_ms", measured, period_ms,
		    TIME_TOLERANCE_MS);
	bool known = skew_ppm(&d->skew, scratch, &ppm);

	check_maybe(c, want, "skew_ppm", known, ppm, SKEW_TOLERANCE_PPM);
	for (unsigned pt = 0; pt < 128; pt++) {
		char name[4];

		snprintf(name, sizeof(name), "%u", pt);
		if (d->pt_packets[pt] > 0)
			check_int(c, check_member(c, want, "pt_packets"), name,
				  (int64_t)d->pt_packets[pt]);
	}
}

static void check_interval(struct check *c, const json_t *want,
			   const struct capture_stream *s, size_t index)
{
	const struct interval *i = &s->interval[index];
	const struct stream_second *n = &i->second;
	struct score score;

	check_int(c, want, "index", (int64_t)index);
	check_int(c, want, "packets", (int64_t)n->packets);
	check_int(c, want, "expected", (int64_t)n->expected);
	check_int(c, want, "received", (int64_t)i->received);
	check_int(c, want, "lost", n->lost);
	check_int(c, want, "duplicates", (int64_t)n->duplicates);
	check_int(c, want, "reordered", (int64_t)n->reordered);
	check_int(c, want, "te", (int64_t)i->te);
	check_int(c, want, "cn", (int64_t)i->cn);
	check_int(c, want, "payload_bytes", (int64_t)i->payload_bytes);
	check_maybe(c, want, "rr_fraction_lost", i->has_fraction, i->fraction,
		    0);
	if (n->packets == 0)
		return;
	for (size_t k = 0; k < DETAIL_SERIES_COUNT; k++)
		check_distribution(c, want, series_names[k], &i->series[k]);
	if (!json_object_get(want, "R"))
		return;
	score_rate(&score, i->values.standard,
		   n->expected ? 100.0 * (double)n->lost / (double)n->expected
			       : 0,
		   1.0, 0.0);
	check_maybe(c, want, "R", score.valid, score.r, R_TOLERANCE);
	check_maybe(c, want, "MOS", score.valid, score.mos, MOS_TOLERANCE);
}

static void check_network_score(struct check *c, const json_t *want,
				struct rtp_stream *s)
{
	struct stream_total total;
	struct score score;

	rtp_stream_total(s, &total);
	score_rate(&score, rtp_stream_values(s)->standard, total.loss_pct,
		   total.burst_ratio, 0.0);
	if (json_object_get(want, "Ppl")) {
		check_real(c, want, "Ppl", score.ppl, RATIO_TOLERANCE);
		check_real(c, want, "BurstR", score.burst_r, RATIO_TOLERANCE);
		check_bool(c, want, "extrapolated", score.extrapolated);
	}
	check_maybe(c, want, "R", score.valid, score.r, R_TOLERANCE);
	check_maybe(c, want, "MOS", score.valid, score.mos, MOS_TOLERANCE);
	if (score.valid) {
		check_real(c, want, "R", total.r_factor, R_TOLERANCE);
		check_real(c, want, "MOS", total.mos_total, MOS_TOLERANCE);
		return;
	}
	/*
	 * a codec without values in the standard has declared ones, and is
	 * marked so
	 */
	check_text(c, want, "reason", score.reason);
	if (total.has_score && !total.score_declared)
		check_fail(c, "score_declared",
			   "a score without standard is not marked");
}

static void check_stream(struct check *c, const json_t *want,
			 struct capture_stream *s)
{
	struct distribution d;
	struct rtp_counters n;
	struct loss_runs runs;
	const json_t *intervals = check_member(c, want, "intervals");
	char path[120];
	const char *where = c->where;

	check_counters(c, check_member(c, want, "counters"), s->stream);
	rtp_stream_counters(s->stream, &n);
	check_strict(c, check_member(c, want, "a1_strict"), &s->stream->strict);
	check_strict(c, check_member(c, want, "a1_no_probation"),
		     &s->detail->no_probation);
	rtp_seq_loss_runs(&s->stream->seq, &runs);
	if (runs.lost != s->detail->network.runs.lost ||
	    runs.runs != s->detail->network.runs.runs ||
	    runs.longest != s->detail->network.runs.longest)
		check_fail(c, "loss", "live runs differ from the pattern");
	check_detail(c, want, s->detail);
	check_real(c, want, "jitter_last_ms", s->stream->timing.jitter_ms,
		   TIME_TOLERANCE_MS);
	check_real(c, want, "jitter_int_last_ticks",
		   jitter_ticks_last(&s->detail->jitter_ticks), TICK_TOLERANCE);
	check_real(c, want, "jitter_int_max_ticks",
		   s->detail->jitter_ticks.highest, TICK_TOLERANCE);
	for (size_t k = 0; k < DETAIL_SERIES_COUNT; k++) {
		distribution_of_samples(&d, s->exact[k].all, s->exact[k].n);
		check_distribution(c, want, series_names[k], &d);
		check_bounded(c, series_names[k], &d,
			      &s->detail->series[k].all);
	}
	check_network_score(
		c, json_object_get(json_object_get(want, "mos"), "network"),
		s->stream);
	if (json_array_size(intervals) != s->intervals)
		check_fail(c, "intervals", "another number of them");
	for (size_t i = 0; i < s->intervals; i++) {
		snprintf(path, sizeof(path), "%s interval %zu", where, i);
		c->where = path;
		check_interval(c, json_array_get(intervals, i), s, i);
	}
	c->where = where;
}

static void check_ssrc(struct check *c, const json_t *want, const char *name,
		       uint32_t ssrc)
{
	char text[9];

	snprintf(text, sizeof(text), "%08" PRIx32, ssrc);
	check_text(c, want, name, text);
}

static void check_voip(struct check *c, const json_t *want,
		       const struct rtcp_voip_metrics *v)
{
	check_ssrc(c, want, "ssrc", v->ssrc);
	check_int(c, want, "loss_rate", v->loss_rate);
	check_int(c, want, "discard_rate", v->discard_rate);
	check_int(c, want, "burst_density", v->burst_density);
	check_int(c, want, "gap_density", v->gap_density);
	check_int(c, want, "burst_duration", v->burst_duration_ms);
	check_int(c, want, "gap_duration", v->gap_duration_ms);
	check_int(c, want, "rtt", v->rtt_ms);
	check_int(c, want, "esd", v->end_system_delay_ms);
	check_int(c, want, "signal", v->signal_dbm0);
	check_int(c, want, "noise", v->noise_dbm0);
	check_int(c, want, "rerl", v->rerl_db);
	check_int(c, want, "gmin", v->gmin);
	check_int(c, want, "r_factor", v->r_factor);
	check_int(c, want, "ext_r", v->ext_r_factor);
	check_int(c, want, "mos_lq", v->mos_lq);
	check_int(c, want, "mos_cq", v->mos_cq);
	check_int(c, want, "rx_config", v->rx_config);
	check_int(c, want, "reserved", v->reserved);
	check_int(c, want, "jb_nominal", v->jb_nominal_ms);
	check_int(c, want, "jb_max", v->jb_max_ms);
	check_int(c, want, "jb_absmax", v->jb_absmax_ms);
}

static void check_report(struct check *c, const json_t *want,
			 const struct capture_report *r)
{
	const struct rtcp_report *b = &r->item.u.report;
	char ns[24];

	snprintf(ns, sizeof(ns), "%" PRId64, r->ns);
	check_text(c, want, "t_ns", ns);
	check_ssrc(c, want, "reporter", r->item.ssrc);
	if (r->item.kind == RTCP_ITEM_XR_VOIP) {
		check_text(c, want, "type", "XR-VOIP");
		check_voip(c, check_member(c, want, "metrics"),
			   &r->item.u.voip);
		return;
	}
	check_maybe(c, want, "rtt_ms", r->has_rtt && r->rtt_ms >= 0, r->rtt_ms,
		    TIME_TOLERANCE_MS);
	if (r->item.kind == RTCP_ITEM_XR_DLRR) {
		check_text(c, want, "type", "XR-DLRR");
		check_ssrc(c, want, "about", r->item.u.dlrr.ssrc);
		return;
	}
	check_text(c, want, "type", r->item.type == RTCP_TYPE_SR ? "SR" : "RR");
	check_ssrc(c, want, "about", b->ssrc);
	check_int(c, want, "fraction", b->fraction_lost);
	check_int(c, want, "lost", b->lost);
	check_int(c, want, "ext_seq", b->ext_max);
	check_int(c, want, "jitter_ticks", b->jitter_ticks);
}

static void check_rtcp(struct check *c, const json_t *want,
		       const struct capture *got)
{
	const json_t *reports = check_member(c, want, "reports");
	char where[40];

	if (json_array_size(reports) != got->reports)
		check_fail(c, "reports", "another number of them");
	for (size_t i = 0; i < got->reports; i++) {
		snprintf(where, sizeof(where), "report %zu", i);
		c->where = where;
		check_report(c, json_array_get(reports, i), &got->report[i]);
	}
	c->where = "capture";
}

static void check_capture(struct check *c, const json_t *want,
			  struct capture *got)
{
	const json_t *other = check_member(c, want, "other");
	const json_t *streams = check_member(c, want, "streams");
	char where[60];

	c->where = "capture";
	check_int(c, want, "frames", (int64_t)got->frames);
	check_int(c, other, "stun", (int64_t)got->stun);
	check_int(c, other, "dtls", (int64_t)got->dtls);
	check_int(c, other, "rtcp", (int64_t)got->rtcp);
	check_int(c, other, "invalid", (int64_t)got->invalid);
	check_int(c, other, "non_media_udp", (int64_t)got->non_media_udp);
	check_int(c, other, "not_udp", (int64_t)got->not_udp);
	check_rtcp(c, check_member(c, want, "rtcp"), got);
	if (json_array_size(streams) != got->streams)
		check_fail(c, "streams", "another number of them");
	for (size_t i = 0; i < got->streams; i++) {
		char ssrc[9];

		snprintf(where, sizeof(where), "stream %zu", i);
		c->where = where;
		snprintf(ssrc, sizeof(ssrc), "%08" PRIx32, got->stream[i].ssrc);
		check_text(c,
			   json_object_get(json_array_get(streams, i), "key"),
			   "ssrc", ssrc);
		check_stream(c, json_array_get(streams, i), &got->stream[i]);
	}
}

int main(int argc, char **argv)
{
	static struct capture capture;
	struct check c = {.where = "capture"};
	json_error_t error;
	json_t *want;
	int err;

	if (argc != 3)
		return 2;
	want = json_load_file(argv[2], 0, &error);
	if (!want) {
		fprintf(stderr, "%s: %s\n", argv[2], error.text);
		return 2;
	}
	err = capture_read(&capture, argv[1], want);
	if (err) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-err));
		return 2;
	}
	check_capture(&c, want, &capture);
	capture_free(&capture);
	json_decref(want);
	printf("%u compared, %u differ\n", c.compared, c.failed);
	return c.failed || c.compared == 0;
}
