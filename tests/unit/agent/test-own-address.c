#include "agent/own_address.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void test_towards_this_host(void **state)
{
	char own[INET6_ADDRSTRLEN];
	const char *reason;

	(void)state;
	assert_int_equal(own_address_to(own, sizeof(own),
					"http://127.0.0.1:8080/x", &reason),
			 0);
	assert_string_equal(own, "127.0.0.1");
	/* a name, and the port of the scheme */
	assert_int_equal(
		own_address_to(own, sizeof(own), "https://localhost", &reason),
		0);
	assert_true(own[0] == '1' || own[0] == ':');
}

static void test_towards_this_host_by_ipv6(void **state)
{
	const struct sockaddr_in6 loopback = {
		.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	char own[INET6_ADDRSTRLEN];
	const char *reason;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err =
		bind(fd, (const struct sockaddr *)&loopback, sizeof(loopback));

	(void)state;
	close(fd);
	if (err)
		skip(); /* a host without IPv6 */
	assert_int_equal(
		own_address_to(own, sizeof(own), "http://[::1]:8080", &reason),
		0);
	assert_string_equal(own, "::1");
}

static void test_without_an_address(void **state)
{
	char own[INET6_ADDRSTRLEN];
	const char *reason;

	(void)state;
	assert_int_equal(
		own_address_to(own, sizeof(own), "no URL at all", &reason),
		-EINVAL);
	assert_string_equal(reason, "it is no URL with a host");
	/* a datagram socket may not go to the broadcast address */
	assert_int_equal(own_address_to(own, sizeof(own),
					"http://255.255.255.255", &reason),
			 -EHOSTUNREACH);
	assert_string_equal(reason, "there is no route to it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_towards_this_host),
		cmocka_unit_test(test_towards_this_host_by_ipv6),
		cmocka_unit_test(test_without_an_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
