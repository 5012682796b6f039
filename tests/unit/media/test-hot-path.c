/*
 * During calls the engine's threads neither allocate nor lock: receiving,
 * sending, analysis, RTCP with extended reports, copies of all packets for a
 * capture file.
 */
#include "media/media.h"
#include "media_rig.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Calls of the allocator and of locks by other threads than this one. */
static atomic_ulong calls;
static atomic_ulong seen; /* calls before `counting` was set: shows that
			   * calls are counted */
static atomic_bool counting;
static pthread_t loop_thread;

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

static void count(void)
{
	/* relaxed: sums that are read when the threads are idle or joined */
	if (!atomic_load_explicit(&counting, memory_order_relaxed))
		atomic_fetch_add_explicit(&seen, 1, memory_order_relaxed);
	else if (!pthread_equal(pthread_self(), loop_thread))
		atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}

void *__wrap_malloc(size_t bytes)
{
	count();
	return __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	count();
	return __real_calloc(n, bytes);
}

void *__wrap_realloc(void *p, size_t bytes)
{
	count();
	return __real_realloc(p, bytes);
}

void __wrap_free(void *p)
{
	count();
	__real_free(p);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
	count();
	return __real_pthread_mutex_lock(m);
}

static void settle(struct rig_log *log, const struct rig_log *peer)
{
	const struct media_local *at = media_session_local(peer->session);
	struct media_negotiated n =
		rig_settle(&at->rtp, &at->rtcp, MEDIA_SENDRECV);

	n.xr = MEDIA_XR_ALL;
	n.ssrcs[0] = at->ssrc;
	n.ssrc_count = at->has_ssrc ? 1 : 0;
	assert_int_equal(media_session_apply(log->session, &n), 0);
}

static void hot_path_check(bool shared)
{
	static struct rig rig;
	struct media_captured captured;
	struct rig_log *a;
	struct rig_log *b;

	loop_thread = pthread_self();
	rig_open_captured(&rig, 2, 200, "/dev/null");
	rig.shared = shared;
	a = rig_session(&rig, 0);
	b = rig_session(&rig, 1);
	settle(a, b);
	settle(b, a);
	rig_run_ms(&rig, 500);
	assert_true(atomic_load(&seen) > 0); /* the counter works */
	atomic_store(&counting, true);
	rig_run_ms(&rig, 3000);
	atomic_store(&counting, false);
	assert_int_equal(atomic_load(&calls), 0);
	rig_stop(&rig, 2);
	/* the calls did carry traffic */
	assert_true(a->total[0].packets > 100);
	assert_true(b->total[1].packets > 100);
	assert_true(a->total[0].has_quality);
	assert_true(a->total[1].voip.known && a->total[1].summary.known);
	assert_true(a->total[0].rtt_ms.n > 0);
	/* each RTP packet was copied when sent and when received, RTCP, too */
	assert_int_equal(media_engine_capture_end(rig.engine, &captured), 0);
	assert_true(captured.packets >
		    a->total[0].packets + a->total[1].packets +
			    b->total[0].packets + b->total[1].packets);
	assert_int_equal(captured.dropped + captured.unwritten, 0);
	assert_int_equal(media_engine_capture_end(rig.engine, &captured),
			 -ENOENT);
	rig_close(&rig);
}

static void test_threads_neither_allocate_nor_lock(void **state)
{
	(void)state;
	hot_path_check(false);
}

static void test_threads_of_shared_sockets_do_not_either(void **state)
{
	(void)state;
	hot_path_check(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_neither_allocate_nor_lock),
		cmocka_unit_test(test_threads_of_shared_sockets_do_not_either),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
