/* Our SRTP against the published vectors and against libsrtp2. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "media/srtp_keys.h"
#include "media/srtp_source.h"

#include <srtp2/srtp.h>

#define ROOM 512

static size_t from_hex(uint8_t *dst, const char *hex)
{
	size_t n = 0;
	unsigned byte;

	while (sscanf(hex + 2 * n, "%2x", &byte) == 1)
		dst[n++] = (uint8_t)byte;
	return n;
}

static void assert_bytes(const uint8_t *at, size_t bytes, const char *hex)
{
	uint8_t want[ROOM];

	assert_int_equal(bytes, from_hex(want, hex));
	assert_memory_equal(at, want, bytes);
}

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

/* ---- vectors ---- */

/* RFC 3711 B.2: the keystream, seen through a payload of zeros */
static void test_rfc3711_keystream(void **state)
{
	struct srtp_session_keys keys = {0};
	struct srtp_context *ctx;
	uint8_t packet[ROOM] = {0x80};
	size_t bytes = 12 + 48;
	(void)state;

	from_hex(keys.rtp.cipher, "2b7e151628aed2a6abf7158809cf4f3c");
	from_hex(keys.rtp.salt, "f0f1f2f3f4f5f6f7f8f9fafbfcfd");
	assert_int_equal(
		srtp_context_from_keys(&ctx, MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80,
				       &keys),
		0);
	assert_int_equal(
		srtp_context_protect(ctx, packet, &bytes, sizeof(packet)), 0);
	assert_bytes(packet + 12, 48,
		     "e03ead0935c95e80e166b16dd92b4eb4"
		     "d23513162b02d0f72a43a2fe4a5f97ab"
		     "41e95b3bb0a2e8dd477901e4fca894c0");
	srtp_context_free(ctx);
}

/* RFC 3711 B.3 */
static void test_rfc3711_key_derivation(void **state)
{
	struct media_crypto c = {.suite = MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80};
	struct srtp_session_keys keys;
	(void)state;

	from_hex(c.key, "e1f97a0d3e018be0d64fa32c06de4139"
			"0ec675ad498afeebb6960b3aabe6");
	assert_int_equal(srtp_keys_derive(&keys, &c), 0);
	assert_bytes(keys.rtp.cipher, 16, "c61e7a93744f39ee10734afe3ff7a087");
	assert_bytes(keys.rtp.salt, 14, "30cbbc08863d8c85d49db34a9ae1");
	assert_bytes(keys.rtp.auth, 20,
		     "cebe321f6ff7716b6fd4ab49af256a156d38baa4");
}

struct vector {
	enum media_srtp_suite suite;
	const char *plain;
	const char *wire;
};

static const char rtp_plain[] =
	"8040f17b8041f8d35501a0b247616c6c696120657374206f6d6e69732064697669"
	"736120696e207061727465732074726573";
static const char rtcp_plain[] =
	"81c8000d4d6172734e5450314e545032525450200000042a0000e9304c756e61de"
	"adbeefdeadbeefdeadbeefdeadbeefdeadbeef";

static struct srtp_context *rfc7714_context(enum media_srtp_suite suite)
{
	struct srtp_session_keys keys = {0};
	struct srtp_context *ctx;

	for (uint8_t i = 0; i < 32; i++)
		keys.rtp.cipher[i] = keys.rtcp.cipher[i] = i;
	memcpy(keys.rtp.salt, "Quid pro quo", 12);
	memcpy(keys.rtcp.salt, "Quid pro quo", 12);
	assert_int_equal(srtp_context_from_keys(&ctx, suite, &keys), 0);
	return ctx;
}

/* RFC 7714 16.1.1, 16.1.2, 16.2.1, 16.2.2 */
static void test_rfc7714_rtp(void **state)
{
	static const struct vector vectors[] = {
		{MEDIA_SRTP_AEAD_AES_128_GCM, rtp_plain,
		 "8040f17b8041f8d35501a0b2f24de3a3fb34de6cacba861c9d7e4bcabe63"
		 "3bd50d294e6f42a5f47a51c7d19b36de3adf8833899d7f27beb16a9152cf"
		 "765ee4390cce"},
		{MEDIA_SRTP_AEAD_AES_256_GCM, rtp_plain,
		 "8040f17b8041f8d35501a0b232b1de78a822fe12ef9f78fa332e33aab180"
		 "12389a58e2f3b50b2a0276ffae0f1ba63799b87b7aa3db36dfffd6b0f9bb"
		 "7878d7a76c13"},
	};
	uint8_t packet[ROOM];
	(void)state;

	for (size_t i = 0; i < 2; i++) {
		struct srtp_context *ctx = rfc7714_context(vectors[i].suite);
		size_t bytes = from_hex(packet, vectors[i].plain);

		assert_int_equal(srtp_context_protect(ctx, packet, &bytes,
						      sizeof(packet)),
				 0);
		assert_bytes(packet, bytes, vectors[i].wire);
		srtp_context_free(ctx);
		ctx = rfc7714_context(vectors[i].suite);
		assert_int_equal(srtp_context_unprotect(ctx, packet, &bytes),
				 0);
		assert_bytes(packet, bytes, vectors[i].plain);
		srtp_context_free(ctx);
	}
}

/* RFC 7714 17.1, 17.2: the index is 0x5d4 */
static void test_rfc7714_rtcp(void **state)
{
	static const struct vector vectors[] = {
		{MEDIA_SRTP_AEAD_AES_128_GCM, rtcp_plain,
		 "81c8000d4d61727363e94885dcdab67ca727d7662f6b7e997ff5c0f76c06"
		 "f32dc676a5f1730d6fda4ce09b4686303ded0bb9275bc84aa45896cf4d2f"
		 "c5abf87245d9eade800005d4"},
		{MEDIA_SRTP_AEAD_AES_256_GCM, rtcp_plain,
		 "81c8000d4d617273d50ae4d1f5ce5d304ba297e47d470c282c3ece5dbffe"
		 "0a50a2eaa5c1110555be8415f658c61de0476f1b6fad1d1eb30c4446839f"
		 "57ff6f6cb26ac3be800005d4"},
	};
	uint8_t packet[ROOM];
	(void)state;

	for (size_t i = 0; i < 2; i++) {
		struct srtp_context *ctx = rfc7714_context(vectors[i].suite);
		size_t bytes;

		for (int k = 0; k < 0x5d4; k++) {
			bytes = from_hex(packet, vectors[i].plain);
			assert_int_equal(
				srtp_context_protect_rtcp(ctx, packet, &bytes,
							  sizeof(packet)),
				0);
		}
		assert_bytes(packet, bytes, vectors[i].wire);
		assert_int_equal(
			srtp_context_unprotect_rtcp(ctx, packet, &bytes), 0);
		assert_bytes(packet, bytes, vectors[i].plain);
		srtp_context_free(ctx);
	}
}

/* 17.3: authentic, but not encrypted; that was not agreed */
static void test_rtcp_unencrypted_refused(void **state)
{
	struct srtp_context *ctx = rfc7714_context(MEDIA_SRTP_AEAD_AES_128_GCM);
	uint8_t packet[ROOM];
	size_t bytes = from_hex(
		packet,
		"81c8000d4d6172734e5450314e545032525450200000042a0000e9304c75"
		"6e61deadbeefdeadbeefdeadbeefdeadbeefdeadbeef841dd9683dd78ec9"
		"2ae58790125f62b3000005d4");
	(void)state;

	assert_int_equal(srtp_context_unprotect_rtcp(ctx, packet, &bytes),
			 -EACCES);
	srtp_context_free(ctx);
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

/* Headers with CSRCs and an extension too; the roll-over counter advances. */
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
	(void)state;

	assert_int_equal(srtp_init(), srtp_err_status_ok);
	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++) {
		struct media_crypto c =
			crypto_make((enum media_srtp_suite)i, i);
		struct srtp_context *contexts[2];
		srtp_t peers[2] = {reference(&c, true), reference(&c, false)};

		for (int k = 0; k < 2; k++)
			assert_int_equal(srtp_context_new(&contexts[k], &c), 0);
		/* twice round the sequence numbers */
		for (uint32_t n = 0; n < 1000; n++)
			rtp_compare(&c, n, contexts, peers);
		for (uint32_t n = 0; n < 20; n++)
			rtcp_compare(n, contexts, peers);
		for (int k = 0; k < 2; k++) {
			srtp_context_free(contexts[k]);
			srtp_dealloc(peers[k]);
		}
	}
	srtp_shutdown();
}

/* ---- what must not pass ---- */

struct pair {
	struct srtp_context *tx;
	struct srtp_context *rx;
};

static struct pair pair_make(enum media_srtp_suite suite, unsigned seed)
{
	struct media_crypto c = crypto_make(suite, seed);
	struct pair p;

	assert_int_equal(srtp_context_new(&p.tx, &c), 0);
	assert_int_equal(srtp_context_new(&p.rx, &c), 0);
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
	(void)state;

	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++) {
		struct pair p = pair_make((enum media_srtp_suite)i, 3);
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
		/* nothing of that left a trace */
		assert_int_equal(received(&p, packet, bytes), 0);
		pair_free(&p);
	}
}

static void test_wrong_key(void **state)
{
	struct pair a = pair_make(MEDIA_SRTP_AEAD_AES_128_GCM, 1);
	struct pair b = pair_make(MEDIA_SRTP_AEAD_AES_128_GCM, 2);
	uint8_t packet[ROOM];
	(void)state;

	for (uint16_t seq = 0; seq < 20; seq++) {
		size_t bytes = sent(&a, packet, seq);

		assert_int_equal(received(&b, packet, bytes), -EACCES);
	}
	pair_free(&a);
	pair_free(&b);
}

/* Replays are told from forgeries, within the window and behind it. */
static void test_replays(void **state)
{
	static uint8_t packets[3000][ROOM];
	struct pair p = pair_make(MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80, 4);
	size_t bytes = 0;
	(void)state;

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
	/* late ones that the window still knows as not seen */
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
	struct pair p = pair_make(MEDIA_SRTP_AES_256_CM_HMAC_SHA1_32, 4);
	uint8_t packet[ROOM] = {0x80, 201, 0, 1, 1, 2, 3, 4};
	uint8_t copy[ROOM];
	size_t bytes = 8;
	size_t n;
	(void)state;

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

/* More sources than places: each is heard, the oldest place is given up. */
static void test_many_sources(void **state)
{
	struct pair p = pair_make(MEDIA_SRTP_AEAD_AES_256_GCM, 9);
	uint8_t packet[ROOM];
	(void)state;

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

/* A new key goes on with the roll-over counter; a peer that begins again with
 * 0 is understood too. */
static void test_continue_after_new_key(void **state)
{
	(void)state;

	for (int again = 0; again < 2; again++) {
		struct pair a = pair_make(MEDIA_SRTP_AEAD_AES_128_GCM, 1);
		struct pair b = pair_make(MEDIA_SRTP_AEAD_AES_128_GCM, 2);
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

static void test_bad_arguments(void **state)
{
	struct media_crypto c = {.suite = MEDIA_SRTP_SUITE_COUNT};
	struct srtp_context *ctx = NULL;
	struct pair p = pair_make(MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80, 1);
	enum media_srtp_suite suite;
	uint8_t packet[ROOM];
	size_t bytes = rtp_make(packet, 1, 1, 20);
	(void)state;

	assert_int_equal(srtp_context_new(&ctx, &c), -EINVAL);
	assert_null(ctx);
	assert_null(srtp_suite_info(MEDIA_SRTP_SUITE_COUNT));
	assert_int_equal(srtp_context_protect(p.tx, packet, &bytes, bytes + 9),
			 -ENOBUFS);
	bytes = 11;
	assert_int_equal(srtp_context_protect(p.tx, packet, &bytes, ROOM),
			 -EBADMSG);
	assert_int_equal(srtp_suite_by_name(&suite, "aead_aes_256_gcm"), 0);
	assert_int_equal(suite, MEDIA_SRTP_AEAD_AES_256_GCM);
	assert_int_equal(srtp_suite_by_name(&suite, "F8_128_HMAC_SHA1_80"),
			 -ENOENT);
	pair_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rfc3711_keystream),
		cmocka_unit_test(test_rfc3711_key_derivation),
		cmocka_unit_test(test_rfc7714_rtp),
		cmocka_unit_test(test_rfc7714_rtcp),
		cmocka_unit_test(test_rtcp_unencrypted_refused),
		cmocka_unit_test(test_same_as_libsrtp2),
		cmocka_unit_test(test_every_bit_counts),
		cmocka_unit_test(test_wrong_key),
		cmocka_unit_test(test_replays),
		cmocka_unit_test(test_rtcp_replay_and_forgery),
		cmocka_unit_test(test_many_sources),
		cmocka_unit_test(test_continue_after_new_key),
		cmocka_unit_test(test_bad_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
