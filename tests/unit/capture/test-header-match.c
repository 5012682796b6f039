#include "capture/header_match.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/capture/frames.h"
#include "tests/unit/capture/header_check.h"

#define PAYLOAD 40

static const struct frame_fields udp4 = {.version = FRAME_IPV4,
					 .protocol = 17,
					 .sport = 4000,
					 .dport = 5000,
					 .ip_id = 7};
static const struct frame_fields udp6 = {
	.version = FRAME_IPV6, .protocol = 17, .sport = 4000, .dport = 5000};

struct learned {
	struct header_layouts all;
	struct header_match match;
	struct datagram stream;
};

static void rtp_header(uint8_t *p, uint8_t octet, uint8_t marker_pt,
		       uint16_t seq, uint32_t ts)
{
	memset(p, 0x5a, PAYLOAD);
	p[0] = octet;
	p[1] = marker_pt;
	p[2] = (uint8_t)(seq >> 8);
	p[3] = (uint8_t)seq;
	for (int i = 0; i < 4; i++)
		p[4 + i] = (uint8_t)(ts >> (24 - 8 * i));
	memcpy(p + 8, "\x11\x22\x33\x44", 4);
}

static void make(struct frame_builder *b, uint32_t link,
		 const struct frame_fields *f, uint8_t octet, uint16_t seq,
		 size_t bytes)
{
	uint8_t payload[PAYLOAD];

	rtp_header(payload, octet, 8, seq, seq * 160u);
	frame_link(b, link, f->version == FRAME_IPV6 ? 0x86dd : 0x0800);
	frame_transport(b, f, payload, bytes);
}

static void learn(struct learned *l, const struct frame_builder *b)
{
	const struct frame f = frame_of(b, 0);
	struct packet_record r;

	assert_true(header_decode(&f, &l->stream, &r));
	header_match_learn(&l->match, &l->all, &f, &l->stream);
}

static bool check(const struct learned *l, const struct frame_builder *b)
{
	const struct frame f = frame_of(b, 1234567);

	return header_check(&l->match, &l->stream, &f);
}

static const uint32_t links[] = {0, 1, 12, 101, 108, 113, 276};
static const struct frame_fields *const versions[] = {&udp4, &udp6};

#define ALL_FRAMES(link, f)                                              \
	for (size_t k_ = 0; k_ < sizeof(links) / sizeof(links[0]); k_++) \
		for (size_t v_ = 0; v_ < 2; v_++)                        \
			for (link = links[k_], f = versions[v_]; f; f = NULL)

/*
 * The match ignores what changes from packet to packet, including the payload
 * size.
 */
static void test_next_packets_match(void **state)
{
	const struct frame_fields *f;
	uint32_t link;

	(void)state;
	ALL_FRAMES(link, f)
	{
		struct frame_fields next = *f;
		struct learned l = {0};
		struct frame_builder b;

		make(&b, link, f, 0x80, 65535, PAYLOAD);
		learn(&l, &b);
		assert_true(check(&l, &b));
		for (size_t bytes = 12; bytes <= PAYLOAD; bytes++) {
			next.ip_id++;
			make(&b, link, &next, 0x80, (uint16_t)bytes, bytes);
			/*
			 * whole words are compared, so some of the payload as
			 * well
			 */
			if (bytes >= 12 + sizeof(header_words))
				assert_true(check(&l, &b));
			else
				check(&l, &b);
		}
	}
}

/*
 * Change any octet to any value: either it does not match, or the record equals
 * that of decoding. header_check() aborts otherwise.
 */
static void test_any_octet_changed_is_what_decoding_says(void **state)
{
	const struct frame_fields *f;
	uint32_t link;

	(void)state;
	ALL_FRAMES(link, f)
	{
		struct learned l = {0};
		struct frame_builder b;
		unsigned matches = 0;
		unsigned others = 0;

		make(&b, link, f, 0x82, 9, PAYLOAD);
		learn(&l, &b);
		for (size_t at = 0; at < b.at; at++) {
			const uint8_t before = b.data[at];

			for (unsigned v = 0; v < 256; v++) {
				b.data[at] = (uint8_t)v;
				if (check(&l, &b))
					matches++;
				else
					others++;
			}
			b.data[at] = before;
		}
		/*
		 * at least timestamp, sequence number and payload; at least the
		 * ports
		 */
		assert_true(matches > 256 * (6 + PAYLOAD - 12));
		assert_true(others > 255 * (4 + 8));
	}
}

/* Cut anywhere, in a buffer of exactly that size. */
static void test_cut_anywhere(void **state)
{
	struct learned l = {0};
	struct frame_builder b;
	bool matched = false;

	(void)state;
	make(&b, 1, &udp4, 0x80, 9, PAYLOAD);
	learn(&l, &b);
	for (size_t n = 0; n <= b.at; n++) {
		uint8_t *data = malloc(n ? n : 1);
		struct frame f = {
			.link = 1, .data = data, .captured = n, .bytes = b.at};

		assert_non_null(data);
		memcpy(data, b.data, n);
		matched = header_check(&l.match, &l.stream, &f);
		free(data);
	}
	assert_true(matched);
}

/* With an RTP extension or padding the header's size is not fixed. */
static void test_extension_and_padding_have_no_form(void **state)
{
	static const uint8_t octets[] = {0x90, 0xa0, 0xb0};

	(void)state;
	for (size_t i = 0; i < sizeof(octets); i++) {
		struct learned l = {0};
		struct frame_builder b;

		make(&b, 1, &udp4, octets[i], 9, PAYLOAD);
		b.data[b.at - 1] = 4; /* 4 octets of padding */
		memcpy(&b.data[b.at - PAYLOAD + 12], "\0\0\0\1", 4);
		learn(&l, &b);
		assert_false(check(&l, &b));
		/* what was learned before no longer counts either */
		make(&b, 1, &udp4, 0x80, 9, PAYLOAD);
		learn(&l, &b);
		assert_true(check(&l, &b));
	}
}

/* IPv4 options: more of them than the match can compare. */
static void test_headers_too_long_have_no_form(void **state)
{
	struct learned l = {0};
	struct frame_builder b = {.link = 101};
	uint8_t rtp[PAYLOAD];

	(void)state;
	rtp_header(rtp, 0x80, 0, 1, 160);
	frame_ip(&b, &udp4, 8 + PAYLOAD);
	b.data[0] = 0x4f;
	b.data[3] = 60 + 8 + PAYLOAD;
	for (size_t i = 0; i < 40; i++)
		frame_u8(&b, 1);
	frame_u16(&b, 4000);
	frame_u16(&b, 5000);
	frame_u16(&b, 8 + PAYLOAD);
	frame_u16(&b, 0);
	frame_bytes(&b, rtp, PAYLOAD);
	learn(&l, &b);
	assert_true(check(&l, &b));
	/* 14 more octets of Ethernet */
	memmove(b.data + 22, b.data, b.at);
	memset(b.data, 0, 22);
	memcpy(b.data + 12, "\x81\0\0\1\x81\0\0\1\x08", 9);
	b.at += 22;
	b.link = 1;
	learn(&l, &b);
	assert_false(check(&l, &b));
}

/* More layouts than can be stored: the others are decoded. */
static void test_layouts_are_limited(void **state)
{
	struct learned l = {0};
	struct frame_builder b;

	(void)state;
	for (uint8_t options = 0; options < 10; options++) {
		for (size_t k = 0; k < 2; k++) {
			uint8_t rtp[PAYLOAD];

			rtp_header(rtp, 0x80, 0, 1, 160);
			b.at = 0;
			b.link = k ? 12 : 101;
			frame_ip(&b, &udp4, 8 + PAYLOAD);
			b.data[0] = (uint8_t)(0x45 + options);
			b.data[3] = (uint8_t)(b.data[3] + 4 * options);
			for (int i = 0; i < options; i++)
				frame_u32(&b, 0x01010101);
			frame_u16(&b, 4000);
			frame_u16(&b, 5000);
			frame_u16(&b, 8 + PAYLOAD);
			frame_u16(&b, 0);
			frame_bytes(&b, rtp, PAYLOAD);
			learn(&l, &b);
			assert_int_equal(check(&l, &b),
					 2u * options + k < HEADER_LAYOUTS_MAX);
		}
	}
	assert_int_equal(l.all.count, HEADER_LAYOUTS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next_packets_match),
		cmocka_unit_test(test_any_octet_changed_is_what_decoding_says),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_extension_and_padding_have_no_form),
		cmocka_unit_test(test_headers_too_long_have_no_form),
		cmocka_unit_test(test_layouts_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
