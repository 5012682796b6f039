#include "capture/datagram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/capture/frames.h"

static const struct frame_fields udp = {
	.version = FRAME_IPV4, .protocol = 17, .sport = 4000, .dport = 5000};
static const struct frame_fields udp6 = {
	.version = FRAME_IPV6, .protocol = 17, .sport = 4000, .dport = 5000};
static const struct frame_fields tcp = {.version = FRAME_IPV4,
					.protocol = 6,
					.sport = 5060,
					.dport = 5062,
					.tcp_seq = 77,
					.tcp_flags = 0x11};

static const char payload[] = "a payload";

static enum datagram_kind parse(const struct frame_builder *b,
				struct datagram *ret)
{
	struct frame f = frame_of(b, 0);

	return datagram_parse(ret, &f);
}

static void assert_udp(const struct frame_builder *b, enum frame_version v)
{
	char text[ADDRESS_TEXT_BYTES];
	struct datagram d;

	assert_int_equal(parse(b, &d), DATAGRAM_IS_UDP);
	assert_int_equal(d.sport, 4000);
	assert_int_equal(d.dport, 5000);
	assert_int_equal(d.bytes, sizeof(payload));
	assert_int_equal(d.captured, sizeof(payload));
	assert_memory_equal(d.payload, payload, sizeof(payload));
	assert_false(d.fragment);
	address_text(&d.src, text);
	assert_string_equal(text, v == FRAME_IPV6 ? "fd00::1" : "10.0.0.1");
	address_text(&d.dst, text);
	assert_string_equal(text, v == FRAME_IPV6 ? "fd00::2" : "10.0.0.2");
}

/*
 * A frame cut anywhere, in a buffer of exactly that size: the payload is never
 * longer than what is there, and the full size is known as soon as the UDP
 * header is complete.
 */
static void assert_cut_anywhere(const struct frame_builder *b)
{
	for (size_t n = 0; n < b->at; n++) {
		uint8_t *data = malloc(n ? n : 1);
		struct frame f = {.link = b->link,
				  .data = data,
				  .captured = n,
				  .bytes = b->at};
		struct datagram d;

		assert_non_null(data);
		memcpy(data, b->data, n);
		if (datagram_parse(&d, &f) == DATAGRAM_IS_UDP) {
			assert_int_equal(d.bytes, sizeof(payload));
			assert_int_equal(d.captured,
					 n - (b->at - sizeof(payload)));
		} else {
			assert_true(n < b->at - sizeof(payload));
		}
		free(data);
	}
}

static void test_every_link_type(void **state)
{
	static const uint32_t links[] = {0,   1,   12,  14,  101,
					 108, 113, 228, 229, 276};
	static struct frame_builder b;

	(void)state;
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		if (links[i] != 229) {
			frame_link(&b, links[i], 0x0800);
			frame_transport(&b, &udp, payload, sizeof(payload));
			assert_udp(&b, FRAME_IPV4);
			assert_cut_anywhere(&b);
		}
		if (links[i] != 228) {
			frame_link(&b, links[i], 0x86dd);
			frame_transport(&b, &udp6, payload, sizeof(payload));
			assert_udp(&b, FRAME_IPV6);
			assert_cut_anywhere(&b);
		}
	}
}

static void test_tags_and_pppoe(void **state)
{
	static const uint16_t tags[] = {0x8100, 0x88a8, 0x9100};
	static const uint32_t links[] = {1, 113, 276};
	static struct frame_builder b;

	(void)state;
	for (size_t link = 0; link < 3; link++) {
		for (size_t first = 0; first < 3; first++) {
			frame_link(&b, links[link], tags[first]);
			frame_u16(&b, 0x0064);
			frame_u16(&b, 0x0800);
			frame_transport(&b, &udp, payload, sizeof(payload));
			assert_udp(&b, FRAME_IPV4);
			frame_link(&b, links[link], tags[first]);
			frame_u16(&b, 0x0064);
			frame_u16(&b, 0x8100);
			frame_u16(&b, 0x0065);
			frame_u16(&b, 0x86dd);
			frame_transport(&b, &udp6, payload, sizeof(payload));
			assert_udp(&b, FRAME_IPV6);
			assert_cut_anywhere(&b);
		}
	}
	for (int v6 = 0; v6 < 2; v6++) {
		frame_link(&b, 1, 0x8864);
		frame_u16(&b, 0x1100); /* version, type and code */
		frame_u16(&b, 1);      /* session */
		frame_u16(&b, 2 + 28 + sizeof(payload));
		frame_u16(&b, v6 ? 0x0057 : 0x0021);
		frame_transport(&b, v6 ? &udp6 : &udp, payload,
				sizeof(payload));
		assert_udp(&b, v6 ? FRAME_IPV6 : FRAME_IPV4);
		assert_cut_anywhere(&b);
	}
}

static void test_headers_with_options(void **state)
{
	static const uint8_t options[4] = {1, 1, 1, 0};
	static struct frame_builder b;
	struct datagram d;

	(void)state;
	/* IPv4 options: 4 bytes between header and UDP */
	frame_make(&b, &udp, payload, sizeof(payload));
	memmove(b.data + 14 + 24, b.data + 14 + 20, b.at - 34);
	memcpy(b.data + 14 + 20, options, 4);
	b.at += 4;
	b.data[14] = 0x46;
	b.data[17] = (uint8_t)(b.data[17] + 4);
	assert_udp(&b, FRAME_IPV4);
	assert_cut_anywhere(&b);
	/* IPv6: hop by hop options, routing, authentication, destination */
	frame_link(&b, 1, 0x86dd);
	frame_ip(&b, &udp6, 8 + 16 + 12 + 8 + 8 + sizeof(payload));
	b.data[14 + 6] = 0;
	frame_bytes(&b, "\53\0\0\0\0\0\0", 8);
	frame_bytes(&b, "\63\1\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	frame_bytes(&b, "\74\1\0\0\0\0\0\0\0\0\0", 12);
	frame_bytes(&b, "\21\0\0\0\0\0\0", 8);
	frame_u16(&b, 4000);
	frame_u16(&b, 5000);
	frame_u16(&b, 8 + sizeof(payload));
	frame_u16(&b, 0);
	frame_bytes(&b, payload, sizeof(payload));
	assert_udp(&b, FRAME_IPV6);
	assert_cut_anywhere(&b);
	/* a chain of extension headers without an end */
	frame_link(&b, 1, 0x86dd);
	frame_ip(&b, &udp6, 800);
	b.data[14 + 6] = 0;
	for (int i = 0; i < 100; i++)
		frame_bytes(&b, "\0\0\0\0\0\0\0", 8);
	assert_int_equal(parse(&b, &d), DATAGRAM_IS_OTHER);
}

static void test_tcp_segment(void **state)
{
	static struct frame_builder b;
	struct datagram d;

	(void)state;
	frame_make(&b, &tcp, payload, sizeof(payload));
	assert_int_equal(parse(&b, &d), DATAGRAM_IS_TCP);
	assert_int_equal(d.sport, 5060);
	assert_int_equal(d.tcp.seq, 77);
	assert_true(d.tcp.end);
	assert_int_equal(d.captured, sizeof(payload));
	assert_memory_equal(d.payload, payload, sizeof(payload));
	/* Ethernet pads short frames: padding is not payload */
	frame_bytes(&b, "\0\0\0\0\0\0", 6);
	assert_int_equal(parse(&b, &d), DATAGRAM_IS_TCP);
	assert_int_equal(d.bytes, sizeof(payload));
	/* IP length 0: the network card was to fill it in */
	b.data[16] = 0;
	b.data[17] = 0;
	assert_int_equal(parse(&b, &d), DATAGRAM_IS_TCP);
	assert_int_equal(d.bytes, sizeof(payload) + 6);
	/* a data offset that points beyond the segment */
	b.data[14 + 20 + 12] = 15 << 4;
	assert_int_equal(parse(&b, &d), DATAGRAM_IS_OTHER);
	b.data[14 + 20 + 12] = 4 << 4;
	assert_int_equal(parse(&b, &d), DATAGRAM_IS_OTHER);
}

static void test_fragments(void **state)
{
	static struct frame_builder b;
	struct frame_fields f = udp;
	struct datagram d;

	(void)state;
	for (int v6 = 0; v6 < 2; v6++) {
		f.version = v6 ? FRAME_IPV6 : FRAME_IPV4;
		f.fragment = 0x2000; /* more follow */
		frame_make(&b, &f, payload, sizeof(payload));
		assert_int_equal(parse(&b, &d), DATAGRAM_IS_FRAGMENT);
		assert_int_equal(d.part.at, 0);
		assert_true(d.part.more);
		assert_int_equal(d.part.protocol, 17);
		assert_int_equal(d.bytes, 8 + sizeof(payload));
		assert_int_equal(d.captured, d.bytes);
		assert_memory_equal(d.payload, "\x0f\xa0", 2); /* a port */
		f.fragment = 0x2000 | 2;
		frame_make(&b, &f, payload, sizeof(payload));
		assert_int_equal(parse(&b, &d), DATAGRAM_IS_FRAGMENT);
		f.fragment = 2;
		f.ip_id = 0x1234;
		frame_make(&b, &f, payload, sizeof(payload));
		assert_int_equal(parse(&b, &d), DATAGRAM_IS_FRAGMENT);
		assert_int_equal(d.part.at, 16);
		assert_false(d.part.more);
		assert_int_equal(d.part.id, 0x1234);
	}
}

static void test_what_is_something_else(void **state)
{
	static struct frame_builder b;
	struct frame_fields f = udp;
	struct datagram d;

	(void)state;
	frame_link(&b, 147, 0); /* a link type for private use */
	frame_transport(&b, &udp, payload, sizeof(payload));
	assert_int_equal(parse(&b, &d), DATAGRAM_BAD_LINK);
	frame_link(&b, 1, 0x0806); /* ARP */
	frame_transport(&b, &udp, payload, sizeof(payload));
	assert_int_equal(parse(&b, &d), DATAGRAM_IS_OTHER);
	f.protocol = 1;
	frame_make(&b, &f, payload, sizeof(payload));
	assert_int_equal(parse(&b, &d), DATAGRAM_IS_OTHER);
	/* a UDP length smaller than the UDP header */
	frame_make(&b, &udp, payload, sizeof(payload));
	b.data[14 + 20 + 5] = 7;
	assert_int_equal(parse(&b, &d), DATAGRAM_IS_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_link_type),
		cmocka_unit_test(test_tags_and_pppoe),
		cmocka_unit_test(test_headers_with_options),
		cmocka_unit_test(test_tcp_segment),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_what_is_something_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
