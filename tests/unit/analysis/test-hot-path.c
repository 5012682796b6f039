/* What every packet goes through: no allocation, lock or system call, and the
 * short cuts of the common case do what the general functions do. */
#include "base/ring.h"
#include "media/analysis/stream.h"

#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define S INT64_C(1000000000)

static unsigned long calls; /* of the allocator and of locks */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void __real_free(void *p);
int __real_pthread_mutex_lock(pthread_mutex_t *m);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
void __wrap_free(void *p);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);

void *__wrap_malloc(size_t bytes)
{
	calls++;
	return __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	calls++;
	return __real_calloc(n, bytes);
}

void *__wrap_realloc(void *p, size_t bytes)
{
	calls++;
	return __real_realloc(p, bytes);
}

void __wrap_free(void *p)
{
	calls++;
	__real_free(p);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
	calls++;
	return __real_pthread_mutex_lock(m);
}

static struct rtp_payload_map map;
static struct rtp_stream stream;
static uint64_t seed = 1;

/* Mostly in order; now and then loss, a copy, a late packet, a marker, an
 * event, silence, another clock, a jump. */
static struct packet_record next_packet(struct packet_record *at)
{
	static const uint8_t octets[] = {0x80, 101, 13, 111, 99, 8};
	uint64_t dice = seed = seed * UINT64_C(6364136223846793005) + 1;
	struct packet_record r;

	dice >>= 40;
	at->seq++;
	at->rtp_ts += 160;
	at->mono_ns += 19000000 + (int64_t)(dice % 2000000);
	r = *at;
	if (dice % 16 == 0)
		r.seq = (uint16_t)(r.seq - dice / 16 % 1100);
	else if (dice % 64 == 1)
		at->seq = (uint16_t)(at->seq + dice / 64 % 300);
	else if (dice % 2048 == 2)
		at->seq = (uint16_t)(dice >> 4);
	else if (dice % 64 == 3)
		r.marker_pt = octets[dice / 64 % sizeof(octets)];
	return r;
}

static bool hot_path(struct ring *ring, uint64_t packets)
{
	struct packet_record at = {.mono_ns = S, .header_bytes = 12};
	struct stream_second second;
	struct stream_total total;
	struct rtcp_report report;
	uint64_t popped = 0;

	for (uint64_t i = 0; i < packets; i++) {
		struct packet_record r = next_packet(&at);

		if (ring_push(ring, &r) && i % 3 != 2)
			continue;
		while (ring_pop(ring, &r)) {
			popped++;
			rtp_stream_update(&stream, &r);
			if (r.mono_ns < rtp_stream_second_start_ns(&stream) + S)
				continue;
			rtp_stream_close_second(&stream, r.mono_ns, &second);
			rtp_stream_report(&stream, &report);
		}
	}
	rtp_stream_total(&stream, &total);
	return popped == packets && total.packets == packets &&
	       total.lost > 0 && total.duplicates > 0 && total.reordered > 0 &&
	       stream.seq.restarts > 0 && stream.te_packets > 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&map, 0, sizeof(map));
	rtp_payload_map_add(&map, 0, "PCMU", 8000);
	rtp_payload_map_add(&map, 8, "PCMA", 8000);
	rtp_payload_map_add(&map, 13, "CN", 8000);
	rtp_payload_map_add(&map, 101, "telephone-event", 8000);
	rtp_payload_map_add(&map, 111, "opus", 48000);
	rtp_stream_init(&stream, 0, 0, &map);
	return 0;
}

static void test_packets_neither_allocate_nor_lock(void **state)
{
	struct ring *ring;
	unsigned long before = calls;
	bool complete;

	(void)state;
	assert_int_equal(ring_new(&ring, sizeof(struct packet_record), 4), 0);
	assert_true(calls > before); /* the counter works */
	before = calls;
	complete = hot_path(ring, 90000);
	assert_int_equal(calls - before, 0);
	assert_true(complete);
	ring_free(ring);
}

/* Strict mode: the kernel kills at any call but read, write and exit. */
static int child_status(struct ring *ring, bool calls_kernel)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			_exit(77);
		if (calls_kernel)
			syscall(SYS_getppid);
		syscall(SYS_exit, hot_path(ring, 90000) ? 0 : 1);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_packets_make_no_system_call(void **state)
{
	struct ring *ring;
	int status;

	(void)state;
	assert_int_equal(ring_new(&ring, sizeof(struct packet_record), 4), 0);
	status = child_status(ring, true);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		ring_free(ring);
		skip(); /* a system without seccomp */
	}
	assert_true(WIFSIGNALED(status)); /* the filter works */
	status = child_status(ring, false);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	ring_free(ring);
}

static void compare_seq(const struct rtp_seq *a, const struct rtp_seq *b)
{
	struct rtp_counters counters[2];
	struct loss_runs runs[2];

	rtp_seq_counters(a, &counters[0]);
	rtp_seq_counters(b, &counters[1]);
	assert_memory_equal(&counters[0], &counters[1], sizeof(counters[0]));
	rtp_seq_loss_runs(a, &runs[0]);
	rtp_seq_loss_runs(b, &runs[1]);
	assert_memory_equal(&runs[0], &runs[1], sizeof(runs[0]));
}

static void assert_near(double a, double b, double distance)
{
	assert_true(fabs(a - b) <= distance);
}

static void compare_timing(const struct rtp_timing *a,
			   const struct rtp_timing *b)
{
	assert_int_equal(a->ref_ns, b->ref_ns);
	assert_int_equal(a->ref_ext, b->ref_ext);
	assert_int_equal(a->ref_ts, b->ref_ts);
	assert_int_equal(a->samples, b->samples);
	assert_int_equal(a->clock_hz, b->clock_hz);
	assert_int_equal(a->period_ticks, b->period_ticks);
	assert_int_equal(a->has_period, b->has_period);
	assert_int_equal(a->int_transit, b->int_transit);
	assert_int_equal(a->int_jitter, b->int_jitter);
	assert_int_equal(a->int_jitter_max, b->int_jitter_max);
	assert_int_equal(a->has_ref, b->has_ref);
	assert_int_equal(a->gap_kind, b->gap_kind);
	assert_int_equal(a->discontinuities, b->discontinuities);
	assert_int_equal(a->clock_changes, b->clock_changes);
	assert_int_equal(a->same_ts, b->same_ts);
	assert_near(a->jitter_ms, b->jitter_ms, 1e-9);
}

static void compare_streams(struct rtp_stream *a, struct rtp_stream *b)
{
	struct stream_total total[2];

	rtp_stream_total(a, &total[0]);
	rtp_stream_total(b, &total[1]);
	compare_seq(&a->seq, &b->seq);
	compare_timing(&a->timing, &b->timing);
	assert_memory_equal(&a->strict, &b->strict, sizeof(a->strict));
	assert_int_equal(total[0].bytes, total[1].bytes);
	assert_int_equal(a->payload_bytes, b->payload_bytes);
	assert_int_equal(a->te_packets, b->te_packets);
	assert_int_equal(a->cn_packets, b->cn_packets);
	assert_int_equal(a->marker_packets, b->marker_packets);
	assert_memory_equal(a->jitter.counts, b->jitter.counts,
			    sizeof(a->jitter.counts));
	assert_int_equal(total[0].jitter_ms.n, total[1].jitter_ms.n);
	assert_near(total[0].jitter_ms.avg, total[1].jitter_ms.avg, 1e-9);
	assert_near(total[0].jitter_ms.stddev, total[1].jitter_ms.stddev, 1e-6);
}

static void observe_nothing(const struct rtp_observation *o, void *arg)
{
	(void)o;
	(void)arg;
}

/* Packets one by one, as an observer sees them, against runs of every length
 * and of every end. */
static void test_runs_are_packets_one_by_one(void **state)
{
	struct packet_record at = {.mono_ns = S, .seq = 65000};
	struct rtp_stream one_by_one = stream;
	uint64_t in_runs = 0;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		struct packet_record r = next_packet(&at);
		uint64_t dice = seed >> 33;

		if (dice % 64 == 0)
			r.rtp_ts = at.rtp_ts - 160; /* the same again */
		else if (dice % 256 == 1)
			at.rtp_ts += 100000; /* from here on */
		else if (dice % 256 == 2)
			at.mono_ns += 400 * S; /* a stall */
		in_runs += r.seq == stream.run_seq &&
			   r.marker_pt == stream.run_octet;
		rtp_stream_update(&stream, &r);
		rtp_stream_update_observed(&one_by_one, &r, observe_nothing,
					   NULL);
		if (dice / 256 % 32 == 0)
			compare_streams(&stream, &one_by_one);
	}
	compare_streams(&stream, &one_by_one);
	assert_true(in_runs > 100000);
	assert_true(stream.timing.discontinuities > 100);
	assert_true(stream.timing.same_ts > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_packets_neither_allocate_nor_lock,
				       setup),
		cmocka_unit_test_setup(test_packets_make_no_system_call, setup),
		cmocka_unit_test_setup(test_runs_are_packets_one_by_one, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
