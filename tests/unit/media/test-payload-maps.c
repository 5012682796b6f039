#include "media/engine/payload_maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A map that differs from others of this file by its second payload type. */
static struct rtp_payload_map map_of(uint8_t event_pt)
{
	struct rtp_payload_map map = {.count = 0};

	assert_int_equal(rtp_payload_map_add(&map, 0, "PCMU", 8000), 0);
	assert_int_equal(
		rtp_payload_map_add(&map, event_pt, "telephone-event", 8000),
		0);
	return map;
}

static const struct rtp_payload_map *get(struct payload_maps *maps,
					 const struct rtp_payload_map *wanted)
{
	const struct rtp_payload_map *ret = NULL;

	assert_int_equal(payload_map_get(&ret, maps, wanted), 0);
	assert_non_null(ret);
	assert_int_equal(ret->count, wanted->count);
	return ret;
}

static void test_equal_maps_are_shared(void **state)
{
	struct payload_maps maps = {0};
	struct rtp_payload_map wanted = map_of(101);
	const struct rtp_payload_map *first = get(&maps, &wanted);
	const struct rtp_payload_map *second = get(&maps, &wanted);

	(void)state;
	assert_ptr_equal(first, second);
	assert_ptr_not_equal(first, &wanted);
	payload_map_put(second);
	assert_int_equal(first->entries[1].pt, 101);
	payload_map_put(first);
	payload_maps_release(&maps);
}

static void test_other_maps_are_not_shared(void **state)
{
	struct payload_maps maps = {0};
	struct rtp_payload_map wanted = map_of(101);
	const struct rtp_payload_map *refs[6];
	size_t count = 0;

	(void)state;
	refs[count++] = get(&maps, &wanted);
	wanted.entries[1].pt = 102;
	refs[count++] = get(&maps, &wanted);
	wanted.entries[1].clock_hz = 16000;
	refs[count++] = get(&maps, &wanted);
	wanted.entries[1].codec[0] = 'T';
	refs[count++] = get(&maps, &wanted);
	wanted.entries[0].values.prefer_declared = true;
	refs[count++] = get(&maps, &wanted);
	wanted.count = 1;
	refs[count++] = get(&maps, &wanted);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < i; k++)
			assert_ptr_not_equal(refs[i], refs[k]);
	}
	for (size_t i = 0; i < count; i++)
		payload_map_put(refs[i]);
	payload_map_put(NULL);
	payload_maps_release(&maps);
}

/* A map lives as long as a reference, also when newer ones have replaced it. */
static void test_map_outlives_the_recent_ones(void **state)
{
	struct payload_maps maps = {0};
	struct rtp_payload_map wanted = map_of(96);
	const struct rtp_payload_map *kept = get(&maps, &wanted);
	const struct rtp_payload_map *again;

	(void)state;
	for (uint8_t pt = 97; pt < 97 + PAYLOAD_MAPS_RECENT; pt++) {
		struct rtp_payload_map other = map_of(pt);

		payload_map_put(get(&maps, &other));
	}
	again = get(&maps, &wanted); /* it is not found any more */
	assert_ptr_not_equal(again, kept);
	payload_maps_release(&maps);
	assert_int_equal(kept->entries[1].pt, 96);
	assert_int_equal(again->entries[1].pt, 96);
	payload_map_put(kept);
	payload_map_put(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_maps_are_shared),
		cmocka_unit_test(test_other_maps_are_not_shared),
		cmocka_unit_test(test_map_outlives_the_recent_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
