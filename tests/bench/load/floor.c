/* The floor of each media path, in turns.
 * Usage: bench-floor CALLS SECONDS PATH[:SHARED]...  SHARED: sockets a side
 * (4). Prints a line of JSON for each path. */
#include "floor.h"

#include "base/big_endian.h"
#include "base/clock.h"
#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP_NS   NS_PER_S
#define PHASE_NS     NS_PER_MS
#define ORDERED_PORT 20000
/* Of one phase, with the flows of a stall. */
#define DUE_MAX 4096

#define PRIORITY_TX 2 /* as the engine's threads */
#define PRIORITY_RX 1

static const struct floor_path *const paths[] = {
	&floor_socket, &floor_busy,     &floor_sweep,
	&floor_batch,  &floor_gso,      &floor_ring,
	&floor_raw,    &floor_raw_send, &floor_ring_receive};

/* ---- called by each path, for each packet ---- */

void floor_next(struct flow *flow)
{
	be16_put(flow->data + 2, flow->seq);
	be32_put(flow->data + 4, flow->seq * UINT32_C(160));
}

void floor_sent(struct floor *f, struct flow *flow, int64_t now_ns, bool ok)
{
	if (flow->due_ns >= f->measured_ns) {
		f->sent += ok;
		f->refused += !ok;
		lateness_add(&f->lateness, now_ns - flow->due_ns);
	}
	flow->seq++;
	flow->due_ns += FLOOR_PACKET_NS;
}

/* RFC 3550 A.8, of the kernel's stamps. */
static void jitter_update(struct flow *flow, int64_t wall_ns, uint16_t seq)
{
	int64_t transit_ns = wall_ns - seq * FLOOR_PACKET_NS;

	if (flow->heard && seq == (uint16_t)(flow->seq_last + 1)) {
		double d = fabs((double)(transit_ns - flow->transit_ns));

		if (seq > 0) /* where it wraps the transit jumps */
			flow->jitter_ns += (d - flow->jitter_ns) / 16;
	}
	flow->transit_ns = transit_ns;
	flow->jitter_sum_ns += flow->jitter_ns;
}

void floor_arrived(struct floor *f, const uint8_t *data, size_t bytes,
		   int64_t wall_ns)
{
	uint32_t i = bytes == FLOOR_PACKET_BYTES ? be32(data + 8) : UINT32_MAX;
	struct flow *flow;
	uint16_t seq;

	if (i >= f->flow_count) {
		f->strange++;
		return;
	}
	flow = &f->flows[i];
	seq = be16(data + 2);
	jitter_update(flow, wall_ns, seq);
	if (!flow->heard)
		flow->seq_first = seq;
	flow->heard = true;
	flow->seq_last = seq;
	flow->received++;
	f->received++;
}

/* ---- the threads ---- */

static bool realtime(int priority)
{
	struct sched_param p = {.sched_priority = priority};

	return pthread_setschedparam(pthread_self(), SCHED_FIFO, &p) == 0;
}

static double thread_cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

struct worker {
	struct floor *floor;
	pthread_t id;
	double cpu_s; /* of the measured time */
	bool realtime;
};

static void wait_until(int64_t at_ns)
{
	const struct timespec at = {.tv_sec = at_ns / NS_PER_S,
				    .tv_nsec = at_ns % NS_PER_S};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void phase_send(struct floor *f, uint32_t phase, int64_t now_ns)
{
	static _Thread_local struct flow *due[DUE_MAX];
	uint32_t count = 0;

	for (uint32_t call = phase; call < f->calls; call += FLOOR_PHASES) {
		for (uint32_t side = 0; side < 2 && count < DUE_MAX; side++) {
			struct flow *flow = &f->flows[2 * call + side];

			if (flow->due_ns <= now_ns && flow->due_ns < f->end_ns)
				due[count++] = flow;
		}
	}
	if (count > 0)
		f->path->send(f, due, count);
}

static void *tx_thread(void *arg)
{
	struct worker *w = arg;
	struct floor *f = w->floor;
	double before_s = -1;

	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	w->realtime = realtime(PRIORITY_TX);
	for (int64_t at_ns = f->start_ns; at_ns < f->end_ns;
	     at_ns += PHASE_NS) {
		uint32_t phase = (uint32_t)((at_ns - f->start_ns) / PHASE_NS) %
				 FLOOR_PHASES;

		wait_until(at_ns);
		if (before_s < 0 && at_ns >= f->measured_ns)
			before_s = thread_cpu_s();
		phase_send(f, phase, at_ns);
	}
	w->cpu_s = thread_cpu_s() - before_s;
	return NULL;
}

static void *rx_thread(void *arg)
{
	struct worker *w = arg;
	struct floor *f = w->floor;
	double before_s = -1;

	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	w->realtime = realtime(PRIORITY_RX);
	/* relaxed: nothing is published with it */
	while (!atomic_load_explicit(&f->quit, memory_order_relaxed)) {
		int64_t now_ns = clock_mono_ns();

		f->path->receive(f, 20);
		if (before_s < 0 && now_ns >= f->measured_ns)
			before_s = thread_cpu_s();
		wait_until(now_ns + NS_PER_MS);
	}
	w->cpu_s = thread_cpu_s() - before_s;
	return NULL;
}

/* ---- setting up ---- */

static int socket_bind(int *ret_fd, struct sockaddr_in *address, bool shared)
{
	int buffer = 4 << 20;
	int on = 1;
	socklen_t length = sizeof(*address);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	address->sin_family = AF_INET;
	if (bind(fd, (struct sockaddr *)address, length) ||
	    getsockname(fd, (struct sockaddr *)address, &length) ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on)) ||
	    (shared &&
	     setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer))))
		return -errno;
	return 0;
}

static int sockets_open(struct floor *f)
{
	int err = 0;

	f->socket_count = f->path->shares ? 2 * f->shared : f->flow_count;
	f->sockets = calloc(f->socket_count, sizeof(*f->sockets));
	f->addresses = calloc(f->socket_count, sizeof(*f->addresses));
	if (!f->sockets || !f->addresses)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->socket_count; i++)
		f->sockets[i] = -1;
	for (uint32_t i = 0; i < f->socket_count && !err; i++) {
		f->addresses[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		if (f->path->ordered)
			f->addresses[i].sin_port =
				htons((uint16_t)(ORDERED_PORT + i));
		err = socket_bind(&f->sockets[i], &f->addresses[i],
				  f->path->shares);
	}
	return err;
}

static void flow_init(struct floor *f, uint32_t i)
{
	struct flow *flow = &f->flows[i];
	uint32_t call = i / 2;
	uint32_t side = i % 2;
	uint32_t peer;

	flow->socket = f->path->shares ? 2 * (call % f->shared) + side : i;
	peer = flow->socket ^ 1;
	if (f->path->ordered) {
		flow->socket = side * f->calls + call;
		peer = (1 - side) * f->calls + call;
	}
	flow->to = f->addresses[peer];
	flow->due_ns = f->start_ns + call % FLOOR_PHASES * PHASE_NS;
	flow->data[0] = 0x80;
	be32_put(flow->data + 8, i);
	memset(flow->data + 12, 0xff, sizeof(flow->data) - 12);
}

static int floor_open(struct floor *f, uint64_t seconds)
{
	int err = sockets_open(f);

	f->flows = calloc(f->flow_count, sizeof(*f->flows));
	if (!f->flows)
		return -ENOMEM;
	f->start_ns = clock_mono_ns() + 100 * NS_PER_MS;
	f->measured_ns = f->start_ns + WARM_UP_NS;
	f->end_ns = f->measured_ns + (int64_t)seconds * NS_PER_S;
	f->wall_offset_ns = clock_wall_offset_ns();
	for (uint32_t i = 0; i < f->flow_count && !err; i++)
		flow_init(f, i);
	if (!err)
		err = f->path->out_open(f);
	return err ? err : f->path->in_open(f);
}

static void floor_close(struct floor *f)
{
	f->path->out_close(f);
	f->path->in_close(f);
	for (uint32_t i = 0; f->sockets && i < f->socket_count; i++) {
		if (f->sockets[i] >= 0)
			close(f->sockets[i]);
	}
	free(f->sockets);
	free(f->addresses);
	free(f->flows);
	memset(f, 0, sizeof(*f));
}

/* ---- the result ---- */

static void print(const struct floor *f, const struct worker *tx,
		  const struct worker *rx, uint64_t seconds)
{
	struct distribution late;
	double p99_ms;
	double jitter_ns = 0;
	uint64_t lost = 0;
	double packets = (double)f->sent;

	for (uint32_t i = 0; i < f->flow_count; i++) {
		const struct flow *flow = &f->flows[i];

		lost += flow->seq - flow->received;
		if (flow->received > 0)
			jitter_ns += flow->jitter_sum_ns /
				     (double)flow->received / f->flow_count;
	}
	lateness_read(&f->lateness, &late, &p99_ms);
	printf("{\"path\": \"%s\", \"sockets\": %u, \"calls\": %u, "
	       "\"seconds\": %llu, \"sent\": %llu, \"refused\": %llu, "
	       "\"lost\": %llu, \"drops\": %llu, \"strange\": %llu, "
	       "\"lateness_p50_ms\": %.3f, \"lateness_p99_ms\": %.3f, "
	       "\"lateness_max_ms\": %.3f, \"jitter_ms\": %.4f, "
	       "\"send_us_a_packet\": %.3f, \"receive_us_a_packet\": %.3f, "
	       "\"us_a_packet\": %.3f, \"permille_a_call\": %.4f, "
	       "\"realtime\": %s}\n",
	       f->path->name, f->socket_count, f->calls,
	       (unsigned long long)seconds, (unsigned long long)f->sent,
	       (unsigned long long)f->refused, (unsigned long long)lost,
	       (unsigned long long)f->drops, (unsigned long long)f->strange,
	       late.median, p99_ms, late.max, jitter_ns / 1e6,
	       1e6 * tx->cpu_s / packets, 1e6 * rx->cpu_s / packets,
	       1e6 * (tx->cpu_s + rx->cpu_s) / packets,
	       1e3 * (tx->cpu_s + rx->cpu_s) / (double)seconds / f->calls,
	       tx->realtime && rx->realtime ? "true" : "false");
	fflush(stdout);
}

static int run(const struct floor_path *path, uint32_t calls, uint32_t shared,
	       uint64_t seconds)
{
	static struct floor f;
	struct worker tx = {.floor = &f};
	struct worker rx = {.floor = &f};
	int err;

	f.path = path;
	f.calls = calls;
	f.flow_count = 2 * calls;
	f.shared = shared;
	err = floor_open(&f, seconds);
	if (!err)
		err = -pthread_create(&rx.id, NULL, rx_thread, &rx);
	if (!err) {
		err = -pthread_create(&tx.id, NULL, tx_thread, &tx);
		if (!err)
			pthread_join(tx.id, NULL);
		wait_until(clock_mono_ns() + 100 * NS_PER_MS);
		atomic_store_explicit(&f.quit, true, memory_order_relaxed);
		pthread_join(rx.id, NULL);
	}
	if (!err)
		print(&f, &tx, &rx, seconds);
	floor_close(&f);
	return err;
}

static const struct floor_path *path_find(char *name, uint64_t *ret_shared)
{
	char *colon = strchr(name, ':');

	*ret_shared = 4;
	if (colon) {
		*colon = '\0';
		if (str_to_u64(colon + 1, FLOOR_SHARED_MAX, ret_shared) ||
		    *ret_shared == 0)
			return NULL;
	}
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (strcmp(paths[i]->name, name) == 0)
			return paths[i];
	}
	return NULL;
}

static int usage(void)
{
	fprintf(stderr, "usage: bench-floor CALLS SECONDS PATH[:SOCKETS]...\n");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		fprintf(stderr, "  %-8s %s\n", paths[i]->name, paths[i]->does);
	return 2;
}

int main(int argc, char **argv)
{
	struct rlimit files;
	uint64_t calls;
	uint64_t seconds;

	if (argc < 4 || str_to_u64(argv[1], 20000, &calls) ||
	    str_to_u64(argv[2], 3600, &seconds) || calls == 0 || seconds == 0)
		return usage();
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	for (int i = 3; i < argc; i++) {
		uint64_t shared;
		const struct floor_path *path = path_find(argv[i], &shared);
		int err;

		if (!path)
			return usage();
		err = run(path, (uint32_t)calls, (uint32_t)shared, seconds);
		if (err) {
			fprintf(stderr, "%s: %s\n", path->name, strerror(-err));
			return 1;
		}
	}
	return 0;
}
