#include "agent/engine/report/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void is_json(json_t *object, const char *expected)
{
	char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
	json_decref(object);
}

static void test_nothing_known(void **state)
{
	struct live l = {0};

	(void)state;
	is_json(live_encode(&l, 0),
		"{\"calls_active\":0,\"in\":{\"packets\":0},\"out\":{\"packets\":0},"
		"\"type\":\"live\"}");
}

static void test_totals_and_last_second(void **state)
{
	const struct stream_second first = {
		.packets = 48,
		.expected = 50,
		.lost = 2,
		.has_loss = true,
		.has_jitter = true,
		.jitter_ms = 1,
		.has_mos = true,
		.mos = 4,
	};
	const struct stream_second second = {
		.packets = 50,
		.expected = 50,
		.has_loss = true,
		.has_jitter = true,
		.jitter_ms = 3,
	};
	const struct stream_second sent = {.packets = 50};
	struct live l = {0};

	(void)state;
	live_second(&l, false, &first);
	live_second(&l, false, &second);
	live_second(&l, true, &sent);
	is_json(live_encode(&l, 2),
		"{\"calls_active\":2,\"in\":{\"jitter_ms\":2.0,\"loss_pct\":2.0,"
		"\"lost\":2,\"mos\":4.0,\"packets\":98},\"out\":{\"packets\":50},"
		"\"type\":\"live\"}");
	is_json(live_encode(&l, 1),
		"{\"calls_active\":1,\"in\":{\"loss_pct\":2.0,\"lost\":2,"
		"\"packets\":98},\"out\":{\"packets\":50},\"type\":\"live\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_known),
		cmocka_unit_test(test_totals_and_last_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
