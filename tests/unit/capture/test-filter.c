#include "capture/filter.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/fragments.h"
#include "tests/unit/capture/frames.h"

/* From 10.0.0.1 or fd00::1, port 4000, to 10.0.0.2 or fd00::2, port 5000. */
static const struct frame_fields udp = {
	.version = FRAME_IPV4, .protocol = 17, .sport = 4000, .dport = 5000};
static const struct frame_fields udp6 = {
	.version = FRAME_IPV6, .protocol = 17, .sport = 4000, .dport = 5000};
static const struct frame_fields tcp = {
	.version = FRAME_IPV4, .protocol = 6, .sport = 4000, .dport = 5000};
static const char payload[] = "a payload";

static struct filter *filter_of(const char *text)
{
	char reason[FILTER_REASON_BYTES] = "";
	struct filter *f = NULL;

	if (filter_new(&f, text, reason))
		fail_msg("%s: %s", text, reason);
	return f;
}

/*
 * The verdict of the kernel: a datagram that its filter drops does not arrive.
 */
static bool kernel_passes(struct filter_program *program, const void *data,
			  size_t bytes)
{
	struct sock_fprog set = {
		.len = (unsigned short)program->count,
		.filter = program->code,
	};
	uint8_t ignored[1];
	bool passed;
	int s[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
	assert_int_equal(setsockopt(s[1], SOL_SOCKET, SO_ATTACH_FILTER, &set,
				    sizeof(set)),
			 0);
	assert_int_equal(send(s[0], data, bytes, 0), bytes);
	passed = recv(s[1], ignored, sizeof(ignored), MSG_DONTWAIT) >= 0;
	close(s[0]);
	close(s[1]);
	return passed;
}

static bool passes(const struct filter *f, const struct frame_builder *b,
		   enum filter_detail detail)
{
	static struct filter_program program;
	enum filter_link link =
		b->link == 1 ? FILTER_LINK_ETHERNET : FILTER_LINK_IP;

	assert_int_equal(
		filter_socket_program(&program, f, link, false, detail), 0);
	return kernel_passes(&program, b->data, b->at);
}

/*
 * @param want_matches  expected of our filter, for a whole datagram
 * @param want_passes   expected of the kernel's filter
 */
static void check_built(const struct frame_builder *b, const char *text,
			bool want_matches, bool want_passes)
{
	struct filter *f = filter_of(text);
	struct frame frame = frame_of(b, 0);
	struct datagram d;
	enum datagram_kind kind = datagram_parse(&d, &frame);

	if ((kind == DATAGRAM_IS_UDP || kind == DATAGRAM_IS_TCP) &&
	    filter_matches(f, &d, kind == DATAGRAM_IS_TCP) != want_matches)
		fail_msg("%s: filter_matches() says %d", text, !want_matches);
	if (passes(f, b, FILTER_DETAIL_ALL) != want_passes)
		fail_msg("%s: the kernel says %d", text, !want_passes);
	filter_free(f);
}

static void check(const char *text, const struct frame_fields *fields,
		  bool want)
{
	struct frame_builder b = {.at = 0};

	frame_make(&b, fields, payload, sizeof(payload));
	check_built(&b, text, want, want);
}

static void test_conditions(void **state)
{
	static const struct {
		const char *text;
		bool v4;
		bool v6;
		bool tcp;
	} cases[] = {
		{"", true, true, true},
		{"host 10.0.0.1", true, false, true},
		{"host 10.0.0.3", false, false, false},
		{"src host 10.0.0.1", true, false, true},
		{"dst host 10.0.0.1", false, false, false},
		{"net 10.0.0.0/30", true, false, true},
		{"net 10.0.0.0 mask 255.255.255.252", true, false, true},
		{"src net 10.0.0.2/31", false, false, false},
		/* all addresses of one version: of IPv4 or of IPv6 */
		{"net 0.0.0.0/0", true, false, true},
		{"net ::/0", false, true, false},
		{"host ::ffff:10.0.0.2", false, false, false},
		{"host fd00::2", false, true, false},
		{"src host fd00::2", false, false, false},
		{"net fd00::/127", false, true, false},
		{"net fd00::/8", false, true, false},
		{"port 4000", true, true, true},
		{"port 0xfa0", true, true, true},
		{"src port 5000", false, false, false},
		{"dst port 5000", true, true, true},
		{"portrange 3000-3999", false, false, false},
		{"portrange 3999-4000", true, true, true},
		{"portrange 4001-4999", false, false, false},
		{"portrange 4001-65535", true, true, true},
		{"port 0", false, false, false},
		{"udp", true, true, false},
		{"tcp", false, false, true},
		{"udp port 4000", true, true, false},
		{"tcp dst port 5000", false, false, true},
		{"ip proto 17", true, false, false},
		{"not udp", false, false, true},
		{"not arp and not icmp", true, true, true},
		{"not host 10.0.0.1", false, true, false},
		{"not portrange 1-3000", true, true, true},
		{"not not port 4000", true, true, true},
		{"!port 4000 || udp && port 5000", true, true, false},
		{"host 10.0.0.1 and port 5000", true, false, true},
		{"host 10.0.0.1 and port 5001", false, false, false},
		{"host 10.0.0.9 or 10.0.0.1", true, false, true},
		{"port 1 or 5000", true, true, true},
		{"host fd00::1 or udp", true, true, false},
		/* "and" and "or" have equal precedence */
		{"tcp or host fd00::1 and port 1", false, false, false},
		{"tcp or (host fd00::1 and port 1)", false, false, true},
		{"(tcp or host fd00::1) and port 1", false, false, false},
		{"not (tcp or host fd00::1)", true, false, false},
		{"not (udp and host fd00::1)", true, false, true},
		{"not(udp)and(port 4000)", false, false, true},
		/* bytes of the packet */
		{"udp[8] = 0x61", true, false, false},
		{"udp[8:2] = 0x6120 and ip[9] - 1 = 16", true, false, false},
		{"ip[8] = 64 or ip6[7] = 64", true, true, true},
		{"tcp[tcpflags] & (tcp-syn|tcp-fin) == 0", false, false, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check(cases[i].text, &udp, cases[i].v4);
		check(cases[i].text, &udp6, cases[i].v6);
		check(cases[i].text, &tcp, cases[i].tcp);
	}
}

/* "len" is the length of the IP packet, whatever the link type. */
static void test_length_is_of_the_ip_packet(void **state)
{
	struct frame_builder b = {.at = 0};
	size_t bytes = 20 + 8 + sizeof(payload);
	char text[64];

	(void)state;
	frame_make(&b, &udp, payload, sizeof(payload));
	/* padding of a short Ethernet frame */
	while (b.at < 60)
		frame_u8(&b, 0);
	snprintf(text, sizeof(text), "len = %zu", bytes);
	check_built(&b, text, true, true);
	/*
	 * the kernel sees only the frame's length, so it leaves that test to us
	 */
	snprintf(text, sizeof(text), "less %zu", bytes - 1);
	check_built(&b, text, false, true);
	snprintf(text, sizeof(text), "greater %zu and udp", bytes + 1);
	check_built(&b, text, false, true);
}

static void test_by_flow(void **state)
{
	static const struct {
		const char *text;
		bool want;
	} cases[] = {
		{"", true},
		{"udp and net 10.0.0.0/8 and not (port 1 or 2)", true},
		{"ip proto 17", true},
		{"udp[8] = 1", false},
		{"ip[1] & 0xfc = 0xb8", false},
		{"len > 100", false},
		{"udp and not greater 100", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct filter *f = filter_of(cases[i].text);

		if (filter_is_by_flow(f) != cases[i].want)
			fail_msg("%s", cases[i].text);
		filter_free(f);
	}
}

static void test_reasons(void **state)
{
	static const struct {
		const char *text;
		const char *reason;
	} cases[] = {
		{"hots 10.0.0.1", "\"hots\" is not a word of the filter"},
		{"host example.net", "\"example.net\" is not a word of the "
				     "filter; addresses and ports are numbers, "
				     "names are not looked up, as in \"udp and "
				     "host 192.0.2.1 and portrange "
				     "10000-20000\""},
		{"host cafe", "\"cafe\" is not a word"},
		{"host 10.0.0.1.2", "\"10.0.0.1.2\" is not a word"},
		{"host 10.0.0.1.", "\"10.0.0.1.\" is not a word"},
		{"host fd00::1x", "\"x\" is not a word"},
		{"host ::010.0.0.1", "\"::010.0.0.1\" is no IPv6 address"},
		{"host 2:0:0:0:0:9", "\"2:0:0:0:0:9\" is no IPv6 address"},
		{"host \\udp", "\"\\udp\" is not a word"},
		{"port sip", "\"sip\" is not a word"},
		{"UDP", "\"UDP\" is not a word"},
		{"port 1000-2000", "\"1000-2000\" is a range: write portrange "
				   "in front of it"},
		{"host 1-2", "is a range"},
		{"portrange 1-2 or 3-4", "\"3-4\" is a range"},
		{"vlan and udp", "\"vlan\" is about the link layer"},
		{"ether[0] = 1", "\"ether\" is about the link layer"},
		{"inbound", "\"inbound\" is about the link layer"},
		{"host 10.0.0.0/8", "Mask syntax for networks only: the syntax "
				    "is that of tcpdump, as in \"udp and host "
				    "192.0.2.1"},
		{"net 10.0.0.1/8", "non-network bits set"},
		{"net 10.0.0.0/33", "mask length must be <= 32"},
		{"net fd00::/129", "mask length must be <= 128"},
		{"port 65536", "illegal port number 65536"},
		{"src udp", "syntax error"},
		{"(udp", "syntax error"},
		{"udp)", "syntax error"},
		{"udp) or (tcp", "syntax error"},
		{"udp and", "syntax error"},
		{"not", "syntax error"},
		{"port -", "syntax error"},
		{"icmp", "expression rejects all packets"},
		{"udp and tcp", "expression rejects all packets"},
	};
	struct filter *untouched = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char reason[FILTER_REASON_BYTES] = "";

		if (filter_new(&untouched, cases[i].text, reason) != -EINVAL)
			fail_msg("%s is taken", cases[i].text);
		if (!strstr(reason, cases[i].reason))
			fail_msg("%s: %s", cases[i].text, reason);
		assert_null(untouched);
	}
}

/*
 * A program that is too long for the kernel is evaluated by filter_matches()
 * alone.
 */
static void test_ceilings(void **state)
{
	static struct filter_program program;
	char reason[FILTER_REASON_BYTES];
	char text[FILTER_TEXT_MAX + 2] = "";
	struct frame_builder b = {.at = 0};
	struct filter *f = NULL;
	size_t at = 0;

	(void)state;
	for (unsigned i = 0; at + 32 < FILTER_TEXT_MAX; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "%sportrange %u-%u", i ? " or " : "",
				       1000 + 3 * i, 1001 + 3 * i);
	f = filter_of(text);
	assert_int_equal(filter_socket_program(&program, f,
					       FILTER_LINK_ETHERNET, true,
					       FILTER_DETAIL_ALL),
			 -E2BIG);
	frame_make(&b, &udp, payload, sizeof(payload));
	assert_false(passes(f, &b, FILTER_DETAIL_UNTAGGED));
	assert_true(passes(f, &b, FILTER_DETAIL_PROTOCOL));
	filter_free(f);

	memset(text, ' ', FILTER_TEXT_MAX + 1);
	assert_int_equal(filter_new(&f, text, reason), -E2BIG);
	assert_non_null(strstr(reason, "more than 1024 characters"));

	memset(text, '(', FILTER_TEXT_MAX);
	text[FILTER_TEXT_MAX] = '\0';
	assert_int_equal(filter_new(&f, text, reason), -EINVAL);
}

static void test_detail(void **state)
{
	struct filter *f = filter_of("port 9");
	struct frame_builder plain = {.at = 0};
	struct frame_builder tagged = {.at = 0};

	(void)state;
	frame_make(&plain, &udp, payload, sizeof(payload));
	frame_link(&tagged, 1, 0x8100);
	frame_u16(&tagged, 5);
	frame_u16(&tagged, 0x0800);
	frame_transport(&tagged, &udp, payload, sizeof(payload));
	assert_false(passes(f, &plain, FILTER_DETAIL_ALL));
	assert_false(passes(f, &tagged, FILTER_DETAIL_ALL));
	assert_false(passes(f, &plain, FILTER_DETAIL_UNTAGGED));
	assert_true(passes(f, &tagged, FILTER_DETAIL_UNTAGGED));
	assert_true(passes(f, &plain, FILTER_DETAIL_PROTOCOL));
	assert_true(passes(f, &tagged, FILTER_DETAIL_PROTOCOL));
	filter_free(f);
}

/* The kernel passes every fragment of UDP and TCP. */
static void test_fragments_pass(void **state)
{
	static const char *const texts[] = {"port 9", "not port 4000", "tcp",
					    "host 10.0.0.9"};
	static const uint16_t parts[] = {0x2000, 0x2010, 0x0010};
	struct frame_fields part = udp;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
			part.fragment = parts[k];
			check(texts[i], &part, true);
		}
		part.fragment = 0x4000; /* don't fragment */
		check(texts[i], &part, false);
	}
	part.protocol = 1;
	part.fragment = 0x2000;
	check("", &part, false);
}

struct wanted {
	struct filter *filter;
	unsigned calls;
	bool matches;
};

static void take_whole(enum fragments_fate fate, enum datagram_kind kind,
		       struct datagram *d, int64_t ns, void *arg)
{
	struct wanted *w = arg;

	(void)ns;
	assert_int_equal(fate, FRAGMENTS_WHOLE);
	assert_int_equal(kind, DATAGRAM_IS_UDP);
	w->calls++;
	w->matches = filter_matches(w->filter, d, false);
}

/* An IPv4 or IPv6 datagram in two fragments, the last one first. */
static bool matches_reassembled(const char *text, bool v6)
{
	static const uint8_t rest[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct fragments fragments = {0};
	struct wanted w = {.filter = filter_of(text)};

	for (int last = 1; last >= 0; last--) {
		struct frame_fields part = v6 ? udp6 : udp;
		struct frame_builder b = {.at = 0};
		struct frame frame;
		struct datagram d;

		frame_link(&b, 1, v6 ? 0x86dd : 0x0800);
		part.fragment = last ? 2 : 0x2000;
		frame_ip(&b, &part, last ? 8 : 16);
		if (!last) {
			frame_u16(&b, 4000);
			frame_u16(&b, 5000);
			frame_u16(&b, 24);
			frame_u16(&b, 0);
		}
		frame_bytes(&b, rest, sizeof(rest));
		frame = frame_of(&b, 0);
		assert_int_equal(datagram_parse(&d, &frame),
				 DATAGRAM_IS_FRAGMENT);
		fragments_take(&fragments, &d, 0, take_whole, &w);
	}
	fragments_release(&fragments);
	filter_free(w.filter);
	assert_int_equal(w.calls, 1);
	return w.matches;
}

static void test_reassembled_datagrams_are_decided(void **state)
{
	(void)state;
	for (int v6 = 0; v6 < 2; v6++) {
		assert_true(matches_reassembled("udp and port 4000", v6));
		assert_false(matches_reassembled("port 4001", v6));
		assert_false(
			matches_reassembled("not portrange 5000-5001", v6));
		assert_true(matches_reassembled(
			v6 ? "src host fd00::1" : "src host 10.0.0.1", v6));
		assert_false(matches_reassembled("tcp", v6));
	}
	/* bytes after the cut; the length; the header */
	assert_true(matches_reassembled("udp[16:4] = 0x01020304", false));
	assert_true(matches_reassembled("len = 44 and ip[2:2] = 44", false));
	assert_true(matches_reassembled("len = 64 and ip6[4:2] = 24", true));
	assert_true(matches_reassembled("ip[6:2] = 0 and ip[8] = 64", false));
}

static void test_tags_and_tunnels(void **state)
{
	(void)state;
	for (unsigned tags = 0; tags <= 5; tags++) {
		struct frame_builder b = {.at = 0};

		frame_link(&b, 1, tags ? 0x88a8 : 0x0800);
		for (unsigned i = tags; i > 0; i--) {
			frame_u16(&b, (uint16_t)i);
			frame_u16(&b, i > 1 ? 0x8100 : 0x0800);
		}
		frame_transport(&b, &udp, payload, sizeof(payload));
		check_built(&b, "host 10.0.0.1 and port 5000", true, tags <= 4);
		check_built(&b, "port 5001", false, false);
	}
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct frame_builder b = {.at = 0};

		frame_link(&b, 1, v6 ? 0x8100 : 0x8864);
		if (v6) {
			frame_u16(&b, 7);
			frame_u16(&b, 0x8864);
		}
		frame_u8(&b, 0x11);
		frame_u8(&b, 0);
		frame_u16(&b, 1);
		frame_u16(&b, 0);
		frame_u16(&b, v6 ? 0x0057 : 0x0021);
		frame_transport(&b, v6 ? &udp6 : &udp, payload,
				sizeof(payload));
		check_built(&b, "port 5000 and udp", true, true);
		check_built(&b, "host fd00::1", v6, v6);
	}
}

static void test_plain_ip(void **state)
{
	struct frame_builder b = {.at = 0};

	(void)state;
	frame_link(&b, 101, 0);
	frame_transport(&b, &udp6, payload, sizeof(payload));
	check_built(&b, "src host fd00::1 and dst port 5000", true, true);
	check_built(&b, "dst port 4000", false, false);
}

static void test_extension_headers(void **state)
{
	struct frame_builder b = {.at = 0};

	(void)state;
	frame_link(&b, 1, 0x86dd);
	frame_u32(&b, 0x60000000);
	frame_u16(&b, 8 + 16 + 12 + 16);
	frame_u8(&b, 0); /* hop-by-hop options */
	frame_u8(&b, 64);
	for (uint8_t i = 1; i <= 2; i++) {
		frame_u32(&b, 0xfd000000);
		frame_u32(&b, 0);
		frame_u32(&b, 0);
		frame_u32(&b, i);
	}
	frame_u8(&b, 60); /* destination options follow, of 16 bytes */
	frame_u8(&b, 0);
	frame_u16(&b, 0);
	frame_u32(&b, 0);
	frame_u8(&b, 51); /* authentication, of 12 bytes */
	frame_u8(&b, 1);
	for (int i = 0; i < 7; i++)
		frame_u16(&b, 0);
	frame_u8(&b, 17);
	frame_u8(&b, 1);
	for (int i = 0; i < 5; i++)
		frame_u16(&b, 0);
	frame_u16(&b, 4000);
	frame_u16(&b, 5000);
	frame_u16(&b, 16);
	frame_u16(&b, 0);
	frame_u32(&b, 1);
	frame_u32(&b, 2);
	/* the kernel does not look behind extension headers */
	check_built(&b, "src port 4000 and dst port 5000", true, true);
	check_built(&b, "port 4001", false, true);
	check_built(&b, "udp and host fd00::2", true, true);
	check_built(&b, "ip6[48:4] = 1 and len = 56", true, true);
}

/*
 * Replaces the filter that the kernel would load: each packet of the loopback
 * interface leaves and arrives.
 */
static bool passes_on_loopback(uint32_t packet_type)
{
	static struct filter_program program;
	struct filter *f = filter_of("");
	struct frame_builder b = {.at = 0};

	frame_make(&b, &udp, payload, sizeof(payload));
	assert_int_equal(filter_socket_program(&program, f,
					       FILTER_LINK_ETHERNET, true,
					       FILTER_DETAIL_ALL),
			 0);
	filter_free(f);
	assert_int_equal(program.code[0].k,
			 (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE));
	program.code[0] =
		(struct sock_filter){BPF_LD | BPF_IMM, 0, 0, packet_type};
	return kernel_passes(&program, b.data, b.at);
}

static void test_loopback_counts_a_packet_once(void **state)
{
	(void)state;
	assert_false(passes_on_loopback(PACKET_OUTGOING));
	assert_true(passes_on_loopback(PACKET_HOST));
}

static void test_no_other_protocol(void **state)
{
	struct frame_fields icmp = {.version = FRAME_IPV4, .protocol = 1};
	struct frame_builder b = {.at = 0};

	(void)state;
	frame_make(&b, &icmp, payload, sizeof(payload));
	check_built(&b, "", false, false);
	b.at = 0;
	frame_link(&b, 1, 0x0806);
	frame_u32(&b, 0);
	check_built(&b, "", false, false);
	check_built(&b, "not tcp", false, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_by_flow),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_ceilings),
		cmocka_unit_test(test_length_is_of_the_ip_packet),
		cmocka_unit_test(test_detail),
		cmocka_unit_test(test_fragments_pass),
		cmocka_unit_test(test_reassembled_datagrams_are_decided),
		cmocka_unit_test(test_tags_and_tunnels),
		cmocka_unit_test(test_plain_ip),
		cmocka_unit_test(test_extension_headers),
		cmocka_unit_test(test_loopback_counts_a_packet_once),
		cmocka_unit_test(test_no_other_protocol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
