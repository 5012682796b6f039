#include "base/str.h"
#include "control/server/http/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct client find(const char *trusted, const char *peer,
			  const char *forwarded_for)
{
	const struct client_facts facts = {
		.peer = peer,
		.forwarded_for = forwarded_for,
		.forwarded_proto = "https",
		.host = "h:1",
		.names = "other, h",
		.local = "192.0.2.9",
		.ours = "http://ours",
	};
	struct netlist list;
	struct client c;

	assert_int_equal(netlist_parse(&list, trusted), 0);
	client_find(&c, &facts, &list);
	return c;
}

static void test_headers_of_strangers(void **state)
{
	struct client c = find("10.0.0.0/8", "192.0.2.1", "1.1.1.1");

	(void)state;
	assert_string_equal(c.address, "192.0.2.1");
	assert_false(c.secure);
	assert_string_equal(c.base_url, "http://h:1");
}

static void test_chain_of_proxies(void **state)
{
	static const struct {
		const char *header;
		const char *address;
	} cases[] = {
		{"1.1.1.1", "1.1.1.1"},
		{"2.2.2.2,1.1.1.1, 10.0.0.9 ,10.0.0.8", "1.1.1.1"},
		{"10.0.0.9", "10.0.0.9"}, /* a client within the trusted
					   * network */
		{"2.2.2.2, unknown, 10.0.0.9", "10.0.0.9"},
		{"", "10.0.0.1"},
		{",, ,", "10.0.0.1"},
		{"unknown", "10.0.0.1"},
		{"2001:db8::1, 10.0.0.2", "2001:db8::1"},
		{"1.1.1.1:4711", "10.0.0.1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct client c =
			find("10.0.0.0/8", "10.0.0.1", cases[i].header);

		assert_string_equal(c.address, cases[i].address);
		assert_true(c.secure);
		assert_string_equal(c.base_url, "https://h:1");
	}
}

static void test_host_is_checked(void **state)
{
	struct client_facts facts = {
		.peer = "unknown",
		.tls = true,
		.names = "known.example 192.0.2.7,2001:db8::7",
		.local = "192.0.2.9",
		.ours = "https://ours",
	};
	static const char *const bad[] = {
		"",
		"a/b",
		"a b",
		"a\"",
		"a@b",
		"known",
		"example",
		"known.exampl",
		"known.example2",
		"a.b",
		"known.example:",
		"known.example:0",
		"known.example:1:2",
		"192.0.2.8",
		"[192.0.2.9",
		"[2001:db8::8]",
		"[]",
		"[known.example]",
		"[::1]x",
		",",
	};
	static const char *const good[] = {
		"[::1]:80",
		"127.0.0.1",
		"127.9.9.9:1",
		"192.0.2.9:80",
		"192.0.2.7",
		"[2001:db8::7]:443",
		"KNOWN.example:65535",
		"LocalHost",
	};
	char wanted[CLIENT_URL_BYTES];
	const struct netlist none = {.count = 0};
	struct client c;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		facts.host = bad[i];
		client_find(&c, &facts, &none);
		assert_string_equal(c.base_url, "https://ours");
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		facts.host = good[i];
		client_find(&c, &facts, &none);
		str_print(wanted, sizeof(wanted), "https://%s", good[i]);
		assert_string_equal(c.base_url, wanted);
	}
	facts.names = NULL;
	facts.host = "known.example";
	client_find(&c, &facts, &none);
	assert_string_equal(c.base_url, "https://ours");
	facts.public_url = "https://public";
	client_find(&c, &facts, &none);
	assert_string_equal(c.base_url, "https://public");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers_of_strangers),
		cmocka_unit_test(test_chain_of_proxies),
		cmocka_unit_test(test_host_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
