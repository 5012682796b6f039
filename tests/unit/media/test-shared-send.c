/*
 * Packets that wait for the end of a turn: which are sent together, in which order,
 * and what counts if the kernel takes some of them, or none.
 */
#include "media_rig.h"

#include "base/big_endian.h"
#include "base/clock.h"
#include "media/tx/tx_internal.h"
#include "media/tx/tx_path_shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SESSIONS 200
#define SENT_MAX 2000

/* What the kernel was given, one entry a message. */
static struct {
	int fd;
	size_t packets;
	size_t bytes;
	uint16_t segment; /* 0: not joined */
	uint16_t number;  /* of the first packet */
} sent[SENT_MAX];
static size_t sent_count;
static size_t calls; /* of sendmmsg() */
static int per_call; /* messages it takes at most */
static int refusals; /* of sendmmsg(), the next ones */
static int singles;  /* of sendto(), the next ones that are refused */
static int refusal;  /* errno */

int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count,
		    int flags);
ssize_t __wrap_sendto(int fd, const void *data, size_t bytes, int flags,
		      const struct sockaddr *to, socklen_t length);

static uint16_t segment_of(struct msghdr *h)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(h);
	uint16_t segment = 0;

	if (c)
		memcpy(&segment, CMSG_DATA(c), sizeof(segment));
	return segment;
}

int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	unsigned taken = 0;

	assert_int_equal(flags, 0);
	calls++;
	if (refusals > 0) {
		refusals--;
		errno = refusal;
		return -1;
	}
	for (; taken < count && (int)taken < per_call; taken++) {
		struct msghdr *h = &messages[taken].msg_hdr;

		assert_true(sent_count < SENT_MAX);
		sent[sent_count].fd = fd;
		sent[sent_count].packets = h->msg_iovlen;
		sent[sent_count].segment = segment_of(h);
		sent[sent_count].number = be16(h->msg_iov[0].iov_base);
		sent[sent_count].bytes = 0;
		for (size_t i = 0; i < h->msg_iovlen; i++)
			sent[sent_count].bytes += h->msg_iov[i].iov_len;
		sent_count++;
	}
	return (int)taken;
}

ssize_t __wrap_sendto(int fd, const void *data, size_t bytes, int flags,
		      const struct sockaddr *to, socklen_t length)
{
	(void)flags;
	(void)to;
	(void)length;
	if (singles > 0) {
		singles--;
		errno = refusal;
		return -1;
	}
	sent[sent_count].fd = fd;
	sent[sent_count].packets = 1;
	sent[sent_count].bytes = bytes;
	sent[sent_count].segment = 0;
	sent[sent_count++].number = be16(data);
	return (ssize_t)bytes;
}

struct world {
	struct tx tx;
	struct tx_session sessions[SESSIONS];
	struct session_end ends[SESSIONS];
	uint16_t number; /* of the next packet */
};

/* The sessions share one socket, and send to one address on this host. */
static int world_open(void **state)
{
	struct world *w = aligned_alloc(PREFETCH_LINE, sizeof(*w));
	struct tx_queue *q;

	assert_non_null(w);
	memset(w, 0, sizeof(*w));
	assert_int_equal(tx_queue_new(&q), 0);
	assert_int_equal(
		ring_new(&w->tx.p.sent, sizeof(struct packet_record), 4096), 0);
	for (size_t i = 0; i < SESSIONS; i++) {
		struct tx_session *s = &w->sessions[i];

		s->slot = (uint32_t)i;
		s->ssrc = (uint32_t)i;
		s->fds[SOCKET_RTP] = 7;
		s->rtp = rig_addr("127.0.0.1", 5000);
		s->path = &tx_path_shared;
		s->queue = q;
		s->joins = true;
		s->end = &w->ends[i];
	}
	sent_count = 0;
	calls = 0;
	per_call = 1024;
	refusals = 0;
	singles = 0;
	refusal = ENOBUFS;
	*state = w;
	return 0;
}

static int world_close(void **state)
{
	struct world *w = *state;

	tx_queue_free(w->sessions[0].queue);
	ring_free(w->tx.p.sent);
	free(w);
	return 0;
}

static void queue_bytes(struct world *w, size_t session, size_t bytes)
{
	static uint8_t data[TX_PACKET_BYTES_MAX];
	struct tx_packet packet = {
		.session = &w->sessions[session],
		.due_ns = clock_mono_ns(),
		.seq = w->number,
		.payload_bytes = (uint16_t)(bytes - 12),
		.talkspurt = w->sessions[session].marker,
		.data = data,
		.bytes = bytes,
	};

	be16_put(data, w->number++);
	w->sessions[session].path->send(&w->tx, &packet);
}

static void flush(struct world *w)
{
	tx_path_shared.flush(&w->tx);
}

/* Each packet was accounted for once: as sent, in order, or as refused. */
static void check(struct world *w, size_t accepted, size_t refused)
{
	const struct tx_counters *c = &w->tx.counters;
	struct packet_record r;
	size_t records = 0;

	assert_int_equal(COUNTER_READ(&c->packets), accepted);
	assert_int_equal(COUNTER_READ(&c->errors), refused);
	while (ring_pop(w->tx.p.sent, &r)) {
		records++;
		assert_int_equal(r.kind, PACKET_RTP_SENT);
		assert_true(r.lateness_us >= 0);
	}
	assert_int_equal(records, accepted);
	for (size_t i = 0; i < SESSIONS; i++)
		assert_false(w->sessions[i].queued);
}

static void test_packets_of_one_size_leave_together(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 50; i++)
		queue_bytes(w, i, 172);
	assert_int_equal(calls, 0);
	flush(w);
	assert_int_equal(calls, 1);
	assert_int_equal(sent_count, 1);
	assert_int_equal(sent[0].packets, 50);
	assert_int_equal(sent[0].segment, 172);
	assert_int_equal(sent[0].bytes, 50 * 172);
	check(w, 50, 0);
	flush(w);
	assert_int_equal(calls, 1);
}

/* 64 packets, and 65000 bytes. */
static void test_a_message_has_its_limits(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 130; i++)
		queue_bytes(w, i, 172);
	for (size_t i = 130; i < 150; i++)
		queue_bytes(w, i, 8000);
	flush(w);
	assert_int_equal(calls, 1);
	assert_int_equal(sent[0].packets, 64);
	assert_int_equal(sent[1].packets, 64);
	assert_int_equal(sent[2].packets, 2);
	assert_int_equal(sent[3].packets, 8);
	assert_int_equal(sent[4].packets, 8);
	assert_int_equal(sent[5].packets, 4);
	assert_int_equal(sent_count, 6);
	check(w, 150, 0);
}

static void test_sizes_peers_and_sockets_are_not_mixed(void **state)
{
	struct world *w = *state;

	w->sessions[2].rtp = rig_addr("127.0.0.1", 5002);
	w->sessions[3].fds[SOCKET_RTP] = 9;
	w->sessions[4].joins = false;
	w->sessions[4].rtp = rig_addr("192.0.2.1", 5000);
	queue_bytes(w, 0, 172);
	queue_bytes(w, 1, 25);
	queue_bytes(w, 2, 172);
	queue_bytes(w, 3, 172);
	queue_bytes(w, 4, 172);
	queue_bytes(w, 5, 172);
	flush(w);
	assert_int_equal(calls, 2); /* one a socket */
	assert_int_equal(sent_count, 5);
	for (size_t i = 0; i < 5; i++) {
		/* only the sixth could join the first */
		assert_int_equal(sent[i].packets, i == 0 ? 2 : 1);
		assert_int_equal(sent[i].segment, i == 0 ? 172 : 0);
	}
	assert_int_equal(sent[4].fd, 9);
	check(w, 6, 0);
}

/* A late thread sends several of a session in one turn. */
static void test_packets_of_a_session_keep_their_order(void **state)
{
	struct world *w = *state;

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < 10; i++)
			queue_bytes(w, i, round == 1 ? 25 : 172);
	}
	flush(w);
	assert_int_equal(sent_count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(sent[i].number, 10 * i);
	check(w, 30, 0);
}

static void test_a_full_queue_is_sent(void **state)
{
	struct world *w = *state;

	/* no two have a peer in common: a message each */
	for (size_t i = 0; i < SESSIONS; i++) {
		w->sessions[i].rtp =
			rig_addr("127.0.0.1", (uint16_t)(6000 + 2 * i));
		queue_bytes(w, i, 172);
	}
	assert_true(calls > 0);
	flush(w);
	assert_int_equal(sent_count, SESSIONS);
	check(w, SESSIONS, 0);
	/* the bytes of all */
	for (size_t i = 0; i < 60; i++)
		queue_bytes(w, i, 10000);
	flush(w);
	assert_int_equal(sent_count, SESSIONS + 60);
}

static void test_a_partial_call_is_continued(void **state)
{
	struct world *w = *state;

	per_call = 3;
	for (size_t i = 0; i < 10; i++) {
		w->sessions[i].joins = false;
		queue_bytes(w, i, 172);
	}
	flush(w);
	assert_int_equal(calls, 4);
	assert_int_equal(sent_count, 10);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(sent[i].number, i);
	check(w, 10, 0);
}

/* EAGAIN, ENOBUFS: the first message is refused, the rest is tried. */
static void test_a_refused_packet_is_an_error(void **state)
{
	struct world *w = *state;

	refusals = 2;
	refusal = EAGAIN;
	for (size_t i = 0; i < 5; i++) {
		w->sessions[i].joins = false;
		w->sessions[i].marker = i == 0;
		queue_bytes(w, i, 172);
		w->sessions[i].marker = false;
	}
	flush(w);
	assert_int_equal(calls, 3);
	assert_int_equal(sent_count, 3);
	assert_int_equal(sent[0].number, 2);
	check(w, 3, 2);
	/* the next packet begins the talkspurt that was not heard */
	assert_true(w->sessions[0].marker);
	assert_false(w->sessions[1].marker);
	assert_int_equal(w->sessions[0].packets, 0);
	assert_int_equal(w->sessions[2].packets, 1);
	assert_int_equal(w->sessions[2].payload_bytes, 160);
}

/* A joined send is refused as a whole: what is said of each packet counts. */
static void test_a_refused_message_is_sent_one_by_one(void **state)
{
	struct world *w = *state;

	refusals = 1;
	singles = 3;
	for (size_t i = 0; i < 20; i++)
		queue_bytes(w, i, 172);
	flush(w);
	assert_int_equal(sent_count, 17);
	check(w, 17, 3);
}

#define CASE(name) \
	cmocka_unit_test_setup_teardown(name, world_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_packets_of_one_size_leave_together),
		CASE(test_a_message_has_its_limits),
		CASE(test_sizes_peers_and_sockets_are_not_mixed),
		CASE(test_packets_of_a_session_keep_their_order),
		CASE(test_a_full_queue_is_sent),
		CASE(test_a_partial_call_is_continued),
		CASE(test_a_refused_packet_is_an_error),
		CASE(test_a_refused_message_is_sent_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
