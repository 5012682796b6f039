#include "base/loopback.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_addresses(void **state)
{
	(void)state;
	assert_true(loopback_address("127.0.0.1"));
	assert_true(loopback_address("127.255.255.254"));
	assert_true(loopback_address("::1"));
	assert_true(loopback_address("::ffff:127.0.0.1"));
	assert_false(loopback_address("128.0.0.1"));
	assert_false(loopback_address("0.0.0.0"));
	assert_false(loopback_address("::"));
	assert_false(loopback_address("localhost"));
	assert_false(loopback_address(""));
}

static void test_urls_of_this_host(void **state)
{
	(void)state;
	assert_false(loopback_url_exposed("http://127.0.0.1"));
	assert_false(loopback_url_exposed("http://127.0.0.1:8080/x"));
	assert_false(loopback_url_exposed("HTTP://LocalHost:1?q"));
	assert_false(loopback_url_exposed("http://[::1]:8080"));
	assert_false(loopback_url_exposed("https://example.net"));
	assert_false(loopback_url_exposed("no url"));
}

static void test_urls_of_other_hosts(void **state)
{
	(void)state;
	assert_true(loopback_url_exposed("http://example.net"));
	assert_true(loopback_url_exposed("http://127.0.0.1.example.net/"));
	assert_true(loopback_url_exposed("http://localhost.example.net"));
	assert_true(loopback_url_exposed("http://127.0.0.1@example.net"));
	assert_true(loopback_url_exposed("http://127.0.0.1:x@example.net"));
	assert_true(loopback_url_exposed("http://[2001:db8::1]"));
	assert_true(loopback_url_exposed("http://"));
	assert_true(loopback_url_exposed(
		"http://0000000000000000000000000000000000000000000000000000"
		"000000000000000000000000000127.0.0.1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_urls_of_this_host),
		cmocka_unit_test(test_urls_of_other_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
