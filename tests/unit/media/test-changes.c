/* A peer that changes during the call, and strangers that send to our ports. */
#include "media_peer.h"
#include "media_rig.h"

#include "base/clock.h"
#include "media/analysis/rtp_header.h"
#include "media/engine/payload_maps.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SSRC     0x11223344
#define EVENT_PT 101

struct world {
	struct rig rig;
	struct rig_log *log;
	struct peer rtp;
	struct peer other;
	struct media_addr to;
};

static int world_open(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	rig_open(&w->rig, 4, 200);
	w->log = rig_session(&w->rig, 0);
	peer_open(&w->rtp);
	peer_open(&w->other);
	w->to = media_session_local(w->log->session)->rtp;
	*state = w;
	return 0;
}

static int world_close(void **state)
{
	struct world *w = *state;

	rig_close(&w->rig);
	peer_close(&w->rtp);
	peer_close(&w->other);
	free(w);
	return 0;
}

static void settle(struct world *w, const struct peer *peer)
{
	struct media_negotiated n =
		rig_settle(&peer->at, &peer->at, MEDIA_SENDRECV);

	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	rig_run_ms(&w->rig, 100);
}

static struct media_evidence ended(struct world *w)
{
	struct media_evidence e;

	rig_run_ms(&w->rig, 100);
	rig_stop(&w->rig, 1);
	rig_check_seconds(w->log);
	media_engine_evidence(w->rig.engine, &e);
	return e;
}

/*
 * Read the RTP packets of ours that have arrived, and parse the first header.
 */
static size_t drain(const struct peer *p, struct rtp_header *ret)
{
	uint8_t data[2048];
	size_t count = 0;
	int len;

	while ((len = peer_receive(p, data, sizeof(data))) >= 0) {
		struct rtp_header h;

		if (datagram_classify(data, (size_t)len) != DATAGRAM_RTP ||
		    rtp_header_parse(&h, data, (size_t)len, (size_t)len))
			continue;
		if (count++ == 0)
			*ret = h;
	}
	return count;
}

/*
 * As drain(), but wait for this number of packets, however late they are sent.
 */
static size_t await_packets(struct world *w, const struct peer *p,
			    size_t wanted, struct rtp_header *ret)
{
	int64_t hang_ns = clock_mono_ns() + 60 * NS_PER_S;
	size_t count = 0;
	struct rtp_header h;

	while (count < wanted) {
		size_t more = drain(p, &h);

		if (more > 0 && count == 0)
			*ret = h;
		count += more;
		assert_true(clock_mono_ns() < hang_ns);
		rig_run_ms(&w->rig, 10);
	}
	return count;
}

/*
 * Offer and answer name another address: we send there, and packets from there
 * continue the same stream.
 */
static void test_address_changes(void **state)
{
	struct world *w = *state;
	struct rtp_header before, after, more;
	struct media_evidence e;
	size_t at_first, at_second;

	settle(w, &w->rtp);
	for (uint16_t i = 0; i < 30; i++)
		peer_send_rtp(&w->rtp, &w->to, SSRC, i);
	at_first = await_packets(w, &w->rtp, 6, &before);
	settle(w, &w->other);
	for (uint16_t i = 30; i < 60; i++)
		peer_send_rtp(&w->other, &w->to, SSRC, i);
	at_second = await_packets(w, &w->other, 6, &after);
	e = ended(w);
	at_second += drain(&w->other, &more);
	assert_int_equal(w->log->total[0].packets, 60);
	assert_int_equal(w->log->total[0].received, 60);
	assert_int_equal(w->log->total[0].lost, 0);
	assert_int_equal(e.foreign_packets, 0);
	/* packets that were in flight when the first was read */
	at_first += drain(&w->rtp, &more);
	assert_int_equal(at_first + at_second, w->log->total[1].packets);
	assert_int_equal(after.ssrc, w->log->total[1].ssrc);
}

/* The peer continues with another SSRC (RFC 3550 8): nothing is lost. */
static void test_ssrc_changes(void **state)
{
	struct world *w = *state;

	settle(w, &w->rtp);
	for (uint16_t i = 0; i < 40; i++)
		peer_send_rtp(&w->rtp, &w->to, SSRC, i);
	for (uint16_t i = 0; i < 60; i++)
		peer_send_rtp(&w->rtp, &w->to, SSRC + 1, (uint16_t)(65530 + i));
	ended(w);
	assert_int_equal(w->log->total[0].packets, 100);
	assert_int_equal(w->log->total[0].received, 100);
	assert_int_equal(w->log->total[0].lost, 0);
	assert_int_equal(w->log->total[0].ssrc, SSRC + 1);
}

/* We receive with our payload type and send with the peer's. */
static void test_payload_types_differ(void **state)
{
	struct world *w = *state;
	struct media_negotiated n =
		rig_settle(&w->rtp.at, &w->rtp.at, MEDIA_SENDRECV);
	uint8_t data[172] = {0x80, 97};
	struct rtp_header sent;

	n.codec.pt = 111;
	n.accepted[0].pt = 97;
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	for (uint8_t i = 0; i < 50; i++) {
		data[3] = i;
		data[6] = (uint8_t)(i * 160 >> 8);
		data[7] = (uint8_t)(i * 160);
		peer_send(&w->rtp, &w->to, data, sizeof(data));
	}
	await_packets(w, &w->rtp, 1, &sent);
	ended(w);
	assert_int_equal(sent.pt, 111);
	assert_int_equal(w->log->total[0].packets, 50);
	assert_string_equal(w->log->total[0].codec, "PCMA");
	assert_true(w->log->total[0].has_score);
}

/* The map of a session lives as long as the session reads it: here its command has
 * returned, and maps of another session have taken its place among the recent
 * ones, before the first packet is looked up in it. */
static void test_payload_types_of_another_session(void **state)
{
	struct world *w = *state;
	struct rig_log *other = rig_session(&w->rig, 1);
	struct media_negotiated n =
		rig_settle(&w->rtp.at, &w->rtp.at, MEDIA_SENDRECV);
	struct media_negotiated theirs =
		rig_settle(&w->other.at, &w->other.at, MEDIA_SENDRECV);
	uint8_t data[172] = {0x80, 97};

	n.accepted[0].pt = 97;
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	rig_run_ms(&w->rig, 1500); /* a second is over: commands are freed */
	for (uint8_t i = 0; i < 2 * PAYLOAD_MAPS_RECENT; i++) {
		theirs.accepted[0].pt = (uint8_t)(98 + i);
		assert_int_equal(media_session_apply(other->session, &theirs),
				 0);
		rig_run_ms(&w->rig, 100);
	}
	for (uint8_t i = 0; i < 50; i++) {
		data[3] = i;
		data[6] = (uint8_t)(i * 160 >> 8);
		data[7] = (uint8_t)(i * 160);
		peer_send(&w->rtp, &w->to, data, sizeof(data));
	}
	rig_run_ms(&w->rig, 100);
	rig_stop(&w->rig, 2);
	rig_check_seconds(w->log);
	assert_int_equal(w->log->total[0].packets, 50);
	assert_string_equal(w->log->total[0].codec, "PCMA");
	assert_true(w->log->total[0].has_score);
}

/* 15 CSRCs and an extension belong to the header, not to the payload. */
static void test_csrcs_and_extension(void **state)
{
	struct world *w = *state;
	uint8_t data[12 + 60 + 4 + 8 + 160];

	memset(data, 0x5a, sizeof(data));
	data[0] = 0x9f;
	data[1] = 8;
	memcpy(data + 8, "\x11\x22\x33\x44", 4);
	memcpy(data + 72, "\xbe\xde\0\x02", 4);
	settle(w, &w->rtp);
	for (uint8_t i = 0; i < 50; i++) {
		data[2] = 0;
		data[3] = i;
		data[4] = data[5] = 0;
		data[6] = (uint8_t)(i * 160 >> 8);
		data[7] = (uint8_t)(i * 160);
		peer_send(&w->rtp, &w->to, data, sizeof(data));
	}
	/* an extension longer than the packet */
	data[74] = 0x10;
	peer_send(&w->rtp, &w->to, data, sizeof(data));
	assert_int_equal(ended(w).invalid_packets, 1);
	assert_int_equal(w->log->total[0].packets, 50);
	assert_int_equal(w->log->total[0].lost, 0);
	assert_int_equal(w->log->total[0].bytes, 50 * sizeof(data));
}

/*
 * Packets of strangers and loops are counted separately. The peer's stream is
 * unaffected.
 */
static void test_strangers_and_collisions(void **state)
{
	struct world *w = *state;
	struct media_evidence e;
	struct rtp_header ours;

	settle(w, &w->rtp);
	await_packets(w, &w->rtp, 1, &ours);
	for (uint16_t i = 0; i < 200; i++) {
		peer_send_rtp(&w->rtp, &w->to, SSRC, i);
		if (i % 2)
			peer_send_rtp(&w->other, &w->to, 0xdeadbeef, i);
		if (i % 10 == 0)
			peer_send_rtp(&w->rtp, &w->to, ours.ssrc, i);
	}
	e = ended(w);
	assert_int_equal(e.foreign_packets, 100);
	assert_int_equal(e.ssrc_collisions, 20);
	assert_int_equal(w->log->total[0].ssrc, SSRC);
	assert_int_equal(w->log->total[0].packets, 320);
}

/* @param event_hz  clock rate of telephone-event; 0: not agreed */
static void settle_event(struct world *w, uint32_t event_hz)
{
	struct media_negotiated n =
		rig_settle(&w->rtp.at, &w->rtp.at, MEDIA_SENDRECV);

	n.has_event_pt = event_hz > 0;
	n.event_pt = event_hz > 0 ? EVENT_PT : 0;
	n.event_clock_hz = event_hz;
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
}

static void await_digit(struct world *w)
{
	int64_t hang_ns = clock_mono_ns() + 60 * NS_PER_S;

	while (w->log->digits[1] == 0) {
		assert_true(clock_mono_ns() < hang_ns);
		rig_run_ms(&w->rig, 10);
	}
}

/* @return the last digit of the order; all before it were sent whole */
static const struct media_dtmf *await_last(struct world *w,
					   const struct dtmf_order *order)
{
	int64_t hang_ns = clock_mono_ns() + 60 * NS_PER_S;
	const struct media_dtmf *digit = w->log->digit[1];
	size_t i = 0;

	for (;; i++) {
		while (i == w->log->digits[1]) {
			assert_true(clock_mono_ns() < hang_ns);
			rig_run_ms(&w->rig, 10);
		}
		assert_int_equal(digit[i].via, DTMF_RTPEVENT);
		assert_int_equal(digit[i].digit, order->digits[i]);
		if (digit[i].last)
			return &digit[i];
		assert_float_equal(digit[i].ms, order->duration_ms, 0.1);
	}
}

/* Read what has arrived: events have their payload type, audio its size. */
static void check_payloads(const struct peer *p)
{
	uint8_t data[2048];
	int len;

	while ((len = peer_receive(p, data, sizeof(data))) >= 0) {
		if (datagram_classify(data, (size_t)len) != DATAGRAM_RTP)
			continue;
		assert_int_equal(len == RTP_HEADER_BYTES + DTMF_PAYLOAD_BYTES,
				 (data[1] & 0x7f) == EVENT_PT);
	}
}

/*
 * Offer and answer take telephone-event away, or change its clock rate, while
 * digits are sent: the rest is not sent, and is reported as cut off.
 */
static void test_events_end_with_their_agreement(void **state)
{
	static const uint32_t after_hz[] = {0, 16000};
	const struct dtmf_order order = {
		.digits = "1234567890123456789012345678901234567890",
		.duration_ms = 1300,
		.gap_ms = 40};
	const struct dtmf_order next = {
		.digits = "7", .duration_ms = 40, .gap_ms = 40};
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		struct media_session *session = w->log->session;

		w->log->digits[1] = 0;
		settle_event(w, 8000);
		assert_int_equal(media_session_dtmf(session, &order), 0);
		await_digit(w);
		settle_event(w, after_hz[i]);
		assert_float_equal(await_last(w, &order)->ms, 0, 0.1);
		check_payloads(&w->rtp);
		/* it is not in the way of another order */
		w->log->digits[1] = 0;
		settle_event(w, 8000);
		assert_int_equal(media_session_dtmf(session, &next), 0);
		assert_float_equal(await_last(w, &next)->ms, 40, 0.1);
	}
	(void)ended(w);
	check_payloads(&w->rtp);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_address_changes),
		TEST(test_ssrc_changes),
		TEST(test_payload_types_differ),
		TEST(test_payload_types_of_another_session),
		TEST(test_csrcs_and_extension),
		TEST(test_strangers_and_collisions),
		TEST(test_events_end_with_their_agreement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
