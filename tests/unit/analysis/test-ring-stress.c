/*
 * Two producers with a ring each and one analyser: every record is accounted
 * for.
 * Usage: test-ring-stress [RECORDS]; run it under ThreadSanitizer.
 */
#include "base/ring.h"
#include "base/str.h"
#include "media/analysis/stream.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define RING_RECORDS 1024
#define PRODUCERS    2

static uint64_t records = 2000000; /* of both producers together */

struct producer {
	struct ring *ring;
	bool in_place; /* records are written and read in the ring itself,
		        * not copied */
	uint64_t pushed;
	uint64_t refused;
	_Atomic bool done;
};

static bool push(struct producer *p, const struct packet_record *r)
{
	struct packet_record *place;

	if (!p->in_place)
		return ring_push(p->ring, r);
	place = ring_reserve(p->ring);
	if (!place)
		return false;
	*place = *r;
	ring_commit(p->ring);
	return true;
}

static void *produce(void *arg)
{
	struct producer *p = arg;

	for (uint64_t n = 0; n < records / PRODUCERS; n++) {
		struct packet_record r = {
			.mono_ns = (int64_t)n * 20000000,
			.rtp_ts = (uint32_t)(n * 160),
			.seq = (uint16_t)n,
			.payload_bytes = 160,
			.header_bytes = 12,
		};

		if (push(p, &r)) {
			p->pushed++;
			continue;
		}
		p->refused++;
		sched_yield(); /* without it nearly all records would be
			        * refused */
	}
	/* release: publishes the last record and the counts */
	atomic_store_explicit(&p->done, true, memory_order_release);
	return NULL;
}

struct consumer {
	struct rtp_stream stream;
	struct rtp_rest rest;
	uint64_t popped;
	uint64_t next; /* record expected next */
	uint64_t gaps; /* records missing before the newest */
};

static void take(struct consumer *c, const struct packet_record *r)
{
	uint64_t n = (uint64_t)r->mono_ns / 20000000;

	assert_true(n >= c->next);
	assert_int_equal(r->seq, (uint16_t)n);
	assert_int_equal(r->rtp_ts, (uint32_t)(n * 160));
	c->gaps += n - c->next;
	c->next = n + 1;
	c->popped++;
	rtp_stream_update(&c->stream, r);
}

static bool consume(struct consumer *c, const struct producer *p)
{
	const struct packet_record *place;
	struct packet_record r;

	if (!p->in_place) {
		if (!ring_pop(p->ring, &r))
			return false;
		take(c, &r);
		return true;
	}
	place = ring_front(p->ring);
	if (!place)
		return false;
	take(c, place);
	ring_release(p->ring);
	return true;
}

static void account(const struct producer *p, struct consumer *c)
{
	struct rtp_counters counters;
	uint64_t produced = records / PRODUCERS;

	/* records refused after the last one taken leave no visible gap */
	c->gaps += produced - c->next;
	rtp_stream_counters(&c->stream, &counters);
	print_message(
		"produced %llu, pushed %llu, dropped %llu, popped %llu, "
		"gaps %llu\n",
		(unsigned long long)produced, (unsigned long long)p->pushed,
		(unsigned long long)ring_dropped(p->ring),
		(unsigned long long)c->popped, (unsigned long long)c->gaps);
	assert_int_equal(p->refused, ring_dropped(p->ring));
	assert_int_equal(p->pushed + ring_dropped(p->ring), produced);
	assert_int_equal(c->popped, p->pushed);
	assert_int_equal(c->gaps, ring_dropped(p->ring));
	assert_int_equal(counters.packets, c->popped);
	assert_int_equal(counters.packets,
			 counters.received + counters.duplicates +
				 counters.stray + counters.pending);
}

static void test_two_producers_one_analyser(void **state)
{
	static struct producer p[PRODUCERS];
	static struct consumer c[PRODUCERS];
	static struct rtp_payload_map map;
	pthread_t thread[PRODUCERS];
	bool open = true;

	(void)state;
	rtp_payload_map_add(&map, 0, "PCMU", 8000);
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		assert_int_equal(ring_new(&p[i].ring,
					  sizeof(struct packet_record),
					  RING_RECORDS),
				 0);
		rtp_stream_init(&c[i].stream, i, 0, &map, &c[i].rest);
		p[i].in_place = i == 0;
	}
	for (size_t i = 0; i < PRODUCERS; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, produce, &p[i]), 0);
	while (open) {
		open = false;
		for (size_t i = 0; i < PRODUCERS; i++) {
			/* acquire: pairs with the release in produce() */
			bool done = atomic_load_explicit(&p[i].done,
							 memory_order_acquire);
			bool any = consume(&c[i], &p[i]);

			open |= any || !done;
		}
	}
	for (size_t i = 0; i < PRODUCERS; i++) {
		pthread_join(thread[i], NULL);
		account(&p[i], &c[i]);
		ring_free(p[i].ring);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_producers_one_analyser),
	};

	if (argc > 1 && (str_to_u64(argv[1], UINT32_MAX, &records) ||
			 records < PRODUCERS)) {
		fprintf(stderr, "usage: test-ring-stress [RECORDS]\n");
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
