/*
 * The packets of a run are analysed together. Every figure, and every observer,
 * must be the same as when they are analysed one by one.
 */
#include "media/analysis/detail.h"
#include "media/analysis/quality.h"
#include "tests/unit/analysis/random.h"
#include "tests/unit/analysis/traffic.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MS INT64_C(1000000)
#define S  (1000 * MS)

/* A stream with every kind of observer. */
struct side {
	struct rtp_stream stream;
	struct rtp_rest rest;
	struct rtp_quality quality;
	struct stream_detail detail;
	uint64_t in_runs; /* packets in runs of two or more */
};

static struct rtp_payload_map map;
static struct side runs;
static struct side singly;

static void observe(const struct rtp_observation *o, void *arg)
{
	struct side *side = arg;

	rtp_quality_observer.packet(o, &side->quality);
	stream_detail_observe(o, &side->detail);
}

static void observe_run(const struct rtp_run *run, void *arg)
{
	struct side *side = arg;

	if (run->samples->count > 1)
		side->in_runs += run->samples->count;
	rtp_quality_observer.run(run, &side->quality);
	stream_detail_observe_run(run, &side->detail);
}

static const struct rtp_observer run_observer = {.packet = observe,
						 .run = observe_run};
static const struct rtp_observer single_observer = {.packet = observe};

static void side_init(struct side *side, const struct rtp_observer *observer)
{
	rtp_stream_init(&side->stream, 0, 0, &map, &side->rest);
	rtp_quality_init(&side->quality, &side->stream);
	stream_detail_init(&side->detail, &side->stream);
	rtp_stream_observe(&side->stream, observer, side);
	side->in_runs = 0;
}

static int setup(void **state)
{
	(void)state;
	traffic_map(&map);
	side_init(&runs, &run_observer);
	side_init(&singly, &single_observer);
	return 0;
}

static void near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * fmax(1.0, fabs(a))))
		fail_msg("%.17g is not %.17g", a, b);
}

static void same_moments(const struct moments *a, const struct moments *b)
{
	assert_int_equal(a->n, b->n);
	near(a->min, b->min);
	near(a->max, b->max);
	near(a->mean, b->mean);
	/*
	 * the squares of a stall are large: smaller terms are lost in rounding
	 */
	assert_true(fabs(a->m2 - b->m2) <= 1e-9 * fmax(1.0, a->m2));
}

static void same_histogram(const struct histogram *a, const struct histogram *b)
{
	same_moments(&a->moments, &b->moments);
	assert_memory_equal(a->counts, b->counts, sizeof(a->counts));
}

static void same_seq(const struct rtp_seq *a, const struct rtp_seq *b)
{
	struct rtp_counters counters[2];
	struct loss_runs lost[2];

	rtp_seq_counters(a, &counters[0]);
	rtp_seq_counters(b, &counters[1]);
	assert_memory_equal(&counters[0], &counters[1], sizeof(counters[0]));
	rtp_seq_loss_runs(a, &lost[0]);
	rtp_seq_loss_runs(b, &lost[1]);
	assert_memory_equal(&lost[0], &lost[1], sizeof(lost[0]));
}

static void same_timing(const struct rtp_timing *a, const struct rtp_timing *b)
{
	assert_int_equal(a->ref_ns, b->ref_ns);
	assert_int_equal(a->ref_ext, b->ref_ext);
	assert_int_equal(a->ref_ts, b->ref_ts);
	assert_int_equal(a->samples, b->samples);
	assert_int_equal(a->clock_hz, b->clock_hz);
	assert_int_equal(a->period_ticks, b->period_ticks);
	assert_int_equal(a->has_period, b->has_period);
	assert_int_equal(a->has_ref, b->has_ref);
	assert_int_equal(a->gap_kind, b->gap_kind);
	assert_int_equal(a->epoch_ns, b->epoch_ns);
	assert_int_equal(a->media_ticks, b->media_ticks);
	assert_int_equal(a->discontinuities, b->discontinuities);
	assert_int_equal(a->clock_changes, b->clock_changes);
	assert_int_equal(a->same_ts, b->same_ts);
	near(a->jitter_ms, b->jitter_ms);
	near(a->min_transit_ms, b->min_transit_ms);
}

static void same_sparse(const struct sparse_histogram *a,
			const struct sparse_histogram *b,
			struct count_parts *parts_a,
			struct count_parts *parts_b)
{
	struct histogram copies[2];

	sparse_histogram_copy(&copies[0], a, parts_a);
	sparse_histogram_copy(&copies[1], b, parts_b);
	same_histogram(&copies[0], &copies[1]);
}

static void same_streams(struct rtp_stream *a, struct rtp_stream *b)
{
	same_seq(&a->seq, &b->seq);
	same_timing(&a->timing, &b->timing);
	assert_memory_equal(&a->strict, &b->strict, sizeof(a->strict));
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->payload_bytes, b->payload_bytes);
	assert_int_equal(a->te_packets, b->te_packets);
	assert_int_equal(a->cn_packets, b->cn_packets);
	assert_int_equal(a->unknown_pt_packets, b->unknown_pt_packets);
	assert_int_equal(a->marker_packets, b->marker_packets);
	same_sparse(&a->jitter, &b->jitter, &a->counts, &b->counts);
}

static void same_pattern(const struct loss_pattern *a,
			 const struct loss_pattern *b)
{
	assert_int_equal(a->base, b->base);
	assert_int_equal(a->max, b->max);
	assert_int_equal(a->packets, b->packets);
	assert_memory_equal(&a->runs, &b->runs, sizeof(a->runs));
	assert_int_equal(a->after_good, b->after_good);
	assert_int_equal(a->after_bad, b->after_bad);
	assert_int_equal(a->good_to_bad, b->good_to_bad);
	assert_int_equal(a->bad_to_good, b->bad_to_good);
	assert_memory_equal(&a->burst_gap, &b->burst_gap, sizeof(a->burst_gap));
	assert_memory_equal(a->good, b->good, sizeof(a->good));
	if (a->histogram) /* long runs: neither side has room for them */
		assert_memory_equal(a->histogram, b->histogram,
				    sizeof(*a->histogram));
}

static void same_buffers(const struct jb_fixed *f, const struct jb_fixed *g,
			 const struct jb_adaptive *a,
			 const struct jb_adaptive *b)
{
	assert_int_equal(f->late, g->late);
	assert_int_equal(f->early, g->early);
	assert_int_equal(f->in_row, g->in_row);
	assert_int_equal(f->resyncs, g->resyncs);
	near(f->anchor_ms, g->anchor_ms);
	assert_int_equal(a->late, b->late);
	assert_int_equal(a->played, b->played);
	near(a->playout_ms, b->playout_ms);
	near(a->mean_ms, b->mean_ms);
	near(a->spread_ms, b->spread_ms);
	near(a->min_ms, b->min_ms);
	near(a->window_min_ms, b->window_min_ms);
	assert_int_equal(a->window_packets, b->window_packets);
	near(a->delay_sum_ms, b->delay_sum_ms);
}

static void same_epoch(const struct skew_epoch *a, const struct skew_epoch *b)
{
	assert_int_equal(a->n, b->n);
	near(a->last_ms, b->last_ms);
	near(a->newest.media_ms, b->newest.media_ms);
	near(a->newest.transit_ms, b->newest.transit_ms);
	for (size_t i = 0; i < a->n; i++) {
		near(a->point[i].media_ms, b->point[i].media_ms);
		near(a->point[i].transit_ms, b->point[i].transit_ms);
	}
}

static void same_skew(const struct skew *a, const struct skew *b)
{
	same_epoch(&a->now, &b->now);
	same_epoch(&a->longest, &b->longest);
}

static void same_quality(const struct rtp_quality *a,
			 const struct rtp_quality *b)
{
	same_buffers(&a->fixed, &b->fixed, &a->adaptive, &b->adaptive);
	same_pattern(&a->fixed_pattern, &b->fixed_pattern);
	same_pattern(&a->adaptive_pattern, &b->adaptive_pattern);
	same_moments(&a->ipdv_ms, &b->ipdv_ms);
	assert_int_equal(a->last_ext, b->last_ext);
	assert_int_equal(a->out_of_order, b->out_of_order);
	assert_int_equal(a->report_begin, b->report_begin);
	assert_int_equal(a->has_gap_second, b->has_gap_second);
	same_skew(&a->skew, &b->skew);
	near(a->gap_second_ms, b->gap_second_ms);
}

static void same_detail(const struct stream_detail *a,
			const struct stream_detail *b)
{
	same_buffers(&a->jb_fixed, &b->jb_fixed, &a->jb_adaptive,
		     &b->jb_adaptive);
	same_pattern(&a->network, &b->network);
	same_pattern(&a->fixed, &b->fixed);
	same_pattern(&a->adaptive, &b->adaptive);
	assert_memory_equal(a->pt_packets, b->pt_packets,
			    sizeof(a->pt_packets));
	same_skew(&a->skew, &b->skew);
	assert_memory_equal(&a->jitter_ticks, &b->jitter_ticks,
			    sizeof(a->jitter_ticks));
	for (size_t k = 0; k < DETAIL_SERIES_COUNT; k++) {
		const struct series *x = &a->series[k];
		const struct series *y = &b->series[k];

		assert_int_equal(x->n, y->n);
		assert_memory_equal(x->samples, y->samples, sizeof(x->samples));
		same_histogram(&x->interval, &y->interval);
		same_histogram(&x->all, &y->all);
	}
}

static void same(void)
{
	rtp_stream_end_run(&runs.stream);
	same_streams(&runs.stream, &singly.stream);
	same_quality(&runs.quality, &singly.quality);
	same_detail(&runs.detail, &singly.detail);
}

/* Closing a second, and making a report, ends a run. */
static void same_second(int64_t end_ns)
{
	struct side *const sides[] = {&runs, &singly};
	struct stream_second second[2];
	struct rtcp_stat_summary summary[2];
	struct rtcp_voip_metrics voip[2];
	bool told[2];

	memset(summary, 0, sizeof(summary));
	for (int i = 0; i < 2; i++) {
		struct distribution unused;

		rtp_stream_close_second(&sides[i]->stream, end_ns, &second[i]);
		rtp_quality_close_second(&sides[i]->quality, &second[i]);
		told[i] = rtp_quality_summary(&sides[i]->quality, &summary[i]);
		rtp_quality_voip(&sides[i]->quality, &voip[i]);
		for (size_t k = 0; k < DETAIL_SERIES_COUNT; k++)
			series_close(&sides[i]->detail.series[k], &unused);
	}
	assert_int_equal(told[0], told[1]);
	assert_memory_equal(&voip[0], &voip[1], sizeof(voip[0]));
	assert_int_equal(summary[0].lost, summary[1].lost);
	assert_int_equal(summary[0].end_seq, summary[1].end_seq);
	assert_int_equal(summary[0].max_jitter_ticks,
			 summary[1].max_jitter_ticks);
	assert_int_equal(second[0].lost, second[1].lost);
	assert_int_equal(second[0].discarded, second[1].discarded);
	assert_int_equal(second[0].burst_lost, second[1].burst_lost);
	near(second[0].jitter_ms, second[1].jitter_ms);
	near(second[0].gap_ms, second[1].gap_ms);
	same();
}

/*
 * In addition to traffic_next(): timestamps that repeat, jump or change their
 * step, stalls, and periods of network delay.
 */
static void mutate(struct packet_record *at, struct packet_record *r,
		   uint64_t *seed, uint32_t *phase)
{
	uint32_t dice = random_below(seed, 4096);

	if (dice < 32)
		r->rtp_ts = at->rtp_ts - 160; /* the same timestamp again */
	else if (dice < 36)
		at->rtp_ts += 100000; /* a timestamp jump that stays */
	else if (dice < 40)
		at->mono_ns += 400 * S; /* a stall */
	else if (dice < 44)
		at->mono_ns -=
			at->mono_ns > S ? S / 2 : 0; /* the clock is set back */
	else if (dice < 60)
		*phase = random_below(seed, 4);
	if (*phase == 1) /* sometimes late for the buffers */
		r->mono_ns += random_below(seed, 120) * MS;
	if (*phase == 2) /* late for the fixed buffer until it restarts */
		r->mono_ns += 90 * MS;
	if (*phase == 3) { /* 40 ms a packet */
		at->rtp_ts += 160;
		at->mono_ns += 20 * MS;
		r->rtp_ts += 160;
		r->mono_ns += 20 * MS;
	}
}

static void test_runs_are_packets_one_by_one(void **state)
{
	struct packet_record at = {.mono_ns = S, .seq = 65000};
	uint64_t seed = 1;
	uint64_t mutations = 77;
	uint32_t phase = 0;

	(void)state;
	for (int i = 0; i < 300000; i++) {
		struct packet_record r = traffic_next(&at, &seed);

		mutate(&at, &r, &mutations, &phase);
		r.payload_bytes = (uint16_t)(i % 1000);
		r.header_bytes = (uint16_t)(12 + i % 3 * 4);
		rtp_stream_update(&runs.stream, &r);
		rtp_stream_update(&singly.stream, &r);
		if (random_below(&mutations, 200) == 0)
			same();
		if (random_below(&mutations, 400) == 0)
			same_second(r.mono_ns);
	}
	same();
	assert_true(runs.in_runs > 100000);
	assert_true(runs.stream.timing.discontinuities > 100);
	assert_true(runs.stream.timing.same_ts > 100);
	assert_true(runs.quality.fixed.late > 1000);
	assert_true(runs.quality.fixed.resyncs > 10);
	assert_true(runs.quality.adaptive.late > 1000);
	assert_true(runs.quality.fixed_pattern.burst_gap.bursts > 100);
}

/* All packets are in time: every run has its maximum length. */
static void test_long_runs_of_a_plain_stream(void **state)
{
	(void)state;
	for (int64_t i = 0; i < 200000; i++) {
		struct packet_record r = {
			.mono_ns = i * 20 * MS + i * 7919 % 997 * 1000,
			.rtp_ts = (uint32_t)(i * 160),
			.seq = (uint16_t)i,
			.payload_bytes = 160,
			.header_bytes = 12,
		};

		rtp_stream_update(&runs.stream, &r);
		rtp_stream_update(&singly.stream, &r);
		if (i % 5000 == 4999)
			same_second(r.mono_ns);
	}
	same();
	assert_true(runs.in_runs > 199000);
	assert_int_equal(runs.quality.fixed.late, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_runs_are_packets_one_by_one, setup),
		cmocka_unit_test_setup(test_long_runs_of_a_plain_stream, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
