/*
 * Many sources in a session, one after another and at once: the seconds sum to
 * the total, and every received packet is counted.
 */
#include "base/clock.h"
#include "media/measure/measure_session.h"
#include "tests/unit/analysis/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS NS_PER_MS

struct world {
	struct measure_session *a;
	struct rtp_payload_map map;
	int64_t now_ns;
	struct stream_second sum;
	uint64_t sent;
};

static int world_open(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct measure_command c = {
		.head.mono_ns = 100 * NS_PER_S,
		.codec = &codec_pcmu,
	};
	struct packet_record early[EARLY_PACKETS_MAX];

	assert_non_null(w);
	c.map = &w->map;
	w->a = aligned_alloc(PREFETCH_LINE, sizeof(*w->a));
	assert_non_null(w->a);
	/* what is not cleared for a new session is written before it is read */
	memset(w->a, 0xa5, sizeof(*w->a));
	memset(w->a, 0, MEASURE_SESSION_CLEARED_BYTES);
	w->a->seldom = aligned_alloc(PREFETCH_LINE, sizeof(*w->a->seldom));
	assert_non_null(w->a->seldom);
	memset(w->a->seldom, 0xa5, sizeof(*w->a->seldom));
	w->a->ssrc = 1;
	w->now_ns = c.head.mono_ns;
	assert_int_equal(rtp_payload_map_add(&w->map, 0, "PCMU", 8000), 0);
	assert_int_equal(measure_session_start(w->a, &c, early), 0);
	*state = w;
	return 0;
}

static int world_close(void **state)
{
	struct world *w = *state;

	free(w->a->seldom);
	free(w->a);
	free(w);
	return 0;
}

static void second_end(struct world *w, int64_t end_ns)
{
	struct stream_second n;

	measure_session_close_in(w->a, end_ns, &n);
	w->a->second_ns = end_ns;
	w->sum.packets += n.packets;
	w->sum.bytes += n.bytes;
	w->sum.expected += n.expected;
	w->sum.lost += n.lost;
	w->sum.duplicates += n.duplicates;
	w->sum.reordered += n.reordered;
	w->sum.out_of_order += n.out_of_order;
	w->sum.discarded += n.discarded;
	w->sum.burst_lost += n.burst_lost;
	assert_true(n.packets > 0 || !n.has_jitter);
}

/* Advance the time; packets arrive then. */
static void wait_ms(struct world *w, int64_t ms)
{
	w->now_ns += ms * MS;
	while (w->now_ns >= w->a->second_ns + NS_PER_S)
		second_end(w, w->a->second_ns + NS_PER_S);
}

static void arrive(struct world *w, uint32_t ssrc, uint32_t i)
{
	const struct packet_record r = {
		.mono_ns = w->now_ns,
		.ssrc = ssrc,
		.seq = (uint16_t)i,
		.rtp_ts = 160 * i,
		.payload_bytes = 160,
		.header_bytes = 12,
	};

	measure_session_received(w->a, &r);
	w->sent++;
}

/*
 * Each source is reported once, in the order of its first packet. Together with
 * the sources left out and the strays they account for every received packet.
 */
static void check_sources(struct world *w, const struct stream_total *t,
			  bool all)
{
	struct stream_source n;
	uint64_t packets = 0;
	int64_t lost = 0;
	int64_t before_ns = 0;
	uint32_t count = 0;

	for (; measure_session_source(w->a, count, &n); count++) {
		assert_true(n.first_ns >= before_ns);
		assert_true(n.last_ns >= n.first_ns);
		before_ns = n.first_ns;
		packets += n.packets;
		lost += n.lost;
	}
	assert_true(count <= SESSION_SOURCES_ENDED_MAX + SESSION_STREAMS_MAX);
	if (t->sources_left_out == 0 && all) {
		assert_int_equal(packets + w->a->stray_packets, t->packets);
		assert_int_equal(lost, t->lost);
	} else {
		assert_true(packets <= t->packets);
	}
}

static struct stream_total ended(struct world *w)
{
	struct stream_total t;

	measure_session_finish(w->a);
	if (measure_session_second_open(w->a))
		second_end(w, w->now_ns + 1);
	measure_session_total_in(w->a, &t);
	assert_int_equal(t.packets, w->sent);
	assert_int_equal(t.packets, t.received + t.duplicates + t.stray);
	assert_int_equal(t.expected - t.received, t.lost);
	assert_int_equal(w->sum.packets, t.packets);
	assert_int_equal(w->sum.bytes, t.bytes);
	assert_int_equal(w->sum.duplicates, t.duplicates);
	assert_int_equal(w->sum.reordered, t.reordered);
	assert_int_equal(w->sum.out_of_order, t.out_of_order);
	assert_int_equal(w->sum.discarded, t.fixed.discarded);
	assert_int_equal(w->sum.burst_lost, t.fixed.burst_lost);
	check_sources(w, &t, true);
	return t;
}

/*
 * A second source during the call: the total has the sums, and each source has
 * its own loss, times and score.
 */
static void test_two_sources_are_told_apart(void **state)
{
	struct world *w = *state;
	struct stream_source n[2];
	struct stream_total t;

	for (uint32_t i = 0; i < 300; i++) {
		if (i % 10 != 5) /* 10 % lost */
			arrive(w, 0xb, i);
		wait_ms(w, 20);
	}
	for (uint32_t i = 0; i < 100; i++) {
		arrive(w, 0xa, i);
		wait_ms(w, 20);
	}
	t = ended(w);
	assert_int_equal(t.lost, 30);
	assert_int_equal(t.ssrc, 0xb);
	assert_true(measure_session_source(w->a, 0, &n[0]));
	assert_true(measure_session_source(w->a, 1, &n[1]));
	assert_false(measure_session_source(w->a, 2, &n[1]));
	assert_int_equal(n[0].ssrc, 0xb);
	assert_int_equal(n[0].first_ns, 100 * NS_PER_S);
	assert_int_equal(n[0].last_ns, 100 * NS_PER_S + 299 * 20 * MS);
	assert_int_equal(n[0].packets, 270);
	assert_int_equal(n[0].lost, 30);
	assert_true(n[0].has_score && n[0].has_jitter);
	assert_true(fabs(n[0].mos - t.mos_total) < 1e-9);
	assert_int_equal(n[1].ssrc, 0xa);
	assert_int_equal(n[1].first_ns, 100 * NS_PER_S + 300 * 20 * MS);
	assert_int_equal(n[1].packets, 100);
	assert_int_equal(n[1].lost, 0);
	assert_true(n[1].mos > n[0].mos + 0.1);
	assert_string_equal(n[1].codec, "PCMU");
}

/* A long call in which each hold and each resume brings a new source. */
static void test_sources_one_after_another(void **state)
{
	struct world *w = *state;
	struct stream_total t;

	for (uint32_t source = 1; source <= 20; source++) {
		for (uint32_t i = 0; i < 200; i++) {
			/*
			 * a burst whose end is known later, and one that is
			 * open at the end
			 */
			if ((i < 100 || i >= 103) && (i < 195 || i > 197))
				arrive(w, source, 65500 + i);
			wait_ms(w, 20);
		}
		wait_ms(w, 2000);
	}
	t = ended(w);
	assert_int_equal(t.stray, 0);
	assert_int_equal(t.sources_left_out, 20 - 12 - 4);
	assert_int_equal(t.expected, 20 * 200);
	assert_int_equal(t.lost, 20 * 6);
	assert_int_equal(t.fixed.burst_lost, 20 * 6);
	assert_int_equal(w->sum.expected, t.expected);
	assert_int_equal(w->sum.lost, t.lost);
	assert_true(t.has_score && t.has_quality && t.has_ptime);
	assert_true(t.jitter_ms.n > 0);
}

/*
 * Four sources that continue: a fifth one finds no slot and is not counted as
 * one.
 */
static void test_five_at_once(void **state)
{
	struct world *w = *state;
	struct stream_total t;

	for (uint32_t i = 0; i < 500; i++) {
		for (uint32_t source = 1; source <= (i < 2 ? 4 : 5); source++)
			arrive(w, source, i);
		wait_ms(w, 20);
	}
	t = ended(w);
	assert_int_equal(t.received, 4 * 500);
	assert_int_equal(t.stray, 498);
	assert_int_equal(t.lost, 0);
}

/* Random sources with pauses, loss, duplicates and reordering. */
static void test_any_sources(void **state)
{
	uint64_t seed = 4;

	(void)state;
	for (int round = 0; round < 60; round++) {
		uint32_t at[12];
		void *own;
		struct world *w;

		assert_int_equal(world_open(&own), 0);
		w = own;
		for (size_t i = 0; i < 12; i++)
			at[i] = random_below(&seed, 65536);
		for (int k = 0; k < 100; k++) {
			uint32_t source = random_below(&seed, 12);
			uint32_t count = random_below(&seed, 60);

			/* otherwise it may be dropped as not being a source */
			arrive(w, source + 1, ++at[source]);
			arrive(w, source + 1, ++at[source]);
			for (uint32_t i = 0; i < count; i++) {
				uint32_t kind = random_below(&seed, 40);
				uint32_t seq = ++at[source];

				if (kind == 0)
					at[source] += random_below(&seed, 20);
				else if (kind == 1)
					seq -= random_below(&seed, 90);
				else if (kind == 2)
					wait_ms(w, random_below(&seed, 90));
				arrive(w, source + 1, seq);
				wait_ms(w, 20);
			}
			wait_ms(w, random_below(&seed, 3000));
		}
		ended(w);
		world_close(&own);
	}
}

static void tapped_begin(struct world *w)
{
	w->a->tapped = true;
	memset(&w->a->seldom->tapped, 0, sizeof(w->a->seldom->tapped));
}

/* A tapped program sends packets [from, from + count). */
static void tapped(struct world *w, uint32_t ssrc, uint32_t from,
		   uint32_t count)
{
	for (uint32_t i = from; i < from + count; i++) {
		const struct packet_record r = {
			.mono_ns = w->now_ns,
			.lateness_us = INT32_MIN,
			.ssrc = ssrc,
			.seq = (uint16_t)i,
			.payload_bytes = 160,
			.header_bytes = 12,
			.kind = PACKET_TAPPED_SENT,
		};

		measure_session_tapped(w->a, &r);
		wait_ms(w, 20);
	}
}

static void reported(struct world *w, uint32_t ssrc, uint32_t ext_max,
		     int32_t lost)
{
	const struct rtcp_event event = {
		.mono_ns = w->now_ns,
		.ssrc = 77,
		.kind = RTCP_EVENT_REPORT,
		.u.report = {.ssrc = ssrc, .ext_max = ext_max, .lost = lost},
	};

	measure_session_rtcp(w->a, &event, 0);
}

/*
 * A program plays two files in a call: the second one has another SSRC and
 * other sequence numbers, and the peer counts it from its beginning.
 */
static void test_tapped_program_changes_its_source(void **state)
{
	struct world *w = *state;
	struct stream_total t;

	tapped_begin(w);
	tapped(w, 0xa, 1000, 401);
	reported(w, 0xa, 1400, 8);
	tapped(w, 0xb, 30000, 100);
	rtp_sender_total(&w->a->sender, &t);
	assert_int_equal(t.ssrc, 0xb);
	assert_int_equal(t.packets, 501);
	/* what the peer said of the first one remains; it said nothing of the
	 * second one yet */
	assert_true(t.has_loss && t.has_score);
	assert_int_equal(t.expected, 401);
	assert_int_equal(t.lost, 8);
	assert_int_equal(t.lost_by, STREAM_LOST_RR);
	assert_false(t.has_reach);
	reported(w, 0xb, 30099, 0);
	rtp_sender_total(&w->a->sender, &t);
	assert_int_equal(w->a->sender.invalid_reports, 0);
	assert_int_equal(t.expected, 501);
	assert_int_equal(t.lost, 8);
	assert_true(t.has_reach);
	assert_int_equal(t.unreported, 0);
	/* a late report about the first one */
	reported(w, 0xa, 1400, 9);
	rtp_sender_total(&w->a->sender, &t);
	assert_int_equal(t.lost, 8);
	assert_int_equal(w->a->sender.invalid_reports, 1);
}

/* A program plays a second file while it sends the first one, and later echoes
 * what it receives. */
static void test_tapped_program_sends_two_sources(void **state)
{
	struct world *w = *state;
	struct stream_total t;

	tapped_begin(w);
	tapped(w, 0xa, 1000, 100);
	for (uint32_t i = 0; i < 50; i++) {
		tapped(w, 0xa, 1100 + i, 1);
		tapped(w, 0xb, 30000 + i, 1);
	}
	reported(w, 0xa, 1149, 3);
	/* one more packet and it would have taken over */
	tapped(w, 0xb, 30050, TAPPED_SOURCE_PACKETS - 2);
	tapped(w, 0xc, 500, TAPPED_SOURCE_PACKETS - 1);
	tapped(w, 0xa, 1150, 50);
	reported(w, 0xa, 1199, 5);
	reported(w, 0xb, 30057, 0);
	rtp_sender_total(&w->a->sender, &t);
	assert_int_equal(w->a->sender.invalid_reports, 1);
	assert_int_equal(t.ssrc, 0xa);
	assert_int_equal(t.packets, 200 + 50 + 8 + 9);
	assert_int_equal(t.expected, 200);
	assert_int_equal(t.lost, 5);
	assert_int_equal(t.unreported, 0);
}

/* A tapped program whose clock is not ours: the round trip is that between the
 * tap and the peer. */
static void test_round_trip_of_a_tapped_program(void **state)
{
	struct world *w = *state;
	const uint32_t of_1970 = 0x1234567; /* not the time of this host */
	struct rtcp_event sent = {
		.kind = RTCP_EVENT_TAPPED_SENT,
		.mono_ns = w->now_ns,
		.ssrc = 0xa,
		.lsr = of_1970,
	};
	struct rtcp_event answer = {
		.kind = RTCP_EVENT_REPORT,
		.ssrc = 77,
		.u.report = {.ssrc = 0xa,
			     .ext_max = 1049,
			     .lsr = of_1970,
			     .dlsr = 65536 / 2},
	};
	struct stream_total t;

	tapped_begin(w);
	tapped(w, 0xa, 1000, 50);
	measure_session_rtcp(w->a, &sent, 0);
	answer.mono_ns = sent.mono_ns + 540 * MS;
	measure_session_rtcp(w->a, &answer, 7);
	/* an SR that did not pass, and a peer that says it took longer than all
	 * did */
	answer.u.report.lsr++;
	measure_session_rtcp(w->a, &answer, 7);
	answer.u.report.lsr = of_1970;
	answer.u.report.dlsr = 65536;
	measure_session_rtcp(w->a, &answer, 7);
	rtp_sender_total(&w->a->sender, &t);
	assert_int_equal(t.rtt_ms.n, 1);
	assert_true(fabs(t.rtt_ms.max - 40) < 0.1);
	assert_int_equal(w->a->sender.negative_rtt, 1);
	assert_int_equal(t.expected, 50);
	/* an RRTR and its DLRR */
	sent.mono_ns += NS_PER_S;
	sent.lsr += 65536;
	measure_session_rtcp(w->a, &sent, 0);
	answer.kind = RTCP_EVENT_DLRR;
	answer.mono_ns = sent.mono_ns + 70 * MS;
	answer.u.dlrr = (struct rtcp_dlrr){.ssrc = 0xa, .lrr = sent.lsr};
	measure_session_rtcp(w->a, &answer, 7);
	rtp_sender_total(&w->a->sender, &t);
	assert_int_equal(t.rtt_ms.n, 2);
	assert_true(fabs(t.rtt_ms.max - 70) < 0.1);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_two_sources_are_told_apart),
		TEST(test_sources_one_after_another),
		TEST(test_five_at_once),
		TEST(test_tapped_program_changes_its_source),
		TEST(test_tapped_program_sends_two_sources),
		TEST(test_round_trip_of_a_tapped_program),
		cmocka_unit_test(test_any_sources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
