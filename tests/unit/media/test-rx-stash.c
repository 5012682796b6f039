/* Datagrams that wait for a key. */
#include "media/rx/rx_secure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct rx_stash stash;

static void test_the_oldest_makes_room(void **state)
{
	struct rx_socket *from = calloc(1, sizeof(*from));
	struct stashed *item;
	bool lost;

	(void)state;
	assert_non_null(from);
	for (int i = 0; i < STASH_MAX + 2; i++) {
		item = stash_place(&stash, &lost);
		item->from = from;
		item->mono_ns = i;
		assert_int_equal(lost, i >= STASH_MAX);
	}
	assert_int_equal(stash.waiting, STASH_MAX);
	for (int i = 0; i < STASH_MAX; i++) {
		item = stash_take(&stash, from->session, false);
		assert_non_null(item);
		assert_int_equal(item->mono_ns, i + 2);
	}
	assert_null(stash_take(&stash, from->session, false));
	free(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_oldest_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
