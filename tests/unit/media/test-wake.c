/*
 * How threads of the media engine sleep: a thread that is awake, or wakes soon
 * enough, is not signalled, and no work is left behind.
 */
#include "media/wake.h"

#include "base/clock.h"
#include "base/ring.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define T0 (1000 * NS_PER_S)

static bool readable(const struct wake *w)
{
	struct pollfd fd = {.fd = w->fd, .events = POLLIN};

	return poll(&fd, 1, 0) > 0;
}

static void test_wake_awake_is_not_signalled(void **state)
{
	struct wake w;

	(void)state;
	assert_int_equal(wake_open(&w), 0);
	assert_true(wake_comes(&w, WAKE_NOW));
	assert_false(wake_by(&w, WAKE_NOW));
	wake_sleep(&w, WAKE_NEVER);
	wake_end(&w, false);
	assert_false(wake_by(&w, WAKE_NOW));
	assert_false(readable(&w));
	wake_close(&w);
	wake_close(&w);
}

static void test_wake_asleep_is_signalled_once(void **state)
{
	struct wake w;

	(void)state;
	assert_int_equal(wake_open(&w), 0);
	wake_sleep(&w, WAKE_NEVER);
	assert_true(wake_by(&w, T0));
	assert_true(readable(&w));
	assert_false(wake_by(&w, WAKE_NOW));
	wake_end(&w, true);
	assert_false(readable(&w));
	wake_close(&w);
}

static void test_wake_in_time_is_not_signalled(void **state)
{
	struct wake w;

	(void)state;
	assert_int_equal(wake_open(&w), 0);
	wake_sleep(&w, T0);
	assert_false(wake_by(&w, T0));
	assert_false(wake_by(&w, T0 + 1));
	assert_false(readable(&w));
	assert_true(wake_by(&w, T0 - 1));
	assert_true(readable(&w));
	wake_close(&w);
}

/*
 * To end a thread it is signalled while it is awake: it must not sleep after
 * that.
 */
static void test_wake_signal_before_sleep_is_kept(void **state)
{
	struct wake w;

	(void)state;
	assert_int_equal(wake_open(&w), 0);
	wake_signal(&w);
	wake_sleep(&w, WAKE_NEVER);
	assert_true(readable(&w));
	wake_end(&w, true);
	assert_false(readable(&w));
	wake_close(&w);
}

#define WORKS 200000

struct pair {
	struct wake wake;
	struct ring *ring;
	uint64_t slept; /* the sleeper's */
};

/* Take all work. A lost signal would leave this thread asleep. */
static void *sleeper(void *arg)
{
	struct pair *p = arg;
	struct pollfd fd = {.fd = p->wake.fd, .events = POLLIN};
	uint32_t next = 0;

	while (next < WORKS) {
		bool signalled = false;
		uint32_t work;

		wake_sleep(&p->wake, WAKE_NEVER);
		if (!ring_front(p->ring)) {
			p->slept++;
			signalled = poll(&fd, 1, 20000) > 0;
			if (!signalled)
				break;
		}
		wake_end(&p->wake, signalled);
		while (ring_pop(p->ring, &work) && work == next)
			next++;
	}
	return (void *)(uintptr_t)next;
}

static void test_wake_leaves_no_work(void **state)
{
	struct pair p = {0};
	pthread_t thread;
	uint64_t signals = 0;
	void *taken;

	(void)state;
	assert_int_equal(wake_open(&p.wake), 0);
	assert_int_equal(ring_new(&p.ring, sizeof(uint32_t), 1024), 0);
	assert_int_equal(pthread_create(&thread, NULL, sleeper, &p), 0);
	for (uint32_t work = 0; work < WORKS; work++) {
		/*
		 * the ring is full: the sleeper was signalled for what is in it
		 */
		while (!ring_push(p.ring, &work))
			poll(NULL, 0, 1);
		signals += wake_by(&p.wake, WAKE_NOW);
	}
	assert_int_equal(pthread_join(thread, &taken), 0);
	assert_int_equal((uintptr_t)taken, WORKS);
	/* each signal ends a sleep, or one that was about to start */
	assert_true(signals <= WORKS);
	print_message("%llu signals, slept %llu times for %d works\n",
		      (unsigned long long)signals, (unsigned long long)p.slept,
		      WORKS);
	ring_free(p.ring);
	wake_close(&p.wake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wake_awake_is_not_signalled),
		cmocka_unit_test(test_wake_asleep_is_signalled_once),
		cmocka_unit_test(test_wake_in_time_is_not_signalled),
		cmocka_unit_test(test_wake_signal_before_sleep_is_kept),
		cmocka_unit_test(test_wake_leaves_no_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
