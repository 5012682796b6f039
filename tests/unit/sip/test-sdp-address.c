/* To which addresses in a peer's SDP media can be sent. */
#include "sip/sdp/sdp_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct media_addr ipv4(const char *host, uint16_t port)
{
	struct media_addr a = {.len = sizeof(struct sockaddr_in)};
	struct sockaddr_in *in = (void *)&a.ss;

	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	assert_int_equal(inet_pton(AF_INET, host, &in->sin_addr), 1);
	return a;
}

static struct media_addr ipv6(const char *host, uint16_t port)
{
	struct media_addr a = {.len = sizeof(struct sockaddr_in6)};
	struct sockaddr_in6 *in6 = (void *)&a.ss;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	assert_int_equal(inet_pton(AF_INET6, host, &in6->sin6_addr), 1);
	return a;
}

/* The result with a socket made for this query only. */
static int fresh(const struct media_addr *peer, const struct media_addr *local)
{
	struct sdp_route r = {0};
	int err = sdp_address_route(&r, peer, local, 0);

	sdp_route_close(&r);
	return err;
}

/* The descriptor that the next socket() would get. */
static int next_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static void test_route_answers_as_a_new_socket_does(void **state)
{
	/*
	 * from a loopback address the kernel refuses to route to another
	 * network
	 */
	const char *hosts[] = {"127.0.0.1", "192.0.2.1",    "127.0.0.2",
			       "127.0.0.1", "198.51.100.7", "127.9.9.9"};
	const char *locals[] = {"127.0.0.1", "127.0.0.3", "0.0.0.0"};
	struct sdp_route r = {0};
	unsigned refused = 0;

	(void)state;
	for (size_t i = 0; i < 3 * 3 * 6; i++) {
		struct media_addr local = ipv4(locals[i / 6 % 3], 0);
		struct media_addr peer =
			ipv4(hosts[i % 6], (uint16_t)(4000 + i));
		int err = sdp_address_route(&r, &peer, &local,
					    (int64_t)i * SDP_ROUTE_VALID_NS);

		assert_int_equal(err, fresh(&peer, &local));
		refused += err != 0;
		if (hosts[i % 6][0] == '1' && hosts[i % 6][1] == '2')
			assert_int_equal(err, 0);
	}
	assert_true(refused > 0);
	sdp_route_close(&r);
}

static void test_route_keeps_one_socket(void **state)
{
	struct media_addr local = ipv4("127.0.0.1", 5000);
	struct sdp_route r = {0};
	int before = next_fd();
	int fd;

	(void)state;
	for (uint16_t i = 0; i < 100; i++) {
		struct media_addr peer = ipv4("127.0.0.2", (uint16_t)(9 + i));

		assert_int_equal(
			sdp_address_route(&r, &peer, &local,
					  (int64_t)i * SDP_ROUTE_VALID_NS),
			0);
		assert_true(r.open);
		if (i == 0)
			fd = r.fd;
		assert_int_equal(r.fd, fd);
	}
	assert_true(next_fd() > before);
	/* with another local address: that one */
	local = ipv4("127.0.0.5", 0);
	assert_int_equal(sdp_address_route(&r, &local, &local, 0), 0);
	assert_true(r.open);
	sdp_route_close(&r);
	assert_false(r.open);
	assert_int_equal(next_fd(), before);
	sdp_route_close(&r);
}

/* The port that the kept socket has asked for last. */
static uint16_t asked(const struct sdp_route *r)
{
	struct sockaddr_in in = {.sin_port = 0};
	socklen_t len = sizeof(in);

	assert_int_equal(getpeername(r->fd, (void *)&in, &len), 0);
	return ntohs(in.sin_port);
}

static void test_route_is_valid_for_a_second(void **state)
{
	const int64_t then = 7 * NS_PER_S;
	struct media_addr local = ipv4("127.0.0.1", 0);
	struct media_addr rtp = ipv4("127.0.0.2", 4000);
	struct media_addr rtcp = ipv4("127.0.0.2", 4001);
	struct media_addr second = ipv4("127.0.0.3", 4002);
	struct media_addr refused = ipv4("192.0.2.1", 4003);
	struct media_addr local2 = ipv4("127.0.0.4", 0);
	struct sdp_route r = {0};

	(void)state;
	assert_int_equal(sdp_address_route(&r, &rtp, &local, then), 0);
	assert_int_equal(asked(&r), 4000);
	assert_int_equal(sdp_address_route(&r, &rtcp, &local,
					   then + SDP_ROUTE_VALID_NS - 1),
			 0);
	assert_int_equal(asked(&r), 4000);
	assert_int_equal(
		sdp_address_route(&r, &rtcp, &local, then + SDP_ROUTE_VALID_NS),
		0);
	assert_int_equal(asked(&r), 4001);
	/* another host, from another address, and one without a route */
	assert_int_equal(sdp_address_route(&r, &second, &local,
					   then + SDP_ROUTE_VALID_NS),
			 0);
	assert_int_equal(asked(&r), 4002);
	assert_int_equal(sdp_address_route(&r, &second, &local2,
					   then + SDP_ROUTE_VALID_NS),
			 0);
	assert_int_equal(asked(&r), 4002);
	for (int i = 0; i < 2; i++)
		assert_int_not_equal(
			sdp_address_route(&r, &refused, &local2,
					  then + SDP_ROUTE_VALID_NS),
			0);
	sdp_route_close(&r);
}

/*
 * connect() leaves a source address in a socket that is not bound, and an
 * interface where the address is link-local.
 */
static void test_route_keeps_no_socket_that_remembers(void **state)
{
	struct media_addr any = ipv4("0.0.0.0", 0);
	struct media_addr peer = ipv4("127.0.0.1", 4000);
	struct media_addr any6 = ipv6("::", 0);
	struct media_addr one6 = ipv6("::1", 0);
	struct media_addr link6 = ipv6("fe80::1", 4000);
	struct sdp_route r = {0};

	(void)state;
	assert_int_equal(sdp_address_route(&r, &peer, &any, 0), 0);
	assert_false(r.open);
	(void)sdp_address_route(&r, &one6, &any6, 0);
	assert_false(r.open);
	(void)sdp_address_route(&r, &link6, &one6, 0);
	assert_false(r.open);
}

static void test_route_without_an_address_is_fine(void **state)
{
	struct media_addr local = ipv4("127.0.0.1", 0);
	struct media_addr none = {.len = 0};
	/* an address of no local interface: that of a relay */
	struct media_addr relay = ipv4("192.0.2.9", 0);
	struct media_addr peer = ipv4("127.0.0.1", 4000);
	struct sdp_route r = {0};

	(void)state;
	assert_int_equal(sdp_address_route(&r, &none, &local, 0), 0);
	assert_false(r.open);
	assert_int_equal(sdp_address_route(&r, &peer, &relay, 0), 0);
	assert_false(r.open);
}

static void test_address_check_wants_unicast_of_the_family(void **state)
{
	struct media_addr local = ipv4("127.0.0.1", 0);
	struct media_addr good = ipv4("192.0.2.1", 4000);
	struct media_addr multicast = ipv4("224.0.0.1", 4000);
	struct media_addr zero = ipv4("0.1.2.3", 4000);
	struct media_addr six = ipv6("::1", 4000);

	(void)state;
	assert_int_equal(sdp_address_check(&good, &local), 0);
	assert_int_equal(sdp_address_check(&multicast, &local), -EADDRNOTAVAIL);
	assert_int_equal(sdp_address_check(&zero, &local), -EADDRNOTAVAIL);
	assert_int_equal(sdp_address_check(&six, &local), -EAFNOSUPPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_route_answers_as_a_new_socket_does),
		cmocka_unit_test(test_route_keeps_one_socket),
		cmocka_unit_test(test_route_is_valid_for_a_second),
		cmocka_unit_test(test_route_keeps_no_socket_that_remembers),
		cmocka_unit_test(test_route_without_an_address_is_fine),
		cmocka_unit_test(
			test_address_check_wants_unicast_of_the_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
