/*
 * SRTP compared with direct calls of libsrtp2, and with itself: which packets
 * must be refused. Each test runs with both implementations.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "media/security/srtp_context.h"
#include "media/security/srtp_keys.h"
#include "media/security/srtp_libsrtp2.h"
#include "media/security/srtp_source.h"
#include "srtp_both.h"

#include <srtp2/srtp.h>

#define ROOM 512

static struct media_crypto crypto_make(enum media_srtp_suite suite,
				       unsigned seed)
{
	struct media_crypto c = {.tag = 1, .suite = suite};

	for (size_t i = 0; i < sizeof(c.key); i++)
		c.key[i] = (uint8_t)(seed * 37 + i * 11 + (i * i >> 3));
	return c;
}

static size_t rtp_make(uint8_t *dst, uint16_t seq, uint32_t ssrc,
		       size_t payload)
{
	memset(dst, 0, 12);
	dst[0] = 0x80;
	dst[2] = (uint8_t)(seq >> 8);
	dst[3] = (uint8_t)seq;
	for (int i = 0; i < 4; i++)
		dst[8 + i] = (uint8_t)(ssrc >> (24 - 8 * i));
	for (size_t i = 0; i < payload; i++)
		dst[12 + i] = (uint8_t)(seq + i);
	return 12 + payload;
}

/* ---- libsrtp2 ---- */

static srtp_t reference(struct media_crypto *c, bool outgoing)
{
	srtp_policy_t p;
	srtp_t ret;

	memset(&p, 0, sizeof(p));
	srtp_crypto_policy_set_rtcp_default(&p.rtcp);
	switch (c->suite) {
	case MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80:
		srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&p.rtp);
		break;
	case MEDIA_SRTP_AES_CM_128_HMAC_SHA1_32:
		srtp_crypto_policy_set_aes_cm_128_hmac_sha1_32(&p.rtp);
		break;
	case MEDIA_SRTP_AES_256_CM_HMAC_SHA1_80:
		srtp_crypto_policy_set_aes_cm_256_hmac_sha1_80(&p.rtp);
		srtp_crypto_policy_set_aes_cm_256_hmac_sha1_80(&p.rtcp);
		break;
	case MEDIA_SRTP_AES_256_CM_HMAC_SHA1_32:
		srtp_crypto_policy_set_aes_cm_256_hmac_sha1_32(&p.rtp);
		srtp_crypto_policy_set_aes_cm_256_hmac_sha1_80(&p.rtcp);
		break;
	case MEDIA_SRTP_AEAD_AES_128_GCM:
		srtp_crypto_policy_set_aes_gcm_128_16_auth(&p.rtp);
		srtp_crypto_policy_set_aes_gcm_128_16_auth(&p.rtcp);
		break;
	case MEDIA_SRTP_AEAD_AES_256_GCM:
	case MEDIA_SRTP_SUITE_COUNT:
	default:
		srtp_crypto_policy_set_aes_gcm_256_16_auth(&p.rtp);
		srtp_crypto_policy_set_aes_gcm_256_16_auth(&p.rtcp);
		break;
	}
	p.ssrc.type = outgoing ? ssrc_any_outbound : ssrc_any_inbound;
	p.key = c->key;
	p.window_size = 128;
	assert_int_equal(srtp_create(&ret, &p), srtp_err_status_ok);
	return ret;
}

/* Headers with CSRCs and an extension too; the rollover counter advances. */
static size_t odd_packet(uint8_t *dst, uint32_t n)
{
	size_t bytes =
		rtp_make(dst, (uint16_t)(65000 + n), 0xfedc0001, n % 200 + 20);

	if (n % 3 == 1)
		dst[0] |= 1 + n % 4;
	if (n % 5 == 1) {
		size_t at = 12 + 4u * (dst[0] & 15);

		dst[0] |= 0x10;
		memcpy(dst + at, "\xbe\xde\0\0", 4);
	}
	return bytes;
}

static void rtp_compare(struct media_crypto *c, uint32_t n,
			struct srtp_context *contexts[2], srtp_t peers[2])
{
	uint8_t plain[ROOM];
	uint8_t ours[ROOM];
	uint8_t theirs[ROOM];
	size_t bytes = odd_packet(plain, n);
	size_t ours_bytes = bytes;
	int len = (int)bytes;

	memcpy(ours, plain, bytes);
	memcpy(theirs, plain, bytes);
	assert_int_equal(
		srtp_context_protect(contexts[0], ours, &ours_bytes, ROOM), 0);
	assert_int_equal(srtp_protect(peers[0], theirs, &len),
			 srtp_err_status_ok);
	assert_int_equal(ours_bytes, len);
	assert_memory_equal(ours, theirs, ours_bytes);
	assert_int_equal(ours_bytes,
			 bytes + srtp_suite_info(c->suite)->tag_bytes);
	assert_int_equal(srtp_unprotect(peers[1], ours, &len),
			 srtp_err_status_ok);
	assert_int_equal(
		srtp_context_unprotect(contexts[1], theirs, &ours_bytes), 0);
	assert_int_equal(ours_bytes, bytes);
	assert_memory_equal(theirs, plain, bytes);
}

static void rtcp_compare(uint32_t n, struct srtp_context *contexts[2],
			 srtp_t peers[2])
{
	uint8_t plain[ROOM] = {0x80, 200, 0, 6};
	uint8_t ours[ROOM];
	uint8_t theirs[ROOM];
	size_t bytes = 28;
	int len = 28;

	memset(plain + 4, (int)n, 24);
	memcpy(ours, plain, bytes);
	memcpy(theirs, plain, bytes);
	assert_int_equal(
		srtp_context_protect_rtcp(contexts[0], ours, &bytes, ROOM), 0);
	assert_int_equal(srtp_protect_rtcp(peers[0], theirs, &len),
			 srtp_err_status_ok);
	assert_int_equal(bytes, len);
	assert_memory_equal(ours, theirs, bytes);
	assert_int_equal(srtp_unprotect_rtcp(peers[1], ours, &len),
			 srtp_err_status_ok);
	assert_int_equal(
		srtp_context_unprotect_rtcp(contexts[1], theirs, &bytes), 0);
	assert_int_equal(bytes, 28);
	assert_memory_equal(theirs, plain, 28);
}

static void test_same_as_libsrtp2(void **state)
{
	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++) {
		struct media_crypto c =
			crypto_make((enum media_srtp_suite)i, i);
		struct srtp_context *contexts[2];
		srtp_t peers[2] = {reference(&c, true), reference(&c, false)};

		for (int k = 0; k < 2; k++)
			assert_int_equal(
				srtp_context_new(&contexts[k], &c,
						 srtp_library_of(state)),
				0);
		/* twice through all sequence numbers */
		for (uint32_t n = 0; n < 1000; n++)
			rtp_compare(&c, n, contexts, peers);
		for (uint32_t n = 0; n < 20; n++)
			rtcp_compare(n, contexts, peers);
		for (int k = 0; k < 2; k++) {
			srtp_context_free(contexts[k]);
			srtp_dealloc(peers[k]);
		}
	}
}

/* ---- packets that must be refused ---- */

struct pair {
	struct srtp_context *tx;
	struct srtp_context *rx;
};

static struct pair pair_make(void **state, enum media_srtp_suite suite,
			     unsigned seed)
{
	enum media_srtp_library library = srtp_library_of(state);
	struct media_crypto c = crypto_make(suite, seed);
	struct pair p;

	assert_int_equal(srtp_context_new(&p.tx, &c, library), 0);
	assert_int_equal(srtp_context_new(&p.rx, &c, library), 0);
	return p;
}

static void pair_free(struct pair *p)
{
	srtp_context_free(p->tx);
	srtp_context_free(p->rx);
}

static size_t sent(struct pair *p, uint8_t *packet, uint16_t seq)
{
	size_t bytes = rtp_make(packet, seq, 7, 40);

	assert_int_equal(srtp_context_protect(p->tx, packet, &bytes, ROOM), 0);
	return bytes;
}

static int received(struct pair *p, const uint8_t *packet, size_t bytes)
{
	uint8_t copy[ROOM];

	memcpy(copy, packet, bytes);
	return srtp_context_unprotect(p->rx, copy, &bytes);
}

static void test_every_bit_counts(void **state)
{
	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++) {
		struct pair p = pair_make(state, (enum media_srtp_suite)i, 3);
		uint8_t packet[ROOM];
		size_t bytes = sent(&p, packet, 100);

		for (size_t bit = 0; bit < 8 * bytes; bit++) {
			int err;

			packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
			err = received(&p, packet, bytes);
			assert_true(err == -EACCES || err == -EBADMSG);
			packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		for (size_t cut = 0; cut < bytes; cut++)
			assert_true(received(&p, packet, cut) < 0);
		/* none of them changed any state */
		assert_int_equal(received(&p, packet, bytes), 0);
		pair_free(&p);
	}
}

static void test_wrong_key(void **state)
{
	struct pair a = pair_make(state, MEDIA_SRTP_AEAD_AES_128_GCM, 1);
	struct pair b = pair_make(state, MEDIA_SRTP_AEAD_AES_128_GCM, 2);
	uint8_t packet[ROOM];
	for (uint16_t seq = 0; seq < 20; seq++) {
		size_t bytes = sent(&a, packet, seq);

		assert_int_equal(received(&b, packet, bytes), -EACCES);
	}
	pair_free(&a);
	pair_free(&b);
}

/*
 * Replays are distinguished from forgeries, within the replay window and before
 * it.
 */
static void test_replays(void **state)
{
	static uint8_t packets[3000][ROOM];
	struct pair p = pair_make(state, MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80, 4);
	size_t bytes = 0;
	for (uint16_t i = 0; i < 3000; i++)
		bytes = sent(&p, packets[i], (uint16_t)(64000 + i));
	assert_int_equal(received(&p, packets[0], bytes), 0);
	assert_int_equal(received(&p, packets[0], bytes), -EALREADY);
	/* out of order, across the wrap of the sequence number */
	for (int i = 8; i < 2000; i++) {
		int at = i ^ 7;

		assert_int_equal(received(&p, packets[at], bytes), 0);
		assert_int_equal(received(&p, packets[at], bytes), -EALREADY);
	}
	/* late packets that the window still marks as not received */
	assert_int_equal(received(&p, packets[2500], bytes), 0);
	assert_int_equal(received(&p, packets[1], bytes), -EALREADY);
	assert_int_equal(received(&p, packets[2100], bytes), 0);
	assert_int_equal(received(&p, packets[2100], bytes), -EALREADY);
	assert_int_equal(received(&p, packets[2999], bytes), 0);
	assert_int_equal(received(&p, packets[2999 - SRTP_WINDOW], bytes),
			 -EALREADY);
	pair_free(&p);
}

static void test_rtcp_replay_and_forgery(void **state)
{
	struct pair p = pair_make(state, MEDIA_SRTP_AES_256_CM_HMAC_SHA1_32, 4);
	uint8_t packet[ROOM] = {0x80, 201, 0, 1, 1, 2, 3, 4};
	uint8_t copy[ROOM];
	size_t bytes = 8;
	size_t n;
	assert_int_equal(srtp_context_protect_rtcp(p.tx, packet, &bytes, 20),
			 -ENOBUFS);
	assert_int_equal(srtp_context_protect_rtcp(p.tx, packet, &bytes, ROOM),
			 0);
	for (size_t bit = 0; bit < 8 * bytes; bit++) {
		int err;

		memcpy(copy, packet, bytes);
		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		n = bytes;
		err = srtp_context_unprotect_rtcp(p.rx, copy, &n);
		assert_true(err == -EACCES || err == -EBADMSG);
	}
	for (n = 0; n < bytes;) {
		size_t cut = n++;

		memcpy(copy, packet, cut);
		assert_true(srtp_context_unprotect_rtcp(p.rx, copy, &cut) < 0);
	}
	memcpy(copy, packet, n = bytes);
	assert_int_equal(srtp_context_unprotect_rtcp(p.rx, copy, &n), 0);
	assert_int_equal(n, 8);
	memcpy(copy, packet, n = bytes);
	assert_int_equal(srtp_context_unprotect_rtcp(p.rx, copy, &n),
			 -EALREADY);
	pair_free(&p);
}

/* More sources than slots: each is received, and the oldest slot is reused. */
static void test_many_sources(void **state)
{
	struct pair p = pair_make(state, MEDIA_SRTP_AEAD_AES_256_GCM, 9);
	uint8_t packet[ROOM];
	for (uint16_t seq = 0; seq < 4; seq++) {
		for (uint32_t ssrc = 1; ssrc <= 3 * SRTP_SOURCES_MAX; ssrc++) {
			size_t bytes = rtp_make(packet, seq, ssrc, 20);

			assert_int_equal(srtp_context_protect(p.tx, packet,
							      &bytes, ROOM),
					 0);
			assert_int_equal(
				srtp_context_unprotect(p.rx, packet, &bytes),
				0);
		}
	}
	pair_free(&p);
}

/*
 * The rollover counter continues under a new key. A peer that restarts it at 0
 * is understood too.
 */
static void test_continue_after_new_key(void **state)
{
	for (int again = 0; again < 2; again++) {
		struct pair a =
			pair_make(state, MEDIA_SRTP_AEAD_AES_128_GCM, 1);
		struct pair b =
			pair_make(state, MEDIA_SRTP_AEAD_AES_128_GCM, 2);
		uint8_t packet[ROOM];
		size_t bytes;

		for (uint32_t i = 0; i < 300; i++) {
			bytes = sent(&a, packet, (uint16_t)(65400 + i));
			assert_int_equal(received(&a, packet, bytes), 0);
		}
		if (!again)
			srtp_context_continue(b.tx, a.tx);
		srtp_context_continue(b.rx, a.rx);
		for (uint32_t i = 300; i < 400; i++) {
			bytes = sent(&b, packet, (uint16_t)(65400 + i));
			assert_int_equal(received(&b, packet, bytes), 0);
		}
		pair_free(&a);
		pair_free(&b);
	}
}

/*
 * The sequence number wraps at the first packet of a new key: the rollover
 * counter is one more than under the previous key, or 0 if the peer restarts
 * it.
 */
static void test_new_key_at_the_wrap(void **state)
{
	for (int again = 0; again < 2; again++) {
		struct pair a =
			pair_make(state, MEDIA_SRTP_AEAD_AES_256_GCM, 1);
		struct pair b =
			pair_make(state, MEDIA_SRTP_AEAD_AES_256_GCM, 2);
		uint8_t packet[ROOM];
		size_t bytes;

		bytes = sent(&a, packet, 65534);
		assert_int_equal(received(&a, packet, bytes), 0);
		if (!again)
			srtp_context_continue(b.tx, a.tx);
		srtp_context_continue(b.rx, a.rx);
		for (uint16_t seq = 3; seq < 10; seq++) {
			bytes = sent(&b, packet, seq);
			assert_int_equal(received(&b, packet, bytes), 0);
		}
		/* the previous key still decrypts late packets */
		bytes = sent(&a, packet, 65535);
		if (again)
			assert_int_equal(received(&a, packet, bytes), 0);
		pair_free(&a);
		pair_free(&b);
	}
}

/*
 * With its new key a peer begins at another sequence number, and its first two packets
 * arrive in the wrong order. The roll-over counter of the second one is estimated from
 * the first one with that key: the last one with the previous key is more than 32768
 * numbers away, which would give another counter.
 */
static void test_new_key_and_another_number(void **state)
{
	struct pair a = pair_make(state, MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80, 1);
	struct pair b = pair_make(state, MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80, 2);
	uint8_t packet[ROOM], late[ROOM];
	size_t bytes, late_bytes;

	bytes = sent(&a, packet, 0x8003);
	assert_int_equal(received(&a, packet, bytes), 0);
	srtp_context_continue(b.rx, a.rx);
	late_bytes = sent(&b, late, 1);
	bytes = sent(&b, packet, 8);
	assert_int_equal(received(&b, packet, bytes), 0);
	assert_int_equal(received(&b, late, late_bytes), 0);
	pair_free(&a);
	pair_free(&b);
}

/* RFC 3711 3.4: the SRTCP index continues under a new key. */
static void test_rtcp_index_continues(void **state)
{
	struct pair a = pair_make(state, MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80, 1);
	struct pair b = pair_make(state, MEDIA_SRTP_AEAD_AES_128_GCM, 2);

	for (uint8_t i = 1; i <= 10; i++) {
		struct pair *p = i <= 5 ? &a : &b;
		uint8_t packet[ROOM] = {0x80, 201, 0, 1, 1, 2, 3, 4};
		size_t bytes = 8;
		size_t at = i <= 5 ? 8 : 8 + 16; /* after the GCM tag */

		if (i == 6) {
			srtp_context_continue(b.tx, a.tx);
			srtp_context_continue(b.rx, a.rx);
		}
		assert_int_equal(
			srtp_context_protect_rtcp(p->tx, packet, &bytes, ROOM),
			0);
		assert_int_equal(packet[at], 0x80); /* encrypted */
		assert_int_equal(packet[at + 3], i);
		assert_int_equal(
			srtp_context_unprotect_rtcp(p->rx, packet, &bytes), 0);
	}
	pair_free(&a);
	pair_free(&b);
}

/*
 * A packet with the sequence number of a received one is a replay only if it is
 * authentic.
 */
static void test_forged_replay(void **state)
{
	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++) {
		struct pair p = pair_make(state, (enum media_srtp_suite)i, 5);
		uint8_t packet[ROOM];
		uint8_t copy[ROOM];
		size_t bytes = 0;
		size_t n;

		for (uint16_t k = 0; k < 10; k++) {
			bytes = sent(&p, packet, (uint16_t)(65530 + k));
			assert_int_equal(received(&p, packet, bytes), 0);
		}
		/* decrypted nevertheless: it is counted as a duplicate */
		memcpy(copy, packet, n = bytes);
		assert_int_equal(srtp_context_unprotect(p.rx, copy, &n),
				 -EALREADY);
		assert_int_equal(n, 12 + 40);
		for (size_t k = 0; k < 40; k++)
			assert_int_equal(copy[12 + k], 3 + k);
		packet[30] ^= 1;
		assert_int_equal(received(&p, packet, bytes), -EACCES);
		pair_free(&p);
	}
}

/*
 * A source that lost its slot starts again, here and in the other
 * implementation.
 */
static void test_source_that_returns(void **state)
{
	struct pair ours = pair_make(state, MEDIA_SRTP_AEAD_AES_128_GCM, 3);
	enum media_srtp_library builtin = MEDIA_SRTP_LIBRARY_BUILTIN;
	void *other = &builtin;
	struct pair theirs = pair_make(&other, MEDIA_SRTP_AEAD_AES_128_GCM, 3);
	struct pair ways[2] = {{ours.tx, theirs.rx}, {theirs.tx, ours.rx}};
	uint8_t packet[ROOM];
	size_t bytes;

	for (int way = 0; way < 2; way++) {
		struct pair *p = &ways[way];

		for (uint16_t k = 0; k < 20; k++) { /* the sequence number
						     * wraps */
			bytes = sent(p, packet, (uint16_t)(65530 + k));
			assert_int_equal(received(p, packet, bytes), 0);
		}
		for (uint32_t k = 0; k < SRTP_SOURCES_MAX; k++) {
			bytes = rtp_make(packet, 1, 100 + k, 40);
			assert_int_equal(srtp_context_protect(p->tx, packet,
							      &bytes, ROOM),
					 0);
			assert_int_equal(received(p, packet, bytes), 0);
		}
		bytes = sent(p, packet, 100);
		assert_int_equal(received(p, packet, bytes), 0);
	}
	pair_free(&ours);
	pair_free(&theirs);
}

static void test_no_payload(void **state)
{
	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++) {
		struct pair p = pair_make(state, (enum media_srtp_suite)i, 6);
		uint8_t packet[ROOM];
		size_t bytes = rtp_make(packet, 7, 9, 0);

		assert_int_equal(
			srtp_context_protect(p.tx, packet, &bytes, ROOM), 0);
		assert_int_equal(srtp_context_unprotect(p.rx, packet, &bytes),
				 0);
		assert_int_equal(bytes, 12);
		pair_free(&p);
	}
}

static void test_bad_arguments(void **state)
{
	struct media_crypto c = {.suite = MEDIA_SRTP_SUITE_COUNT};
	struct srtp_context *ctx = NULL;
	struct pair p = pair_make(state, MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80, 1);
	enum media_srtp_suite suite;
	uint8_t packet[ROOM];
	size_t bytes = rtp_make(packet, 1, 1, 20);
	assert_int_equal(srtp_context_new(&ctx, &c, srtp_library_of(state)),
			 -EINVAL);
	assert_null(ctx);
	assert_null(srtp_suite_info(MEDIA_SRTP_SUITE_COUNT));
	assert_int_equal(srtp_context_protect(p.tx, packet, &bytes, bytes + 9),
			 -ENOBUFS);
	bytes = 11;
	assert_int_equal(srtp_context_protect(p.tx, packet, &bytes, ROOM),
			 -EBADMSG);
	assert_int_equal(media_srtp_suite_by_name(&suite, "aead_aes_256_gcm"),
			 0);
	assert_int_equal(suite, MEDIA_SRTP_AEAD_AES_256_GCM);
	assert_int_equal(
		media_srtp_suite_by_name(&suite, "F8_128_HMAC_SHA1_80"),
		-ENOENT);
	pair_free(&p);
}

static int libsrtp2_open(void **state)
{
	const char *suite;
	(void)state;

	return srtp_libsrtp2_init(&suite);
}

static int libsrtp2_close(void **state)
{
	(void)state;
	return srtp_shutdown() == srtp_err_status_ok ? 0 : -1;
}

#define TEST(name) SRTP_BOTH(name, NULL, NULL)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_same_as_libsrtp2),
		TEST(test_every_bit_counts),
		TEST(test_wrong_key),
		TEST(test_replays),
		TEST(test_rtcp_replay_and_forgery),
		TEST(test_many_sources),
		TEST(test_continue_after_new_key),
		TEST(test_new_key_at_the_wrap),
		TEST(test_new_key_and_another_number),
		TEST(test_rtcp_index_continues),
		TEST(test_forged_replay),
		TEST(test_source_that_returns),
		TEST(test_no_payload),
		TEST(test_bad_arguments),
	};

	return cmocka_run_group_tests(tests, libsrtp2_open, libsrtp2_close);
}
