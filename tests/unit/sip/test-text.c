#include "sip/message/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <re.h>

static void expect_text(const struct mbuf *mb, const char *text)
{
	assert_int_equal(mb->end, strlen(text));
	assert_memory_equal(mb->buf, text, mb->end);
}

static void test_text_append_more_than_there_is_room_for(void **state)
{
	struct mbuf *mb = mbuf_alloc(4);
	char expected[2001] = "";
	(void)state;

	assert_non_null(mb);
	for (int i = 0; i < 200; i++) {
		assert_int_equal(
			text_append(mb, "abc", "", "de", "fghij", NULL), 0);
		strcat(expected, "abcdefghij");
	}
	expect_text(mb, expected);
	assert_int_equal(mb->pos, mb->end);
	mem_deref(mb);
}

static void test_text_append_many_texts(void **state)
{
	struct mbuf *mb = mbuf_alloc(1);
	(void)state;

	assert_non_null(mb);
	assert_int_equal(text_append(mb, "1", "2", "3", "4", "5", "6", "7", "8",
				     "9", "10", "11", "12", "13", "14", "15",
				     "16", "17", "18", "19", "20", "21", "22",
				     "23", "24", "25", "26", "27", "28", "29",
				     "30", "31", "32", "33", NULL),
			 0);
	expect_text(mb, "123456789101112131415161718192021222324252627282930"
			"313233");
	mem_deref(mb);
}

/* Like libre's functions it writes at the position. */
static void test_text_append_over_what_is_there(void **state)
{
	struct mbuf *mb = mbuf_alloc(16);
	(void)state;

	assert_non_null(mb);
	assert_int_equal(text_append(mb, "SIP/2.0 ", "200", " OK", NULL), 0);
	mb->pos = 8;
	assert_int_equal(text_append(mb, "48", "6", NULL), 0);
	assert_int_equal(mb->pos, 11);
	expect_text(mb, "SIP/2.0 486 OK");
	mb->pos = mb->end;
	assert_int_equal(text_append(mb, "", "", NULL), 0);
	expect_text(mb, "SIP/2.0 486 OK");
	mem_deref(mb);
}

static void test_text_append_without_a_buffer(void **state)
{
	struct mbuf *mb = mbuf_alloc(0);
	(void)state;

	assert_non_null(mb);
	assert_int_equal(text_append(mb, "", NULL), 0);
	assert_int_equal(mb->end, 0);
	assert_int_equal(text_append(mb, "a", "b", NULL), 0);
	expect_text(mb, "ab");
	mem_deref(mb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_append_more_than_there_is_room_for),
		cmocka_unit_test(test_text_append_many_texts),
		cmocka_unit_test(test_text_append_over_what_is_there),
		cmocka_unit_test(test_text_append_without_a_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
