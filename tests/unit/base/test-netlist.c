#include "base/netlist.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_membership(void **state)
{
	struct netlist list;

	(void)state;
	assert_int_equal(netlist_parse(&list, " 127.0.0.1,10.0.0.0/8, "
					      "2001:db8::/33 192.168.4.0/22"),
			 0);
	assert_int_equal(list.count, 4);
	assert_true(netlist_has_text(&list, "127.0.0.1"));
	assert_true(netlist_has_text(&list, "::ffff:127.0.0.1"));
	assert_false(netlist_has_text(&list, "127.0.0.2"));
	assert_true(netlist_has_text(&list, "10.255.0.9"));
	assert_false(netlist_has_text(&list, "11.0.0.0"));
	assert_true(netlist_has_text(&list, "2001:db8:7fff::1"));
	assert_false(netlist_has_text(&list, "2001:db8:8000::1"));
	assert_true(netlist_has_text(&list, "192.168.7.255"));
	assert_false(netlist_has_text(&list, "192.168.8.0"));
	assert_false(netlist_has_text(&list, "10.0.0.1:80"));
	assert_false(netlist_has_text(&list, ""));
}

static void test_whole_ranges(void **state)
{
	struct netlist list;

	(void)state;
	assert_int_equal(netlist_parse(&list, "0.0.0.0/0"), 0);
	assert_true(netlist_has_text(&list, "203.0.113.9"));
	assert_false(netlist_has_text(&list, "2001:db8::1"));
	assert_int_equal(netlist_parse(&list, "::/0"), 0);
	assert_true(netlist_has_text(&list, "2001:db8::1"));
	assert_true(netlist_has_text(&list, "203.0.113.9"));
	assert_int_equal(netlist_parse(&list, ""), 0);
	assert_false(netlist_has_text(&list, "203.0.113.9"));
}

static void test_wrong_lists(void **state)
{
	static const char *const texts[] = {
		"localhost",       "10.0.0.0/33",   "10.0.0.1/8",  "10/8",
		"::/129",          "10.0.0.0/",     "10.0.0.0/-1", "/8",
		"1.2.3.4;5.6.7.8", "2001:db8::1/64"};
	char many[40 * 10] = "";
	struct netlist list;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(netlist_parse(&list, texts[i]), -EINVAL);
	for (int i = 0; i < NETLIST_MAX; i++)
		strcat(many, "10.0.0.1 ");
	assert_int_equal(netlist_parse(&list, many), 0);
	strcat(many, "10.0.0.1");
	assert_int_equal(netlist_parse(&list, many), -EINVAL);
}

static void test_socket_addresses(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	struct sockaddr other = {.sa_family = AF_UNIX};
	struct netlist list;

	(void)state;
	assert_int_equal(netlist_parse(&list, "10.0.0.0/8 fe80::/10"), 0);
	inet_pton(AF_INET, "10.1.2.3", &in.sin_addr);
	assert_true(netlist_has(&list, (struct sockaddr *)&in));
	inet_pton(AF_INET, "9.1.2.3", &in.sin_addr);
	assert_false(netlist_has(&list, (struct sockaddr *)&in));
	inet_pton(AF_INET6, "febf::1", &in6.sin6_addr);
	assert_true(netlist_has(&list, (struct sockaddr *)&in6));
	inet_pton(AF_INET6, "fec0::1", &in6.sin6_addr);
	assert_false(netlist_has(&list, (struct sockaddr *)&in6));
	assert_false(netlist_has(&list, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_membership),
		cmocka_unit_test(test_whole_ranges),
		cmocka_unit_test(test_wrong_lists),
		cmocka_unit_test(test_socket_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
