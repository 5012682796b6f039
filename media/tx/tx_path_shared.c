#include "media/tx/tx_path_shared.h"

#include "base/clock.h"
#include "media/tx/tx_internal.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PACKETS_MAX 512
/* Of all that wait; a packet always fits into an empty queue. */
#define QUEUE_BYTES (256 * 1024)
/* Messages of one sendmmsg(). */
#define MESSAGES_MAX 128
/* Linux: UDP_MAX_SEGMENTS is 64 (128 since 6.9); what is divided is at most as long
 * as a datagram. */
#define SEGMENTS_MAX   64
#define SEGMENTS_BYTES 65000
/* Messages that are compared for one that a packet can join. */
#define JOIN_LOOKS 8

_Static_assert(TX_PACKET_BYTES_MAX <= QUEUE_BYTES, "each packet fits");

/** What one system call sends to one address: packets of the same size. */
struct message {
	int fd;       /* -1: sent */
	size_t bytes; /* of each packet */
	uint16_t count;
	uint16_t packets[SEGMENTS_MAX]; /* in order */
};

union segment_control {
	struct cmsghdr head;
	uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
};

struct tx_queue {
	size_t packet_count;
	size_t byte_count;
	size_t message_count;
	struct tx_packet packets[PACKETS_MAX];
	size_t offsets[PACKETS_MAX]; /* theirs in `data` */
	struct message messages[MESSAGES_MAX];
	/* of a system call */
	struct mmsghdr headers[MESSAGES_MAX];
	uint8_t chosen[MESSAGES_MAX]; /* message of each header */
	union segment_control controls[MESSAGES_MAX];
	struct iovec parts[PACKETS_MAX];
	uint8_t data[QUEUE_BYTES];
};

_Static_assert(MESSAGES_MAX <= UINT8_MAX, "numbers in `chosen`");

int tx_queue_new(struct tx_queue **ret)
{
	struct tx_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	for (size_t i = 0; i < MESSAGES_MAX; i++) {
		struct cmsghdr *head = &q->controls[i].head;

		head->cmsg_level = IPPROTO_UDP;
		head->cmsg_type = UDP_SEGMENT;
		head->cmsg_len = CMSG_LEN(sizeof(uint16_t));
	}
	*ret = q;
	return 0;
}

struct tx_queue *tx_queue_free(struct tx_queue *q)
{
	free(q);
	return NULL;
}

/* ---- what waits ---- */

/* Sessions do not change while their packets wait. */
static struct tx_session *session_of(const struct tx_queue *q,
				     const struct message *m)
{
	return q->packets[m->packets[0]].session;
}

static struct message *message_find(struct tx_queue *q,
				    const struct tx_packet *packet)
{
	const struct tx_session *s = packet->session;
	size_t looks =
		q->message_count < JOIN_LOOKS ? q->message_count : JOIN_LOOKS;

	for (size_t i = 1; s->joins && i <= looks; i++) {
		struct message *m = &q->messages[q->message_count - i];

		if (m->fd == s->fds[SOCKET_RTP] && m->bytes == packet->bytes &&
		    m->count < SEGMENTS_MAX &&
		    (m->count + 1u) * m->bytes <= SEGMENTS_BYTES &&
		    media_addr_equal(&session_of(q, m)->rtp, &s->rtp))
			return m;
	}
	return NULL;
}

static void shared_flush(struct tx *t);

static void shared_send(struct tx *t, const struct tx_packet *packet)
{
	struct tx_session *s = packet->session;
	struct tx_queue *q = s->queue;
	struct message *m;

	t->queue = q;
	/* a second packet of a session may have another size: it must not
	 * overtake the first */
	if (s->queued || q->packet_count == PACKETS_MAX ||
	    q->byte_count + packet->bytes > QUEUE_BYTES)
		shared_flush(t);
	m = message_find(q, packet);
	if (!m && q->message_count == MESSAGES_MAX)
		shared_flush(t);
	if (!m) {
		m = &q->messages[q->message_count++];
		m->fd = s->fds[SOCKET_RTP];
		m->bytes = packet->bytes;
		m->count = 0;
	}
	memcpy(q->data + q->byte_count, packet->data, packet->bytes);
	q->packets[q->packet_count] = *packet;
	q->packets[q->packet_count].data = q->data + q->byte_count;
	q->offsets[q->packet_count] = q->byte_count;
	m->packets[m->count++] = (uint16_t)q->packet_count++;
	q->byte_count += packet->bytes;
	s->queued = true;
}

/* ---- sending ---- */

static void left(struct tx *t, const struct message *m, int64_t now_ns, int err)
{
	for (size_t i = 0; i < m->count; i++)
		tx_rtp_left(t, &t->queue->packets[m->packets[i]], now_ns, err);
}

/* A joined send was refused, as a whole: what the kernel says of each packet
 * counts. */
static void send_each(struct tx *t, const struct message *m)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct tx_packet *packet =
			&t->queue->packets[m->packets[i]];
		int err = 0;

		if (tx_transmit(packet->session, SOCKET_RTP,
				&packet->session->rtp, 0, packet->data,
				packet->bytes) < 0)
			err = errno;
		tx_rtp_left(t, packet, clock_mono_ns(), err);
	}
}

/* @param part  room for its packets @return behind them */
static struct iovec *header_fill(struct tx_queue *q, size_t i,
				 struct msghdr *header, struct iovec *part)
{
	const struct message *m = &q->messages[i];
	struct media_addr *to = &session_of(q, m)->rtp;
	const uint16_t bytes = (uint16_t)m->bytes;

	*header = (struct msghdr){
		.msg_name = &to->ss,
		.msg_namelen = to->len,
		.msg_iov = part,
		.msg_iovlen = m->count,
	};
	if (m->count > 1) {
		memcpy(CMSG_DATA(&q->controls[i].head), &bytes, sizeof(bytes));
		header->msg_control = &q->controls[i];
		header->msg_controllen = sizeof(q->controls[i].bytes);
	}
	for (size_t k = 0; k < m->count; k++)
		*part++ = (struct iovec){q->data + q->offsets[m->packets[k]],
					 m->bytes};
	return part;
}

/* Send the messages of one socket. sendmmsg() ends at the first one that the
 * kernel refuses: then that one is accounted for, and the rest follows. */
static void socket_send(struct tx *t, int fd)
{
	struct tx_queue *q = t->queue;
	struct iovec *part = q->parts;
	unsigned count = 0;

	for (size_t i = 0; i < q->message_count; i++) {
		if (q->messages[i].fd != fd)
			continue;
		q->chosen[count] = (uint8_t)i;
		part = header_fill(q, i, &q->headers[count++].msg_hdr, part);
		q->messages[i].fd = -1;
	}
	for (unsigned at = 0; at < count;) {
		int sent = sendmmsg(fd, q->headers + at, count - at, 0);
		int err = errno;
		/* later than each of them was sent, never earlier */
		int64_t now_ns = clock_mono_ns();
		const struct message *m;

		for (int i = 0; i < sent; i++)
			left(t, &q->messages[q->chosen[at++]], now_ns, 0);
		if (sent > 0)
			continue;
		m = &q->messages[q->chosen[at++]];
		if (m->count > 1)
			send_each(t, m);
		else
			left(t, m, now_ns, err);
	}
}

static void shared_flush(struct tx *t)
{
	struct tx_queue *q = t->queue;

	if (!q || q->packet_count == 0)
		return;
	for (size_t i = 0; i < q->message_count; i++) {
		if (q->messages[i].fd >= 0)
			socket_send(t, q->messages[i].fd);
	}
	for (size_t i = 0; i < q->packet_count; i++)
		q->packets[i].session->queued = false;
	q->packet_count = 0;
	q->byte_count = 0;
	q->message_count = 0;
}

const struct tx_path tx_path_shared = {
	.send = shared_send,
	.flush = shared_flush,
};
