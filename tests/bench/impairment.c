#include "impairment.h"

#include "base/clock.h"
#include "media/scheduling.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Each stream has its own delay, jitter and loss, drawn from 0 to these. The jitter is below the
 * packet time, so that packets keep their order. */
#define DELAY_MAX_MS  50.0
#define JITTER_MAX_MS 15.0
#define LOSS_MAX      0.05

#define PACKET_BYTES 512
#define HELD_MAX     65536
#define REPORTS_MAX  256
#define EVENTS       64

struct report {
	uint32_t ntp; /* of a sender report: the middle 32 bits */
	double added_ms;
};

/* One direction of a pair. */
struct stream {
	uint64_t random;
	double delay_ms, jitter_max_ms, loss;
	int in[2]; /* sockets where it arrives: RTP, RTCP */
	int out[2];
	struct sockaddr_in to[2];
	/* the log */
	bool begun;
	uint16_t first, highest;
	uint32_t cycles;
	uint64_t forwarded;
	double before_ms, j, j_sum, doubt_ms;
	uint64_t js;
	struct report sent[REPORTS_MAX]; /* a ring */
	uint32_t sent_count;
	uint64_t rtts; /* of this stream's sender */
	double rtt_sum_ms;
};

struct held {
	int64_t due_ns; /* wall clock */
	int64_t in_ns;
	struct stream *stream;
	bool rtcp;
	size_t len;
	uint8_t data[PACKET_BYTES];
};

struct impairment {
	uint32_t pairs;
	struct stream *streams; /* 2 a pair: of side 0, of side 1 */
	struct held **heap;
	size_t count;
	int epoll;
	atomic_bool stop;
	pthread_t thread;
	bool running;
};

/* xorshift64* */
static double draw(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (double)((*state * UINT64_C(2685821657736338717)) >> 11) /
	       9007199254740992.0;
}

static uint32_t word(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
	       (uint32_t)at[2] << 8 | at[3];
}

static struct stream *other(struct impairment *m, struct stream *s)
{
	return &m->streams[(size_t)(s - m->streams) ^ 1];
}

/* ---- the log ---- */

static void rtp_log(struct stream *s, const uint8_t *data, double added_ms)
{
	uint16_t seq = (uint16_t)(data[2] << 8 | data[3]);

	s->forwarded++;
	if (!s->begun) {
		s->begun = true;
		s->first = s->highest = seq;
	} else {
		s->j += (fabs(added_ms - s->before_ms) - s->j) / 16;
		s->j_sum += s->j;
		s->js++;
		if ((uint16_t)(seq - s->highest) < 0x8000) {
			s->cycles += seq < s->highest;
			s->highest = seq;
		}
	}
	s->before_ms = added_ms;
}

/* A report of the receiver of `about` goes back to its sender. */
static void block_log(struct stream *about, uint32_t lsr, double added_ms)
{
	for (uint32_t i = 0; lsr && i < REPORTS_MAX; i++) {
		if (about->sent[i].ntp != lsr)
			continue;
		about->rtts++;
		about->rtt_sum_ms += about->sent[i].added_ms + added_ms;
		return;
	}
}

/* The first packet of a compound one is a sender or receiver report. */
static void rtcp_log(struct impairment *m, struct stream *s,
		     const uint8_t *data, size_t len, double added_ms)
{
	size_t at = data[1] == 200 ? 28 : 8;
	unsigned blocks = data[0] & 0x1f;

	if (len < at)
		return;
	if (data[1] == 200)
		s->sent[s->sent_count++ % REPORTS_MAX] = (struct report){
			.ntp = word(data + 10), .added_ms = added_ms};
	for (; blocks && at + 24 <= len; blocks--, at += 24)
		block_log(other(m, s), word(data + at + 16), added_ms);
}

/* ---- the relay ---- */

static void swap(struct impairment *m, size_t a, size_t b)
{
	struct held *h = m->heap[a];

	m->heap[a] = m->heap[b];
	m->heap[b] = h;
}

static void heap_put(struct impairment *m, struct held *h)
{
	size_t i = m->count++;

	m->heap[i] = h;
	for (; i && m->heap[(i - 1) / 2]->due_ns > m->heap[i]->due_ns;
	     i = (i - 1) / 2)
		swap(m, i, (i - 1) / 2);
}

static struct held *heap_take(struct impairment *m)
{
	struct held *first = m->heap[0];
	size_t i = 0;

	m->heap[0] = m->heap[--m->count];
	for (;;) {
		size_t least = i;

		for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < m->count; k++)
			if (m->heap[k]->due_ns < m->heap[least]->due_ns)
				least = k;
		if (least == i)
			return first;
		swap(m, i, least);
		i = least;
	}
}

static void forward(struct impairment *m, struct held *h)
{
	struct stream *s = h->stream;
	int64_t before_ns = clock_wall_ns(), after_ns;
	double added_ms, took_ms;
	ssize_t n = sendto(s->out[h->rtcp], h->data, h->len, 0,
			   (struct sockaddr *)(void *)&s->to[h->rtcp],
			   sizeof(s->to[0]));

	after_ns = clock_wall_ns();
	took_ms = (double)(after_ns - before_ns) / 1e6;
	added_ms = (double)(before_ns - h->in_ns) / 1e6 + took_ms / 2;
	if (n >= 0 && took_ms > s->doubt_ms)
		s->doubt_ms = took_ms;
	if (n >= 0 && h->rtcp)
		rtcp_log(m, s, h->data, h->len, added_ms);
	else if (n >= 0)
		rtp_log(s, h->data, added_ms);
	free(h);
}

static int64_t stamp_of(struct msghdr *msg)
{
	struct timespec at = {0};

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c))
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SCM_TIMESTAMPNS)
			memcpy(&at, CMSG_DATA(c), sizeof(at));
	return at.tv_sec * NS_PER_S + at.tv_nsec;
}

static void receive(struct impairment *m, struct stream *s, bool rtcp)
{
	for (;;) {
		char control[128];
		struct held *h = calloc(1, sizeof(*h));
		struct iovec part;
		struct msghdr msg = {.msg_iov = &part,
				     .msg_iovlen = 1,
				     .msg_control = control,
				     .msg_controllen = sizeof(control)};
		ssize_t n;

		if (!h)
			return;
		part = (struct iovec){.iov_base = h->data,
				      .iov_len = sizeof(h->data)};
		n = recvmsg(s->in[rtcp], &msg, MSG_DONTWAIT);
		if (n < 12 - 4 * rtcp || m->count == HELD_MAX ||
		    (!rtcp && draw(&s->random) < s->loss)) {
			free(h);
			if (n < 0)
				return;
			continue;
		}
		h->len = (size_t)n;
		h->stream = s;
		h->rtcp = rtcp;
		h->in_ns = stamp_of(&msg);
		h->due_ns =
			h->in_ns +
			(int64_t)(1e6 * (s->delay_ms +
					 s->jitter_max_ms * draw(&s->random)));
		heap_put(m, h);
	}
}

static void *relay(void *arg)
{
	struct impairment *m = arg;
	struct epoll_event events[EVENTS];
	struct scheduling scheduling = {0};

	scheduling_take(&scheduling, SCHEDULING_PRIORITY_RX);
	while (!atomic_load(&m->stop)) {
		int n = epoll_wait(m->epoll, events, EVENTS, 1);

		for (int i = 0; i < n; i++)
			receive(m, &m->streams[events[i].data.u32 / 2],
				events[i].data.u32 % 2);
		while (m->count && m->heap[0]->due_ns <= clock_wall_ns())
			forward(m, heap_take(m));
	}
	return NULL;
}

/* ---- its life ---- */

static int socket_open(struct impairment *m, size_t stream, bool rtcp)
{
	struct sockaddr_in any = {.sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct epoll_event event = {.events = EPOLLIN};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int on = 1;

	event.data.u32 = (uint32_t)(2 * stream + rtcp);
	if (fd < 0 || bind(fd, (struct sockaddr *)(void *)&any, sizeof(any)) ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) ||
	    epoll_ctl(m->epoll, EPOLL_CTL_ADD, fd, &event))
		return -errno;
	m->streams[stream].in[rtcp] = fd;
	m->streams[stream ^ 1].out[rtcp] = fd;
	return 0;
}

int impairment_new(struct impairment **ret, uint32_t pairs, uint64_t seed)
{
	struct impairment *m = calloc(1, sizeof(*m));
	int err = 0;

	if (!m)
		return -ENOMEM;
	m->pairs = pairs;
	m->streams = calloc(2 * pairs, sizeof(*m->streams));
	m->heap = calloc(HELD_MAX, sizeof(struct held *));
	m->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!m->streams || !m->heap || m->epoll < 0)
		err = -ENOMEM;
	for (size_t i = 0; i < 2 * (size_t)pairs && !err; i++) {
		struct stream *s = &m->streams[i];

		s->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + i + 1;
		for (int k = 0; k < 16; k++)
			(void)draw(&s->random);
		s->delay_ms = DELAY_MAX_MS * draw(&s->random);
		s->jitter_max_ms = JITTER_MAX_MS * draw(&s->random);
		s->loss = LOSS_MAX * draw(&s->random);
		err = socket_open(m, i, false);
		if (!err)
			err = socket_open(m, i, true);
	}
	if (err) {
		impairment_free(m);
		return err;
	}
	*ret = m;
	return 0;
}

uint16_t impairment_port(const struct impairment *m, uint32_t pair, int side,
			 bool rtcp)
{
	struct sockaddr_in at = {0};
	socklen_t len = sizeof(at);

	(void)getsockname(m->streams[2 * pair + (uint32_t)side].in[rtcp],
			  (struct sockaddr *)(void *)&at, &len);
	return ntohs(at.sin_port);
}

void impairment_peer(struct impairment *m, uint32_t pair, int side, bool rtcp,
		     const struct sockaddr_in *at)
{
	m->streams[2 * pair + (uint32_t)(side ^ 1)].to[rtcp] = *at;
}

int impairment_start(struct impairment *m)
{
	int err = pthread_create(&m->thread, NULL, relay, m);

	m->running = err == 0;
	return -err;
}

void impairment_end(struct impairment *m)
{
	atomic_store(&m->stop, true);
	if (m->running)
		pthread_join(m->thread, NULL);
	m->running = false;
}

void impairment_read(const struct impairment *m, uint32_t pair, int side,
		     struct impaired *ret)
{
	const struct stream *s = &m->streams[2 * pair + (uint32_t)side];
	uint64_t expected =
		(uint64_t)s->cycles * 65536 + s->highest - s->first + 1;

	*ret = (struct impaired){
		.forwarded = s->forwarded,
		.lost = s->begun ? expected - s->forwarded : 0,
		.jitter_ms = s->js ? s->j_sum / (double)s->js : 0,
		.rtts = s->rtts,
		.rtt_ms = s->rtts ? s->rtt_sum_ms / (double)s->rtts : 0,
		.doubt_ms = s->doubt_ms};
}

struct impairment *impairment_free(struct impairment *m)
{
	if (!m)
		return NULL;
	impairment_end(m);
	for (size_t i = 0; m->streams && i < 2 * (size_t)m->pairs; i++) {
		for (int k = 0; k < 2; k++)
			if (m->streams[i].in[k] > 0)
				close(m->streams[i].in[k]);
	}
	while (m->count)
		free(heap_take(m));
	if (m->epoll >= 0)
		close(m->epoll);
	free(m->heap);
	free(m->streams);
	free(m);
	return NULL;
}
