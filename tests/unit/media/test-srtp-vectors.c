/*
 * SRTP against published vectors. RFC 3711 and RFC 7714 give vectors of session
 * keys, which libsrtp2 cannot take: test-srtp.c compares the two
 * implementations.
 */
#include "media/security/srtp_context.h"
#include "media/security/srtp_keys.h"
#include "media/security/srtp_libsrtp2.h"
#include "media/security/srtp_source.h"
#include "srtp_both.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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

/* RFC 7714 17.3: authenticated but not encrypted, which was not negotiated */
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

/*
 * From the master key to the packet: the first vector of libsrtp's own tests
 * (test/srtp_driver.c, srtp_validate()), for its builds with each cipher
 * library.
 */
static void test_packet_of_a_master_key(void **state)
{
	struct media_crypto c = {.suite = MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80};
	enum media_srtp_library library = srtp_library_of(state);
	struct srtp_context *tx;
	struct srtp_context *rx;
	uint8_t packet[ROOM];
	size_t bytes = from_hex(packet, "800f1234decafbadcafebabe"
					"abababababababababababababababab");
	const char *suite;

	assert_int_equal(srtp_libsrtp2_init(&suite), 0);
	from_hex(c.key, "e1f97a0d3e018be0d64fa32c06de4139"
			"0ec675ad498afeebb6960b3aabe6");
	assert_int_equal(srtp_context_new(&tx, &c, library), 0);
	assert_int_equal(srtp_context_new(&rx, &c, library), 0);
	assert_int_equal(
		srtp_context_protect(tx, packet, &bytes, sizeof(packet)), 0);
	assert_bytes(packet, bytes,
		     "800f1234decafbadcafebabe"
		     "4e55dc4ce79978d88ca4d215949d2402"
		     "b78d6acc99ea179b8dbb");
	assert_int_equal(srtp_context_unprotect(rx, packet, &bytes), 0);
	assert_bytes(packet, bytes,
		     "800f1234decafbadcafebabe"
		     "abababababababababababababababab");
	srtp_context_free(tx);
	srtp_context_free(rx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rfc3711_keystream),
		cmocka_unit_test(test_rfc3711_key_derivation),
		cmocka_unit_test(test_rfc7714_rtp),
		cmocka_unit_test(test_rfc7714_rtcp),
		cmocka_unit_test(test_rtcp_unencrypted_refused),
		SRTP_BOTH(test_packet_of_a_master_key, NULL, NULL),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
