/*
 * The connection to a TURN server used as a socket: frames cut from a TCP
 * stream.
 */
#include "base/clock.h"
#include "media/nat/turn_frame.h"
#include "media/nat/turn_stream.h"
#include "media/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PATIENCE_MS 20000

struct world {
	struct turn_streams *all;
	struct turn_stream *s;
	int listener;
	int server; /* the accepted connection */
};

static struct media_addr loopback(uint16_t port)
{
	struct media_addr a;
	struct sockaddr_in *in = (struct sockaddr_in *)&a.ss;

	memset(&a, 0, sizeof(a));
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.len = sizeof(*in);
	return a;
}

static int world_open(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct media_addr at = loopback(0);
	struct turn_stream_params params = {.local = at};

	assert_non_null(w);
	w->listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(w->listener >= 0);
	assert_int_equal(bind(w->listener, (struct sockaddr *)&at.ss, at.len),
			 0);
	assert_int_equal(listen(w->listener, 1), 0);
	assert_int_equal(
		getsockname(w->listener, (struct sockaddr *)&at.ss, &at.len),
		0);
	params.server = at;
	assert_int_equal(turn_streams_new(&w->all), 0);
	assert_int_equal(turn_stream_open(&w->s, w->all, &params), 0);
	w->server = accept(w->listener, NULL, NULL);
	assert_true(w->server >= 0);
	*state = w;
	return 0;
}

static int world_close(void **state)
{
	struct world *w = *state;

	turn_stream_close(w->s);
	turn_streams_free(w->all);
	close(w->server);
	close(w->listener);
	free(w);
	return 0;
}

/* @return its size, when it has arrived */
static size_t datagram(struct world *w, uint8_t *data, size_t room)
{
	struct pollfd fd = {turn_stream_fd(w->s), POLLIN, 0};
	ssize_t got;

	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	got = recv(fd.fd, data, room, 0);
	assert_true(got >= 0);
	return (size_t)got;
}

static void until_lost(struct world *w, const char *words)
{
	int64_t end_ns = clock_mono_ns() + PATIENCE_MS * NS_PER_MS;

	while (!turn_stream_reason(w->s) && clock_mono_ns() < end_ns)
		usleep(1000);
	assert_non_null(turn_stream_reason(w->s));
	assert_non_null(strstr(turn_stream_reason(w->s), words));
}

static void test_frames_are_cut(void **state)
{
	struct world *w = *state;
	uint8_t wire[512] = {0};
	uint8_t data[512];
	struct turn_frame f;
	size_t bytes = 0;

	/* 13 bytes and 3 of padding; a STUN message of 8; 4 bytes */
	turn_frame_channel(wire, 0x4001, 13);
	wire[4] = 'a';
	bytes = 20;
	memcpy(wire + bytes, "\x01\x01\0\x08\x21\x12\xa4\x42", 8);
	bytes += 28;
	turn_frame_channel(wire + bytes, 0x4002, 4);
	wire[bytes + 4] = 'b';
	bytes += 8;
	/* byte by byte, then all at once */
	for (int turn = 0; turn < 2; turn++) {
		for (size_t i = 0; i < bytes; i += turn ? bytes : 1)
			assert_int_equal(
				send(w->server, wire + i, turn ? bytes : 1, 0),
				turn ? bytes : 1);
		assert_int_equal(datagram(w, data, sizeof(data)), 20);
		assert_int_equal(turn_frame_parse(&f, data, 20, 20), 0);
		assert_int_equal(f.bytes, 13);
		assert_int_equal(data[f.offset], 'a');
		assert_int_equal(datagram(w, data, sizeof(data)), 28);
		assert_int_equal(turn_frame_parse(&f, data, 28, 28), 0);
		assert_int_equal(f.kind, TURN_FRAME_CONTROL);
		assert_int_equal(datagram(w, data, sizeof(data)), 8);
		assert_int_equal(data[4], 'b');
	}
}

static void test_frames_are_padded(void **state)
{
	struct world *w = *state;
	uint8_t data[64] = {0};
	uint8_t wire[64];

	for (size_t n = 1; n <= 5; n++) {
		size_t padded = (4 + n + 3) & ~(size_t)3;

		turn_frame_channel(data, 0x4000, n);
		memset(data + 4, 'x', n);
		assert_int_equal(send(turn_stream_fd(w->s), data, 4 + n, 0),
				 4 + n);
		assert_int_equal(recv(w->server, wire, padded, MSG_WAITALL),
				 padded);
		assert_memory_equal(wire, data, 4 + n);
		for (size_t i = 4 + n; i < padded; i++)
			assert_int_equal(wire[i], 0);
	}
}

static void test_garbage_ends_it(void **state)
{
	struct world *w = *state;

	assert_int_equal(send(w->server, "HTTP/1.1 400 Bad\r\n\r\n", 20, 0),
			 20);
	/* "HT": channel 0x4854, 0x5450 bytes: wait for the rest */
	assert_null(turn_stream_reason(w->s));
	assert_int_equal(shutdown(w->server, SHUT_WR), 0);
	until_lost(w, "closed the connection");
}

static void test_no_turn(void **state)
{
	struct world *w = *state;

	assert_int_equal(send(w->server, "\xff\xff\xff\xff", 4, 0), 4);
	until_lost(w, "sends no TURN");
	/* what is sent now is discarded without an error */
	assert_int_equal(send(turn_stream_fd(w->s), "abcd", 4, 0), 4);
}

/* Data in flight when the connection is closed arrives. */
static void test_farewell(void **state)
{
	struct world *w = *state;
	uint8_t data[8] = {0};

	turn_frame_channel(data, 0x4000, 4);
	assert_int_equal(send(turn_stream_fd(w->s), data, 8, 0), 8);
	w->s = turn_stream_close(w->s);
	assert_int_equal(recv(w->server, data, 8, MSG_WAITALL), 8);
	assert_int_equal(recv(w->server, data, 8, MSG_WAITALL), 0);
}

static void test_nobody_listens(void **state)
{
	struct world w = {.server = -1};
	struct media_addr at = loopback(0);
	struct turn_stream_params params = {.local = at};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int err;
	(void)state;

	/* a port in use that nobody listens on */
	assert_int_equal(bind(fd, (struct sockaddr *)&at.ss, at.len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at.ss, &at.len),
			 0);
	params.server = at;
	assert_int_equal(turn_streams_new(&w.all), 0);
	err = turn_stream_open(&w.s, w.all, &params);
	if (!err) {
		until_lost(&w, "takes no connection");
		turn_stream_close(w.s);
	} else {
		assert_int_equal(err, -ECONNREFUSED);
	}
	turn_streams_free(w.all);
	close(fd);
}

/* The server takes none of the connections: they are open all the same. */
static void test_as_many_as_can_be_open(void **state)
{
	struct turn_stream **open = calloc(RELAY_STREAMS_MAX, sizeof(*open));
	struct turn_stream *further = NULL;
	struct world *w = *state;
	struct media_addr at = loopback(0);
	struct turn_stream_params params = {.local = at, .server = at};
	int64_t end_ns = clock_mono_ns() + PATIENCE_MS * NS_PER_MS;
	int err;

	assert_non_null(open);
	assert_int_equal(getsockname(w->listener,
				     (struct sockaddr *)&params.server.ss,
				     &params.server.len),
			 0);
	/* one is open since the set-up */
	for (size_t i = 1; i < RELAY_STREAMS_MAX; i++)
		assert_int_equal(turn_stream_open(&open[i], w->all, &params),
				 0);
	assert_int_equal(turn_stream_open(&further, w->all, &params), -EUSERS);
	assert_null(further);
	turn_stream_close(open[1]);
	/* the thread of the streams lets it go */
	while ((err = turn_stream_open(&open[1], w->all, &params)) == -EUSERS &&
	       clock_mono_ns() < end_ns)
		usleep(1000);
	assert_int_equal(err, 0);
	for (size_t i = 1; i < RELAY_STREAMS_MAX; i++)
		turn_stream_close(open[i]);
	free(open);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_frames_are_cut, world_open,
						world_close),
		cmocka_unit_test_setup_teardown(test_frames_are_padded,
						world_open, world_close),
		cmocka_unit_test_setup_teardown(test_garbage_ends_it,
						world_open, world_close),
		cmocka_unit_test_setup_teardown(test_no_turn, world_open,
						world_close),
		cmocka_unit_test_setup_teardown(test_farewell, world_open,
						world_close),
		cmocka_unit_test(test_nobody_listens),
		cmocka_unit_test_setup_teardown(test_as_many_as_can_be_open,
						world_open, world_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
