#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/sockaddr.h"

static void test_literal_goes_there_and_back(void **state)
{
	static const struct {
		const char *host;
		socklen_t len;
		bool any;
	} literals[] = {
		{"192.0.2.7", sizeof(struct sockaddr_in), false},
		{"0.0.0.0", sizeof(struct sockaddr_in), true},
		{"255.109.99.100", sizeof(struct sockaddr_in), false},
		{"10.9.0.200", sizeof(struct sockaddr_in), false},
		{"2001:db8::1", sizeof(struct sockaddr_in6), false},
		{"::", sizeof(struct sockaddr_in6), true},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++) {
		char host[INET6_ADDRSTRLEN] = "";
		union sockaddr_ip ss;
		socklen_t len = 0;
		uint16_t port = 0;

		memset(&ss, 0xff, sizeof(ss));
		assert_int_equal(
			sockaddr_parse(&ss, &len, literals[i].host, 40000), 0);
		assert_int_equal(len, literals[i].len);
		assert_int_equal(sockaddr_is_any(&ss), literals[i].any);
		assert_int_equal(sockaddr_host(host, &port, &ss), 0);
		assert_string_equal(host, literals[i].host);
		assert_int_equal(port, 40000);
		for (size_t k = len; k < sizeof(ss); k++)
			assert_int_equal(((const char *)&ss)[k], 0);
	}
}

static void test_what_is_no_literal_writes_nothing(void **state)
{
	static const char *const texts[] = {
		"",      "localhost",   "192.0.2",
		"[::1]", "192.0.2.7:1", "fe80::1%lo"};
	union sockaddr_ip ss = {.ss_family = AF_UNIX};
	char host[INET6_ADDRSTRLEN] = "before";
	uint16_t port = 7;
	socklen_t len = 1;
	(void)state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(sockaddr_parse(&ss, &len, texts[i], 1),
				 -EINVAL);
		assert_int_equal(ss.ss_family, AF_UNIX);
		assert_int_equal(len, 1);
	}
	assert_int_equal(sockaddr_host(host, &port, &ss), -EINVAL);
	assert_string_equal(host, "before");
	assert_int_equal(port, 7);
	assert_false(sockaddr_is_any(&ss));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_literal_goes_there_and_back),
		cmocka_unit_test(test_what_is_no_literal_writes_nothing),
	};

	return cmocka_run_group_tests_name("base-sockaddr", tests, NULL, NULL);
}
