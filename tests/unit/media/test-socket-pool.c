/* Socket pairs that are kept between two calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "media/engine/socket_pool.h"

#define PORT_MIN 20000
#define PORT_MAX 29999

static struct media_addr loopback(const char *host)
{
	struct media_addr a = {.len = sizeof(struct sockaddr_in)};

	a.ss.in.sin_family = AF_INET;
	assert_int_equal(inet_pton(AF_INET, host, &a.ss.in.sin_addr), 1);
	return a;
}

static struct socket_pair pair_new(void)
{
	const struct media_addr at = loopback("127.0.0.1");
	struct socket_pair pair = {.drops = {0}};

	assert_int_equal(
		socket_pair_bind(pair.fds, pair.addrs, &at, PORT_MIN, PORT_MAX),
		0);
	return pair;
}

static bool is_open(const struct socket_pair *pair)
{
	bool open = fcntl(pair->fds[SOCKET_RTP], F_GETFD) >= 0;

	assert_int_equal(fcntl(pair->fds[SOCKET_RTCP], F_GETFD) >= 0, open);
	return open;
}

static void pair_close(const struct socket_pair *pair)
{
	close(pair->fds[SOCKET_RTP]);
	close(pair->fds[SOCKET_RTCP]);
}

/* A pool in which so many sessions have ended that it keeps their pairs. */
static struct socket_pool *busy_pool(int64_t now_ns)
{
	struct socket_pool *p;

	assert_int_equal(socket_pool_new(&p, PORT_MIN, PORT_MAX), 0);
	for (int i = 0; i < SOCKET_POOL_RATE; i++) {
		struct socket_pair pair = pair_new();

		socket_pool_give(p, &pair, now_ns);
	}
	socket_pool_flush(p);
	return p;
}

static void test_few_sessions_keep_nothing(void **state)
{
	const struct media_addr at = loopback("127.0.0.1");
	int64_t now_ns = 100 * NS_PER_S;
	struct socket_pair pair;
	struct socket_pool *p;
	(void)state;

	assert_int_equal(socket_pool_new(&p, PORT_MIN, PORT_MAX), 0);
	for (int i = 0; i < 2 * SOCKET_POOL_RATE; i++) {
		pair = pair_new();
		socket_pool_give(p, &pair, now_ns);
		assert_false(is_open(&pair));
		now_ns += NS_PER_S / SOCKET_POOL_RATE * 2;
	}
	assert_false(socket_pool_take(p, &pair, &at, now_ns + NS_PER_S));
	p = socket_pool_free(p);
}

static void test_a_pair_rests_and_is_used_again(void **state)
{
	const struct media_addr at = loopback("127.0.0.1");
	const struct media_addr other = loopback("127.0.0.2");
	int64_t now_ns = 100 * NS_PER_S;
	struct socket_pool *p = busy_pool(now_ns);
	struct socket_pair first = pair_new();
	struct socket_pair second = pair_new();
	struct socket_pair taken;
	(void)state;

	socket_pool_give(p, &first, now_ns);
	socket_pool_give(p, &second, now_ns + 1);
	now_ns += SOCKET_POOL_REST_NS;
	assert_false(socket_pool_take(p, &taken, &at, now_ns - 1));
	assert_false(socket_pool_take(p, &taken, &other, now_ns));
	assert_true(socket_pool_take(p, &taken, &at, now_ns));
	assert_memory_equal(taken.fds, first.fds, sizeof(first.fds));
	assert_true(media_addr_equal(&taken.addrs[SOCKET_RTCP],
				     &first.addrs[SOCKET_RTCP]));
	assert_true(is_open(&taken));
	assert_false(socket_pool_take(p, &second, &at, now_ns));
	pair_close(&taken);
	p = socket_pool_free(p);
	assert_false(is_open(&second));
}

static void test_a_late_datagram_closes_its_pair(void **state)
{
	const struct media_addr at = loopback("127.0.0.1");
	int64_t now_ns = 100 * NS_PER_S;
	struct socket_pool *p = busy_pool(now_ns);
	struct socket_pair pairs[4] = {pair_new(), pair_new(), pair_new(),
				       pair_new()};
	struct socket_pair taken;
	(void)state;

	pairs[2].drops[SOCKET_RTCP] = 1; /* one fewer, or one more, than now */
	for (int i = 0; i < 4; i++)
		socket_pool_give(p, &pairs[i], now_ns);
	/* one datagram to RTP, an empty one to RTCP */
	for (int i = 0; i < 2; i++) {
		const struct media_addr *to = &pairs[i].addrs[i];

		assert_int_equal(sendto(pairs[3].fds[0], "x", (size_t)(1 - i),
					0, (const struct sockaddr *)&to->ss,
					to->len),
				 1 - i);
	}
	assert_true(
		socket_pool_take(p, &taken, &at, now_ns + SOCKET_POOL_REST_NS));
	assert_memory_equal(taken.fds, pairs[3].fds, sizeof(taken.fds));
	for (int i = 0; i < 3; i++)
		assert_false(is_open(&pairs[i]));
	pair_close(&taken);
	p = socket_pool_free(p);
}

static void test_a_full_pool_and_a_quiet_one_close(void **state)
{
	int64_t now_ns = 100 * NS_PER_S;
	struct socket_pair pairs[3] = {pair_new(), pair_new(), pair_new()};
	struct socket_pool *p;
	(void)state;

	/* one pair in eight may be kept: two of 16 */
	assert_int_equal(socket_pool_new(&p, PORT_MIN, PORT_MIN + 31), 0);
	for (int i = 0; i < SOCKET_POOL_RATE; i++) {
		struct socket_pair pair = pair_new();

		socket_pool_give(p, &pair, now_ns);
	}
	assert_int_equal(socket_pool_flush(p), 1);
	for (int i = 0; i < 3; i++)
		socket_pool_give(p, &pairs[i], now_ns);
	assert_true(is_open(&pairs[0]));
	assert_true(is_open(&pairs[1]));
	assert_false(is_open(&pairs[2]));
	pairs[2] = pair_new();
	socket_pool_give(p, &pairs[2], now_ns + 10 * NS_PER_S);
	for (int i = 0; i < 3; i++)
		assert_false(is_open(&pairs[i]));
	p = socket_pool_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_sessions_keep_nothing),
		cmocka_unit_test(test_a_pair_rests_and_is_used_again),
		cmocka_unit_test(test_a_late_datagram_closes_its_pair),
		cmocka_unit_test(test_a_full_pool_and_a_quiet_one_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
