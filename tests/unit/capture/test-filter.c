#include "capture/filter.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/capture/bpf.h"
#include "tests/unit/capture/frames.h"

/* From 10.0.0.1 or fd00::1, port 4000, to .2, port 5000. */
static const struct frame_fields udp = {
	.version = FRAME_IPV4, .protocol = 17, .sport = 4000, .dport = 5000};
static const struct frame_fields udp6 = {
	.version = FRAME_IPV6, .protocol = 17, .sport = 4000, .dport = 5000};
static const struct frame_fields tcp = {
	.version = FRAME_IPV4, .protocol = 6, .sport = 4000, .dport = 5000};
static const char payload[] = "a payload";

static struct filter_program program;

static void parse(struct filter *f, const char *text)
{
	char reason[FILTER_REASON_BYTES] = "";

	if (filter_parse(f, text, reason))
		fail_msg("%s: %s", text, reason);
}

/* The kernel takes the program: any socket may have one. */
static void assert_kernel_takes(const struct filter_program *p)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct sock_fprog set = {
		.len = (unsigned short)p->count,
		.filter = program.code,
	};

	assert_true(fd >= 0);
	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &set, sizeof(set)),
		0);
	close(fd);
}

static bool passes(const struct filter *f, const struct frame_builder *b)
{
	enum filter_link link =
		b->link == 1 ? FILTER_LINK_ETHERNET : FILTER_LINK_IP;

	assert_int_equal(filter_compile(&program, f, link, false), 0);
	assert_kernel_takes(&program);
	return bpf_run(&program, b->data, b->at, PACKET_HOST) > 0;
}

static void check(const char *text, const struct frame_fields *fields,
		  bool want)
{
	struct frame_builder b = {.at = 0};
	struct filter f;
	struct frame frame;
	struct datagram d;
	enum datagram_kind kind;

	parse(&f, text);
	frame_make(&b, fields, payload, sizeof(payload));
	frame = frame_of(&b, 0);
	kind = datagram_parse(&d, &frame);
	if (kind == DATAGRAM_IS_UDP || kind == DATAGRAM_IS_TCP)
		assert_int_equal(
			filter_matches(&f, &d, kind == DATAGRAM_IS_TCP), want);
	if (passes(&f, &b) != want)
		fail_msg("%s: the program says %d", text, !want);
}

static void test_conditions(void **state)
{
	static const struct {
		const char *text;
		bool v4;
		bool v6;
		bool tcp;
	} cases[] = {
		{"host 10.0.0.1", true, false, true},
		{"host 10.0.0.3", false, false, false},
		{"src host 10.0.0.1", true, false, true},
		{"dst host 10.0.0.1", false, false, false},
		{"host 10.0.0.0/30", true, false, true},
		{"src host 10.0.0.2/31", false, false, false},
		{"host 0.0.0.0/0", true, false, true},
		{"host ::/0", true, true, true},
		{"host ::ffff:10.0.0.2", true, false, true},
		{"host fd00::2", false, true, false},
		{"src host fd00::2", false, false, false},
		{"host fd00::/127", false, true, false},
		{"host fd00::/8", false, true, false},
		{"port 4000", true, true, true},
		{"src port 5000", false, false, false},
		{"dst port 5000", true, true, true},
		{"port 3000-3999", false, false, false},
		{"port 3999-4000", true, true, true},
		{"port 4001-4999", false, false, false},
		{"port 4001-65535", true, true, true},
		{"port 0", false, false, false},
		{"udp", true, true, false},
		{"tcp", false, false, true},
		{"not udp", false, false, true},
		{"not host 10.0.0.1", false, true, false},
		{"not port 1-3000", true, true, true},
		{"not not port 4000", true, true, true},
		{"host 10.0.0.1 and port 5000", true, false, true},
		{"host 10.0.0.1 and port 5001", false, false, false},
		{"host fd00::1 or udp", true, true, false},
		{"tcp or host fd00::1 and port 1", false, false, true},
		{"(tcp or host fd00::1) and port 1", false, false, false},
		{"not (tcp or host fd00::1)", true, false, false},
		{"not (udp and host fd00::1)", true, false, true},
		{"not(udp)and(port 4000)", false, false, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check(cases[i].text, &udp, cases[i].v4);
		check(cases[i].text, &udp6, cases[i].v6);
		check(cases[i].text, &tcp, cases[i].tcp);
	}
}

static void test_reasons(void **state)
{
	static const struct {
		const char *text;
		const char *reason;
	} cases[] = {
		{"", "column 1: expected host"},
		{"hots 10.0.0.1", "column 1: expected host, port, src, dst, "
				  "udp, tcp, not or (, not \"hots\""},
		{"host example.net", "column 6: host takes an IPv4 or IPv6"},
		{"host 10.0.0.1/33", "column 6: the bits of a network are 0 "
				     "to 32"},
		{"host fd00::1/129", "0 to 128"},
		{"port 65536", "port takes N or N-M"},
		{"port 20-10", "port takes N or N-M"},
		{"port -", "port takes"},
		{"src udp", "column 5: expected host or port"},
		{"udp port 5060", "column 5: expected and, or, not \"port\""},
		{"(udp", "column 5: expected and, or, )"},
		{"udp)", "column 4: expected and, or"},
		{"udp and", "column 8: expected host"},
		{"not", "column 4: expected host"},
	};
	struct filter f = {.count = 77};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char reason[FILTER_REASON_BYTES] = "";

		assert_int_equal(filter_parse(&f, cases[i].text, reason),
				 -EINVAL);
		if (!strstr(reason, cases[i].reason))
			fail_msg("%s: %s", cases[i].text, reason);
		assert_int_equal(f.count, 77);
	}
}

static void test_ceilings(void **state)
{
	static const char condition[] = "host fd00:1:2:3:4:5:6:7 and ";
	char reason[FILTER_REASON_BYTES];
	char text[4096] = "";
	struct filter f;

	(void)state;
	/* 32 conditions and their 31 joints, of the longest kind */
	for (int i = 0; i < 31; i++)
		strcat(text, condition);
	strcat(text, "port 1-2");
	parse(&f, text);
	assert_int_equal(f.count, 63);
	assert_int_equal(
		filter_compile(&program, &f, FILTER_LINK_ETHERNET, true), 0);
	assert_kernel_takes(&program);
	strcat(text, " and udp");
	assert_int_equal(filter_parse(&f, text, reason), -E2BIG);

	memset(text, '(', 33);
	text[33] = '\0';
	assert_int_equal(filter_parse(&f, text, reason), -E2BIG);
}

/* What a part of a datagram does not tell lets it pass, either way. */
static void test_fragments_pass_what_they_do_not_tell(void **state)
{
	struct frame_fields part = udp;

	(void)state;
	part.fragment = 0x2000; /* the first one */
	check("port 9", &part, true);
	check("not port 4000", &part, true);
	check("tcp", &part, true);
	check("host 10.0.0.9 and port 4000", &part, false);
	part.fragment = 0x0010;
	check("not port 4000", &part, true);
	check("not host 10.0.0.1", &part, false);
}

static void check_built(struct frame_builder *b, const char *text, bool want)
{
	struct filter f;

	parse(&f, text);
	assert_int_equal(passes(&f, b), want);
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
		check_built(&b, "host 10.0.0.1 and port 5000", tags <= 4);
		check_built(&b, "port 5001", false);
	}
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct frame_builder b = {.at = 0};

		frame_link(&b, 1, 0x8864);
		frame_u8(&b, 0x11);
		frame_u8(&b, 0);
		frame_u16(&b, 1);
		frame_u16(&b, 0);
		frame_u16(&b, v6 ? 0x0057 : 0x0021);
		frame_transport(&b, v6 ? &udp6 : &udp, payload,
				sizeof(payload));
		check_built(&b, "port 5000 and udp", true);
		check_built(&b, "host fd00::1", v6 == 1);
	}
}

static void test_plain_ip(void **state)
{
	struct frame_builder b = {.at = 0};

	(void)state;
	frame_link(&b, 101, 0);
	frame_transport(&b, &udp6, payload, sizeof(payload));
	check_built(&b, "src host fd00::1 and dst port 5000", true);
	check_built(&b, "dst port 4000", false);
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
	check_built(&b, "src port 4000 and dst port 5000", true);
	check_built(&b, "port 4001", false);
	check_built(&b, "udp and host fd00::2", true);
}

static void test_everything_but_no_other_protocol(void **state)
{
	static const struct filter everything;
	struct frame_fields icmp = {.version = FRAME_IPV4, .protocol = 1};
	struct frame_builder b = {.at = 0};

	(void)state;
	frame_make(&b, &udp, payload, sizeof(payload));
	assert_true(passes(&everything, &b));
	assert_int_equal(filter_compile(&program, &everything,
					FILTER_LINK_ETHERNET, true),
			 0);
	assert_kernel_takes(&program);
	/* on lo each packet leaves, and arrives */
	assert_int_equal(bpf_run(&program, b.data, b.at, PACKET_OUTGOING), 0);
	assert_true(bpf_run(&program, b.data, b.at, PACKET_HOST) > 0);
	b.at = 0;
	frame_make(&b, &icmp, payload, sizeof(payload));
	assert_false(passes(&everything, &b));
	b.at = 0;
	frame_link(&b, 1, 0x0806);
	frame_u32(&b, 0);
	assert_false(passes(&everything, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_ceilings),
		cmocka_unit_test(test_fragments_pass_what_they_do_not_tell),
		cmocka_unit_test(test_tags_and_tunnels),
		cmocka_unit_test(test_plain_ip),
		cmocka_unit_test(test_extension_headers),
		cmocka_unit_test(test_everything_but_no_other_protocol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
