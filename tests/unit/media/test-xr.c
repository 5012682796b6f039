/*
 * Extended reports: exact octets, both directions on the wire, and only the
 * blocks that the peer asked for.
 */
#include "base/clock.h"
#include "media/analysis/rtcp.h"
#include "media/tx/rtcp_build.h"
#include "media_peer.h"
#include "media_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PEER_SSRC 5

static const struct rtcp_voip_metrics voip = {
	.ssrc = 0x01020304,
	.loss_rate = 26,
	.discard_rate = 13,
	.burst_density = 128,
	.gap_density = 2,
	.burst_duration_ms = 120,
	.gap_duration_ms = 4000,
	.rtt_ms = 48,
	.end_system_delay_ms = 81,
	.signal_dbm0 = -20,
	.noise_dbm0 = RTCP_VOIP_UNAVAILABLE,
	.rerl_db = 127,
	.gmin = 16,
	.r_factor = 85,
	.ext_r_factor = 127,
	.mos_lq = 42,
	.mos_cq = 127,
	.rx_config = 0x20,
	.jb_nominal_ms = 60,
	.jb_max_ms = 61,
	.jb_absmax_ms = 200,
};

static const struct rtcp_stat_summary summary = {
	.ssrc = 0x01020304,
	.begin_seq = 65530,
	.end_seq = 20,
	.has_loss = true,
	.lost = 3,
	.has_duplicates = true,
	.duplicates = 1,
	.has_jitter = true,
	.min_jitter_ticks = 8,
	.max_jitter_ticks = 800,
	.mean_jitter_ticks = 80,
	.dev_jitter_ticks = 40,
};

static void test_xr_octets(void **state)
{
	const struct rtcp_compound c = {
		.ssrc = 0x11223344,
		.cname = "ab",
		.xr = {.has_rrtr = true,
		       .rrtr_ntp = 0x0102030405060708,
		       .has_dlrr = true,
		       .dlrr = {.ssrc = 9, .lrr = 0x03040506, .dlrr = 65536},
		       .has_summary = true,
		       .summary = summary,
		       .has_voip = true,
		       .voip = voip},
	};
	/* clang-format off */
	static const uint8_t want[] = {
		0x80, 207, 0, 27, 0x11, 0x22, 0x33, 0x44,
		4, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8,
		5, 0, 0, 3, 0, 0, 0, 9, 3, 4, 5, 6, 0, 1, 0, 0,
		6, 0xe0, 0, 9, 1, 2, 3, 4, 0xff, 0xfa, 0, 20,
		0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 3, 0x20,
		0, 0, 0, 80, 0, 0, 0, 40, 0, 0, 0, 0,
		7, 0, 0, 8, 1, 2, 3, 4, 26, 13, 128, 2,
		0, 120, 0x0f, 0xa0, 0, 48, 0, 81,
		0xec, 127, 127, 16, 85, 127, 42, 127,
		0x20, 0, 0, 60, 0, 61, 0, 200,
	};
	/* clang-format on */
	uint8_t got[RTCP_COMPOUND_BYTES];
	size_t before = 8 + 16; /* RR, SDES */

	(void)state;
	assert_int_equal(rtcp_compound_write(got, &c), before + sizeof(want));
	assert_memory_equal(got + before, want, sizeof(want));
}

/* Every set of blocks fits and can be parsed. */
static void test_xr_is_read_back(void **state)
{
	(void)state;
	for (unsigned set = 0; set < 16; set++) {
		struct rtcp_compound c = {
			.ssrc = 1,
			.has_sender = true,
			.report_count = RTCP_REPORTS_MAX,
			.cname = "0123456789012345678901234567890",
			.bye = true,
			.xr = {.has_rrtr = set & 1,
			       .has_dlrr = set & 2,
			       .has_summary = set & 4,
			       .summary = summary,
			       .has_voip = set & 8,
			       .voip = voip},
		};
		uint8_t data[RTCP_COMPOUND_BYTES];
		size_t bytes = rtcp_compound_write(data, &c);
		struct rtcp_reader reader;
		struct rtcp_item item;
		unsigned got = 0;

		assert_true(bytes <= sizeof(data));
		assert_int_equal(rtcp_reader_init(&reader, data, bytes), 0);
		while (rtcp_reader_next(&reader, &item)) {
			got |= item.kind == RTCP_ITEM_XR_RRTR ? 1 : 0;
			got |= item.kind == RTCP_ITEM_XR_DLRR ? 2 : 0;
			if (item.kind == RTCP_ITEM_XR_SUMMARY) {
				got |= 4;
				assert_memory_equal(&item.u.summary, &summary,
						    sizeof(summary));
			}
			if (item.kind == RTCP_ITEM_XR_VOIP) {
				got |= 8;
				assert_memory_equal(&item.u.voip, &voip,
						    sizeof(voip));
			}
		}
		assert_int_equal(got, set);
	}
}

/* ---- over the wire ---- */

struct world {
	struct rig rig;
	struct rig_log *log;
	struct peer rtp;
	struct peer rtcp;
	struct media_addr to_rtp;
	struct media_addr to_rtcp;
};

/* The last report of the session, by kind. */
struct heard {
	size_t rrtr;
	size_t dlrr;
	size_t summaries;
	uint64_t lost;
	size_t voips;
	uint32_t middle; /* the middle 32 bits of its RRTR */
	struct rtcp_dlrr last_dlrr;
	struct rtcp_stat_summary summary;
	struct rtcp_voip_metrics voip;
};

static void world_open(struct world *w, unsigned xr)
{
	const struct media_local *local;
	struct media_negotiated n;

	memset(w, 0, sizeof(*w));
	rig_open(&w->rig, 2, 100);
	w->log = rig_session(&w->rig, 0);
	peer_open(&w->rtp);
	peer_open(&w->rtcp);
	local = media_session_local(w->log->session);
	assert_int_equal(local->xr, MEDIA_XR_ALL);
	w->to_rtp = local->rtp;
	w->to_rtcp = local->rtcp;
	n = rig_settle(&w->rtp.at, &w->rtcp.at, MEDIA_SENDRECV);
	n.xr = xr;
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
}

static void world_close(struct world *w)
{
	rig_close(&w->rig);
	peer_close(&w->rtp);
	peer_close(&w->rtcp);
}

static void take(struct heard *h, const struct rtcp_item *item)
{
	if (item->kind == RTCP_ITEM_XR_RRTR) {
		h->rrtr++;
		h->middle = rtcp_ntp_middle(item->u.ntp);
	} else if (item->kind == RTCP_ITEM_XR_DLRR) {
		h->dlrr++;
		h->last_dlrr = item->u.dlrr;
	} else if (item->kind == RTCP_ITEM_XR_SUMMARY) {
		h->summaries++;
		h->summary = item->u.summary;
		h->lost += item->u.summary.lost;
	} else if (item->kind == RTCP_ITEM_XR_VOIP) {
		h->voips++;
		h->voip = item->u.voip;
	}
}

static void hear(struct world *w, struct heard *h)
{
	uint8_t data[512];
	int bytes;

	while ((bytes = peer_receive(&w->rtcp, data, sizeof(data))) >= 0) {
		struct rtcp_reader reader;
		struct rtcp_item item;

		assert_int_equal(rtcp_reader_init(&reader, data, (size_t)bytes),
				 0);
		while (rtcp_reader_next(&reader, &item))
			take(h, &item);
	}
}

static void say(struct world *w, const struct rtcp_xr *xr)
{
	const struct rtcp_compound c = {
		.ssrc = PEER_SSRC, .cname = "peer", .xr = *xr};
	uint8_t data[RTCP_COMPOUND_BYTES];

	peer_send(&w->rtcp, &w->to_rtcp, data, rtcp_compound_write(data, &c));
}

/* 200 packets of which 10 are missing. */
static void media(struct world *w)
{
	for (uint16_t i = 0; i < 200; i++) {
		if (i % 20 != 7)
			peer_send_rtp(&w->rtp, &w->to_rtp, PEER_SSRC, i);
	}
}

/* Poll until the session has sent each kind, or for 5 s. */
static void listen_all(struct world *w, struct heard *h)
{
	for (int i = 0; i < 50; i++) {
		rig_run_ms(&w->rig, 100);
		hear(w, h);
		if (h->rrtr && h->dlrr && h->voips && h->lost >= 10)
			return;
	}
}

static void test_xr_tells_what_was_received(void **state)
{
	const struct rtcp_xr ask = {.has_rrtr = true,
				    .rrtr_ntp = 0x0123456789abcdef};
	struct heard h = {0};
	struct world w;

	(void)state;
	world_open(&w, MEDIA_XR_ALL);
	media(&w);
	say(&w, &ask);
	listen_all(&w, &h);
	assert_true(h.rrtr > 0 && h.dlrr == 1);
	assert_int_equal(h.last_dlrr.ssrc, PEER_SSRC);
	assert_int_equal(h.last_dlrr.lrr, 0x456789ab);
	assert_true(h.last_dlrr.dlrr > 0 && h.last_dlrr.dlrr < 30 * 65536);
	assert_int_equal(h.summary.ssrc, PEER_SSRC);
	assert_true(h.summary.has_loss && h.summary.has_duplicates);
	assert_int_equal(h.lost, 10);
	assert_int_equal(h.voip.ssrc, PEER_SSRC);
	assert_int_equal(h.voip.loss_rate, 256 * 10 / 200);
	assert_int_equal(h.voip.gmin, 16);
	assert_true(h.voip.r_factor < 93);
	rig_stop(&w.rig, 1);
	world_close(&w);
}

static void test_xr_only_what_was_asked_for(void **state)
{
	const struct rtcp_xr ask = {.has_rrtr = true, .rrtr_ntp = 1u << 20};
	struct heard h = {0};
	struct world w;

	(void)state;
	world_open(&w, 0);
	media(&w);
	say(&w, &ask);
	for (int i = 0; i < 8; i++) {
		rig_run_ms(&w.rig, 100);
		hear(&w, &h);
	}
	assert_int_equal(h.rrtr + h.dlrr + h.summaries + h.voips, 0);
	rig_stop(&w.rig, 1);
	world_close(&w);
	world_open(&w, MEDIA_XR_LOSS);
	media(&w);
	say(&w, &ask);
	for (int i = 0; i < 50 && h.lost < 10; i++) {
		rig_run_ms(&w.rig, 100);
		hear(&w, &h);
	}
	assert_int_equal(h.rrtr + h.dlrr + h.voips, 0);
	assert_int_equal(h.lost, 10);
	assert_true(h.summary.has_loss);
	assert_false(h.summary.has_duplicates || h.summary.has_jitter);
	rig_stop(&w.rig, 1);
	world_close(&w);
}

static uint32_t our_ssrc(struct world *w)
{
	uint8_t data[512];
	int bytes;

	for (int i = 0; i < 50; i++) {
		struct rtcp_reader reader;
		struct rtcp_item item;

		rig_run_ms(&w->rig, 100);
		bytes = peer_receive(&w->rtcp, data, sizeof(data));
		if (bytes > 0 &&
		    !rtcp_reader_init(&reader, data, (size_t)bytes) &&
		    rtcp_reader_next(&reader, &item))
			return item.ssrc;
	}
	fail_msg("the session says nothing");
	return 0;
}

/* Answer the next RRTR; a delay of 0 is legal. */
static void answer_rrtr(struct world *w, uint32_t ssrc)
{
	struct rtcp_xr xr = {.has_dlrr = true};
	struct heard h = {0};

	for (int i = 0; i < 50 && !h.rrtr; i++) {
		rig_run_ms(&w->rig, 100);
		hear(w, &h);
	}
	xr.dlrr = (struct rtcp_dlrr){.ssrc = ssrc, .lrr = h.middle};
	say(w, &xr);
}

static void test_xr_of_the_peer_is_measured(void **state)
{
	struct rtcp_xr xr = {.has_summary = true,
			     .summary = summary,
			     .has_voip = true,
			     .voip = voip};
	const struct stream_total *out;
	size_t voips = 0;
	uint64_t lost = 0;
	struct world w;

	(void)state;
	world_open(&w, MEDIA_XR_ALL);
	xr.summary.ssrc = xr.voip.ssrc = our_ssrc(&w);
	say(&w, &xr);
	say(&w, &xr);
	answer_rrtr(&w, xr.voip.ssrc);
	xr.summary.ssrc = xr.voip.ssrc = 77; /* an SSRC that nobody here has */
	xr.summary.lost = 1;
	say(&w, &xr);
	rig_run_ms(&w.rig, 200);
	rig_stop(&w.rig, 1);
	out = &w.log->total[1];
	assert_true(out->voip.known && out->voip.has_rtt);
	assert_float_equal(out->voip.loss_pct, 26 / 2.56, 1e-9);
	assert_float_equal(out->voip.mos_lq, 4.2, 1e-9);
	assert_false(out->voip.has_mos_cq);
	assert_true(out->summary.has_lost && out->summary.has_jitter);
	assert_int_equal(out->summary.lost, 6);
	assert_float_equal(out->summary.jitter_max_ms, 100, 1e-9);
	assert_true(out->rtt_ms.n == 1 && out->rtt_ms.max >= 0);
	for (size_t i = 0; i < w.log->seconds[1]; i++) {
		voips += w.log->second[1][i].voip.known;
		lost += w.log->second[1][i].summary.lost;
	}
	assert_true(voips >= 1 && voips <= 2);
	assert_true(lost == 3 || lost == 6); /* the last second may have one
					      * more */
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_xr_octets),
		cmocka_unit_test(test_xr_is_read_back),
		cmocka_unit_test(test_xr_tells_what_was_received),
		cmocka_unit_test(test_xr_only_what_was_asked_for),
		cmocka_unit_test(test_xr_of_the_peer_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
