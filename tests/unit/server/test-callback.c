#include "control/server/callback/address.h"
#include "control/server/callback/render.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool allowed(const char *text, const char *allow)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct netlist list;

	assert_int_equal(netlist_parse(&list, allow), 0);
	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		return callback_address_allowed((struct sockaddr *)&in, &list);
	assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
	return callback_address_allowed((struct sockaddr *)&in6, &list);
}

static void test_special_addresses_are_refused(void **state)
{
	static const char *const special[] = {
		"0.0.0.0",
		"10.1.2.3",
		"100.64.0.1",
		"127.0.0.1",
		"127.255.255.255",
		"169.254.169.254",
		"172.16.0.1",
		"172.31.255.255",
		"192.168.1.1",
		"192.0.0.8",
		"198.18.0.1",
		"224.0.0.1",
		"255.255.255.255",
		"::",
		"::1",
		"fe80::1",
		"fc00::1",
		"fdff::1",
		"ff02::1",
		"2001:db8::1",
		"::ffff:10.0.0.1",
		"::127.0.0.1",
		"64:ff9b::7f00:1",
		"64:ff9b:1::a00:1",
		"64:ff9b:1:a9fe:a9:fe00:808:808", /* RFC 6052 2.2: /48 */
		"2002:7f00:1::1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
		if (allowed(special[i], ""))
			fail_msg("%s", special[i]);
}

static void test_public_addresses_are_allowed(void **state)
{
	static const char *const public[] = {
		"1.1.1.1",         "172.15.255.255",   "172.32.0.1",
		"100.128.0.1",     "223.255.255.255",  "2606:4700::1111",
		"::ffff:1.1.1.1",  "64:ff9b::101:101", "2002:101:101::1",
		"2400:cb00::face",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(public) / sizeof(*public); i++)
		if (!allowed(public[i], ""))
			fail_msg("%s", public[i]);
}

static void test_allow_list_opens_its_networks_alone(void **state)
{
	(void)state;
	assert_true(allowed("10.1.2.3", "10.1.0.0/16"));
	assert_true(allowed("::ffff:10.1.2.3", "10.1.0.0/16"));
	assert_true(allowed("64:ff9b::a01:203", "10.1.0.0/16"));
	assert_false(allowed("10.2.2.3", "10.1.0.0/16"));
	assert_true(allowed("::1", "::1"));
	assert_false(allowed("127.0.0.1", "::1"));
}

static void test_url_form(void **state)
{
	static const struct {
		const char *url, *wrong;
	} cases[] = {
		{"https://ci.example.net/hook?a=b", NULL},
		{"http://192.0.2.1.example.net:8080", NULL},
		{"http://1.1.1.1/", NULL},
		{"http://[2606:4700::1111]:80/x", NULL},
		{"HTTPS://EXAMPLE.NET/", NULL},
		{"http://127.0.0.1/", "special"},
		{"http://127.1/", "special"},
		{"http://0177.0.0.1/", "special"},
		{"http://[::1%25lo]/", "special"},
		{"http://[::]/", "special"},
		{"http://a b/", "blanks"},
		{"http://ex\xc3\xa4mple.net/", "blanks"},
		{"ws://example.net/", "http"},
		{"http://u@example.net/", "user"},
		{"http://example.net/#f", "fragment"},
		{"http://", "must"},
		{"", "URL"},
	};
	char reason[CALLBACK_REASON_BYTES];
	struct netlist none = {.count = 0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int err = callback_url_check(cases[i].url, &none, reason);

		if (!err != !cases[i].wrong ||
		    (err && !strstr(reason, cases[i].wrong)))
			fail_msg("%s: %s", cases[i].url,
				 err ? reason : "allowed");
	}
}

static void test_placeholders_are_checked(void **state)
{
	char unknown[RENDER_NAME_BYTES];

	(void)state;
	assert_int_equal(render_check("", unknown), 0);
	assert_int_equal(render_check("} }} { {", unknown), 0);
	assert_int_equal(render_check("{{id}}{{ status }}", unknown), 0);
	assert_int_equal(render_check("{{id}} {{nonsense}}", unknown), -EINVAL);
	assert_string_equal(unknown, "nonsense");
	assert_int_equal(render_check("{{id}} {{id", unknown), -EINVAL);
	assert_string_equal(unknown, "");
	assert_int_equal(render_check("{{}}", unknown), -EINVAL);
}

static void expect(const char *template, const char *type, const char *wanted)
{
	json_t *run = json_pack("{s:i, s:s, s:n, s:[i,s], s:f}", "id", 7,
				"test_name", "a\"<&\n", "stopped_at", "runs", 1,
				"x\"", "progress", 3.6);
	struct buf out;

	buf_init(&out, RENDER_BYTES_MAX);
	assert_int_equal(render_template(&out, template, type, run), 0);
	assert_string_equal(out.data, wanted);
	buf_release(&out);
	json_decref(run);
}

static void test_values_are_escaped_for_the_type(void **state)
{
	(void)state;
	expect("{\"n\": \"{{test_name}}\", \"id\": {{id}}, \"r\": {{runs}}}",
	       "application/vnd.x+json; charset=utf-8",
	       "{\"n\": \"a\\\"<&\\n\", \"id\": 7, \"r\": [1,\"x\\\"\"]}");
	expect("<a b='{{test_name}}'/>{{runs}}", "text/xml",
	       "<a b='a&quot;&lt;&amp;\n'/>[1,&quot;x\\&quot;&quot;]");
	expect("n={{test_name}}", "application/x-www-form-urlencoded",
	       "n=a%22%3C%26%0A");
	expect("{{test_name}}|{{stopped_at}}|{{status}}|{{id}}|{{progress}}",
	       "text/plain", "a\"<&\n|||7|3.6");
}

static void test_body_has_a_ceiling(void **state)
{
	json_t *run = json_object();
	char *name = malloc(100001);
	struct buf out;
	int err = 0;

	(void)state;
	memset(name, 'x', 100000);
	name[100000] = '\0';
	json_object_set_new(run, "test_name", json_string(name));
	buf_init(&out, RENDER_BYTES_MAX);
	for (int i = 0; i < 100 && !err; i++)
		err = render_template(&out, "{{test_name}}", "text/plain", run);
	assert_int_equal(err, -EMSGSIZE);
	buf_release(&out);
	free(name);
	json_decref(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_special_addresses_are_refused),
		cmocka_unit_test(test_public_addresses_are_allowed),
		cmocka_unit_test(test_allow_list_opens_its_networks_alone),
		cmocka_unit_test(test_url_form),
		cmocka_unit_test(test_placeholders_are_checked),
		cmocka_unit_test(test_values_are_escaped_for_the_type),
		cmocka_unit_test(test_body_has_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
