#include "media/analysis/rtp_header.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t plain[] = {0x80, 0x88, 0xff, 0xfe, 0, 0, 0, 160,
				0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4};

static void test_classify_by_first_octets(void **state)
{
	const struct {
		uint8_t data[2];
		enum datagram_class want;
	} cases[] = {
		{{0, 1}, DATAGRAM_STUN},        {{3, 0}, DATAGRAM_STUN},
		{{4, 0}, DATAGRAM_UNKNOWN},     {{19, 0}, DATAGRAM_UNKNOWN},
		{{20, 0}, DATAGRAM_DTLS},       {{63, 0}, DATAGRAM_DTLS},
		{{64, 0}, DATAGRAM_UNKNOWN},    {{127, 0}, DATAGRAM_UNKNOWN},
		{{128, 0}, DATAGRAM_RTP},       {{128, 191}, DATAGRAM_RTP},
		{{128, 192}, DATAGRAM_RTCP},    {{191, 223}, DATAGRAM_RTCP},
		{{128, 224}, DATAGRAM_RTP},     {{192, 200}, DATAGRAM_UNKNOWN},
		{{255, 255}, DATAGRAM_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(datagram_classify(cases[i].data, 2),
				 cases[i].want);
	assert_int_equal(datagram_classify(plain, 1), DATAGRAM_UNKNOWN);
}

static void test_header_plain(void **state)
{
	struct packet_record r;
	struct rtp_header h;

	(void)state;
	assert_int_equal(rtp_header_parse(&h, plain, 16, 16), 0);
	assert_true(h.marker);
	assert_int_equal(h.pt, 8);
	assert_int_equal(h.seq, 65534);
	assert_int_equal(h.ts, 160);
	assert_int_equal(h.ssrc, 0xdeadbeef);
	assert_int_equal(h.header_bytes, 12);
	assert_int_equal(h.payload_bytes, 4);
	rtp_header_record(&r, &h, PACKET_RTP_SENT, 77);
	assert_true(packet_marker(&r));
	assert_int_equal(packet_pt(&r), 8);
	assert_int_equal(r.mono_ns, 77);
	assert_int_equal(r.kind, PACKET_RTP_SENT);
}

static void test_header_refused_leaves_result(void **state)
{
	struct rtp_header h;
	struct rtp_header before;
	uint8_t d[16];

	(void)state;
	memset(&h, 0x5a, sizeof(h));
	before = h;
	assert_int_equal(rtp_header_parse(&h, plain, 11, 11), -EBADMSG);
	assert_int_equal(rtp_header_parse(&h, plain, 16, 15), -EINVAL);
	memcpy(d, plain, 16);
	d[0] = 0x40; /* version 1 */
	assert_int_equal(rtp_header_parse(&h, d, 16, 16), -EBADMSG);
	d[0] = 0x82; /* two CSRCs: 20 bytes */
	assert_int_equal(rtp_header_parse(&h, d, 16, 16), -EBADMSG);
	d[0] = 0x90; /* extension longer than the packet */
	assert_int_equal(rtp_header_parse(&h, d, 16, 16), -EBADMSG);
	assert_memory_equal(&h, &before, sizeof(h));
}

static void test_header_extension_and_csrc(void **state)
{
	uint8_t d[32] = {0x91, 0};
	struct rtp_header h;

	(void)state;
	d[16] = 0xbe;
	d[17] = 0xde;
	d[19] = 1; /* an extension of one word */
	assert_int_equal(rtp_header_parse(&h, d, 32, 32), 0);
	assert_int_equal(h.csrc_count, 1);
	assert_true(h.has_extension);
	assert_int_equal(h.extension_profile, 0xbede);
	assert_int_equal(h.header_bytes, 24);
	assert_int_equal(h.payload_bytes, 8);
	/*
	 * the extension's length field must be there even if the rest was cut
	 */
	assert_int_equal(rtp_header_parse(&h, d, 18, 32), -EBADMSG);
	assert_int_equal(rtp_header_parse(&h, d, 20, 32), 0);
	assert_int_equal(h.payload_bytes, 8);
}

static void test_header_padding(void **state)
{
	uint8_t d[16];
	struct rtp_header h;

	(void)state;
	memcpy(d, plain, 16);
	d[0] = 0xa0;
	d[15] = 0;
	assert_int_equal(rtp_header_parse(&h, d, 16, 16), -EBADMSG);
	d[15] = 5;
	assert_int_equal(rtp_header_parse(&h, d, 16, 16), -EBADMSG);
	d[15] = 4;
	assert_int_equal(rtp_header_parse(&h, d, 16, 16), 0);
	assert_int_equal(h.payload_bytes, 0);
	assert_int_equal(h.padding_bytes, 4);
	/* in a truncated capture the padding cannot be read */
	assert_int_equal(rtp_header_parse(&h, d, 12, 16), 0);
	assert_int_equal(h.payload_bytes, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classify_by_first_octets),
		cmocka_unit_test(test_header_plain),
		cmocka_unit_test(test_header_refused_leaves_result),
		cmocka_unit_test(test_header_extension_and_csrc),
		cmocka_unit_test(test_header_padding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
