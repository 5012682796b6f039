/*
 * Peers that send too much: the memory for them is bounded, and all other peers
 * are served.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sip/transport/conn_internal.h"
#include "sip/transport/transport.h"
#include "sip/transport/transport_internal.h"
#include "sip/ua/dispatch.h"
#include "sip/ua/ua_internal.h"
#include "world.h"

static const struct world_options plain = {.password = "secret",
					   .domain = "example.net"};
static uint16_t ua_port;
static struct sip_ua *user_agent;

/* ---- header fields, transactions ---- */

static void outside_options(struct peer *peer, const char *extra,
			    const char *answer)
{
	peer_request(peer, "OPTIONS", extra, NULL);
	peer_expect(peer, answer);
}

static void aim(struct peer *peer)
{
	peer_aim(peer, ua_port);
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<sip:1001@h>");
	snprintf(peer->target, sizeof(peer->target), "sip:1001@127.0.0.1:%u",
		 ua_port);
}

/* This many header lines. */
static char *fields(size_t lines)
{
	char *text = calloc(lines, 8);

	assert_non_null(text);
	for (size_t i = 0; i < lines; i++)
		memcpy(text + 5 * i, "X:1\r\n", 5);
	return text;
}

static void script_headers(struct peer *peer)
{
	char *some = fields(400);
	char *many = fields(HEADERS_MAX);

	aim(peer);
	outside_options(peer, some, "SIP/2.0 200 ");
	outside_options(peer, many, "SIP/2.0 400 Too Many Header Fields");
	peer_request(peer, "ACK", many, NULL);
	peer_silence(peer, "SIP/2.0 ", 100);
	outside_options(peer, NULL, "SIP/2.0 200 ");
	free(some);
	free(many);
}

static void run(struct world *world, world_script_h *script)
{
	world->linger = true;
	world->script = script;
	ua_port = world->port;
	user_agent = world->ua;
	world_run(world);
}

static void test_header_fields(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	run(&world, script_headers);
	world_close(&world);
}

#define KEPT_MAX 40000

static void script_transactions(struct peer *peer)
{
	char first[256];

	aim(peer);
	for (int i = 0; i < 100; i++) {
		outside_options(peer, NULL, "SIP/2.0 200 ");
		if (i == 0)
			peer_header(peer, "To", first, sizeof(first));
	}
	/* no further INVITE is accepted */
	peer_request(peer, "INVITE",
		     "Contact: <sip:p@127.0.0.1:9>\r\n"
		     "Content-Type: application/sdp\r\n",
		     peer_sdp);
	peer_expect(peer, "SIP/2.0 503 ");
}

static void test_transactions(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	transport_ceilings(world.ua->transport)->of[CEILING_SERVERS].bytes_max =
		KEPT_MAX;
	run(&world, script_transactions);
	assert_in_range(transport_ceilings(world.ua->transport)
				->of[CEILING_SERVERS]
				.bytes,
			KEPT_MAX / 2, KEPT_MAX);
	assert_string_equal(world.full,
			    "requests of peers keep 256 MiB: further ones are "
			    "answered without a transaction, INVITEs with "
			    "503\n");
	assert_int_equal(world.sent, 101);
	assert_string_equal(world.log, "");
	world_close(&world);
}

/* ---- streams ---- */

static int stream_open(void)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(ua_port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)),
			 0);
	return fd;
}

static size_t options_print(char *dst, size_t size, unsigned n)
{
	return (size_t)snprintf(
		dst, size,
		"OPTIONS sip:1001@127.0.0.1 SIP/2.0\r\n"
		"Via: SIP/2.0/TCP 127.0.0.1:9;branch=z9hG4bKflood%u\r\n"
		"Max-Forwards: 70\r\nFrom: <sip:a@x>;tag=1\r\n"
		"To: <sip:1001@x>\r\nCall-ID: flood%u\r\n"
		"CSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n",
		n, n);
}

/*
 * Read until the response to an OPTIONS is complete.
 * @return CRLFs before it; -1: the connection ended, or nothing came
 */
static int answer_read(int fd)
{
	static char data[1 << 20];
	size_t used = 0;
	int count = 0;

	while (used < sizeof(data) - 1) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n =
			poll(&p, 1, 8000) == 1
				? read(fd, data + used, sizeof(data) - 1 - used)
				: -1;

		if (n <= 0)
			return -1;
		used += (size_t)n;
		data[used] = '\0';
		if (!strstr(data, "SIP/2.0 200 ") || !strstr(data, "\r\n\r\n"))
			continue;
		while (strncmp(data + 2 * (size_t)count, "\r\n", 2) == 0)
			count++;
		return count;
	}
	return -1;
}

static unsigned queued_max;

static bool queued_handler(struct le *le, void *arg)
{
	const struct conn *conn = le->data;
	unsigned *sum = arg;
	int small = 4096;

	/*
	 * A small kernel buffer, so that the data stays in ours, which is being
	 * tested.
	 */
	(void)setsockopt(conn->fd, SOL_SOCKET, SO_SNDBUF, &small,
			 sizeof(small));
	*sum += (unsigned)list_count(&conn->tx);
	return false;
}

/* In the loop's thread, during the flood. */
static void queue_look(void *arg)
{
	struct tmr *tmr = arg;
	unsigned sum = 0;

	hash_apply(user_agent->transport->conns, queued_handler, &sum);
	if (sum > queued_max)
		queued_max = sum;
	tmr_start(tmr, 1, queue_look, tmr);
}

#define PINGS      200000u
#define PINGS_EACH 16u

/*
 * It sends pings without reading the responses. Another connection is served
 * meanwhile.
 */
static void script_pings(struct peer *peer)
{
	char crlf[4 * PINGS_EACH];
	char text[512];
	int fd = stream_open();
	int other = stream_open();
	int small = 4096;
	int pongs;

	for (size_t i = 0; i < sizeof(crlf); i += 2)
		memcpy(crlf + i, "\r\n", 2);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	for (unsigned i = 0; i < PINGS / PINGS_EACH; i++) {
		if (send(fd, crlf, sizeof(crlf), MSG_NOSIGNAL) !=
		    (ssize_t)sizeof(crlf))
			snprintf(peer->fail, sizeof(peer->fail), "not sent");
		if (i != PINGS / PINGS_EACH / 2)
			continue;
		(void)!write(other, text, options_print(text, sizeof(text), 1));
		if (answer_read(other) != 0)
			snprintf(peer->fail, sizeof(peer->fail),
				 "the other one was not answered");
	}
	(void)!write(fd, text, options_print(text, sizeof(text), 2));
	pongs = answer_read(fd);
	if (pongs < 1 || (unsigned)pongs > PINGS / 4)
		snprintf(peer->fail, sizeof(peer->fail), "%d pongs", pongs);
	close(fd);
	close(other);
}

static void test_pings(void **state)
{
	static struct world world;
	struct tmr tmr;
	(void)state;

	world_open(&world, &plain);
	user_agent = world.ua;
	queued_max = 0;
	tmr_init(&tmr);
	queue_look(&tmr);
	run(&world, script_pings);
	tmr_cancel(&tmr);
	assert_in_range(queued_max, 0, 16);
	world_close(&world);
}

/* A long header section and body in small pieces: one message. */
static void script_pieces(struct peer *peer)
{
	static char text[40000];
	char *many = fields(300);
	size_t len = (size_t)snprintf(
		text, sizeof(text),
		"\r\n\r\nOPTIONS sip:1001@127.0.0.1 SIP/2.0\r\n"
		"Via: SIP/2.0/TCP 127.0.0.1:9;branch=z9hG4bKpieces\r\n"
		"Max-Forwards: 70\r\nFrom: <sip:a@x>;tag=1\r\n"
		"To: <sip:1001@x>\r\nCall-ID: pieces\r\nCSeq: 1 OPTIONS\r\n"
		"%sContent-Length: 30000\r\n\r\n",
		many);
	int fd = stream_open();
	int answers = 0;

	memset(text + len, 'x', 30000);
	len += 30000;
	for (size_t i = 0; i < len; i += 7)
		answers += send(fd, text + i, i + 7 < len ? 7 : len - i,
				MSG_NOSIGNAL) < 0;
	if (answers || answer_read(fd) != 1)
		snprintf(peer->fail, sizeof(peer->fail), "not answered");
	close(fd);
	free(many);
}

static void test_pieces(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	run(&world, script_pieces);
	assert_int_equal(world.received, 1);
	world_close(&world);
}

/* ---- the receive buffers of all streams together ---- */

#define PARTS      6
#define PART_BYTES 16384 /* size of the buffer that holds a part */

static void complain(struct peer *peer, const char *why)
{
	if (!peer->fail[0])
		snprintf(peer->fail, sizeof(peer->fail), "%s", why);
}

/* Closed by the other side, with or without a reset. */
static bool ended(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char byte;

	return poll(&p, 1, 8000) == 1 && recv(fd, &byte, 1, 0) <= 0;
}

/* Each stream sends half a message. There is room for four. */
static void script_parts(struct peer *peer)
{
	char text[PARTS][512];
	size_t len[PARTS];
	int fds[PARTS];
	int other;

	for (unsigned i = 0; i < PARTS; i++) {
		fds[i] = stream_open();
		len[i] = options_print(text[i], sizeof(text[i]), i);
		(void)!write(fds[i], text[i], len[i] / 2);
		if (i < 4)
			usleep(50000); /* in this order */
		else if (!ended(fds[i]))
			complain(peer, "a fifth part was kept");
	}
	/* complete messages need no room */
	other = stream_open();
	(void)!write(other, text[5], len[5]);
	if (answer_read(other) < 0)
		complain(peer, "a whole message was not answered");
	for (unsigned i = 0; i < 4; i++) {
		(void)!write(fds[i], text[i] + len[i] / 2, len[i] - len[i] / 2);
		if (answer_read(fds[i]) < 0)
			complain(peer, "the second half was not answered");
	}
	/* the room is free again */
	(void)!write(other, text[4], len[4] / 2);
	usleep(50000);
	(void)!write(other, text[4] + len[4] / 2, len[4] - len[4] / 2);
	if (answer_read(other) < 0)
		complain(peer, "a later one was not answered");
	close(other);
	for (unsigned i = 0; i < PARTS; i++)
		close(fds[i]);
}

static void test_parts(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	transport_ceilings(world.ua->transport)
		->of[CEILING_STREAM_IN]
		.bytes_max = 4 * PART_BYTES + PART_BYTES / 2;
	run(&world, script_parts);
	assert_string_equal(world.full,
			    "SIP messages that are not whole yet keep 256 MiB: "
			    "connections that send more of them are closed\n");
	assert_int_equal(transport_ceilings(world.ua->transport)
				 ->of[CEILING_STREAM_IN]
				 .bytes,
			 0);
	world_close(&world);
}

#define UNREAD_MAX ((size_t)512 * 1024)
#define ASKED_MAX  400000u

static size_t unread_max;

static void unread_look(void *arg)
{
	struct tmr *tmr = arg;
	size_t now = transport_ceilings(user_agent->transport)
			     ->of[CEILING_STREAM_OUT]
			     .bytes;

	if (now > unread_max)
		unread_max = now;
	tmr_start(tmr, 1, unread_look, tmr);
}

/*
 * It sends requests without reading the responses, until it is closed. Another
 * connection is served meanwhile.
 */
static void script_unread(struct peer *peer)
{
	char text[512];
	int fd = stream_open();
	int other = stream_open();
	unsigned i = 0;

	for (bool open = true; open && i < ASKED_MAX; i++) {
		size_t len = options_print(text, sizeof(text), i);

		open = send(fd, text, len, MSG_NOSIGNAL) == (ssize_t)len;
	}
	if (i == ASKED_MAX)
		complain(peer, "it was not closed");
	(void)!write(other, text, options_print(text, sizeof(text), ASKED_MAX));
	if (answer_read(other) < 0)
		complain(peer, "the other one was not answered");
	close(fd);
	close(other);
}

static void test_unread(void **state)
{
	static struct world world;
	struct tmr tmr;
	(void)state;

	world_open(&world, &plain);
	transport_ceilings(world.ua->transport)
		->of[CEILING_STREAM_OUT]
		.bytes_max = UNREAD_MAX;
	user_agent = world.ua;
	unread_max = 0;
	tmr_init(&tmr);
	unread_look(&tmr);
	run(&world, script_unread);
	tmr_cancel(&tmr);
	assert_in_range(unread_max, 1, UNREAD_MAX); /* sampled every ms */
	assert_string_equal(
		world.full,
		"SIP messages that connections do not take keep 256 MiB: "
		"those that take none of more are closed\n");
	assert_int_equal(transport_ceilings(world.ua->transport)
				 ->of[CEILING_STREAM_OUT]
				 .bytes,
			 0);
	world_close(&world);
}

/*
 * No file descriptor is left: a connection is closed, and the loop does not
 * spin.
 */
static void script_no_descriptor(struct peer *peer)
{
	struct rlimit before, none;
	char byte;
	int spent[256];
	int count = 0;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(ua_port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const struct timeval wait = {.tv_sec = 8};

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 200;
	setrlimit(RLIMIT_NOFILE, &none);
	while (count < 256 && (spent[count] = dup(fd)) >= 0)
		count++;
	/* closed, perhaps with a reset */
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 ||
	    (recv(fd, &byte, 1, 0) != 0 && errno != ECONNRESET))
		snprintf(peer->fail, sizeof(peer->fail), "it was left open");
	while (count > 0)
		close(spent[--count]);
	setrlimit(RLIMIT_NOFILE, &before);
	close(fd);
	fd = stream_open();
	(void)!write(fd, "\r\n\r\n", 4);
	if (recv(fd, &byte, 1, 0) != 1)
		snprintf(peer->fail, sizeof(peer->fail), "none after it");
	close(fd);
}

static void test_no_descriptor(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	run(&world, script_no_descriptor);
	world_close(&world);
}

static bool options_answered(int fd, unsigned n)
{
	char text[512];
	const size_t len = options_print(text, sizeof(text), n);

	return send(fd, text, len, MSG_NOSIGNAL) == (ssize_t)len &&
	       answer_read(fd) == 0;
}

/* A connection above the ceiling is closed, and the others stay. */
static void script_connections(struct peer *peer)
{
	int last = stream_open();
	int further = stream_open();
	bool again = false;

	if (!options_answered(last, 1))
		snprintf(peer->fail, sizeof(peer->fail), "the last is closed");
	else if (options_answered(further, 2))
		snprintf(peer->fail, sizeof(peer->fail), "one too many");
	else if (!options_answered(last, 3))
		snprintf(peer->fail, sizeof(peer->fail), "the last was closed");
	close(further);
	close(last);
	/* the user agent reads its end at some time */
	for (unsigned i = 4; i < 1000 && !again; i++) {
		further = stream_open();
		again = options_answered(further, i);
		close(further);
		if (!again)
			usleep(10000);
	}
	if (!again)
		snprintf(peer->fail, sizeof(peer->fail), "none after it");
}

static void test_connections(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	/* all but one are there; so many take more descriptors than a process
	 * may have */
	world.ua->transport->conn_count = CONNS_MAX - 1;
	run(&world, script_connections);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header_fields),
		cmocka_unit_test(test_transactions),
		cmocka_unit_test(test_pings),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_unread),
		cmocka_unit_test(test_no_descriptor),
		cmocka_unit_test(test_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
