/* DTLS-SRTP without rtcp-mux: one association per port (RFC 5764 section 3). */
#include "dtls_end.h"
#include "media_rig.h"
#include "srtp_both.h"

#include "base/clock.h"
#include "media/tx/rtcp_build.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SSRC  0x11223344
#define FLOOD 400
#define SUITE "AEAD_AES_128_GCM"

enum {
	RTP,
	RTCP,
	PORTS
};

struct world {
	struct rig rig;
	struct rig_log *log;
	struct dtls_end ends[PORTS];
	struct peer stranger;
	struct dtls_identity *id;
	struct dtls_identity *other;
};

static int world_open(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	const struct media_local *local;

	assert_non_null(w);
	rig_open_srtp(&w->rig, 4, 200, srtp_library_of(state));
	w->log = rig_session_encrypted(&w->rig, 0, MEDIA_ENCRYPTION_DTLS);
	local = media_session_local(w->log->session);
	dtls_end_open(&w->ends[RTP], &local->rtp);
	dtls_end_open(&w->ends[RTCP], &local->rtcp);
	peer_open(&w->stranger);
	assert_int_equal(dtls_identity_new(&w->id), 0);
	assert_int_equal(dtls_identity_new(&w->other), 0);
	*state = w;
	return 0;
}

static int world_close(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < PORTS; i++)
		dtls_end_close(&w->ends[i]);
	dtls_identity_free(w->id);
	dtls_identity_free(w->other);
	rig_close(&w->rig);
	peer_close(&w->stranger);
	free(w);
	return 0;
}

static void begin(struct world *w, int port, const struct dtls_identity *id,
		  bool client)
{
	dtls_end_begin(&w->ends[port], id,
		       &media_session_local(w->log->session)->fingerprint,
		       client);
}

static void settle(struct world *w, bool active, bool mux)
{
	const struct media_addr *rtp = &w->ends[RTP].peer.at;
	struct media_negotiated n = rig_settle(
		rtp, mux ? rtp : &w->ends[RTCP].peer.at, MEDIA_SENDRECV);

	n.encrypted = true;
	n.dtls = true;
	n.dtls_active = active;
	n.rtcp_mux = mux;
	n.fingerprint = *dtls_identity_fingerprint(w->id);
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
}

static bool shaking(const struct world *w)
{
	for (int i = 0; i < PORTS; i++) {
		if (w->ends[i].dtls &&
		    dtls_state(w->ends[i].dtls) == DTLS_UNDER_WAY)
			return true;
	}
	return false;
}

/* Run until both sides know the outcome of `count` handshakes. */
static void shake(struct world *w, size_t count)
{
	int64_t end_ns = clock_mono_ns() + 20 * NS_PER_S;

	while (clock_mono_ns() < end_ns &&
	       (shaking(w) || w->log->secured < count)) {
		rig_run_ms(&w->rig, 5);
		for (int i = 0; i < PORTS; i++)
			dtls_end_run(&w->ends[i]);
	}
	assert_false(shaking(w));
	assert_int_equal(w->log->secured, count);
}

/* Send an RR to one port with the keys of another. */
static void send_rtcp(struct world *w, int port, int keys)
{
	const struct rtcp_compound c = {.ssrc = SSRC, .cname = "peer"};
	uint8_t data[RTCP_COMPOUND_BYTES + SRTCP_OVERHEAD_BYTES];
	size_t bytes = rtcp_compound_write(data, &c);

	assert_int_equal(srtp_context_protect_rtcp(w->ends[keys].tx, data,
						   &bytes, sizeof(data)),
			 0);
	peer_send(&w->ends[port].peer, &w->ends[port].to, data, bytes);
}

static void send_rtp(struct world *w, uint16_t from, uint16_t count)
{
	for (uint16_t i = 0; i < count; i++)
		dtls_end_send_rtp(&w->ends[RTP], (uint16_t)(from + i));
}

/* Check that RTP arrived on its port, and RTCP on its own or on the same. */
static void check_came(struct world *w, bool mux)
{
	struct dtls_end_media rtp = dtls_end_media(&w->ends[RTP]);
	struct dtls_end_media rtcp = dtls_end_media(&w->ends[RTCP]);

	assert_true(rtp.rtp >= 5 && rtp.wrong == 0 && rtcp.wrong == 0);
	assert_int_equal(rtcp.rtp, 0);
	assert_true(mux ? rtp.rtcp > 0 && rtcp.rtcp == 0
			: rtcp.rtcp > 0 && rtp.rtcp == 0);
}

static uint64_t refused(struct world *w)
{
	struct media_evidence e;

	rig_run_ms(&w->rig, 100);
	media_engine_evidence(w->rig.engine, &e);
	return e.srtp_refused;
}

static void check_two(const struct world *w)
{
	assert_string_equal(w->log->ports[RTP].port, "RTP");
	assert_string_equal(w->log->ports[RTP].suite, SUITE);
	assert_string_equal(w->log->ports[RTCP].port, "RTCP");
	assert_string_equal(w->log->ports[RTCP].suite, SUITE);
}

static void test_both_roles(void **state, bool active)
{
	struct world *w = *state;
	struct media_evidence e;

	/* the peer starts before we see its answer, on both ports */
	begin(w, RTP, w->id, !active);
	begin(w, RTCP, w->id, !active);
	rig_run_ms(&w->rig, 50);
	settle(w, active, false);
	for (int i = 0; i < FLOOD; i++)
		peer_send(&w->stranger, &w->ends[i % PORTS].to,
			  "\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\1\0", 14);
	shake(w, 2);
	check_two(w);
	for (int i = 0; i < PORTS; i++)
		dtls_end_keys(&w->ends[i]);
	send_rtp(w, 0, 50);
	send_rtcp(w, RTCP, RTCP);
	rig_run_ms(&w->rig, 600);
	assert_int_equal(w->log->first_rtcp, 1);
	assert_int_equal(refused(w), 0);
	/* keys are valid on their own port only */
	send_rtcp(w, RTCP, RTP);
	assert_int_equal(refused(w), 1);
	send_rtcp(w, RTP, RTCP);
	assert_int_equal(refused(w), 2);
	check_came(w, false);
	rig_stop(&w->rig, 1);
	rig_check_seconds(w->log);
	assert_int_equal(w->log->total[0].packets, 50);
	assert_int_equal(w->log->total[0].lost, 0);
	assert_string_equal(w->log->total[0].srtp_suite, SUITE);
	media_engine_evidence(w->rig.engine, &e);
	assert_int_equal(e.dtls_dropped, FLOOD);
	assert_int_equal(e.invalid_packets, 0);
	assert_int_equal(e.send_errors, 0);
}

static void test_active(void **state)
{
	test_both_roles(state, true);
}

static void test_passive(void **state)
{
	test_both_roles(state, false);
}

/*
 * The wrong certificate on one port: the error names that port, the other is
 * unaffected.
 */
static void wrong_certificate(void **state, int wrong)
{
	struct world *w = *state;
	int right = wrong == RTP ? RTCP : RTP;

	begin(w, right, w->id, false);
	begin(w, wrong, w->other, false);
	settle(w, true, false);
	shake(w, 2);
	assert_null(w->log->ports[wrong].suite);
	assert_non_null(strstr(w->log->ports[wrong].reason, "fingerprint"));
	assert_string_equal(w->log->ports[wrong].port,
			    wrong == RTP ? "RTP" : "RTCP");
	assert_string_equal(w->log->ports[right].suite, SUITE);
	rig_run_ms(&w->rig, 500);
	/* nothing is sent unencrypted, nothing with the other port's keys */
	dtls_end_keys(&w->ends[right]);
	assert_int_equal(dtls_end_media(&w->ends[right]).wrong, 0);
	assert_int_equal(dtls_end_media(&w->ends[wrong]).wrong, 0);
	rig_stop(&w->rig, 1);
}

static void test_wrong_certificate_for_rtp(void **state)
{
	wrong_certificate(state, RTP);
}

static void test_wrong_certificate_for_rtcp(void **state)
{
	wrong_certificate(state, RTCP);
}

/*
 * The peer starts the RTP handshake at once and the RTCP handshake late, in
 * either role: packets flow, reports wait.
 */
static void test_rtcp_is_late(void **state)
{
	struct world *w = *state;
	struct dtls_end_media came;

	begin(w, RTP, w->id, true);
	settle(w, false, false);
	shake(w, 1);
	assert_string_equal(w->log->ports[RTP].port, "RTP");
	dtls_end_keys(&w->ends[RTP]);
	send_rtp(w, 0, 30);
	rig_run_ms(&w->rig, 600);
	came = dtls_end_media(&w->ends[RTP]);
	assert_true(came.rtp > 10 && came.rtcp == 0 && came.wrong == 0);
	assert_int_equal(dtls_end_media(&w->ends[RTCP]).wrong, 0);
	/* it waits for a key that matches */
	send_rtcp(w, RTCP, RTP);
	rig_run_ms(&w->rig, 50);
	settle(w, false, false);
	assert_int_equal(refused(w), 0);
	begin(w, RTCP, w->id, true);
	shake(w, 2);
	check_two(w);
	assert_int_equal(refused(w), 1);
	dtls_end_keys(&w->ends[RTCP]);
	send_rtcp(w, RTCP, RTCP);
	send_rtp(w, 30, 20);
	rig_run_ms(&w->rig, 500);
	check_came(w, false);
	rig_stop(&w->rig, 1);
	assert_int_equal(w->log->first_rtcp, 1);
	assert_int_equal(w->log->total[0].packets, 50);
	assert_int_equal(w->log->total[0].srtp_refused, 1);
}

/*
 * Offers and answers add a port for RTCP and remove it again. RTP keeps its
 * keys.
 */
static void test_mux_comes_and_goes(void **state)
{
	struct world *w = *state;
	struct media_evidence e;

	begin(w, RTP, w->id, false);
	settle(w, true, true);
	shake(w, 1);
	assert_null(w->log->ports[RTP].port);
	dtls_end_keys(&w->ends[RTP]);
	send_rtp(w, 0, 10);
	rig_run_ms(&w->rig, 400);
	check_came(w, true);
	begin(w, RTCP, w->id, false);
	settle(w, true, false);
	shake(w, 2);
	assert_string_equal(w->log->ports[RTCP].suite, SUITE);
	dtls_end_keys(&w->ends[RTCP]);
	rig_run_ms(&w->rig, 50);
	(void)dtls_end_media(&w->ends[RTP]);
	send_rtp(w, 10, 10);
	send_rtcp(w, RTCP, RTCP);
	rig_run_ms(&w->rig, 500);
	check_came(w, false);
	assert_int_equal(w->log->first_rtcp, 1);
	/* hold and resume change nothing */
	settle(w, true, false);
	settle(w, true, true);
	rig_run_ms(&w->rig, 50);
	(void)dtls_end_media(&w->ends[RTCP]);
	send_rtp(w, 20, 10);
	send_rtcp(w, RTP, RTP);
	rig_run_ms(&w->rig, 500);
	check_came(w, true);
	/* a handshake for RTCP is ignored now */
	peer_send(&w->ends[RTCP].peer, &w->ends[RTCP].to,
		  "\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\1\0", 14);
	rig_run_ms(&w->rig, 50);
	media_engine_evidence(w->rig.engine, &e);
	assert_int_equal(e.dtls_dropped, 1);
	assert_int_equal(w->log->secured, 2);
	rig_stop(&w->rig, 1);
	assert_int_equal(w->log->total[0].packets, 30);
	assert_int_equal(w->log->total[0].lost, 0);
	assert_int_equal(w->log->total[0].srtp_refused, 0);
}

/*
 * The peer's answer reverses the roles. Then another association on each port,
 * one after the other.
 */
static void test_turned_roles(void **state)
{
	struct world *w = *state;

	begin(w, RTP, w->id, false);
	begin(w, RTCP, w->id, false);
	settle(w, true, false);
	shake(w, 2);
	settle(w, false, false);
	dtls_end_keys(&w->ends[RTP]);
	send_rtp(w, 0, 10);
	rig_run_ms(&w->rig, 100);
	for (int i = 0; i < PORTS; i++) {
		begin(w, i, w->id, true);
		shake(w, 3 + (size_t)i);
		dtls_end_keys(&w->ends[i]);
	}
	check_two(w);
	send_rtp(w, 10, 10);
	send_rtcp(w, RTCP, RTCP);
	rig_run_ms(&w->rig, 400);
	check_came(w, false);
	rig_stop(&w->rig, 1);
	assert_int_equal(w->log->total[0].packets, 20);
	assert_int_equal(w->log->total[0].lost, 0);
	assert_int_equal(w->log->total[0].srtp_refused, 0);
}

/* Forged packets on one port stop the handshake on neither. */
static void test_spoiled(void **state)
{
	struct world *w = *state;
	struct media_evidence e;

	settle(w, false, false);
	dtls_end_spoil(&w->ends[RTCP], 0, 20);
	rig_run_ms(&w->rig, 50);
	begin(w, RTP, w->id, true);
	begin(w, RTCP, w->id, true);
	dtls_end_spoil(&w->ends[RTCP], 20, 10);
	shake(w, 2);
	check_two(w);
	media_engine_evidence(w->rig.engine, &e);
	assert_true(e.dtls_refused >= 15);
	dtls_end_keys(&w->ends[RTP]);
	dtls_end_keys(&w->ends[RTCP]);
	send_rtp(w, 0, 20);
	send_rtcp(w, RTCP, RTCP);
	rig_run_ms(&w->rig, 500);
	check_came(w, false);
	rig_stop(&w->rig, 1);
	assert_int_equal(w->log->total[0].packets, 20);
	assert_int_equal(w->log->first_rtcp, 1);
}

/* The session ends while both handshakes are under way. */
static void test_end_under_way(void **state)
{
	struct world *w = *state;

	settle(w, true, false);
	rig_run_ms(&w->rig, 50);
	rig_stop(&w->rig, 1);
	assert_int_equal(w->log->secured, 0);
	assert_int_equal(w->log->total[1].packets, 0);
}

/* with the built-in SRTP only: its keys are not the subject of these tests */
#define TEST(name) SRTP_ONE(name, world_open, world_close)
#define BOTH(name) SRTP_BOTH(name, world_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_active),
		TEST(test_passive),
		TEST(test_wrong_certificate_for_rtp),
		TEST(test_wrong_certificate_for_rtcp),
		BOTH(test_rtcp_is_late),
		BOTH(test_mux_comes_and_goes),
		BOTH(test_turned_roles),
		TEST(test_spoiled),
		TEST(test_end_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
