/* Sessions that share their sockets. */
#include "media_peer.h"
#include "media_rig.h"

#include "base/clock.h"
#include "media/analysis/rtp_header.h"
#include "media/rx/rx_path_shared.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SSRC 0x11223344

static int rig_begin(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	rig_open(r, 4, 200);
	r->shared = true;
	*state = r;
	return 0;
}

static int rig_end(void **state)
{
	struct rig *r = *state;

	rig_close(r);
	free(r);
	return 0;
}

static const struct media_local *local(const struct rig *r, size_t i)
{
	return media_session_local(r->logs[i].session);
}

static struct media_evidence evidence(const struct rig *r)
{
	struct media_evidence e;

	media_engine_evidence(r->engine, &e);
	return e;
}

/* Until so many datagrams belong to no session, 10 s at most. */
static void until_unassigned(struct rig *r, uint64_t count)
{
	for (int i = 0; i < 100; i++) {
		if (evidence(r).unassigned_packets == count)
			break;
		rig_run_ms(r, 100);
	}
	assert_int_equal(evidence(r).unassigned_packets, count);
}

/* @param ssrc  0: none is announced */
static int settle(struct rig *r, size_t i, const struct media_addr *rtp,
		  const struct media_addr *rtcp, uint32_t ssrc)
{
	struct media_negotiated n = rig_settle(rtp, rtcp, MEDIA_SENDRECV);

	n.ssrcs[0] = ssrc;
	n.ssrc_count = ssrc ? 1 : 0;
	return media_session_apply(r->logs[i].session, &n);
}

static void call_each_other(struct rig *r, size_t a, size_t b)
{
	assert_int_equal(settle(r, a, &local(r, b)->rtp, &local(r, b)->rtcp,
				local(r, b)->ssrc),
			 0);
	assert_int_equal(settle(r, b, &local(r, a)->rtp, &local(r, a)->rtcp,
				local(r, a)->ssrc),
			 0);
}

/* All four have one pair of ports: what one sends, its peer receives and nobody
 * else. */
static void test_four_sessions_share_a_pair(void **state)
{
	struct rig *r = *state;
	struct media_evidence e;

	for (size_t i = 0; i < 4; i++)
		rig_session(r, i);
	for (size_t i = 1; i < 4; i++) {
		assert_memory_equal(&local(r, i)->rtp, &local(r, 0)->rtp,
				    sizeof(struct media_addr));
		assert_int_not_equal(local(r, i)->ssrc, local(r, 0)->ssrc);
	}
	call_each_other(r, 0, 1);
	call_each_other(r, 2, 3);
	rig_run_ms(r, 1500);
	rig_stop(r, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct rig_log *us = &r->logs[i];
		const struct rig_log *peer = &r->logs[i ^ 1];

		rig_check_seconds(us);
		assert_true(us->total[1].packets >= 50);
		assert_int_equal(us->total[0].packets, peer->total[1].packets);
		assert_int_equal(us->total[0].lost, 0);
		assert_int_equal(us->total[0].duplicates, 0);
		assert_int_equal(us->total[0].ssrc, peer->total[1].ssrc);
		assert_int_equal(us->first_rtcp, 1);
		assert_true(us->total[1].rtt_ms.n > 0);
	}
	e = evidence(r);
	assert_int_equal(e.unassigned_packets, 0);
	assert_int_equal(e.foreign_packets, 0);
	assert_int_equal(e.send_errors, 0);
	assert_int_equal(e.invalid_packets, 0);
}

/* The peer sends before we have seen its answer. */
static void test_packets_before_the_answer_are_measured(void **state)
{
	struct rig *r = *state;
	struct peer p, stranger;

	rig_session(r, 0);
	rig_session(r, 1);
	call_each_other(r, 0, 1);
	rig_session(r, 2);
	peer_open(&p);
	peer_open(&stranger);
	/* a call is up: so the sockets are read */
	for (uint16_t i = 0; i < 10; i++) {
		peer_send_rtp(&p, &local(r, 2)->rtp, SSRC, i);
		peer_send_rtp(&stranger, &local(r, 2)->rtp, SSRC + 1, i);
	}
	until_unassigned(r, 20);
	assert_int_equal(settle(r, 2, &p.at, &p.at, SSRC), 0);
	until_unassigned(r, 10);
	for (uint16_t i = 10; i < 20; i++)
		peer_send_rtp(&p, &local(r, 2)->rtp, SSRC, i);
	rig_run_ms(r, 100);
	rig_stop(r, 3);
	assert_int_equal(r->logs[2].total[0].packets, 20);
	assert_int_equal(r->logs[2].total[0].lost, 0);
	assert_int_equal(r->logs[2].total[0].duplicates, 0);
	assert_int_equal(evidence(r).unassigned_packets, 10);
	peer_close(&p);
	peer_close(&stranger);
}

/* A peer with a port of its own that announces nothing; then another one. */
static void test_a_foreign_peer_is_told_by_its_address(void **state)
{
	struct rig *r = *state;
	struct peer a, b;

	rig_session(r, 0);
	rig_session(r, 1);
	peer_open(&a);
	peer_open(&b);
	assert_int_equal(settle(r, 0, &a.at, &a.at, 0), 0);
	/* the same address twice: it could not be told whose a packet is */
	assert_int_equal(settle(r, 1, &a.at, &a.at, 0), -EADDRINUSE);
	assert_int_equal(settle(r, 1, &a.at, &a.at, SSRC), -EADDRINUSE);
	assert_int_equal(settle(r, 1, &b.at, &b.at, 0), 0);
	rig_run_ms(r, 100);
	for (uint16_t i = 0; i < 30; i++) {
		peer_send_rtp(&a, &local(r, 0)->rtp, SSRC, i);
		if (i % 3 == 0) /* the same SSRC */
			peer_send_rtp(&b, &local(r, 1)->rtp, SSRC, i / 3);
	}
	rig_run_ms(r, 100);
	rig_stop(r, 2);
	assert_int_equal(r->logs[0].total[0].packets, 30);
	assert_int_equal(r->logs[1].total[0].packets, 10);
	assert_int_equal(r->logs[0].total[0].lost, 0);
	assert_int_equal(r->logs[1].total[0].lost, 0);
	assert_int_equal(evidence(r).unassigned_packets, 0);
	peer_close(&a);
	peer_close(&b);
}

/* Exactly counted, whatever they are. */
static void test_what_belongs_to_no_session_is_counted(void **state)
{
	static const uint8_t stun[20] = {0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	struct rig *r = *state;
	struct peer a;

	rig_session(r, 0);
	rig_session(r, 1);
	call_each_other(r, 0, 1);
	peer_open(&a);
	rig_run_ms(r, 100);
	for (uint16_t i = 0; i < 1500; i++) { /* more than are kept */
		peer_send_rtp(&a, &local(r, 0)->rtp, SSRC, i);
		if (i % 50 == 0)
			rig_run_ms(r, 5);
	}
	peer_send(&a, &local(r, 0)->rtp, stun, sizeof(stun));
	peer_send(&a, &local(r, 0)->rtp, "", 0);
	peer_send(&a, &local(r, 0)->rtp, "x", 1);
	until_unassigned(r, 1503);
	rig_stop(r, 2);
	assert_int_equal(r->logs[0].total[0].packets,
			 r->logs[1].total[1].packets);
	peer_close(&a);
}

/* The peer announces another SSRC: both belong to the session. */
static void test_a_changed_ssrc_stays_in_its_session(void **state)
{
	struct rig *r = *state;
	struct peer p;

	rig_session(r, 0);
	rig_session(r, 1);
	peer_open(&p);
	assert_int_equal(settle(r, 0, &p.at, &p.at, SSRC), 0);
	assert_int_equal(settle(r, 1, &p.at, &p.at, SSRC + 10), 0);
	rig_run_ms(r, 100);
	for (uint16_t i = 0; i < 10; i++)
		peer_send_rtp(&p, &local(r, 0)->rtp, SSRC, i);
	rig_run_ms(r, 100);
	assert_int_equal(settle(r, 0, &p.at, &p.at, SSRC + 1), 0);
	rig_run_ms(r, 100);
	peer_send_rtp(&p, &local(r, 0)->rtp, SSRC, 10);
	for (uint16_t i = 0; i < 5; i++)
		peer_send_rtp(&p, &local(r, 0)->rtp, SSRC + 1, i);
	rig_run_ms(r, 100);
	rig_stop(r, 2);
	assert_int_equal(r->logs[0].total[0].packets, 16);
	assert_int_equal(r->logs[0].sources, 2);
	assert_int_equal(r->logs[1].total[0].packets, 0);
	assert_int_equal(evidence(r).unassigned_packets, 0);
	peer_close(&p);
}

/* One send of 60 packets of two calls, the last one short. */
static void test_joined_packets_are_divided(void **state)
{
	struct rig *r = *state;
	uint8_t data[60 * 172];
	union {
		struct cmsghdr head;
		uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
	} control = {.bytes = {0}};
	const uint16_t segment = 172;
	struct iovec part = {data, sizeof(data) - 80};
	struct media_addr to;
	struct msghdr h = {
		.msg_name = &to.ss,
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes),
	};
	struct peer p;

	rig_session(r, 0);
	rig_session(r, 1);
	peer_open(&p);
	assert_int_equal(settle(r, 0, &p.at, &p.at, SSRC), 0);
	assert_int_equal(settle(r, 1, &p.at, &p.at, SSRC + 1), 0);
	rig_run_ms(r, 100);
	memset(data, 0xd5, sizeof(data));
	for (uint8_t i = 0; i < 60; i++) {
		const uint8_t header[12] = {0x80,
					    8,
					    0,
					    i / 2,
					    0,
					    0,
					    (uint8_t)(i / 2 * 160 >> 8),
					    (uint8_t)(i / 2 * 160),
					    0x11,
					    0x22,
					    0x33,
					    (uint8_t)(0x44 + i % 2)};

		memcpy(data + i * 172, header, sizeof(header));
	}
	to = local(r, 0)->rtp;
	h.msg_namelen = to.len;
	control.head.cmsg_level = IPPROTO_UDP;
	control.head.cmsg_type = UDP_SEGMENT;
	control.head.cmsg_len = CMSG_LEN(sizeof(segment));
	memcpy(CMSG_DATA(&control.head), &segment, sizeof(segment));
	assert_int_equal(sendmsg(p.fd, &h, 0), part.iov_len);
	rig_run_ms(r, 100);
	rig_stop(r, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(r->logs[i].total[0].packets, 30);
		assert_int_equal(r->logs[i].total[0].lost, 0);
		assert_int_equal(r->logs[i].total[0].bytes,
				 30 * 172 - (i == 1 ? 80 : 0));
	}
	assert_int_equal(evidence(r).unassigned_packets, 0);
	peer_close(&p);
}

static void test_what_cannot_share_is_refused(void **state)
{
	struct rig *r = *state;
	struct media_session *s = NULL;
	struct media_session_params params = {
		.bind = rig_addr("127.0.0.1", 0),
		.shared = true,
		.encryption = MEDIA_ENCRYPTION_DTLS,
	};

	assert_int_equal(media_session_new(&s, r->engine, &params), -EINVAL);
	params.encryption = MEDIA_ENCRYPTION_NONE;
	params.nat.mode = MEDIA_NAT_ICE;
	assert_int_equal(media_session_new(&s, r->engine, &params), -EINVAL);
	params.nat.mode = MEDIA_NAT_NONE;
	params.bind = rig_addr("127.0.0.1", 20000);
	assert_int_equal(media_session_new(&s, r->engine, &params), -EINVAL);
	assert_null(s);
}

/* Those of a session with its own sockets beside it. */
static void test_both_paths_at_once(void **state)
{
	struct rig *r = *state;

	rig_session(r, 0);
	r->shared = false;
	rig_session(r, 1);
	call_each_other(r, 0, 1);
	rig_run_ms(r, 500);
	rig_stop(r, 2);
	for (int i = 0; i < 2; i++) {
		assert_true(r->logs[i].total[0].packets > 10);
		assert_int_equal(r->logs[i].total[0].packets,
				 r->logs[i ^ 1].total[1].packets);
	}
	assert_int_equal(evidence(r).unassigned_packets, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_begin, rig_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_four_sessions_share_a_pair),
		CASE(test_packets_before_the_answer_are_measured),
		CASE(test_a_foreign_peer_is_told_by_its_address),
		CASE(test_what_belongs_to_no_session_is_counted),
		CASE(test_a_changed_ssrc_stays_in_its_session),
		CASE(test_joined_packets_are_divided),
		CASE(test_what_cannot_share_is_refused),
		CASE(test_both_paths_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
