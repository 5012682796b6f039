/* One capture against its expectation. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vectors/capture.h"
#include "tests/vectors/check.h"

#define TIME_TOLERANCE_MS 0.001 /* 1 us */
#define RATIO_TOLERANCE   1e-6
#define R_TOLERANCE       1e-3
#define MOS_TOLERANCE     1e-4
#define TICK_TOLERANCE    1

static const char *const series_names[SERIES_COUNT] = {"ipdv_ms", "jit_ms",
						       "delta_ms", "pdv_ms"};

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
			   const struct rtp_stream *s)
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

static void check_runs(struct check *c, const json_t *want,
		       const struct loss_runs *runs, uint64_t expected)
{
	double mean = runs->runs ? (double)runs->lost / (double)runs->runs : 0;

	check_int(c, want, "lost", (int64_t)runs->lost);
	check_int(c, want, "runs", (int64_t)runs->runs);
	check_int(c, want, "longest_run", (int64_t)runs->longest);
	check_real(c, want, "mean_run", mean, RATIO_TOLERANCE);
	check_real(c, want, "burst_r", loss_runs_burst_r(runs, expected),
		   RATIO_TOLERANCE);
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
	for (size_t k = 0; k < SERIES_COUNT; k++)
		check_distribution(c, want, series_names[k], &i->series[k]);
	if (!json_object_get(want, "R"))
		return;
	score_rate(&score, s->stream->score.codec,
		   n->expected ? 100.0 * (double)n->lost / (double)n->expected
			       : 0,
		   1.0, 0.0);
	check_maybe(c, want, "R", score.valid, score.r, R_TOLERANCE);
	check_maybe(c, want, "MOS", score.valid, score.mos, MOS_TOLERANCE);
}

static void check_network_score(struct check *c, const json_t *want,
				const struct rtp_stream *s)
{
	struct stream_total total;
	struct score score;

	rtp_stream_total(s, &total);
	score_rate(&score, s->score.codec, total.loss_pct, total.burst_ratio,
		   0.0);
	if (json_object_get(want, "Ppl")) {
		check_real(c, want, "Ppl", score.ppl, RATIO_TOLERANCE);
		check_real(c, want, "BurstR", score.burst_r, RATIO_TOLERANCE);
		check_bool(c, want, "extrapolated", score.extrapolated);
	}
	check_maybe(c, want, "R", total.has_score, total.r_factor, R_TOLERANCE);
	check_maybe(c, want, "MOS", total.has_score, total.mos_total,
		    MOS_TOLERANCE);
	if (total.no_score_reason)
		check_text(c, want, "reason", total.no_score_reason);
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
		     &s->no_probation);
	rtp_seq_loss_runs(&s->stream->seq, &runs);
	check_runs(c, check_member(c, want, "loss"), &runs, n.expected);
	check_real(c, want, "jitter_last_ms", s->stream->timing.jitter_ms,
		   TIME_TOLERANCE_MS);
	check_real(c, want, "jitter_int_last_ticks",
		   rtp_timing_jitter_ticks(&s->stream->timing), TICK_TOLERANCE);
	check_real(c, want, "jitter_int_max_ticks",
		   s->stream->timing.int_jitter_max, TICK_TOLERANCE);
	for (size_t k = 0; k < SERIES_COUNT; k++) {
		distribution_of_samples(&d, s->series[k].all, s->series[k].n);
		check_distribution(c, want, series_names[k], &d);
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
