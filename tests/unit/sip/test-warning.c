#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sip/call/warning.h"
#include "world.h"

static void test_values(void **state)
{
	static const struct {
		const char *value;
		const char *text;
	} cases[] = {
		/* RFC 3261 20.43 */
		{"307 isi.edu \"Session parameter 'foo' not understood\"",
		 "307 Session parameter 'foo' not understood"},
		{"301 isi.edu \"Incompatible network address type 'E.164'\"",
		 "301 Incompatible network address type 'E.164'"},
		{"305 192.0.2.1:5060 \"first\", 399 x \"second\"", "305 first"},
		{"399 [2001:db8::1]:5060 \"a \\\"word\\\" \\\\ b\"",
		 "399 a \"word\" \\ b"},
		{"399 x \"tab\there\x01\x7f\"", "399 tab?here??"},
		{"399 x \"cut", "399 cut"},
		{"399 x \"ends with \\", "399 ends with \\"},
		{"399 x \"\"", "399 "},
		{"", ""},
		{"399", ""},
		{"399 ", ""},
		{"399 x", ""},
		{"399 x word", ""},
		{"39 x \"y\"", ""},
		{"3999 x \"y\"", ""},
		{"abc x \"y\"", ""},
		{"399\t x \"y\"", ""},
	};
	char dst[SIP_WARNING_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		warning_parse(dst, sizeof(dst), cases[i].value,
			      strlen(cases[i].value));
		assert_string_equal(dst, cases[i].text);
	}
}

static void test_a_long_value_is_cut(void **state)
{
	char value[1024] = "399 x \"";
	char dst[16];

	(void)state;
	memset(value + strlen(value), 'y', 512);
	warning_parse(dst, sizeof(dst), value, strlen(value));
	assert_string_equal(dst, "399 yyyyyyyyyyy");
	/* nothing is read beyond the length */
	warning_parse(dst, sizeof(dst), value, 9);
	assert_string_equal(dst, "399 yy");
	warning_parse(dst, 3, value, strlen(value));
	assert_string_equal(dst, "");
}

/* ---- Warning from a peer ---- */

static const struct world_options plain = {.password = "secret",
					   .domain = "example.net"};
static const char *told; /* in the peer's response, or NULL */
static char heard[SIP_WARNING_BYTES];

static void script_refuses(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_reply(peer, 488, "Not Acceptable Here", told, NULL);
	peer_expect(peer, "ACK ");
}

static void on_call(struct world *world, struct sip_call *call,
		    enum sip_call_event event, const struct sip_call_info *info)
{
	(void)world;
	(void)call;
	if (event == SIP_CALL_CLOSED)
		snprintf(heard, sizeof(heard), "%s", info->warning);
}

static void refused(const char *header, const char *wanted)
{
	static struct world world;

	told = header;
	memset(heard, 'x', sizeof(heard) - 1);
	world_open(&world, &plain);
	world.script = script_refuses;
	world.call_h = on_call;
	world_dial(&world);
	world_run(&world);
	assert_int_equal(world.closed.code, 488);
	assert_string_equal(world.closed_reason, "Not Acceptable Here");
	assert_string_equal(heard, wanted);
	world_close(&world);
}

static void test_a_refusal_tells_its_warning(void **state)
{
	(void)state;
	refused("Warning: 305 pbx \"no codec, none at all\"\r\n",
		"305 no codec, none at all");
	refused("Warning: 399 a \"one\", 304 b \"two\"\r\n", "399 one");
	refused("Warning: nonsense\r\n", "");
	refused(NULL, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_a_long_value_is_cut),
		cmocka_unit_test(test_a_refusal_tells_its_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
