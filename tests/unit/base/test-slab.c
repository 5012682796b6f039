#include "base/sanitizer.h"
#include "base/slab.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY 300

static void test_slab_sizes_have_bounds(void **state)
{
	struct slab *s;

	(void)state;
	assert_int_equal(slab_new(&s, sizeof(void *) - 1, 0, SLAB_HUGE_PAGES),
			 -EINVAL);
	assert_int_equal(slab_new(&s, SLAB_OBJECT_MAX + 1, 0, SLAB_HUGE_PAGES),
			 -EINVAL);
	assert_int_equal(slab_new(&s, 100, 101, SLAB_HUGE_PAGES), -EINVAL);
	assert_null(slab_free(NULL));
}

/* Every object has its own memory, to its last byte. */
static void objects_are_apart(size_t bytes, enum slab_pages pages)
{
	const size_t aligned =
		pages == SLAB_SMALL_PAGES ? 4096 : SLAB_LINE_BYTES;
	static uint8_t *objects[MANY];
	struct slab *s;

	assert_int_equal(slab_new(&s, bytes, bytes, pages), 0);
	for (int i = 0; i < MANY; i++) {
		objects[i] = slab_take(s);
		assert_non_null(objects[i]);
		assert_int_equal((uintptr_t)objects[i] % aligned, 0);
		memset(objects[i], 1 + i % 255, bytes);
	}
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(objects[i][0], 1 + i % 255);
		assert_memory_equal(objects[i], objects[i] + 1, bytes - 1);
	}
	for (int i = 0; i < MANY; i++)
		slab_give(s, objects[i]);
	slab_free(s);
}

static void test_slab_objects_are_apart(void **state)
{
	static const size_t sizes[] = {sizeof(void *), SLAB_LINE_BYTES, 100001,
				       SLAB_OBJECT_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		objects_are_apart(sizes[i], SLAB_HUGE_PAGES);
		objects_are_apart(sizes[i], SLAB_SMALL_PAGES);
	}
}

static void test_slab_what_was_used_is_zero_again(void **state)
{
	static const uint8_t zero[5000];
	void *objects[MANY];
	struct slab *s;

	(void)state;
	assert_int_equal(
		slab_new(&s, sizeof(zero), sizeof(zero), SLAB_HUGE_PAGES), 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++) {
			objects[i] = slab_take(s);
			assert_memory_equal(objects[i], zero, sizeof(zero));
			memset(objects[i], 0xff, sizeof(zero));
		}
		for (int i = 0; i < MANY; i++)
			slab_give(s, objects[i]);
	}
	slab_give(s, NULL);
	slab_free(s);
}

/*
 * Only the requested bytes are cleared: large, seldom used memory costs
 * nothing.
 */
static void test_slab_clears_what_is_asked_for(void **state)
{
	static const uint8_t zero[1000];
	struct slab *s;
	uint8_t *object;

	(void)state;
	assert_int_equal(slab_new(&s, 5000, sizeof(zero), SLAB_HUGE_PAGES), 0);
	object = slab_take(s);
	assert_memory_equal(object, zero, sizeof(zero));
	memset(object, 0xff, 5000);
	slab_give(s, object);
	assert_ptr_equal(slab_take(s), object);
	assert_memory_equal(object, zero, sizeof(zero));
	for (size_t at = sizeof(zero); at < 5000; at++)
		assert_int_not_equal(object[at], 0);
	slab_give(s, object);
	slab_free(s);
}

/*
 * Taking and releasing one object repeatedly costs no mapping each time and
 * does not disturb its neighbours.
 */
static void test_slab_places_are_used_again(void **state)
{
	struct slab *s;
	uint8_t *kept[MANY];
	void *first;

	(void)state;
	assert_int_equal(slab_new(&s, 50000, 50000, SLAB_HUGE_PAGES), 0);
	first = slab_take(s);
	slab_give(s, first);
	for (int i = 0; i < MANY; i++) {
		void *object = slab_take(s);

		assert_ptr_equal(object, first);
		slab_give(s, object);
	}
	for (int i = 0; i < MANY; i++) {
		kept[i] = slab_take(s);
		*kept[i] = (uint8_t)(i | 1);
	}
	/*
	 * every third object stays: no chunk is returned, but some are shared
	 */
	for (int i = 0; i < MANY; i++) {
		if (i % 3)
			slab_give(s, kept[i]);
	}
	for (int i = 0; i < MANY; i++) {
		if (i % 3)
			kept[i] = slab_take(s);
		else
			assert_int_equal(*kept[i], (uint8_t)(i | 1));
	}
	for (int i = MANY - 1; i >= 0; i--)
		slab_give(s, kept[i]);
	slab_free(s);
}

/* Bytes of mapped memory. */
static size_t mapped(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

#define LARGE  100000
#define CHUNKS ((size_t)MANY / 20) /* of 2 MiB with 20 places each */
#define MIB    ((size_t)1 << 20)

/*
 * Most memory of many objects is returned to the system; the rest is used again
 * without a mapping.
 */
static void test_slab_gives_memory_back(void **state)
{
	static void *objects[MANY];
	struct slab *s;
	size_t before = mapped();
	size_t full, empty;

	(void)state;
	assert_int_equal(slab_new(&s, LARGE, LARGE, SLAB_HUGE_PAGES), 0);
	for (int i = 0; i < MANY; i++)
		objects[i] = slab_take(s);
	full = mapped();
	assert_true(full - before >= CHUNKS * 2 * MIB);
	for (int i = 0; i < MANY; i++)
		slab_give(s, objects[i]);
	empty = mapped();
	assert_true(empty - before < full - before - CHUNKS * MIB);
	for (int round = 0; round < MANY; round++) {
		objects[0] = slab_take(s);
		objects[1] = slab_take(s);
		slab_give(s, objects[0]);
		slab_give(s, objects[1]);
		assert_true(mapped() <= empty);
	}
	assert_true(empty > before);
	slab_free(s);
}

/* Of an object in small pages the kernel provides those that are touched. */
static void test_slab_small_pages_are_provided_when_touched(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char resident;
	struct slab *s;
	uint8_t *object, *inside;

	(void)state;
#ifdef SANITIZED_ADDRESS
	skip(); /* it fills what is not cleared */
#endif
	assert_int_equal(slab_new(&s, LARGE, 0, SLAB_SMALL_PAGES), 0);
	object = slab_take(s);
	assert_non_null(object);
	object[0] = 1;
	inside = object + page - (uintptr_t)object % page;
	for (size_t at = 0; at < LARGE / 2; at += page) {
		assert_int_equal(mincore(inside + at, page, &resident), 0);
		assert_int_equal(resident & 1, 0);
	}
	*inside = 1;
	assert_int_equal(mincore(inside, page, &resident), 0);
	assert_int_equal(resident & 1, 1);
	slab_give(s, object);
	slab_free(s);
}

static void test_slab_is_freed_with_its_objects(void **state)
{
	struct slab *s;

	(void)state;
	assert_int_equal(slab_new(&s, 100000, 100000, SLAB_HUGE_PAGES), 0);
	for (int i = 0; i < MANY; i++)
		memset(slab_take(s), 0xff, 100000);
	assert_null(slab_free(s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slab_sizes_have_bounds),
		cmocka_unit_test(test_slab_objects_are_apart),
		cmocka_unit_test(test_slab_what_was_used_is_zero_again),
		cmocka_unit_test(test_slab_clears_what_is_asked_for),
		cmocka_unit_test(test_slab_places_are_used_again),
		cmocka_unit_test(test_slab_gives_memory_back),
		cmocka_unit_test(
			test_slab_small_pages_are_provided_when_touched),
		cmocka_unit_test(test_slab_is_freed_with_its_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
