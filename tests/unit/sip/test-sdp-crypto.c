/*
 * Keys in SDP: the crypto lines (RFC 4568 section 9) and the offer/answer
 * tables.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sip/sdp/sdp.h"

#define HEAD "v=0\r\nc=IN IP4 192.0.2.2\r\nm=audio 6000 "
/* 30, 46, 28 and 44 bytes: 0, 1, 2, ... */
#define KEY30 "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd"
#define KEY46                                      \
	"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd" \
	"Hh8gISIjJCUmJygpKissLQ=="
#define KEY28 "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGw=="
#define KEY44                                      \
	"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd" \
	"Hh8gISIjJCUmJygpKis="
#define S80 "AES_CM_128_HMAC_SHA1_80"
#define S32 "AES_CM_128_HMAC_SHA1_32"

static const struct {
	const char *name;
	const char *key;
	size_t bytes;
} suites[MEDIA_SRTP_SUITE_COUNT] = {
	[MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80] = {S80, KEY30, 30},
	[MEDIA_SRTP_AES_CM_128_HMAC_SHA1_32] = {S32, KEY30, 30},
	[MEDIA_SRTP_AES_256_CM_HMAC_SHA1_80] = {"AES_256_CM_HMAC_SHA1_80",
						KEY46, 46},
	[MEDIA_SRTP_AES_256_CM_HMAC_SHA1_32] = {"AES_256_CM_HMAC_SHA1_32",
						KEY46, 46},
	[MEDIA_SRTP_AEAD_AES_128_GCM] = {"AEAD_AES_128_GCM", KEY28, 28},
	[MEDIA_SRTP_AEAD_AES_256_GCM] = {"AEAD_AES_256_GCM", KEY44, 44},
};

static void take(struct sdp_crypto *c, const char *text)
{
	memset(c, 0, sizeof(*c));
	sdp_crypto_parse(c, (struct span){text, text + strlen(text)});
}

/* Every suite is parsed, and written as it was parsed. */
static void test_crypto_line_suites(void **state)
{
	struct sdp_crypto c;
	struct buf b;
	(void)state;

	buf_init(&b, 4096);
	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++) {
		char text[256];
		char line[512];

		snprintf(text, sizeof(text), "%u %s inline:%s", i + 7,
			 suites[i].name, suites[i].key);
		take(&c, text);
		assert_null(c.refusal);
		assert_int_equal(c.count, 1);
		assert_int_equal(c.lines[0].tag, i + 7);
		assert_int_equal(c.lines[0].suite, i);
		for (size_t k = 0; k < sizeof(c.lines[0].key); k++)
			assert_int_equal(c.lines[0].key[k],
					 k < suites[i].bytes ? k : 0);
		buf_consume(&b, b.used);
		assert_int_equal(sdp_crypto_write(&b, &c.lines[0]), 0);
		snprintf(line, sizeof(line), "a=crypto:%s\r\n", text);
		assert_int_equal(b.used, strlen(line));
		assert_memory_equal(b.data, line, b.used);
	}
	buf_release(&b);
}

static void test_crypto_line_accepted(void **state)
{
	static const char *const lines[] = {
		"1 " S80 " inline:" KEY30,
		"999999999  aes_cm_128_hmac_sha1_80  INLINE:" KEY30,
		"1 " S80 " inline:" KEY30 "|2^20",
		"1 " S80 " inline:" KEY30 "|2^48 WSH=64",
		"1 " S80 " inline:" KEY30 "|1048576 WSH=1024",
		"1 " S80 " inline:" KEY30 " -KDR=4 -SOMETHING",
		"1 AEAD_AES_128_GCM inline:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGw",
	};
	struct sdp_crypto c;
	(void)state;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		take(&c, lines[i]);
		assert_null(c.refusal);
		assert_int_equal(c.count, 1);
	}
}

static void test_crypto_line_refused(void **state)
{
	static const struct {
		const char *line;
		const char *why;
	} cases[] = {
		{"", "its tag is no number"},
		{"0 " S80 " inline:" KEY30, "its tag is no number"},
		{"1000000000 " S80 " inline:" KEY30, "its tag is no number"},
		{"x " S80 " inline:" KEY30, "its tag is no number"},
		{"1 F8_128_HMAC_SHA1_80 inline:" KEY30,
		 "its crypto suite is not known"},
		{"1 " S80, "its key method is not inline"},
		{"1 " S80 " uri:" KEY30, "its key method is not inline"},
		{"1 " S80 " inline:" KEY28,
		 "its key is not base64 of the suite's length"},
		{"1 " S80 " inline:" KEY46,
		 "its key is not base64 of the suite's length"},
		{"1 " S80 " inline:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxw!",
		 "its key is not base64 of the suite's length"},
		{"1 " S80 " inline:" KEY30 ";inline:" KEY30,
		 "it has several keys"},
		/* the example of RFC 4568 section 4 */
		{"1 " S80 " inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz"
		 "|2^20|1:4 FEC_ORDER=FEC_SRTP",
		 "it has an MKI"},
		{"1 " S80 " inline:" KEY30 "|2^19",
		 "its lifetime is too short"},
		{"1 " S80 " inline:" KEY30 "|1048575",
		 "its lifetime is too short"},
		{"1 " S80 " inline:" KEY30 "|2^49",
		 "its lifetime is no number"},
		{"1 " S80 " inline:" KEY30 "|soon",
		 "its lifetime is no number"},
		{"1 " S80 " inline:" KEY30 " KDR=1",
		 "its session parameter KDR is not supported"},
		{"1 " S80 " inline:" KEY30 " UNENCRYPTED_SRTP",
		 "it asks for less than full protection"},
		{"1 " S80 " inline:" KEY30 " UNAUTHENTICATED_SRTP",
		 "it asks for less than full protection"},
		{"1 " S80 " inline:" KEY30 " FEC_ORDER=FEC_SRTP",
		 "its session parameters for FEC are not supported"},
		{"1 " S80 " inline:" KEY30 " WSH=63",
		 "it has a session parameter that is not supported"},
	};
	struct sdp_crypto c;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		take(&c, cases[i].line);
		assert_true(c.offered);
		assert_int_equal(c.count, 0);
		assert_string_equal(c.refusal, cases[i].why);
	}
}

static void test_crypto_ceiling(void **state)
{
	static const char line[] = "1 " S80 " inline:" KEY30;
	struct sdp_crypto c = {.count = 0};
	(void)state;

	for (int i = 0; i < 2 * SDP_CRYPTO_MAX; i++)
		sdp_crypto_parse(&c, (struct span){line, line + strlen(line)});
	assert_int_equal(c.count, SDP_CRYPTO_MAX);
}

static struct media_local local_make(enum media_encryption encryption)
{
	struct media_local local;
	struct sockaddr_in *in = (struct sockaddr_in *)&local.rtp.ss;

	memset(&local, 0, sizeof(local));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(0xc0000201);
	in->sin_port = htons(5000);
	local.rtp.len = sizeof(*in);
	local.rtcp = local.rtp;
	local.codecs[0] = (struct media_codec){"PCMU", 0, 1, 8000, ""};
	local.codec_count = 1;
	local.ptime_ms = 20;
	local.encryption = encryption;
	if (encryption == MEDIA_ENCRYPTION_NONE)
		return local;
	local.crypto_count = MEDIA_SRTP_SUITE_COUNT;
	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++) {
		local.crypto[i].tag = i + 1;
		local.crypto[i].suite = (enum media_srtp_suite)i;
		memset(local.crypto[i].key, 0xa0 + (int)i, suites[i].bytes);
	}
	return local;
}

static void parse(struct sdp *sdp, const char *text)
{
	const char *reason;

	assert_int_equal(sdp_parse(sdp, text, strlen(text), &reason), 0);
}

/*
 * Our encryption policy against the peer's description, as an offer and as an
 * answer.
 */
static void test_crypto_settle_table(void **state)
{
	enum {
		PLAIN,
		KEYED,
		NO,
	};
	static const char *const texts[] = {
		HEAD "RTP/AVP 0\r\n",
		HEAD "RTP/AVP 0\r\na=crypto:1 " S80 " inline:" KEY30 "\r\n",
		HEAD "RTP/SAVP 0\r\na=crypto:1 " S80 " inline:" KEY30 "\r\n",
		HEAD "RTP/SAVP 0\r\n",
		HEAD "RTP/AVP 0\r\na=crypto:1 X inline:" KEY30 "\r\n",
		HEAD "RTP/SAVP 0\r\na=crypto:1 X inline:" KEY30 "\r\n",
		/* a suite that we offered, with another tag */
		HEAD "RTP/SAVP 0\r\na=crypto:9 " S80 " inline:" KEY30 "\r\n",
	};
	static const int offers[][3] = {
		/* none, SDES, mandatory */
		{PLAIN, PLAIN, NO}, {PLAIN, KEYED, KEYED}, {NO, KEYED, KEYED},
		{NO, NO, NO},       {PLAIN, PLAIN, NO},    {NO, NO, NO},
		{NO, KEYED, KEYED},
	};
	static const int answers[][3] = {
		{PLAIN, PLAIN, NO}, {PLAIN, KEYED, KEYED}, {NO, KEYED, KEYED},
		{NO, NO, NO},       {PLAIN, NO, NO},       {NO, NO, NO},
		{NO, NO, NO},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (int want = 0; want < 3; want++) {
			struct media_local local =
				local_make((enum media_encryption)want);
			struct media_negotiated deal;
			struct sdp sdp;
			int err;

			parse(&sdp, texts[i]);
			memset(&deal, 0, sizeof(deal));
			err = sdp_answer(&deal, &sdp, &local, MEDIA_SENDRECV);
			assert_int_equal(err,
					 offers[i][want] == NO ? -ENOKEY : 0);
			assert_int_equal(deal.encrypted,
					 offers[i][want] == KEYED);
			memset(&deal, 0, sizeof(deal));
			err = sdp_accept(&deal, &sdp, &local, MEDIA_SENDRECV);
			assert_int_equal(err,
					 answers[i][want] == NO ? -ENOKEY : 0);
			assert_int_equal(deal.encrypted,
					 answers[i][want] == KEYED);
			if (err)
				assert_true(sdp_key_reason(&sdp, &local) &&
					    *sdp_key_reason(&sdp, &local));
		}
	}
}

/*
 * The order of the offer decides. The answer has the offer's tag and our key.
 */
static void test_crypto_answer_picks(void **state)
{
	struct media_local local = local_make(MEDIA_ENCRYPTION_SDES_MANDATORY);
	struct media_negotiated deal;
	struct sdp_draft draft = {.local = &local, .answer = &deal};
	struct sdp offer;
	struct sdp answer;
	struct buf b;
	(void)state;

	parse(&offer, HEAD "RTP/SAVP 0\r\na=crypto:4 X inline:" KEY30
			   "\r\na=crypto:5 AEAD_AES_256_GCM inline:" KEY44
			   "\r\na=crypto:6 " S80 " inline:" KEY30 "\r\n");
	assert_int_equal(sdp_answer(&deal, &offer, &local, MEDIA_SENDRECV), 0);
	assert_int_equal(deal.crypto_rx.suite, MEDIA_SRTP_AEAD_AES_256_GCM);
	assert_int_equal(deal.crypto_rx.key[43], 43);
	assert_int_equal(deal.crypto_tx.key[43], 0xa5);
	draft.codecs = deal.accepted;
	draft.codec_count = deal.accepted_count;
	draft.frame = &offer;
	buf_init(&b, SDP_TEXT_MAX);
	assert_int_equal(sdp_write(&b, &draft), 0);
	assert_non_null(strstr(b.data, "m=audio 5000 RTP/SAVP 0\r\n"));
	parse(&answer, b.data);
	buf_release(&b);
	assert_int_equal(answer.crypto.count, 1);
	assert_int_equal(answer.crypto.lines[0].tag, 5);
	assert_memory_equal(answer.crypto.lines[0].key, deal.crypto_tx.key, 44);
	/* only the suites that are enabled */
	local.crypto[0] = local.crypto[MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80];
	local.crypto_count = 1;
	assert_int_equal(sdp_answer(&deal, &offer, &local, MEDIA_SENDRECV), 0);
	assert_int_equal(deal.crypto_rx.suite,
			 MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80);
	assert_int_equal(deal.crypto_tx.tag, 6);
}

/* Optional encryption is offered over RTP/AVP, mandatory over RTP/SAVP. */
static void test_crypto_offer_profile(void **state)
{
	static const struct {
		enum media_encryption encryption;
		const char *profile;
		size_t keys;
	} cases[] = {
		{MEDIA_ENCRYPTION_NONE, "RTP/AVP ", 0},
		{MEDIA_ENCRYPTION_SDES, "RTP/AVP ", MEDIA_SRTP_SUITE_COUNT},
		{MEDIA_ENCRYPTION_SDES_MANDATORY, "RTP/SAVP ",
		 MEDIA_SRTP_SUITE_COUNT},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct media_local local = local_make(cases[i].encryption);
		const struct sdp_draft draft = {
			.local = &local,
			.codecs = local.codecs,
			.codec_count = local.codec_count,
		};
		struct sdp sdp;
		struct buf b;

		buf_init(&b, SDP_TEXT_MAX);
		assert_int_equal(sdp_write(&b, &draft), 0);
		assert_non_null(strstr(b.data, cases[i].profile));
		parse(&sdp, b.data);
		buf_release(&b);
		assert_int_equal(sdp.crypto.count, cases[i].keys);
		assert_int_equal(sdp.secure, i == 2);
	}
}

#define FP32                                                                   \
	"00:01:02:03:04:05:06:07:08:09:0A:0b:0C:0D:0E:0F:10:11:12:13:14:15:16" \
	":17:18:19:1A:1B:1C:1D:1E:1F"
#define DTLS  HEAD "UDP/TLS/RTP/SAVP 0\r\na=rtcp-mux\r\n"
#define PRINT "a=fingerprint:SHA-256 " FP32 "\r\n"

static struct media_local dtls_local(void)
{
	struct media_local local = local_make(MEDIA_ENCRYPTION_NONE);

	local.encryption = MEDIA_ENCRYPTION_DTLS;
	local.rtcp_mux = MEDIA_MUX_OFFER;
	strcpy(local.fingerprint.hash, "sha-256");
	local.fingerprint.len = 32;
	return local;
}

/* Who takes the active role, as answerer and as offerer: RFC 5763 section 5. */
static void test_dtls_settle_table(void **state)
{
	enum {
		ACTIVE,
		PASSIVE,
		NO,
	};
	static const struct {
		const char *text;
		int offer;
		int answer;
	} cases[] = {
		{DTLS PRINT "a=setup:actpass\r\n", ACTIVE, NO},
		{DTLS PRINT "a=setup:active\r\n", PASSIVE, PASSIVE},
		{DTLS PRINT "a=setup:passive\r\n", ACTIVE, ACTIVE},
		{DTLS PRINT "a=setup:holdconn\r\n", NO, NO},
		{DTLS PRINT, PASSIVE, ACTIVE},
		{DTLS "a=setup:actpass\r\n", NO, NO},
		{DTLS "a=setup:active\r\na=fingerprint:md5 "
		      "00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F\r\n",
		 NO, NO},
		{DTLS "a=setup:active\r\na=fingerprint:sha-256 00:01\r\n", NO,
		 NO},
		/* without rtcp-mux: each port has its own association */
		{HEAD "UDP/TLS/RTP/SAVPF 0\r\na=setup:active\r\n" PRINT,
		 PASSIVE, PASSIVE},
		{HEAD "RTP/AVP 0\r\n", NO, NO},
		/* session-level attributes count too */
		{"v=0\r\na=setup:passive\r\n" PRINT
		 "c=IN IP4 192.0.2.2\r\nm=audio 6000 UDP/TLS/RTP/SAVP 0\r\n"
		 "a=rtcp-mux\r\n",
		 ACTIVE, ACTIVE},
	};
	struct media_local local = dtls_local();
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int ours = 0; ours < 2; ours++) {
			int want = ours ? cases[i].answer : cases[i].offer;
			struct media_negotiated deal = {.dtls = false};
			struct sdp sdp;
			int err;

			parse(&sdp, cases[i].text);
			err = ours ? sdp_accept(&deal, &sdp, &local,
						MEDIA_SENDRECV)
				   : sdp_answer(&deal, &sdp, &local,
						MEDIA_SENDRECV);
			assert_int_equal(err, want == NO ? -ENOKEY : 0);
			if (err)
				continue;
			assert_true(deal.dtls && deal.encrypted);
			assert_int_equal(deal.rtcp_mux, sdp.rtcp_mux);
			assert_int_equal(deal.dtls_active, want == ACTIVE);
			assert_string_equal(deal.fingerprint.hash, "sha-256");
			for (uint8_t k = 0; k < 32; k++)
				assert_int_equal(deal.fingerprint.bytes[k], k);
		}
	}
}

/* In an existing association actpass keeps its role. */
static void test_dtls_keeps_its_role(void **state)
{
	struct media_local local = dtls_local();
	(void)state;

	for (int k = 0; k < 8; k++) {
		bool ours = k & 1, active = k & 2, other = k & 4;
		struct media_negotiated before = {.dtls = false}, deal;
		struct sdp sdp;
		int err;

		parse(&sdp, active ? DTLS PRINT "a=setup:passive\r\n"
				   : DTLS PRINT "a=setup:active\r\n");
		assert_int_equal(
			sdp_accept(&before, &sdp, &local, MEDIA_SENDRECV), 0);
		before.fingerprint.bytes[31] ^= other;
		parse(&sdp, DTLS PRINT "a=setup:actpass\r\n");
		sdp_dtls_keep(&sdp.association, &before);
		err = ours ? sdp_accept(&deal, &sdp, &local, MEDIA_SENDRECV)
			   : sdp_answer(&deal, &sdp, &local, MEDIA_SENDRECV);
		assert_int_equal(err, ours && other ? -ENOKEY : 0);
		if (!err)
			assert_int_equal(deal.dtls_active, active || other);
	}
}

static void test_dtls_is_read_back(void **state)
{
	struct media_local local = dtls_local();
	struct media_negotiated deal = {.dtls_active = true, .rtcp_mux = true};
	struct sdp_draft draft = {
		.local = &local,
		.codecs = local.codecs,
		.codec_count = local.codec_count,
	};
	struct sdp sdp;
	struct buf b;
	(void)state;

	memset(local.fingerprint.bytes, 0xc5, 32);
	buf_init(&b, SDP_TEXT_MAX);
	assert_int_equal(sdp_write(&b, &draft), 0);
	assert_non_null(strstr(b.data, "m=audio 5000 UDP/TLS/RTP/SAVP 0\r\n"));
	parse(&sdp, b.data);
	assert_true(sdp.secure && sdp.rtcp_mux);
	assert_int_equal(sdp.association.setup, SDP_SETUP_ACTPASS);
	assert_memory_equal(sdp.association.fingerprint.bytes,
			    local.fingerprint.bytes, 32);
	buf_consume(&b, b.used);
	draft.answer = &deal;
	assert_int_equal(sdp_write(&b, &draft), 0);
	parse(&sdp, b.data);
	assert_int_equal(sdp.association.setup, SDP_SETUP_ACTIVE);
	buf_release(&b);
}

static void test_rtcp_mux_table(void **state)
{
	struct media_local local = local_make(MEDIA_ENCRYPTION_NONE);
	struct media_negotiated deal;
	struct sdp sdp;
	(void)state;

	parse(&sdp, HEAD "RTP/AVP 0\r\na=rtcp:7777\r\na=rtcp-mux\r\n");
	assert_int_equal(sdp_answer(&deal, &sdp, &local, MEDIA_SENDRECV), 0);
	assert_true(deal.rtcp_mux);
	assert_memory_equal(&deal.rtcp, &deal.rtp, sizeof(deal.rtp));
	/* not offered: an answer cannot introduce it */
	assert_int_equal(sdp_accept(&deal, &sdp, &local, MEDIA_SENDRECV), 0);
	assert_false(deal.rtcp_mux);
	local.rtcp_mux = MEDIA_MUX_OFFER;
	assert_int_equal(sdp_accept(&deal, &sdp, &local, MEDIA_SENDRECV), 0);
	assert_true(deal.rtcp_mux);
	local.rtcp_mux = MEDIA_MUX_REFUSE;
	assert_int_equal(sdp_answer(&deal, &sdp, &local, MEDIA_SENDRECV), 0);
	assert_false(deal.rtcp_mux);
	assert_memory_equal(&deal.rtcp, &sdp.rtcp, sizeof(deal.rtcp));
	local.rtcp_mux = MEDIA_MUX_OFFER;
	sdp.rtcp_mux = false;
	assert_int_equal(sdp_accept(&deal, &sdp, &local, MEDIA_SENDRECV), 0);
	assert_false(deal.rtcp_mux);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crypto_line_suites),
		cmocka_unit_test(test_crypto_line_accepted),
		cmocka_unit_test(test_crypto_line_refused),
		cmocka_unit_test(test_crypto_ceiling),
		cmocka_unit_test(test_crypto_settle_table),
		cmocka_unit_test(test_crypto_answer_picks),
		cmocka_unit_test(test_crypto_offer_profile),
		cmocka_unit_test(test_dtls_settle_table),
		cmocka_unit_test(test_dtls_keeps_its_role),
		cmocka_unit_test(test_dtls_is_read_back),
		cmocka_unit_test(test_rtcp_mux_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
