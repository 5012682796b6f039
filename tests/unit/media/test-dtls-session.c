/* A session that does DTLS-SRTP, while strangers do their worst. */
#include "media_peer.h"
#include "media_rig.h"

#include "base/clock.h"
#include "media/dtls.h"
#include "media/srtp_context.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SSRC      0x11223344
#define PAYLOAD   160
#define FLOOD     400
#define FRAGMENTS 30   /* fewer than the loop takes a second */
#define LARGE     2048 /* the largest that is read: HANDOVER_BYTES */

struct world {
	struct rig rig;
	struct rig_log *log;
	struct peer rtp;
	struct peer stranger;
	struct media_addr to;
	struct dtls_identity *id;
	struct dtls *dtls;
	struct srtp_context *tx;
	struct srtp_context *rx;
	bool large; /* the peer's datagrams have LARGE bytes */
};

static void send_h(const uint8_t *data, size_t bytes, void *arg)
{
	struct world *w = arg;
	/* a record of an epoch that there is not, which is passed over */
	uint8_t large[LARGE] = {0};
	uint8_t *more = large + bytes;
	size_t left = LARGE - bytes;

	if (!w->large) {
		peer_send(&w->rtp, &w->to, data, bytes);
		return;
	}
	memcpy(large, data, bytes);
	memcpy(more, "\x17\xfe\xfd\0\x09\0\0\0\0\0\x01", 11);
	more[11] = (uint8_t)((left - 13) >> 8);
	more[12] = (uint8_t)(left - 13);
	peer_send(&w->rtp, &w->to, large, LARGE);
}

static int world_open(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	rig_open(&w->rig, 4, 200);
	w->log = rig_session_encrypted(&w->rig, 0, MEDIA_ENCRYPTION_DTLS);
	peer_open(&w->rtp);
	peer_open(&w->stranger);
	w->to = media_session_local(w->log->session)->rtp;
	assert_true(media_session_local(w->log->session)->rtcp_mux);
	assert_int_equal(dtls_identity_new(&w->id), 0);
	*state = w;
	return 0;
}

static int world_close(void **state)
{
	struct world *w = *state;

	dtls_free(w->dtls);
	dtls_identity_free(w->id);
	if (w->tx)
		srtp_context_free(w->tx);
	if (w->rx)
		srtp_context_free(w->rx);
	rig_close(&w->rig);
	peer_close(&w->rtp);
	peer_close(&w->stranger);
	free(w);
	return 0;
}

static void peer_begin(struct world *w, bool client)
{
	const enum media_srtp_suite suite = MEDIA_SRTP_AEAD_AES_128_GCM;
	const struct dtls_params params = {
		.client = client,
		.peer = media_session_local(w->log->session)->fingerprint,
		.suites = &suite,
		.suite_count = 1,
		.send = send_h,
		.arg = w,
	};

	assert_int_equal(dtls_new(&w->dtls, w->id, &params), 0);
}

static struct media_negotiated settled(struct world *w, bool active)
{
	struct media_negotiated n =
		rig_settle(&w->rtp.at, &w->rtp.at, MEDIA_SENDRECV);

	n.encrypted = true;
	n.dtls = true;
	n.dtls_active = active;
	n.rtcp_mux = true;
	n.fingerprint = *dtls_identity_fingerprint(w->id);
	return n;
}

/* Until both know how it ended; what is no DTLS is left out. */
static void shake(struct world *w)
{
	uint8_t data[2048];
	int64_t end_ns = clock_mono_ns() + 20 * NS_PER_S;
	int len;

	while (clock_mono_ns() < end_ns &&
	       (dtls_state(w->dtls) == DTLS_UNDER_WAY || !w->log->secured)) {
		rig_run_ms(&w->rig, 5);
		while ((len = peer_receive(&w->rtp, data, sizeof(data))) > 0) {
			if (data[0] >= 20 && data[0] <= 63)
				dtls_input(w->dtls, data, (size_t)len);
		}
		dtls_tick(w->dtls);
	}
	assert_int_equal(w->log->secured, 1);
}

static void flood(struct world *w)
{
	uint8_t data[1400];

	/* a handshake record of DTLS 1.2, and what no one can read */
	memset(data, 0x5a, sizeof(data));
	memcpy(data, "\x16\xfe\xfd\0\0\0\0\0\0\0\0\x05\x6b\x01", 14);
	for (int i = 0; i < FLOOD; i++) {
		data[10] = (uint8_t)i;
		peer_send(&w->stranger, &w->to, data, sizeof(data));
		if (i % 50 == 0)
			rig_run_ms(&w->rig, 5);
	}
}

static void keys_take(struct world *w)
{
	struct media_crypto tx, rx;

	assert_int_equal(dtls_state(w->dtls), DTLS_DONE);
	assert_int_equal(dtls_keys(w->dtls, &tx, &rx), 0);
	assert_int_equal(srtp_context_new(&w->tx, &tx), 0);
	assert_int_equal(srtp_context_new(&w->rx, &rx), 0);
}

static void peer_send_one(struct world *w, uint16_t i)
{
	uint8_t data[512] = {0x80, 8, 0, (uint8_t)i};
	size_t len = 12 + PAYLOAD;

	data[6] = (uint8_t)(i * 160u >> 8);
	data[7] = (uint8_t)(i * 160u);
	memcpy(data + 8, "\x11\x22\x33\x44", 4);
	assert_int_equal(srtp_context_protect(w->tx, data, &len, sizeof(data)),
			 0);
	peer_send(&w->rtp, &w->to, data, len);
}

static void peer_sends(struct world *w, uint16_t count)
{
	for (uint16_t i = 0; i < count; i++)
		peer_send_one(w, i);
}

static void check_media(struct world *w)
{
	uint64_t packets = 0, reports = 0;
	uint8_t data[2048];
	int len;

	keys_take(w);
	peer_sends(w, 50);
	rig_run_ms(&w->rig, 600);
	rig_stop(&w->rig, 1);
	rig_check_seconds(w->log);
	assert_int_equal(w->log->total[0].packets, 50);
	assert_int_equal(w->log->total[0].lost, 0);
	assert_int_equal(w->log->total[0].srtp_refused, 0);
	assert_string_equal(w->log->total[0].srtp_suite, "AEAD_AES_128_GCM");
	/* on one port: reports too */
	while ((len = peer_receive(&w->rtp, data, sizeof(data))) > 0) {
		size_t bytes = (size_t)len;
		bool rtcp = data[1] >= 192 && data[1] <= 223;

		if (data[0] < 128)
			continue;
		assert_int_equal(
			rtcp ? srtp_context_unprotect_rtcp(w->rx, data, &bytes)
			     : srtp_context_unprotect(w->rx, data, &bytes),
			0);
		packets += !rtcp;
		reports += rtcp;
	}
	assert_true(packets > 10 && reports > 0);
	/* some may have come during the handshake */
	assert_true(packets <= w->log->total[1].packets);
}

static void test_both_roles(void **state, bool active)
{
	struct world *w = *state;
	struct media_negotiated n = settled(w, active);
	struct media_evidence e;

	/* the peer begins before we see its answer; so do strangers */
	peer_begin(w, !active);
	rig_run_ms(&w->rig, 50);
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	flood(w);
	shake(w);
	assert_non_null(w->log->suite);
	check_media(w);
	media_engine_evidence(w->rig.engine, &e);
	assert_int_equal(e.dtls_dropped, FLOOD);
	assert_int_equal(e.send_errors, 0);
	assert_int_equal(e.invalid_packets, 0);
}

static void test_active(void **state)
{
	test_both_roles(state, true);
}

static void test_passive(void **state)
{
	test_both_roles(state, false);
}

/* A peer that takes a datagram of any size for good. */
static void test_large_flights(void **state)
{
	struct world *w = *state;

	w->large = true;
	test_passive(state);
}

static void test_wrong_certificate(void **state)
{
	struct world *w = *state;
	struct media_negotiated n = settled(w, true);

	n.fingerprint.bytes[0] ^= 1;
	peer_begin(w, false);
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	shake(w);
	assert_null(w->log->suite);
	assert_non_null(strstr(w->log->reason, "fingerprint"));
	/* nothing was sent, nothing is read */
	peer_send_rtp(&w->rtp, &w->to, SSRC, 1);
	rig_run_ms(&w->rig, 200);
	rig_stop(&w->rig, 1);
	assert_int_equal(w->log->total[0].packets, 0);
	assert_int_equal(w->log->total[1].packets, 0);
}

/* The peer's answer turns the roles round and nothing follows: media goes on. Then
 * it begins anew, as it may. */
static void test_turned_roles(void **state)
{
	struct world *w = *state;
	struct media_negotiated n = settled(w, true);
	uint64_t seen = 0;
	uint8_t data[2048];
	int len;

	peer_begin(w, false);
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	shake(w);
	keys_take(w);
	n = settled(w, false);
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	rig_run_ms(&w->rig, 50);
	peer_sends(w, 30);
	while (peer_receive(&w->rtp, data, sizeof(data)) > 0)
		continue;
	rig_run_ms(&w->rig, 300);
	while ((len = peer_receive(&w->rtp, data, sizeof(data))) > 0) {
		size_t bytes = (size_t)len;

		if (data[0] >= 128 && (data[1] & 0x7f) == 8)
			seen += srtp_context_unprotect(w->rx, data, &bytes) ==
				0;
	}
	assert_true(seen >= 5);
	w->dtls = dtls_free(w->dtls);
	w->tx = srtp_context_free(w->tx);
	w->rx = srtp_context_free(w->rx);
	w->log->secured = 0;
	peer_begin(w, true);
	shake(w);
	assert_non_null(w->log->suite);
	keys_take(w);
	for (uint16_t k = 30; k < 50; k++)
		peer_send_one(w, k);
	rig_run_ms(&w->rig, 400);
	rig_stop(&w->rig, 1);
	assert_int_equal(w->log->total[0].packets, 50);
	assert_int_equal(w->log->total[0].lost, 0);
	assert_int_equal(w->log->total[0].srtp_refused, 0);
}

/* Pieces of messages that are never whole, of sizes that do not add up, and
 * records that are cut off, from the peer's address: what a spoofer can send. */
static void fragments(struct world *w)
{
	for (unsigned i = 0; i < FRAGMENTS; i++) {
		uint8_t data[13 + 12 + 100];

		memset(data, 0x5a, sizeof(data));
		memcpy(data, "\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\x70", 13);
		data[10] = (uint8_t)i;
		data[13] = (uint8_t)(i % 24); /* the message's type */
		data[14] = 0;                 /* its size, up to 2 kB */
		data[15] = (uint8_t)(i % 8);
		data[16] = (uint8_t)(7 * i);
		data[17] = 0; /* its number */
		data[18] = (uint8_t)(1 + i % 5);
		data[19] = 0; /* where the piece begins */
		data[20] = (uint8_t)(i % 3);
		data[21] = (uint8_t)(11 * i);
		data[22] = data[23] = 0; /* and its size */
		data[24] = (uint8_t)(i % 4 ? 100 : 255);
		peer_send(&w->rtp, &w->to, data,
			  i % 7 ? sizeof(data) : 1 + i % sizeof(data));
	}
}

static void test_fragments(void **state)
{
	struct world *w = *state;
	struct media_negotiated n = settled(w, false);

	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	fragments(w);
	rig_run_ms(&w->rig, 50);
	peer_begin(w, true);
	shake(w);
	/* who can send from the peer's address can end the handshake, as with
	 * any DTLS; it is named, and nothing is sent in plain */
	assert_null(w->log->suite);
	assert_non_null(w->log->reason);
	rig_stop(&w->rig, 1);
	assert_int_equal(w->log->total[1].packets, 0);
}

/* The flood is there before anything is settled: most of it is not looked at,
 * and when its second is over the handshake is done. */
static void test_flood_before(void **state)
{
	struct world *w = *state;
	struct media_negotiated n = settled(w, true);
	struct media_evidence e;

	flood(w);
	rig_run_ms(&w->rig, 20);
	media_engine_evidence(w->rig.engine, &e);
	assert_true(e.dtls_dropped >= FLOOD / 2);
	peer_begin(w, false);
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	shake(w);
	check_media(w);
}

/* A session that wants no DTLS does not look at it. */
static void test_not_wanted(void **state)
{
	struct world *w = *state;
	struct rig_log *plain = rig_session(&w->rig, 1);
	struct media_evidence e;

	w->to = media_session_local(plain->session)->rtp;
	flood(w);
	rig_run_ms(&w->rig, 50);
	media_engine_evidence(w->rig.engine, &e);
	assert_int_equal(e.invalid_packets, FLOOD);
	assert_int_equal(e.dtls_dropped, 0);
	media_session_free(plain->session);
	media_session_free(w->log->session);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_active),        TEST(test_passive),
		TEST(test_large_flights), TEST(test_wrong_certificate),
		TEST(test_turned_roles),  TEST(test_fragments),
		TEST(test_flood_before),  TEST(test_not_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
