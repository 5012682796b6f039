/* An encrypted session with a peer that uses libsrtp2. */
#include "media_peer.h"
#include "media_rig.h"
#include "srtp_both.h"

#include "base/big_endian.h"
#include "base/clock.h"
#include "media/analysis/rtcp.h"
#include "media/analysis/rtp_header.h"
#include "media/rx/rx_secure.h"
#include "media/rx/rx_session.h"

#include <srtp2/srtp.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SSRC    0x11223344
#define SUITE   MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80
#define PAYLOAD 160

/* One session, and a peer with the key crypto_make(generation). */
struct world {
	enum media_srtp_library library;
	struct rig rig;
	struct rig_log *log;
	struct media_session *session;
	struct peer rtp;
	struct peer rtcp;
	struct media_addr to;
	struct media_addr to_rtcp;
	srtp_t tx;
	srtp_t rx;
};

static struct media_crypto crypto_make(unsigned generation)
{
	struct media_crypto c = {.tag = 1, .suite = SUITE};

	for (size_t i = 0; i < sizeof(c.key); i++)
		c.key[i] = (uint8_t)(generation * 31 + i);
	return c;
}

static srtp_t peer_key(const struct media_crypto *c, bool outgoing)
{
	struct media_crypto copy = *c;
	srtp_policy_t p;
	srtp_t ret;

	memset(&p, 0, sizeof(p));
	srtp_crypto_policy_set_rtp_default(&p.rtp);
	srtp_crypto_policy_set_rtcp_default(&p.rtcp);
	p.ssrc.type = outgoing ? ssrc_any_outbound : ssrc_any_inbound;
	p.key = copy.key;
	p.window_size = 128;
	assert_int_equal(srtp_create(&ret, &p), srtp_err_status_ok);
	return ret;
}

static int world_open(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct media_crypto c = crypto_make(0);
	const struct media_local *local;

	assert_non_null(w);
	srtp_init();
	w->library = srtp_library_of(state);
	rig_open_srtp(&w->rig, 4, 200, w->library);
	w->log = rig_session_encrypted(&w->rig, 0,
				       MEDIA_ENCRYPTION_SDES_MANDATORY);
	w->session = w->log->session;
	peer_open(&w->rtp);
	peer_open(&w->rtcp);
	local = media_session_local(w->session);
	w->to = local->rtp;
	w->to_rtcp = local->rtcp;
	assert_int_equal(local->crypto_count, MEDIA_SRTP_SUITE_COUNT);
	assert_int_equal(local->crypto[0].suite, SUITE);
	w->tx = peer_key(&c, true);
	w->rx = peer_key(&local->crypto[0], false);
	*state = w;
	return 0;
}

static int world_close(void **state)
{
	struct world *w = *state;

	rig_close(&w->rig);
	peer_close(&w->rtp);
	peer_close(&w->rtcp);
	srtp_dealloc(w->tx);
	srtp_dealloc(w->rx);
	srtp_shutdown();
	free(w);
	return 0;
}

/* @param generation  of the peer's key */
static void settle(struct world *w, unsigned generation,
		   enum media_direction direction)
{
	struct media_negotiated n =
		rig_settle(&w->rtp.at, &w->rtcp.at, direction);

	n.encrypted = true;
	n.crypto_tx = media_session_local(w->session)->crypto[0];
	n.crypto_rx = crypto_make(generation);
	assert_int_equal(media_session_apply(w->session, &n), 0);
}

static int packet_make(uint8_t *dst, uint16_t seq)
{
	uint32_t ts = seq * 160u;

	memset(dst, 0xd5, 12 + PAYLOAD);
	dst[0] = 0x80;
	dst[1] = 8;
	dst[2] = (uint8_t)(seq >> 8);
	dst[3] = (uint8_t)seq;
	for (int i = 0; i < 4; i++) {
		dst[4 + i] = (uint8_t)(ts >> (24 - 8 * i));
		dst[8 + i] = (uint8_t)(SSRC >> (24 - 8 * i));
	}
	return 12 + PAYLOAD;
}

static int protected(struct world *w, uint8_t *dst, uint16_t seq)
{
	int len = packet_make(dst, seq);

	assert_int_equal(srtp_protect(w->tx, dst, &len), srtp_err_status_ok);
	return len;
}

static void peer_sends(struct world *w, uint16_t first, uint16_t count)
{
	uint8_t data[512];

	for (uint16_t i = 0; i < count; i++) {
		int len = protected(w, data, (uint16_t)(first + i));

		peer_send(&w->rtp, &w->to, data, (size_t)len);
	}
}

static void new_peer_key(struct world *w, unsigned generation)
{
	struct media_crypto c = crypto_make(generation);

	srtp_dealloc(w->tx);
	w->tx = peer_key(&c, true);
}

static const struct stream_total *stopped_in(struct world *w)
{
	rig_run_ms(&w->rig, 200);
	rig_stop(&w->rig, 1);
	rig_check_seconds(w->log);
	return &w->log->total[0];
}

static uint64_t refused_in_seconds(const struct world *w)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < w->log->seconds[0]; i++)
		sum += w->log->second[0][i].srtp_refused;
	return sum;
}

/*
 * Every packet is counted, including those from before the key was known, with
 * the size of the RTP packet.
 */
static void test_received_exactly(void **state)
{
	struct world *w = *state;
	const struct stream_total *t;
	struct media_evidence e;

	peer_sends(w, 100, 20);
	rig_run_ms(&w->rig, 50);
	settle(w, 0, MEDIA_RECVONLY);
	peer_sends(w, 120, 80);
	t = stopped_in(w);
	assert_int_equal(t->packets, 100);
	assert_int_equal(t->received, 100);
	assert_int_equal(t->lost, 0);
	assert_int_equal(t->duplicates, 0);
	assert_int_equal(t->bytes, 100 * (12 + PAYLOAD));
	assert_int_equal(t->srtp_refused, 0);
	assert_int_equal(t->srtp_replayed, 0);
	assert_string_equal(t->srtp_suite, "AES_CM_128_HMAC_SHA1_80");
	assert_true(w->log->second[0][0].has_srtp);
	media_engine_evidence(w->rig.engine, &e);
	assert_int_equal(e.srtp_unkeyed, 0);
	assert_int_equal(e.srtp_refused, 0);
}

static void test_sent_is_protected(void **state)
{
	struct world *w = *state;
	uint8_t data[2048];
	uint64_t packets = 0;
	uint64_t reports = 0;
	int len;

	settle(w, 0, MEDIA_SENDRECV);
	rig_run_ms(&w->rig, 700);
	stopped_in(w);
	while ((len = peer_receive(&w->rtp, data, sizeof(data))) >= 0) {
		assert_int_equal(len, 12 + PAYLOAD + 10);
		assert_int_equal(srtp_unprotect(w->rx, data, &len),
				 srtp_err_status_ok);
		assert_int_equal(len, 12 + PAYLOAD);
		packets++;
	}
	while ((len = peer_receive(&w->rtcp, data, sizeof(data))) >= 0) {
		struct rtcp_reader reader;

		assert_int_equal(srtp_unprotect_rtcp(w->rx, data, &len),
				 srtp_err_status_ok);
		assert_int_equal(rtcp_reader_init(&reader, data, (size_t)len),
				 0);
		reports++;
	}
	assert_true(packets >= 30);
	assert_int_equal(packets, w->log->total[1].packets);
	assert_int_equal(w->log->total[1].bytes, packets * (12 + PAYLOAD));
	assert_true(reports > 1);
	assert_string_equal(w->log->total[1].srtp_suite,
			    "AES_CM_128_HMAC_SHA1_80");
}

static void test_rtcp_of_the_peer(void **state)
{
	struct world *w = *state;
	/* an RR without blocks, then the same replayed, then unencrypted */
	uint8_t data[64] = {0x80, 201, 0, 1, 0x11, 0x22, 0x33, 0x44};
	uint8_t plain[8];
	int len = 8;

	memcpy(plain, data, sizeof(plain));
	settle(w, 0, MEDIA_RECVONLY);
	assert_int_equal(srtp_protect_rtcp(w->tx, data, &len),
			 srtp_err_status_ok);
	peer_send(&w->rtcp, &w->to_rtcp, plain, sizeof(plain));
	rig_run_ms(&w->rig, 150);
	assert_int_equal(w->log->first_rtcp, 0);
	peer_send(&w->rtcp, &w->to_rtcp, data, (size_t)len);
	peer_send(&w->rtcp, &w->to_rtcp, data, (size_t)len);
	assert_int_equal(stopped_in(w)->srtp_replayed, 1);
	assert_int_equal(w->log->first_rtcp, 1);
}

static void test_wrong_key_and_plain(void **state)
{
	struct world *w = *state;
	const struct stream_total *t;
	struct media_evidence e;

	new_peer_key(w, 9);
	settle(w, 0, MEDIA_RECVONLY);
	peer_sends(w, 1, 50);
	for (uint16_t i = 0; i < 30; i++)
		peer_send_rtp(&w->rtp, &w->to, SSRC, i);
	t = stopped_in(w);
	assert_int_equal(t->packets, 0);
	assert_int_equal(t->srtp_refused, 80);
	assert_int_equal(refused_in_seconds(w), 80);
	media_engine_evidence(w->rig.engine, &e);
	assert_int_equal(e.srtp_refused, 80);
	assert_int_equal(e.packets_received, 80);
}

/* A replay is a duplicate made by the network, and is counted as such. */
static void test_replays_and_forgeries(void **state)
{
	struct world *w = *state;
	const struct stream_total *t;
	uint8_t data[512];
	int len;

	settle(w, 0, MEDIA_RECVONLY);
	for (uint16_t i = 0; i < 40; i++) {
		len = protected(w, data, i);
		peer_send(&w->rtp, &w->to, data, (size_t)len);
		if (i % 4 == 0) /* a replay */
			peer_send(&w->rtp, &w->to, data, (size_t)len);
		data[20] ^= 1; /* forged */
		peer_send(&w->rtp, &w->to, data, (size_t)len);
		data[20] ^= 1;
		peer_send(&w->rtp, &w->to, data, (size_t)len - 1);
	}
	t = stopped_in(w);
	assert_int_equal(t->packets, 50);
	assert_int_equal(t->received, 40);
	assert_int_equal(t->duplicates, 10);
	assert_int_equal(t->lost, 0);
	assert_int_equal(t->srtp_replayed, 10);
	assert_int_equal(t->srtp_refused, 80);
}

static void test_hostile_sizes(void **state)
{
	static uint8_t data[65507];
	struct world *w = *state;
	const struct stream_total *t;
	struct media_evidence e;

	settle(w, 0, MEDIA_RECVONLY);
	packet_make(data, 1);
	for (size_t n = 1; n < 40; n++)
		peer_send(&w->rtp, &w->to, data, n);
	data[0] = 0x9f; /* claims 15 CSRCs and an extension that do not exist */
	data[12 + 60 + 2] = 0xff;
	for (size_t n = 12; n < 200; n++)
		peer_send(&w->rtp, &w->to, data, n);
	peer_send(&w->rtp, &w->to, data, sizeof(data));
	data[1] = 200;
	for (size_t n = 1; n < 40; n++)
		peer_send(&w->rtcp, &w->to_rtcp, data, n);
	peer_send(&w->rtcp, &w->to_rtcp, data, sizeof(data));
	peer_sends(w, 1, 10);
	t = stopped_in(w);
	media_engine_evidence(w->rig.engine, &e);
	assert_int_equal(t->packets, 10);
	assert_int_equal(t->lost, 0);
	/* each is counted once, under one name */
	assert_int_equal(e.invalid_packets + e.srtp_refused,
			 39 + 188 + 1 + 39 + 1);
}

/*
 * New keys in both directions. The peer changes to its new key when it answers,
 * before we know it; its last packets with the old key arrive late.
 */
static void test_rekey_loses_nothing(void **state)
{
	struct world *w = *state;
	const struct stream_total *t;
	uint8_t late[512];
	uint8_t data[2048];
	struct media_crypto before;
	uint64_t opened = 0;
	srtp_t rx_new;
	int late_len;
	int len;

	settle(w, 0, MEDIA_SENDRECV);
	peer_sends(w, 100, 50);
	rig_run_ms(&w->rig, 300);
	before = media_session_local(w->session)->crypto[0];
	late_len = protected(w, late, 150);
	assert_int_equal(media_session_rekey(w->session), 0);
	assert_memory_not_equal(&before,
				&media_session_local(w->session)->crypto[0],
				sizeof(before));
	rx_new = peer_key(&media_session_local(w->session)->crypto[0], false);
	rig_run_ms(&w->rig, 50);
	new_peer_key(w, 1);
	peer_sends(w, 151, 20);
	rig_run_ms(&w->rig, 50);
	settle(w, 1, MEDIA_SENDRECV);
	rig_run_ms(&w->rig, 100);
	peer_send(&w->rtp, &w->to, late, (size_t)late_len);
	peer_sends(w, 171, 30);
	rig_run_ms(&w->rig, 300);
	t = stopped_in(w);
	assert_int_equal(t->packets, 101);
	assert_int_equal(t->lost, 0);
	assert_int_equal(t->reordered, 1);
	assert_int_equal(t->srtp_refused, 0);
	/* what we send can be decrypted with the old or the new key */
	while ((len = peer_receive(&w->rtp, data, sizeof(data))) >= 0) {
		uint8_t copy[2048];
		int copy_len = len;

		memcpy(copy, data, (size_t)len);
		if (srtp_unprotect(w->rx, copy, &copy_len) !=
		    srtp_err_status_ok)
			assert_int_equal(srtp_unprotect(rx_new, data, &len),
					 srtp_err_status_ok);
		opened++;
	}
	assert_int_equal(opened, w->log->total[1].packets);
	srtp_dealloc(rx_new);
}

/* One port of a session, driven by hand without an engine. */
struct port {
	enum media_srtp_library library;
	struct rx_session *session;
	struct rx_socket *socket;
	struct session_keys keys;
};

static void port_open(struct port *p, const struct world *w)
{
	memset(p, 0, sizeof(*p));
	p->library = w->library;
	p->session = aligned_alloc(PREFETCH_LINE, sizeof(*p->session));
	assert_non_null(p->session);
	memset(p->session, 0, sizeof(*p->session));
	p->socket = &p->session->sockets[SOCKET_RTP];
	p->socket->session = p->session;
}

static void port_close(struct port *p)
{
	session_keys_release(&p->keys);
	free(p->session);
}

/* @param crypto  NULL: the key is not known yet */
static void port_apply(struct port *p, const struct media_crypto *crypto,
		       int64_t now_ns)
{
	struct rx_command c = {.encrypted = true};

	if (!crypto)
		session_keys_none(&p->keys);
	else
		assert_int_equal(session_keys_get(&c.keys[SOCKET_RTP], &p->keys,
						  crypto, p->library),
				 0);
	rx_secure_apply(p->session, &c, now_ns);
}

/* @param generation  -1: the key is not known yet */
static void port_settle(struct port *p, int generation, int64_t now_ns)
{
	const struct media_crypto crypto = crypto_make((unsigned)generation);

	port_apply(p, generation < 0 ? NULL : &crypto, now_ns);
}

/*
 * Process a packet of the peer.
 * @return as rx_secure_open()
 */
static int port_take(struct port *p, srtp_t tx, uint16_t seq, int64_t now_ns)
{
	uint8_t data[512] = {0x80, 0, (uint8_t)(seq >> 8), (uint8_t)seq};
	uint8_t copy[512];
	int len = RTP_HEADER_BYTES + PAYLOAD;
	size_t bytes;
	int err;

	assert_int_equal(srtp_protect(tx, data, &len), srtp_err_status_ok);
	memcpy(copy, data, sizeof(copy));
	bytes = (size_t)len;
	err = rx_secure_open(p->socket, data, &bytes, false, now_ns);
	if (err == 0)
		assert_int_equal(bytes, RTP_HEADER_BYTES + PAYLOAD);
	if (err == -ENOKEY) /* to be retried */
		assert_memory_equal(data, copy, (size_t)len);
	return err;
}

/*
 * During a new handshake the peer continues with the previous key, and for a
 * while after it.
 */
static void test_key_before_while_none_is_known(void **state)
{
	const struct media_crypto before = crypto_make(0);
	const struct media_crypto after = crypto_make(1);
	srtp_t tx = peer_key(&before, true);
	srtp_t tx_new = peer_key(&after, true);
	int64_t now = 100 * NS_PER_S;
	struct port p;

	port_open(&p, *state);
	assert_int_equal(port_take(&p, tx, 1, now), -ENOKEY);
	port_settle(&p, 0, now);
	assert_int_equal(port_take(&p, tx, 2, now), 0);
	port_settle(&p, -1, now);
	now += 10 * NS_PER_S;
	assert_int_equal(port_take(&p, tx, 3, now), 0);
	assert_int_equal(port_take(&p, tx_new, 3, now), -ENOKEY);
	port_settle(&p, 1, now);
	assert_int_equal(port_take(&p, tx, 4, now), 0);
	assert_int_equal(port_take(&p, tx_new, 4, now), 0);
	now += KEY_REPLACED_NS;
	assert_int_equal(port_take(&p, tx, 5, now), -EACCES);
	assert_int_equal(port_take(&p, tx_new, 5, now), 0);
	port_close(&p);
	srtp_dealloc(tx);
	srtp_dealloc(tx_new);
}

/*
 * Hold, resume and re-INVITE within a millisecond, each with a new key, while
 * packets of all previous keys are in flight.
 */
static void test_keys_replaced_at_once(void **state)
{
	enum {
		KEYS = KEYS_REPLACED_MAX + 2
	};
	int64_t now = 100 * NS_PER_S;
	srtp_t tx[KEYS];
	struct port p;

	port_open(&p, *state);
	for (unsigned i = 0; i < KEYS; i++) {
		const struct media_crypto c = crypto_make(i);

		tx[i] = peer_key(&c, true);
		port_settle(&p, (int)i, now);
		now += NS_PER_MS / 5;
	}
	assert_int_equal(port_take(&p, tx[0], 1, now), -EACCES);
	for (uint16_t i = 1; i < KEYS; i++)
		assert_int_equal(port_take(&p, tx[i], i, now), 0);
	now += KEY_REPLACED_NS;
	for (uint16_t i = 1; i < KEYS - 1; i++)
		assert_int_equal(port_take(&p, tx[i], i + KEYS, now), -EACCES);
	assert_int_equal(port_take(&p, tx[KEYS - 1], 2 * KEYS, now), 0);
	port_close(&p);
	for (unsigned i = 0; i < KEYS; i++)
		srtp_dealloc(tx[i]);
}

/*
 * An offer with new keys is refused: packets forged later are refused at once,
 * not queued.
 */
static void test_rekey_that_is_not_answered(void **state)
{
	const struct media_crypto forged = crypto_make(7);
	srtp_t tx = peer_key(&forged, true);
	struct port p;

	port_open(&p, *state);
	port_settle(&p, 0, NS_PER_S);
	assert_false(rx_secure_rekeying(p.socket, NS_PER_S));
	rx_secure_rekey(p.session, NS_PER_S);
	assert_true(rx_secure_rekeying(p.socket, 2 * NS_PER_S));
	assert_int_equal(port_take(&p, tx, 1, 2 * NS_PER_S), -EACCES);
	assert_false(rx_secure_rekeying(p.socket, NS_PER_S + REKEY_NS));
	port_settle(&p, 1, NS_PER_S);
	assert_false(rx_secure_rekeying(p.socket, 2 * NS_PER_S));
	port_close(&p);
	srtp_dealloc(tx);
}

/*
 * A packet with a payload of 4 bytes, as of telephone events, and a tag of 4 bytes
 * is too short for the suite of another key, but not for its own.
 */
static void test_short_packet_of_another_suite(void **state)
{
	const struct media_crypto longer = {
		.suite = MEDIA_SRTP_AEAD_AES_128_GCM};
	const struct media_crypto own = {
		.suite = MEDIA_SRTP_AES_CM_128_HMAC_SHA1_32};
	uint8_t sent[64] = {0x80}, data[64];
	size_t sent_bytes = RTP_HEADER_BYTES + 4, bytes;
	struct srtp_context *tx;
	struct port p;

	port_open(&p, *state);
	assert_int_equal(srtp_context_new(&tx, &own, p.library), 0);
	assert_int_equal(
		srtp_context_protect(tx, sent, &sent_bytes, sizeof(sent)), 0);
	memcpy(data, sent, sizeof(data));
	bytes = sent_bytes;
	port_apply(&p, &longer, 0);
	assert_int_equal(rx_secure_open(p.socket, data, &bytes, false, 0),
			 -EBADMSG);
	/* it waits for the next key, as a longer one would */
	rx_secure_rekey(p.session, 0);
	assert_int_equal(rx_secure_open(p.socket, data, &bytes, false, 0),
			 -EACCES);
	port_apply(&p, NULL, 0);
	assert_int_equal(rx_secure_open(p.socket, data, &bytes, false, 0),
			 -ENOKEY);
	assert_int_equal(bytes, sent_bytes);
	assert_memory_equal(data, sent, sizeof(data));
	/* its key has been replaced */
	port_apply(&p, &own, 0);
	port_apply(&p, &longer, 0);
	assert_int_equal(rx_secure_open(p.socket, data, &bytes, false, 0), 0);
	assert_int_equal(bytes, RTP_HEADER_BYTES + 4);
	port_close(&p);
	srtp_context_free(tx);
}

/* The peer offers a new key and uses it before it is in force here. */
static void test_new_key_of_the_peer(void **state)
{
	struct world *w = *state;
	const struct stream_total *t;

	settle(w, 0, MEDIA_RECVONLY);
	peer_sends(w, 100, 20);
	rig_run_ms(&w->rig, 50);
	assert_int_equal(media_session_expect_key(w->session), 0);
	new_peer_key(w, 1);
	peer_sends(w, 120, 20);
	rig_run_ms(&w->rig, 50);
	settle(w, 1, MEDIA_RECVONLY);
	peer_sends(w, 140, 20);
	t = stopped_in(w);
	assert_int_equal(t->packets, 60);
	assert_int_equal(t->lost, 0);
	assert_int_equal(t->srtp_refused, 0);
}

/*
 * The same keys negotiated again, as in a hold or a session refresh: the SRTP
 * state continues.
 */
static void test_settled_again_is_the_same_key(void **state)
{
	struct world *w = *state;
	const struct stream_total *t;

	settle(w, 0, MEDIA_RECVONLY);
	peer_sends(w, 65500, 100); /* the sequence number wraps */
	rig_run_ms(&w->rig, 100);
	settle(w, 0, MEDIA_RECVONLY);
	peer_sends(w, 64, 100);
	t = stopped_in(w);
	assert_int_equal(t->packets, 200);
	assert_int_equal(t->lost, 0);
	assert_int_equal(t->srtp_refused, 0);
}

/* Encryption was optional and the peer does not use it. */
static void test_settled_plain(void **state)
{
	struct world *w = *state;
	struct media_negotiated n =
		rig_settle(&w->rtp.at, &w->rtcp.at, MEDIA_RECVONLY);
	const struct stream_total *t;

	for (uint16_t i = 0; i < 10; i++)
		peer_send_rtp(&w->rtp, &w->to, SSRC, i);
	rig_run_ms(&w->rig, 50);
	assert_int_equal(media_session_apply(w->session, &n), 0);
	for (uint16_t i = 10; i < 20; i++)
		peer_send_rtp(&w->rtp, &w->to, SSRC, i);
	t = stopped_in(w);
	assert_int_equal(t->packets, 20);
	assert_int_equal(t->lost, 0);
	assert_null(t->srtp_suite);
	assert_false(w->log->second[0][0].has_srtp);
}

static void settle_plain(struct world *w)
{
	struct media_negotiated n =
		rig_settle(&w->rtp.at, &w->rtcp.at, MEDIA_SENDRECV);

	assert_int_equal(media_session_apply(w->session, &n), 0);
}

/*
 * Read the reports that have come.
 * @param ours  our key
 * @param last  in/out: index of the last SRTCP packet; each is larger than the
 *              one before
 * @return number of SRTCP packets
 */
static unsigned reports_read(struct world *w, const struct media_crypto *ours,
			     uint32_t *last)
{
	uint8_t data[2048];
	unsigned count = 0;
	int len;

	while ((len = peer_receive(&w->rtcp, data, sizeof(data))) >= 0) {
		/* it remembers nothing: plain RTCP is not authentic, an index
		 * used twice is */
		srtp_t rx = peer_key(ours, false);
		uint32_t index = be32(data + len - 14) & 0x7fffffff;
		bool authentic = srtp_unprotect_rtcp(rx, data, &len) ==
				 srtp_err_status_ok;

		srtp_dealloc(rx);
		if (!authentic)
			continue;
		assert_true(index > *last);
		*last = index;
		count++;
	}
	return count;
}

static void reports_await(struct world *w, const struct media_crypto *ours,
			  uint32_t *last, unsigned count)
{
	int64_t hang_ns = clock_mono_ns() + 60 * NS_PER_S;

	while (count > 0) {
		unsigned n;

		assert_true(clock_mono_ns() < hang_ns);
		rig_run_ms(&w->rig, 20);
		n = reports_read(w, ours, last);
		count -= n < count ? n : count;
	}
}

/*
 * Encrypted, plain, and encrypted again with the same key: no index is used
 * twice (RFC 3711 section 9.1).
 */
static void test_same_key_after_plain(void **state)
{
	struct world *w = *state;
	const struct media_crypto ours =
		media_session_local(w->session)->crypto[0];
	uint32_t last = 0;

	settle(w, 0, MEDIA_SENDRECV);
	reports_await(w, &ours, &last, 2);
	settle_plain(w);
	rig_run_ms(&w->rig, 50);
	settle(w, 0, MEDIA_SENDRECV);
	reports_await(w, &ours, &last, 2);
	stopped_in(w);
	assert_true(reports_read(w, &ours, &last) > 0);
}

/* More packets than may wait for a key: the oldest are dropped and counted. */
static void test_no_key_comes(void **state)
{
	struct world *w = *state;
	struct media_evidence e;

	for (uint16_t i = 0; i < 300; i++) {
		peer_send_rtp(&w->rtp, &w->to, SSRC, i);
		if (i % 50 == 0)
			rig_run_ms(&w->rig, 10);
	}
	rig_run_ms(&w->rig, 100);
	rig_stop(&w->rig, 1);
	media_engine_evidence(w->rig.engine, &e);
	assert_int_equal(e.srtp_unkeyed, 300);
	assert_int_equal(e.packets_received, 300);
}

static void test_rekey_needs_sdes(void **state)
{
	struct world *w = *state;
	struct rig_log *plain = rig_session(&w->rig, 1);

	assert_int_equal(media_session_rekey(plain->session), -EINVAL);
	media_session_free(plain->session);
	media_session_free(w->session);
}

#define TEST(name) SRTP_BOTH(name, world_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_received_exactly),
		TEST(test_sent_is_protected),
		TEST(test_rtcp_of_the_peer),
		TEST(test_wrong_key_and_plain),
		TEST(test_replays_and_forgeries),
		TEST(test_hostile_sizes),
		TEST(test_rekey_loses_nothing),
		TEST(test_key_before_while_none_is_known),
		TEST(test_keys_replaced_at_once),
		TEST(test_rekey_that_is_not_answered),
		TEST(test_short_packet_of_another_suite),
		TEST(test_new_key_of_the_peer),
		TEST(test_settled_again_is_the_same_key),
		TEST(test_settled_plain),
		TEST(test_same_key_after_plain),
		TEST(test_no_key_comes),
		TEST(test_rekey_needs_sdes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
