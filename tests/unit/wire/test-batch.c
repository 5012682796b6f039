#include "control/wire/batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_items_as_they_came(void **state)
{
	static const struct {
		const char *message;
		const char *items; /* NULL: not in this form */
	} rows[] = {
		{"{\"type\":\"events\",\"events\":[]}", "[]"},
		{"{\"type\":\"events\",\"events\":[1.50,\"\\u0041]}\"]}",
		 "[1.50,\"\\u0041]}\"]"},
		{"{\"type\":\"events\",\"events\":[ 1 ] }", "[ 1 ] "},
		{"{\"type\":\"events\",\"events\":[1],\"x\":[2]}", NULL},
		{"{\"events\":[1],\"type\":\"events\"}", NULL},
		{"{\"type\": \"events\",\"events\":[1]}", NULL},
		{"{\"type\":\"events\",\"events\":[1]} ", NULL},
		{"{\"type\":\"events\",\"messages\":[1]}", NULL},
		{"{\"type\":\"events\",\"events\":{}}", NULL},
		{"{\"type\":\"events\"}", NULL},
		{"{\"events\":[1]}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = rows[i].message;
		json_t *message =
			json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		size_t len = 99;
		const char *items;

		assert_non_null(message);
		items = wire_batch_items(text, strlen(text), message, "events",
					 &len);
		if (rows[i].items) {
			assert_non_null(items);
			assert_int_equal(len, strlen(rows[i].items));
			assert_memory_equal(items, rows[i].items, len);
		} else {
			assert_null(items);
			assert_int_equal(len, 99);
		}
		json_decref(message);
	}
}

static void test_head(void **state)
{
	char head[WIRE_BATCH_HEAD_BYTES];
	char name[WIRE_BATCH_HEAD_BYTES + 1];

	(void)state;
	assert_int_equal(wire_batch_head(head, "sip", "messages"), 26);
	assert_string_equal(head, "{\"type\":\"sip\",\"messages\":[");
	memset(name, 'x', sizeof(name));
	name[WIRE_BATCH_HEAD_BYTES] = '\0';
	assert_true(wire_batch_head(head, "sip", name) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_items_as_they_came),
		cmocka_unit_test(test_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
