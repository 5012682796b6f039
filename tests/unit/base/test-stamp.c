#include "base/stamp.h"
#include "tests/unit/times.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

union control {
	char bytes[STAMP_SPACE];
	struct cmsghdr align;
};

static void stamp_make(union control *control, int64_t wall_ns)
{
	struct timespec stamp = {wall_ns / NS_PER_S, wall_ns % NS_PER_S};

	control->align.cmsg_level = SOL_SOCKET;
	control->align.cmsg_type = SCM_TIMESTAMPNS;
	control->align.cmsg_len = CMSG_LEN(sizeof(stamp));
	memcpy(CMSG_DATA(&control->align), &stamp, sizeof(stamp));
}

static int64_t taken(int64_t wall_ns)
{
	static const struct stamp_clock clock = {
		.mono_ns = 100 * NS_PER_S,
		.wall_offset_ns = 1700000000 * NS_PER_S,
	};
	union control control = {{0}};
	int64_t mono_ns = -1;

	stamp_make(&control, wall_ns);
	assert_true(stamp_take(&mono_ns, &control.align, &clock));
	return mono_ns;
}

static void test_take_converts(void **state)
{
	(void)state;
	assert_int_equal(taken(1700000100 * NS_PER_S), 100 * NS_PER_S);
	assert_int_equal(taken(1700000100 * NS_PER_S - 7), 100 * NS_PER_S - 7);
	assert_int_equal(taken(1700000095 * NS_PER_S), 95 * NS_PER_S);
}

static void test_take_wall_clock_stepped(void **state)
{
	(void)state;
	assert_int_equal(taken(1700000100 * NS_PER_S + 1), 100 * NS_PER_S);
	assert_int_equal(taken(1700000095 * NS_PER_S - 1), 100 * NS_PER_S);
}

static void test_take_of_another_kind(void **state)
{
	const struct stamp_clock clock = {0};
	union control control = {{0}};
	int64_t mono_ns = 5;

	(void)state;
	stamp_make(&control, 1);
	control.align.cmsg_type = SCM_RIGHTS;
	assert_false(stamp_take(&mono_ns, &control.align, &clock));
	control.align.cmsg_type = SCM_TIMESTAMPNS;
	control.align.cmsg_level = IPPROTO_IP;
	assert_false(stamp_take(&mono_ns, &control.align, &clock));
	assert_int_equal(mono_ns, 5);
}

static int64_t receive(int fd, int flags)
{
	char data[16];
	union control control;
	struct iovec iov = {data, sizeof(data)};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct stamp_clock clock;

	assert_true(recvmsg(fd, &msg, flags) > 0);
	stamp_clock_read(&clock);
	return stamp_find(&msg, &clock);
}

static int bound(int type, struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, type, 0);
	socklen_t len = sizeof(*addr);

	*addr = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)addr, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)addr, &len), 0);
	return fd;
}

/*
 * Linux starts to timestamp datagrams a moment after the first socket of the
 * machine asks for it. Datagrams from before get the time at which they are
 * read. Wait until timestamps work; after a minute give up.
 */
static void stamps_begin(int to, int from)
{
	int64_t end_ns = clock_mono_ns() + 60 * NS_PER_S, read_ns;

	do {
		assert_int_equal(send(to, "x", 1, 0), 1);
		usleep(2000);
		read_ns = clock_mono_ns();
	} while (receive(from, 0) >= read_ns && read_ns < end_ns);
}

/*
 * A datagram that waited in the socket has the time of its arrival, not of its
 * reading.
 */
static void waits(int to, int from, int flags)
{
	int64_t sent_ns = clock_mono_ns(), came_ns, read_ns;

	assert_int_equal(send(to, "x", 1, 0), 1);
	usleep(50000);
	read_ns = clock_mono_ns();
	came_ns = receive(from, flags);
	assert_not_before(came_ns, sent_ns);
	assert_true(came_ns < read_ns);
}

static void test_datagram_that_waited(void **state)
{
	struct sockaddr_in addr, other;
	int from = bound(SOCK_DGRAM, &addr), to = bound(SOCK_DGRAM, &other);

	(void)state;
	assert_int_equal(stamp_enable(from), 0);
	assert_int_equal(connect(to, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	stamps_begin(to, from);
	waits(to, from, 0);
	close(to);
	close(from);
}

static void test_stream_that_waited(void **state)
{
	struct sockaddr_in addr, other;
	int listener = bound(SOCK_STREAM, &addr), from;
	int to = bound(SOCK_STREAM, &other);

	(void)state;
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(connect(to, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	from = accept(listener, NULL, NULL);
	assert_true(from >= 0);
	assert_int_equal(stamp_enable(from), 0);
	waits(to, from, MSG_PEEK);
	(void)receive(from, 0);
	waits(to, from, 0);
	close(from);
	close(to);
	close(listener);
}

static void test_without_a_stamp(void **state)
{
	struct msghdr msg = {0};
	const struct stamp_clock clock = {.mono_ns = 3};

	(void)state;
	assert_int_equal(stamp_find(&msg, &clock), 3);
	assert_true(stamp_enable(-1) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take_converts),
		cmocka_unit_test(test_take_wall_clock_stepped),
		cmocka_unit_test(test_take_of_another_kind),
		cmocka_unit_test(test_datagram_that_waited),
		cmocka_unit_test(test_stream_that_waited),
		cmocka_unit_test(test_without_a_stamp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
