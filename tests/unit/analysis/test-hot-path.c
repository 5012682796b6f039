/*
 * The path of every packet, with all observers attached, makes no allocation,
 * takes no lock and makes no system call. The same holds for closing a second
 * and for building its report.
 */
#include "base/ring.h"
#include "base/sanitizer.h"
#include "media/analysis/quality.h"
#include "tests/unit/analysis/traffic.h"

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

static unsigned long calls; /* calls of the allocator and of locks */

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
static struct rtp_rest rest;
static struct rtp_quality quality;
static struct rtp_sender sender;
static struct rtp_rest sender_rest;
static uint64_t seed = 1;

/*
 * The content of one of our RTCP packets, and of the peer's about our stream.
 */
static void report(int64_t mono_ns)
{
	struct rtcp_stat_summary summary;
	struct rtcp_voip_metrics voip;
	struct rtcp_report block;
	double rtt_ms;

	rtp_stream_report(&stream, &block);
	rtp_quality_voip(&quality, &voip);
	block.lsr = 1;
	rtp_sender_report(&sender, 3, &block, mono_ns, (uint32_t)mono_ns,
			  &rtt_ms);
	rtp_stream_add_rtt(&stream, 12.5);
	remote_voip_take(&sender.remote, &voip);
	if (rtp_quality_summary(&quality, &summary))
		rtp_sender_summary(&sender, 3, &summary);
}

static void close_second(int64_t end_ns)
{
	struct stream_second second;

	rtp_stream_close_second(&stream, end_ns, &second);
	rtp_quality_close_second(&quality, &second);
	rtp_sender_close_second(&sender, end_ns, &second);
}

static bool totals(uint64_t packets)
{
	struct stream_total total;
	struct stream_total sent;

	rtp_quality_finish(&quality);
	rtp_stream_total(&stream, &total);
	rtp_quality_total(&quality, &total);
	rtp_sender_total(&sender, &sent);
	return total.packets == packets && total.lost > 0 &&
	       total.duplicates > 0 && total.reordered > 0 &&
	       total.out_of_order > 0 && total.fixed.burst_lost > 0 &&
	       stream.seq.restarts > 0 && stream.te_packets > 0 &&
	       sent.packets == packets && sent.voip.known && sent.summary.known;
}

static bool hot_path(struct ring *ring, uint64_t packets)
{
	struct packet_record at = {.mono_ns = S, .header_bytes = 12};
	const struct packet_record *r;
	uint64_t taken = 0;

	for (uint64_t i = 0; i < packets; i++) {
		struct packet_record made = traffic_next(&at, &seed);

		if (ring_push(ring, &made) && i % 3 != 2)
			continue;
		for (; (r = ring_front(ring)); ring_release(ring)) {
			int64_t end_ns =
				rtp_stream_second_start_ns(&stream) + S;

			taken++;
			if (r->mono_ns >= end_ns) {
				report(r->mono_ns);
				close_second(r->mono_ns);
			}
			rtp_stream_update(&stream, r);
			rtp_sender_update(&sender, r);
		}
	}
	return taken == packets && totals(packets);
}

static int setup(void **state)
{
	(void)state;
	traffic_map(&map);
	rtp_stream_init(&stream, 0, 0, &map, &rest);
	rtp_quality_init(&quality, &stream);
	rtp_sender_init(&sender, 0, 0, "PCMU", 8000, &sender_rest);
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

/*
 * Strict seccomp mode: the kernel kills the process at any system call except
 * read, write and exit.
 */
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
#ifdef SANITIZED_THREAD
	skip(); /* the sanitizer's runtime makes system calls */
#endif
	assert_int_equal(ring_new(&ring, sizeof(struct packet_record), 4), 0);
	status = child_status(ring, true);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		ring_free(ring);
		skip(); /* the system has no seccomp */
	}
	assert_true(WIFSIGNALED(status)); /* the filter works */
	status = child_status(ring, false);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	ring_free(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_packets_neither_allocate_nor_lock,
				       setup),
		cmocka_unit_test_setup(test_packets_make_no_system_call, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
