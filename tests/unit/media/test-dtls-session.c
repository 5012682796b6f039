/* A session with DTLS-SRTP under attack by strangers. */
#include "dtls_end.h"
#include "media_rig.h"
#include "srtp_both.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SSRC      0x11223344
#define FLOOD     400
#define FRAGMENTS 30 /* fewer than the loop takes per second */

/* The program's clocks are ahead by this. */
static _Atomic time_t ahead_s;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	const int err = (int)syscall(SYS_clock_gettime, clock, ret);

	if (!err)
		ret->tv_sec += atomic_load(&ahead_s);
	return err;
}

struct world {
	struct rig rig;
	struct rig_log *log;
	struct dtls_end end;
	struct peer stranger;
	struct dtls_identity *id;
};

static int world_open(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	rig_open_srtp(&w->rig, 4, 200, srtp_library_of(state));
	w->log = rig_session_encrypted(&w->rig, 0, MEDIA_ENCRYPTION_DTLS);
	dtls_end_open(&w->end, &media_session_local(w->log->session)->rtp);
	peer_open(&w->stranger);
	assert_int_equal(media_session_local(w->log->session)->rtcp_mux,
			 MEDIA_MUX_OFFER);
	assert_int_equal(dtls_identity_new(&w->id), 0);
	*state = w;
	return 0;
}

static int world_close(void **state)
{
	struct world *w = *state;

	dtls_end_close(&w->end);
	dtls_identity_free(w->id);
	rig_close(&w->rig);
	peer_close(&w->stranger);
	free(w);
	return 0;
}

static void peer_begin(struct world *w, bool client)
{
	dtls_end_begin(&w->end, w->id,
		       &media_session_local(w->log->session)->fingerprint,
		       client);
}

static struct media_negotiated settled(struct world *w, bool active)
{
	struct media_negotiated n =
		rig_settle(&w->end.peer.at, &w->end.peer.at, MEDIA_SENDRECV);

	n.encrypted = true;
	n.dtls = true;
	n.dtls_active = active;
	n.rtcp_mux = true;
	n.fingerprint = *dtls_identity_fingerprint(w->id);
	return n;
}

/* Run until both sides know the outcome. Anything but DTLS is skipped. */
static void shake(struct world *w)
{
	int64_t end_ns = clock_mono_ns() + 20 * NS_PER_S;

	while (clock_mono_ns() < end_ns &&
	       (dtls_state(w->end.dtls) == DTLS_UNDER_WAY ||
		!w->log->secured)) {
		rig_run_ms(&w->rig, 5);
		dtls_end_run(&w->end);
	}
	assert_int_equal(w->log->secured, 1);
	assert_null(w->log->ports[0].port);
}

static void flood(struct world *w)
{
	uint8_t data[1400];

	/* a handshake record of DTLS 1.2 with unreadable content */
	memset(data, 0x5a, sizeof(data));
	memcpy(data, "\x16\xfe\xfd\0\0\0\0\0\0\0\0\x05\x6b\x01", 14);
	for (int i = 0; i < FLOOD; i++) {
		data[10] = (uint8_t)i;
		peer_send(&w->stranger, &w->end.to, data, sizeof(data));
		if (i % 50 == 0)
			rig_run_ms(&w->rig, 5);
	}
}

static void peer_sends(struct world *w, uint16_t count)
{
	for (uint16_t i = 0; i < count; i++)
		dtls_end_send_rtp(&w->end, i);
}

static void check_media(struct world *w)
{
	struct dtls_end_media came;

	dtls_end_keys(&w->end);
	peer_sends(w, 50);
	rig_run_ms(&w->rig, 600);
	rig_stop(&w->rig, 1);
	rig_check_seconds(w->log);
	assert_int_equal(w->log->total[0].packets, 50);
	assert_int_equal(w->log->total[0].lost, 0);
	assert_int_equal(w->log->total[0].srtp_refused, 0);
	assert_string_equal(w->log->total[0].srtp_suite, "AEAD_AES_128_GCM");
	/* on one port, so reports arrive there too */
	came = dtls_end_media(&w->end);
	assert_true(came.rtp > 10 && came.rtcp > 0 && came.wrong == 0);
	/* some may have arrived during the handshake */
	assert_true(came.rtp <= w->log->total[1].packets);
}

static void test_both_roles(void **state, bool active)
{
	struct world *w = *state;
	struct media_negotiated n = settled(w, active);
	struct media_evidence e;

	/* the peer starts before we see its answer, and so do strangers */
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

/* A peer that accepts and sends datagrams of any size. */
static void test_large_flights(void **state)
{
	struct world *w = *state;

	w->end.large = true;
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
	peer_send_rtp(&w->end.peer, &w->end.to, SSRC, 1);
	rig_run_ms(&w->rig, 200);
	rig_stop(&w->rig, 1);
	assert_int_equal(w->log->total[0].packets, 0);
	assert_int_equal(w->log->total[1].packets, 0);
}

static void test_silent_peer(void **state)
{
	struct world *w = *state;
	struct media_negotiated n = settled(w, true);

	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	atomic_store(&ahead_s, 15);
	rig_run_ms(&w->rig, 50);
	assert_int_equal(w->log->secured, 0);
	atomic_store(&ahead_s, 21);
	rig_run_ms(&w->rig, 50);
	assert_int_equal(w->log->secured, 1);
	assert_null(w->log->suite);
	assert_string_equal(w->log->reason,
			    "the peer does not finish the DTLS handshake");
	rig_stop(&w->rig, 1);
	atomic_store(&ahead_s, 0);
}

/*
 * The peer's answer reverses the roles and no handshake follows: media
 * continues. Then the peer starts a new handshake, as it may.
 */
static void test_turned_roles(void **state)
{
	struct world *w = *state;
	struct media_negotiated n = settled(w, true);
	struct dtls_end_media came;

	peer_begin(w, false);
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	shake(w);
	dtls_end_keys(&w->end);
	n = settled(w, false);
	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	rig_run_ms(&w->rig, 50);
	peer_sends(w, 30);
	(void)dtls_end_media(&w->end);
	rig_run_ms(&w->rig, 300);
	came = dtls_end_media(&w->end);
	assert_true(came.rtp >= 5 && came.wrong == 0);
	w->log->secured = 0;
	peer_begin(w, true);
	shake(w);
	assert_non_null(w->log->suite);
	dtls_end_keys(&w->end);
	for (uint16_t k = 30; k < 50; k++)
		dtls_end_send_rtp(&w->end, k);
	rig_run_ms(&w->rig, 400);
	rig_stop(&w->rig, 1);
	assert_int_equal(w->log->total[0].packets, 50);
	assert_int_equal(w->log->total[0].lost, 0);
	assert_int_equal(w->log->total[0].srtp_refused, 0);
}

/*
 * Forged packets from the peer's address, before and during the handshake, do
 * not stop it.
 */
static void test_spoiled(void **state, bool active)
{
	struct world *w = *state;
	struct media_negotiated n = settled(w, active);
	struct media_evidence e;

	assert_int_equal(media_session_apply(w->log->session, &n), 0);
	dtls_end_spoil(&w->end, 0, FRAGMENTS / 2);
	rig_run_ms(&w->rig, 50);
	peer_begin(w, !active);
	for (unsigned k = FRAGMENTS / 2; k < FRAGMENTS; k++) {
		dtls_end_spoil(&w->end, k, 1);
		rig_run_ms(&w->rig, 2);
		dtls_end_run(&w->end);
	}
	shake(w);
	assert_non_null(w->log->suite);
	check_media(w);
	media_engine_evidence(w->rig.engine, &e);
	print_message("refused: %u of %u\n", (unsigned)e.dtls_refused,
		      FRAGMENTS);
	assert_true(e.dtls_refused >= FRAGMENTS / 2);
	assert_int_equal(e.dtls_dropped, 0);
}

static void test_spoiled_active(void **state)
{
	test_spoiled(state, true);
}

static void test_spoiled_passive(void **state)
{
	test_spoiled(state, false);
}

/*
 * The flood starts before the answer: most of it is not processed, and the
 * handshake completes when the second is over.
 */
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

/* A session without DTLS ignores DTLS packets. */
static void test_not_wanted(void **state)
{
	struct world *w = *state;
	struct rig_log *plain = rig_session(&w->rig, 1);
	struct media_evidence e;

	w->end.to = media_session_local(plain->session)->rtp;
	flood(w);
	rig_run_ms(&w->rig, 50);
	media_engine_evidence(w->rig.engine, &e);
	assert_int_equal(e.invalid_packets, FLOOD);
	assert_int_equal(e.dtls_dropped, 0);
	media_session_free(plain->session);
	media_session_free(w->log->session);
}

/* with the built-in SRTP only: nothing is encrypted */
#define TEST(name) SRTP_ONE(name, world_open, world_close)
#define BOTH(name) SRTP_BOTH(name, world_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_active),          BOTH(test_passive),
		TEST(test_large_flights),   TEST(test_wrong_certificate),
		BOTH(test_turned_roles),    TEST(test_spoiled_active),
		TEST(test_spoiled_passive), TEST(test_flood_before),
		TEST(test_not_wanted),      TEST(test_silent_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
