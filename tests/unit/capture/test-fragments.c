#include "capture/fragments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/analysis/random.h"
#include "tests/unit/capture/frames.h"

#define S INT64_C(1000000000)

static struct fragments fragments;
static uint8_t payload[20000];

static struct {
	unsigned whole;
	unsigned cut;
	unsigned given_up;
	size_t captured;
	uint16_t dport;
	bool fragment;
} got;

static int setup(void **state)
{
	(void)state;
	memset(&got, 0, sizeof(got));
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + i / 256);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fragments_release(&fragments);
	return 0;
}

static void take(enum fragments_fate fate, enum datagram_kind kind,
		 struct datagram *d, int64_t ns, void *arg)
{
	(void)ns;
	(void)arg;
	got.whole += fate == FRAGMENTS_WHOLE;
	got.cut += fate == FRAGMENTS_CUT;
	got.given_up += fate == FRAGMENTS_GIVEN_UP;
	assert_int_equal(kind, DATAGRAM_IS_UDP);
	got.captured = d->captured;
	got.dport = d->dport;
	got.fragment = d->fragment;
	assert_memory_equal(d->payload, payload, d->captured);
}

/** A datagram to send in fragments. */
struct sent {
	enum frame_version version;
	uint16_t id;
	uint16_t dport;
	size_t bytes; /* of the UDP payload */
};

/*
 * Send the fragment of the UDP datagram at offset `at`, captured up to
 * `captured` bytes.
 */
static void send_part(const struct sent *s, size_t at, size_t bytes,
		      size_t captured, int64_t ns)
{
	static uint8_t whole[sizeof(payload) + 8];
	struct frame_builder b;
	struct frame_fields f = {
		.version = s->version, .protocol = 17, .ip_id = s->id};
	struct frame frame;
	struct datagram d;
	size_t end = s->bytes + 8;

	whole[0] = 4000 >> 8;
	whole[1] = (uint8_t)4000;
	whole[2] = (uint8_t)(s->dport >> 8);
	whole[3] = (uint8_t)s->dport;
	whole[4] = (uint8_t)(end >> 8);
	whole[5] = (uint8_t)end;
	memcpy(whole + 8, payload, s->bytes);
	if (bytes > end - at)
		bytes = end - at;
	f.fragment = (uint16_t)(at / 8 | (at + bytes < end ? 0x2000 : 0));
	frame_link(&b, 1, s->version == FRAME_IPV6 ? 0x86dd : 0x0800);
	frame_ip(&b, &f, bytes);
	frame_bytes(&b, whole + at, bytes);
	frame = frame_of(&b, ns);
	if (captured < bytes)
		frame.captured -= bytes - captured;
	assert_int_equal(datagram_parse(&d, &frame), DATAGRAM_IS_FRAGMENT);
	fragments_take(&fragments, &d, ns, take, NULL);
}

/*
 * Fragments beyond the end of the datagram do not stand for its missing first
 * fragment.
 */
static void test_parts_behind_the_end(void **state)
{
	const struct sent longer = {
		.version = FRAME_IPV4, .id = 5, .dport = 5060, .bytes = 4000};
	const struct sent s = {
		.version = FRAME_IPV4, .id = 5, .dport = 5060, .bytes = 1492};

	(void)state;
	send_part(&longer, 1600, 1480, 1480, S);
	send_part(&s, 1480, 20, 20, S);
	assert_int_equal(got.whole, 0);
	/* the UDP length says the same as the last fragment */
	send_part(&s, 0, 1480, 1480, S);
	assert_int_equal(got.whole, 1);
	assert_int_equal(got.captured, s.bytes);
}

/* Fragments of any size in any order, some twice, others in between. */
static void test_any_order(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct sent s = {.version = round % 2 ? FRAME_IPV6 : FRAME_IPV4,
				 .id = (uint16_t)round,
				 .dport = 5060,
				 .bytes = 100 + random_below(&seed, 19000)};
		struct sent other = {.version = s.version,
				     .id = (uint16_t)(round + 1000),
				     .dport = 5070,
				     .bytes = 3000};
		size_t part = 8 * (1 + random_below(&seed, 180));
		size_t n = (s.bytes + 8 + part - 1) / part;
		size_t *order = calloc(n, sizeof(*order));

		assert_non_null(order);
		if (n < 2) {
			free(order);
			continue;
		}
		setup(NULL);
		for (size_t i = 0; i < n; i++)
			order[i] = i;
		for (size_t i = n; i > 1; i--) {
			size_t k = random_below(&seed, (uint32_t)i);
			size_t x = order[i - 1];

			order[i - 1] = order[k];
			order[k] = x;
		}
		send_part(&other, 1480, 1480, 1480, S);
		for (size_t i = 0; i + 1 < n; i++) {
			send_part(&s, order[i] * part, part, part, S);
			send_part(&s, order[i] * part, part, part, S);
		}
		assert_int_equal(got.whole, 0);
		send_part(&s, order[n - 1] * part, part, part, S);
		assert_int_equal(got.whole, 1);
		assert_int_equal(got.captured, s.bytes);
		assert_int_equal(got.dport, 5060);
		assert_false(got.fragment);
		free(order);
	}
}

static void test_missing_part(void **state)
{
	const struct sent s = {FRAME_IPV4, 1, 5060, 4000};

	(void)state;
	send_part(&s, 0, 1480, 1480, S);
	send_part(&s, 2960, 1480, 1480, S);
	fragments_flush(&fragments, take, NULL);
	assert_int_equal(got.whole, 0);
	assert_int_equal(got.given_up, 1);
	assert_int_equal(got.captured, 1480 - 8);
	assert_true(got.fragment);
	assert_int_equal(fragments.incomplete, 1);
	/* without the first fragment nothing is decoded */
	setup(NULL);
	send_part(&s, 1480, 1480, 1480, S);
	fragments_flush(&fragments, take, NULL);
	assert_int_equal(got.given_up, 0);
	assert_int_equal(fragments.incomplete, 2);
}

/* The IP identification is used again more than a minute later: another datagram. */
static void test_old_parts_do_not_mix(void **state)
{
	const struct sent slow = {FRAME_IPV6, 2, 5060, 2000};
	const struct sent s = {FRAME_IPV6, 1, 5060, 2000};

	(void)state;
	send_part(&slow, 0, 1480, 1480, S);
	send_part(&slow, 1480, 1480, 1480, 61 * S);
	assert_int_equal(got.whole, 1);
	assert_int_equal(got.given_up, 0);
	memset(&got, 0, sizeof(got));
	send_part(&s, 0, 1480, 1480, S);
	send_part(&s, 1480, 1480, 1480, 62 * S);
	assert_int_equal(got.whole, 0);
	assert_int_equal(got.given_up, 1);
	send_part(&s, 0, 1480, 1480, 62 * S);
	assert_int_equal(got.whole, 1);
}

static void test_part_the_capture_cut(void **state)
{
	const struct sent s = {FRAME_IPV4, 1, 5060, 2000};

	(void)state;
	send_part(&s, 0, 1480, 100, S);
	assert_int_equal(got.cut, 1);
	assert_int_equal(got.captured, 92);
	send_part(&s, 1480, 1480, 100, S);
	assert_int_equal(got.whole + got.given_up, 0);
	fragments_flush(&fragments, take, NULL);
	assert_int_equal(fragments.incomplete, 1);
}

/* A part that the capture cut, and one that is whole, are one datagram. */
static void test_whole_part_beside_a_cut_one(void **state)
{
	const struct sent s = {FRAME_IPV4, 1, 5060, 2000};
	const struct sent other = {FRAME_IPV4, 2, 5060, 2000};

	(void)state;
	send_part(&s, 0, 1480, 100, S);
	send_part(&s, 1480, 520, 520, S);
	send_part(&other, 1480, 520, 520, S);
	send_part(&other, 0, 1480, 100, S);
	fragments_flush(&fragments, take, NULL);
	assert_int_equal(got.cut, 2);
	assert_int_equal(got.whole + got.given_up, 0);
	assert_int_equal(fragments.incomplete, 2);
}

static void test_ceiling(void **state)
{
	(void)state;
	for (uint16_t i = 0; i < 1000; i++) {
		const struct sent s = {FRAME_IPV4, i, 5060, 2000};

		send_part(&s, 0, 1480, 1480, S);
	}
	assert_int_equal(got.given_up, 1000 - FRAGMENT_SETS);
	for (uint16_t i = 999; i >= 1000 - FRAGMENT_SETS; i--) {
		const struct sent s = {FRAME_IPV4, i, 5060, 2000};

		send_part(&s, 1480, 1480, 1480, S);
	}
	assert_int_equal(got.whole, FRAGMENT_SETS);
}

/* Fragments that end beyond the largest datagram are refused. */
static void test_beyond_the_largest(void **state)
{
	static struct frame_builder b;
	struct frame_fields f = {.version = FRAME_IPV4, .protocol = 17};
	struct frame frame;
	struct datagram d;

	(void)state;
	f.fragment = 0x1fff;
	frame_make(&b, &f, payload, 1000);
	frame = frame_of(&b, S);
	assert_int_equal(datagram_parse(&d, &frame), DATAGRAM_IS_FRAGMENT);
	assert_int_equal(d.part.at, 65528);
	fragments_take(&fragments, &d, S, take, NULL);
	assert_null(fragments.set[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_any_order, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_missing_part, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_parts_behind_the_end,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_old_parts_do_not_mix,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_whole_part_beside_a_cut_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_part_the_capture_cut,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_ceiling, setup, teardown),
		cmocka_unit_test_setup_teardown(test_beyond_the_largest, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
