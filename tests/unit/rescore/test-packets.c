#include "control/rescore/packets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void put(FILE *f, const uint32_t *words, size_t count)
{
	assert_int_equal(fwrite(words, sizeof(*words), count, f), count);
}

/* A pcapng file whose interfaces have one frame each. */
static FILE *file_of(uint32_t interfaces)
{
	static const uint32_t section[] = {
		0x0a0d0d0a, 28, 0x1a2b3c4d, 1, UINT32_MAX, UINT32_MAX, 28};
	static const uint32_t interface[] = {1, 20, 1, 0, 20};
	FILE *f = tmpfile();

	assert_non_null(f);
	put(f, section, 7);
	for (uint32_t i = 0; i < interfaces; i++)
		put(f, interface, 5);
	for (uint32_t i = 0; i < interfaces; i++) {
		const uint32_t frame[] = {6, 36, i, 0, 1, 4, 4, 0, 36};

		put(f, frame, 9);
	}
	rewind(f);
	assert_int_equal(fflush(f), 0);
	return f;
}

static void expect(uint32_t interfaces, size_t parts, uint64_t left_out)
{
	const struct capture_options options = {.streams_max = 1};
	struct packets *p = calloc(1, sizeof(*p));
	FILE *f = file_of(interfaces);

	assert_non_null(p);
	assert_int_equal(packets_read(p, fileno(f), &options), 0);
	assert_false(p->damaged);
	assert_int_equal(p->count, parts);
	assert_int_equal(p->frames_left_out, left_out);
	packets_release(p);
	fclose(f);
	free(p);
}

static void test_interfaces_have_a_ceiling(void **state)
{
	(void)state;
	expect(PACKETS_INTERFACES_MAX, PACKETS_INTERFACES_MAX, 0);
	expect(PACKETS_INTERFACES_MAX + 2, PACKETS_INTERFACES_MAX, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interfaces_have_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
