/* Packets on the wire, against a peer that builds and parses them by hand. */
#include "media_peer.h"
#include "media_rig.h"

#include "base/clock.h"
#include "media/analysis/rtcp.h"
#include "media/analysis/rtp_header.h"
#include "media/tx/rtcp_build.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PACKETS_MAX 1024

/* One session and a peer with an RTP and an RTCP socket. */
struct wire {
	struct rig rig;
	struct rig_log *log;
	struct peer rtp;
	struct peer rtcp;
	struct media_addr to_rtp;
	struct media_addr to_rtcp;
	struct rtp_header got[PACKETS_MAX];
	size_t got_count;
	struct rtcp_sender_info sender; /* of the last SR received */
};

static void wire_settle(struct wire *w, enum media_direction direction)
{
	struct media_negotiated n =
		rig_settle(&w->rtp.at, &w->rtcp.at, direction);

	assert_int_equal(media_session_apply(w->log->session, &n), 0);
}

static int wire_open(void **state)
{
	struct wire *w = calloc(1, sizeof(*w));
	const struct media_local *local;

	assert_non_null(w);
	rig_open(&w->rig, 4, 200);
	w->log = rig_session(&w->rig, 0);
	peer_open(&w->rtp);
	peer_open(&w->rtcp);
	local = media_session_local(w->log->session);
	w->to_rtp = local->rtp;
	w->to_rtcp = local->rtcp;
	*state = w;
	return 0;
}

static int wire_close(void **state)
{
	struct wire *w = *state;

	rig_close(&w->rig);
	peer_close(&w->rtp);
	peer_close(&w->rtcp);
	free(w);
	return 0;
}

static void wire_collect(struct wire *w)
{
	uint8_t data[2048];
	int bytes;

	while ((bytes = peer_receive(&w->rtp, data, sizeof(data))) >= 0) {
		assert_true(w->got_count < PACKETS_MAX);
		assert_int_equal(rtp_header_parse(&w->got[w->got_count++], data,
						  (size_t)bytes, (size_t)bytes),
				 0);
	}
}

static void test_wire_send_until_is_exact(void **state)
{
	struct wire *w = *state;
	int64_t end_ns;

	wire_settle(w, MEDIA_SENDRECV);
	end_ns = media_session_start_ns(w->log->session) + 500 * NS_PER_MS;
	assert_int_equal(media_session_send_until(w->log->session, end_ns), 0);
	rig_run_until(&w->rig, end_ns + 300 * NS_PER_MS);
	rig_stop(&w->rig, 1);
	wire_collect(w);
	assert_int_equal(w->got_count, 25);
	assert_int_equal(w->log->total[1].packets, 25);
	for (size_t i = 0; i < w->got_count; i++) {
		const struct rtp_header *h = &w->got[i];

		assert_int_equal(h->seq, (uint16_t)(w->got[0].seq + i));
		assert_int_equal(h->ts, (uint32_t)(w->got[0].ts + 160 * i));
		assert_int_equal(h->ssrc, w->log->total[1].ssrc);
		assert_int_equal(h->marker, i == 0);
		assert_int_equal(h->pt, 8);
		assert_int_equal(h->payload_bytes, 160);
		assert_int_equal(h->header_bytes, 12);
	}
}

static void test_wire_until_in_the_past_sends_nothing(void **state)
{
	struct wire *w = *state;

	assert_int_equal(media_session_send_until(w->log->session, 1), 0);
	wire_settle(w, MEDIA_SENDRECV);
	rig_run_ms(&w->rig, 200);
	rig_stop(&w->rig, 1);
	wire_collect(w);
	assert_int_equal(w->got_count, 0);
	assert_int_equal(w->log->total[1].packets, 0);
}

static void test_wire_resume_continues(void **state)
{
	struct wire *w = *state;
	uint8_t data[512];
	int reported = -1;
	size_t held;
	uint32_t ticks;

	wire_settle(w, MEDIA_SENDRECV);
	rig_run_ms(&w->rig, 300);
	wire_settle(w, MEDIA_RECVONLY);
	rig_run_ms(&w->rig, 300);
	wire_collect(w);
	held = w->got_count;
	assert_true(held > 0);
	/* reports continue while on hold */
	while (peer_receive(&w->rtcp, data, sizeof(data)) >= 0)
		continue;
	rig_run_ms(&w->rig, 500);
	for (int i = 0; i < 100 && reported < 0; i++) {
		reported = peer_receive(&w->rtcp, data, sizeof(data));
		rig_run_ms(&w->rig, 20);
	}
	assert_true(reported > 0);
	wire_collect(w);
	assert_int_equal(w->got_count, held);
	wire_settle(w, MEDIA_SENDRECV);
	rig_run_ms(&w->rig, 400);
	rig_stop(&w->rig, 1);
	wire_collect(w);
	assert_true(w->got_count > held);
	for (size_t i = 0; i < w->got_count; i++) {
		assert_int_equal(w->got[i].seq, (uint16_t)(w->got[0].seq + i));
		assert_int_equal(w->got[i].marker, i == 0 || i == held);
		assert_int_equal((w->got[i].ts - w->got[0].ts) % 160, 0);
	}
	/* the timestamp advanced by at least 700 ms, too */
	ticks = w->got[held].ts - w->got[held - 1].ts;
	assert_true(ticks >= 700 * 8);
	assert_int_equal(w->log->total[1].packets, w->got_count);
}

static void test_wire_packet_time_changes(void **state)
{
	struct wire *w = *state;
	struct media_negotiated n =
		rig_settle(&w->rtp.at, &w->rtcp.at, MEDIA_SENDRECV);
	size_t longer = 0;

	wire_settle(w, MEDIA_SENDRECV);
	rig_run_ms(&w->rig, 200);
	n.ptime_ms = 40;
	memcpy(n.codec.name, "PCMU", 5);
	n.codec.pt = 0;
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	rig_run_ms(&w->rig, 400);
	rig_stop(&w->rig, 1);
	wire_collect(w);
	for (size_t i = 1; i < w->got_count; i++) {
		const struct rtp_header *h = &w->got[i - 1];

		/* a packet's timestamp is the previous one plus its duration */
		assert_int_equal(w->got[i].ts, h->ts + h->payload_bytes);
		assert_int_equal(h->pt, h->payload_bytes == 320 ? 0 : 8);
		longer += h->payload_bytes == 320;
	}
	assert_true(longer > 0);
	longer += w->got[w->got_count - 1].payload_bytes == 320;
	/* the codec of most packets; of equal counts the lower payload type */
	assert_string_equal(w->log->total[1].codec,
			    2 * longer >= w->got_count ? "PCMU" : "PCMA");
}

/* RFC 3264 5.1: the peer may send before we have its answer. */
static void test_wire_packets_before_the_start_count(void **state)
{
	struct wire *w = *state;
	const struct stream_total *in = &w->log->total[0];

	for (uint16_t i = 0; i < 5; i++)
		peer_send_rtp(&w->rtp, &w->to_rtp, 77, i);
	rig_run_ms(&w->rig, 50);
	assert_int_equal(w->log->first_rtp, 0);
	wire_settle(w, MEDIA_RECVONLY);
	for (uint16_t i = 5; i < 10; i++)
		peer_send_rtp(&w->rtp, &w->to_rtp, 77, i);
	rig_run_ms(&w->rig, 200);
	rig_stop(&w->rig, 1);
	assert_int_equal(w->log->first_rtp, 1);
	assert_int_equal(in->received, 10);
	assert_int_equal(in->expected, 10);
	assert_int_equal(in->lost, 0);
	assert_int_equal(in->stray, 0);
	rig_check_seconds(w->log);
}

/* Packets from long before belong to another session. */
static void test_wire_packets_long_before_the_start_are_stray(void **state)
{
	struct wire *w = *state;
	const struct stream_total *in = &w->log->total[0];

	peer_send_rtp(&w->rtp, &w->to_rtp, 77, 1);
	rig_run_ms(&w->rig, 1000);
	wire_settle(w, MEDIA_RECVONLY);
	peer_send_rtp(&w->rtp, &w->to_rtp, 77, 2);
	rig_run_ms(&w->rig, 100);
	rig_stop(&w->rig, 1);
	assert_int_equal(in->packets, 2);
	assert_int_equal(in->stray, 1);
	assert_int_equal(in->received, 1);
	rig_check_seconds(w->log);
}

static void test_wire_unspecified_address_is_nobody(void **state)
{
	struct wire *w = *state;
	struct media_negotiated n =
		rig_settle(&w->rtp.at, &w->rtcp.at, MEDIA_SENDRECV);
	struct media_evidence evidence;

	/* the kernel would deliver it to this host */
	((struct sockaddr_in *)(void *)&n.rtp.ss)->sin_addr.s_addr = 0;
	((struct sockaddr_in *)(void *)&n.rtcp.ss)->sin_addr.s_addr = 0;
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	rig_run_ms(&w->rig, 600);
	rig_stop(&w->rig, 1);
	wire_collect(w);
	assert_int_equal(w->got_count, 0);
	media_engine_evidence(w->rig.engine, &evidence);
	assert_int_equal(evidence.packets_sent + evidence.send_errors, 0);
}

static void test_wire_known_impairment_is_counted_exactly(void **state)
{
	struct wire *w = *state;
	const struct stream_total *in = &w->log->total[0];

	wire_settle(w, MEDIA_RECVONLY);
	for (uint16_t i = 0; i < 200; i++) {
		/* across the wrap of the sequence number */
		uint16_t seq = (uint16_t)(65450 + i);

		if (i == 10 || i == 11 || i == 120)
			continue; /* lost */
		if (i == 30)
			seq++;
		else if (i == 31)
			seq--; /* reordered */
		peer_send_rtp(&w->rtp, &w->to_rtp, 0xabcdef01, seq);
		if (i == 20 || i == 21 || i == 150)
			peer_send_rtp(&w->rtp, &w->to_rtp, 0xabcdef01, seq);
	}
	rig_run_ms(&w->rig, 200);
	rig_stop(&w->rig, 1);
	assert_int_equal(in->ssrc, 0xabcdef01);
	assert_int_equal(in->packets, 200);
	assert_int_equal(in->bytes, 200 * 172);
	assert_int_equal(in->received, 197);
	assert_int_equal(in->expected, 200);
	assert_int_equal(in->lost, 3);
	assert_int_equal(in->duplicates, 3);
	assert_int_equal(in->reordered, 1);
	assert_int_equal(in->stray, 0);
	assert_true(fabs(in->loss_pct - 1.5) < 1e-9);
	rig_check_seconds(w->log);
}

static void test_wire_several_ssrcs_are_all_counted(void **state)
{
	struct wire *w = *state;
	struct media_evidence evidence;
	struct peer other;

	peer_open(&other);
	wire_settle(w, MEDIA_RECVONLY);
	/* the RX thread counts a source as foreign once it knows the peer */
	rig_run_ms(&w->rig, 200);
	for (uint16_t i = 0; i < 100; i++) {
		peer_send_rtp(&w->rtp, &w->to_rtp, 1, i);
		if (i % 2)
			peer_send_rtp(&other, &w->to_rtp, 2, (uint16_t)(i / 2));
		if (i % 10 == 0) /* more sources than are kept, one packet
				  * each */
			peer_send_rtp(&w->rtp, &w->to_rtp, 100u + i, i);
	}
	/* in a later second they replace those that were reported */
	rig_run_ms(&w->rig, 1200);
	for (uint16_t i = 0; i < 5; i++)
		peer_send_rtp(&w->rtp, &w->to_rtp, 300u + i, i);
	rig_run_ms(&w->rig, 100);
	rig_stop(&w->rig, 1);
	assert_int_equal(w->log->total[0].ssrc, 1);
	assert_int_equal(w->log->total[0].packets, 165);
	assert_int_equal(w->log->total[0].lost, 0);
	assert_int_equal(w->log->total[0].received + w->log->total[0].stray,
			 165);
	assert_true(w->log->total[0].received >= 150);
	rig_check_seconds(w->log);
	media_engine_evidence(w->rig.engine, &evidence);
	assert_int_equal(evidence.foreign_packets, 50);
	peer_close(&other);
}

static void test_wire_what_came_before_the_stop_counts(void **state)
{
	struct wire *w = *state;

	wire_settle(w, MEDIA_RECVONLY);
	for (uint16_t i = 0; i < 300; i++)
		peer_send_rtp(&w->rtp, &w->to_rtp, 1, i);
	rig_stop(&w->rig, 1); /* at once: most packets are still in the
			       * socket */
	assert_int_equal(w->log->total[0].packets, 300);
	assert_int_equal(w->log->total[0].received, 300);
	rig_check_seconds(w->log);
}

/* ---- RTCP ---- */

/* Return the session's next compound packet with a report block. */
static bool report_read(struct wire *w, struct rtcp_report *ret,
			size_t *senders, size_t *byes)
{
	uint8_t data[512];
	bool found = false;
	int bytes;

	while ((bytes = peer_receive(&w->rtcp, data, sizeof(data))) >= 0) {
		struct rtcp_reader reader;
		struct rtcp_item item;

		assert_int_equal(rtcp_reader_init(&reader, data, (size_t)bytes),
				 0);
		while (rtcp_reader_next(&reader, &item)) {
			*senders += item.kind == RTCP_ITEM_SENDER;
			if (item.kind == RTCP_ITEM_SENDER)
				w->sender = item.u.sender;
			*byes += item.kind == RTCP_ITEM_BYE;
			if (item.kind != RTCP_ITEM_REPORT)
				continue;
			*ret = item.u.report;
			found = true;
		}
	}
	return found;
}

static void peer_report(struct wire *w, uint32_t ssrc, uint32_t lost,
			uint32_t ext_max)
{
	uint8_t data[RTCP_COMPOUND_BYTES];
	struct rtcp_compound c = {
		.ssrc = 5,
		.has_sender = true,
		.sender = {.ntp = 0x0123456789abcdef},
		.report_count = 1,
		.reports[0] = {.ssrc = ssrc,
			       .lost = (int32_t)lost,
			       .ext_max = ext_max,
			       .jitter_ticks = 80},
		.cname = "peer",
	};

	peer_send(&w->rtcp, &w->to_rtcp, data, rtcp_compound_write(data, &c));
}

static void test_wire_reports_go_both_ways(void **state)
{
	struct wire *w = *state;
	struct rtcp_report report = {0};
	size_t senders = 0;
	size_t byes = 0;
	int64_t end_ns;

	wire_settle(w, MEDIA_SENDRECV);
	end_ns = media_session_start_ns(w->log->session) + 400 * NS_PER_MS;
	media_session_send_until(w->log->session, end_ns);
	for (uint16_t i = 0; i < 40; i++) {
		if (i != 17)
			peer_send_rtp(&w->rtp, &w->to_rtp, 5, i);
	}
	rig_run_until(&w->rig, end_ns + 200 * NS_PER_MS);
	wire_collect(w);
	assert_int_equal(w->got_count, 20);
	/* the peer reports 3 of 20 packets lost */
	peer_report(w, w->got[0].ssrc, 3, w->got[19].seq);
	rig_run_ms(&w->rig, 600);
	assert_true(report_read(w, &report, &senders, &byes));
	assert_int_equal(report.ssrc, 5);
	/* RFC 3550 A.1: the first packet is probation, 39 numbers expected */
	assert_int_equal(report.lost, 1);
	assert_int_equal(report.ext_max, 39);
	assert_int_equal(report.lsr, 0x456789ab);
	assert_true(report.dlsr < 60 * 65536);
	assert_true(senders > 0);
	assert_int_equal(byes, 0);
	assert_int_equal(w->sender.packets, 20);
	assert_int_equal(w->sender.octets, 20 * 160);
	/* after the last packet, by the elapsed time in ticks */
	assert_true(w->sender.rtp_ts - w->got[19].ts < 60 * 8000);
	rig_stop(&w->rig, 1);
	report_read(w, &report, &senders, &byes);
	assert_int_equal(byes, 1);
	assert_int_equal(w->log->first_rtcp, 1);
	assert_true(w->log->total[1].has_loss);
	assert_int_equal(w->log->total[1].lost, 3);
	assert_int_equal(w->log->total[1].packets, 20);
}

/*
 * RFC 3550 6.1 and 6.3.7: the BYE comes with a report block about all that was
 * received. A report of the peer after its own BYE is still taken.
 */
static void test_wire_bye_carries_the_last_report(void **state)
{
	struct wire *w = *state;
	const struct stream_total *out = &w->log->total[1];
	struct rtcp_report report = {0};
	size_t senders = 0;
	size_t byes = 0;
	int64_t end_ns;

	wire_settle(w, MEDIA_SENDRECV);
	end_ns = media_session_start_ns(w->log->session) + 200 * NS_PER_MS;
	media_session_send_until(w->log->session, end_ns);
	for (uint16_t i = 0; i < 40; i++) {
		if (i != 17)
			peer_send_rtp(&w->rtp, &w->to_rtp, 5, i);
	}
	rig_run_until(&w->rig, end_ns + 100 * NS_PER_MS);
	wire_collect(w);
	assert_int_equal(w->got_count, 10);
	/* earlier reports do not count */
	report_read(w, &report, &senders, &byes);
	report = (struct rtcp_report){0};
	media_session_stop(w->log->session);
	peer_report(w, w->got[0].ssrc, 2, w->got[9].seq);
	for (int i = 0; i < 300 && byes == 0; i++) {
		rig_run_ms(&w->rig, 5);
		report_read(w, &report, &senders, &byes);
	}
	assert_int_equal(byes, 1);
	assert_int_equal(report.ssrc, 5);
	assert_int_equal(report.ext_max, 39);
	assert_int_equal(report.lost, 1);
	rig_stop(&w->rig, 1);
	assert_true(out->has_reach);
	assert_int_equal(out->unreported, 0);
	assert_int_equal(out->expected, out->packets);
	assert_int_equal(out->lost, 2);
	assert_int_equal(out->reported_ext_seq, w->got[9].seq);
	rig_check_seconds(w->log);
}

/*
 * Run until a compound packet with a report block arrives.
 * @param blocks  receives its blocks
 * @return their number; 0: none arrived
 */
static size_t next_blocks(struct wire *w, struct rtcp_report blocks[static 31])
{
	for (int i = 0; i < 1000; i++) {
		uint8_t data[512];
		int bytes = peer_receive(&w->rtcp, data, sizeof(data));
		struct rtcp_reader reader;
		struct rtcp_item item;
		size_t count = 0;

		if (bytes < 0) {
			rig_run_ms(&w->rig, 5);
			continue;
		}
		assert_int_equal(rtcp_reader_init(&reader, data, (size_t)bytes),
				 0);
		while (rtcp_reader_next(&reader, &item)) {
			if (item.kind == RTCP_ITEM_REPORT)
				blocks[count++] = item.u.report;
		}
		if (count > 0)
			return count;
	}
	return 0;
}

/*
 * RFC 3550 6.4: one block for each source received since the last report, the
 * latest source first.
 */
static void test_wire_a_report_is_about_every_source(void **state)
{
	struct wire *w = *state;
	struct rtcp_report blocks[31] = {0};
	size_t count;

	wire_settle(w, MEDIA_RECVONLY);
	for (uint16_t i = 0; i < 40; i++) {
		peer_send_rtp(&w->rtp, &w->to_rtp, 5, i);
		peer_send_rtp(&w->rtp, &w->to_rtp, 6, (uint16_t)(1000 + i));
	}
	/* a report may be sent before all of them were received */
	do {
		count = next_blocks(w, blocks);
		assert_int_equal(count, 2);
	} while (blocks[0].ext_max < 1039);
	assert_int_equal(blocks[0].ssrc, 6);
	assert_int_equal(blocks[0].ext_max, 1039);
	assert_int_equal(blocks[1].ssrc, 5);
	assert_int_equal(blocks[1].ext_max, 39);
	assert_int_equal(blocks[0].lost, 0);
	assert_int_equal(blocks[1].lost, 0);
	/* the source changed: the first one is no longer received */
	for (uint16_t i = 40; i < 60; i++)
		peer_send_rtp(&w->rtp, &w->to_rtp, 6, (uint16_t)(1000 + i));
	do {
		count = next_blocks(w, blocks);
		assert_int_equal(count, 1);
		assert_int_equal(blocks[0].ssrc, 6);
	} while (blocks[0].ext_max < 1059);
	rig_stop(&w->rig, 1);
}

/* ---- hostile input ---- */

static uint32_t random_state;

static uint32_t random_next(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return random_state >> 8;
}

static void test_wire_hostile_datagrams(void **state)
{
	struct wire *w = *state;
	static uint8_t data[65507];
	struct media_evidence evidence;
	uint64_t sent = 0;

	random_state = 20260000;
	print_message("seed %u\n", random_state);
	wire_settle(w, MEDIA_RECVONLY);
	for (size_t i = 0; i < 3000; i++) {
		size_t bytes = random_next() % (i % 3 ? 80 : 1500);
		bool rtcp = i % 4 == 3;

		for (size_t k = 0; k < bytes; k++)
			data[k] = (uint8_t)random_next();
		if (bytes > 1 && i % 2) /* plausible in the first octets */
			data[0] = (uint8_t)(0x80 | (data[0] & 0x3f));
		if (bytes > 1 && rtcp)
			data[1] = (uint8_t)(200 + data[1] % 8);
		peer_send(rtcp ? &w->rtcp : &w->rtp,
			  rtcp ? &w->to_rtcp : &w->to_rtp, data, bytes);
		sent += !rtcp;
		if (i % 64 == 0)
			rig_run_ms(&w->rig, 1);
	}
	memset(data, 0xff, sizeof(data));
	data[0] = 0x80;
	for (int i = 0; i < 4; i++) {
		data[1] = i % 2 ? 200 : 8;
		peer_send(&w->rtp, &w->to_rtp, data, sizeof(data));
		peer_send(&w->rtcp, &w->to_rtcp, data, sizeof(data));
		sent++;
	}
	for (uint16_t i = 0; i < 500; i++, sent++)
		peer_send_rtp(&w->rtp, &w->to_rtp, 0x51515151, i);
	peer_report(w, 0, 0xffffff, 0xffffffff);
	rig_run_ms(&w->rig, 300);
	rig_stop(&w->rig, 1);
	media_engine_evidence(w->rig.engine, &evidence);
	assert_int_equal(
		evidence.packets_received + evidence.receive_queue_drops, sent);
	assert_true(evidence.invalid_packets > 0);
	rig_check_seconds(w->log);
	if (evidence.receive_queue_drops == 0) {
		assert_int_equal(w->log->total[0].ssrc, 0x51515151);
		assert_true(w->log->total[0].received >= 500);
	}
}

#define wire_test(f) cmocka_unit_test_setup_teardown(f, wire_open, wire_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		wire_test(test_wire_send_until_is_exact),
		wire_test(test_wire_until_in_the_past_sends_nothing),
		wire_test(test_wire_resume_continues),
		wire_test(test_wire_packet_time_changes),
		wire_test(test_wire_packets_before_the_start_count),
		wire_test(test_wire_packets_long_before_the_start_are_stray),
		wire_test(test_wire_unspecified_address_is_nobody),
		wire_test(test_wire_known_impairment_is_counted_exactly),
		wire_test(test_wire_several_ssrcs_are_all_counted),
		wire_test(test_wire_what_came_before_the_stop_counts),
		wire_test(test_wire_reports_go_both_ways),
		wire_test(test_wire_bye_carries_the_last_report),
		wire_test(test_wire_a_report_is_about_every_source),
		wire_test(test_wire_hostile_datagrams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
