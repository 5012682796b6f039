#include "base/clock.h"
#include "base/state.h"
#include "base/str.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_copy_too_long(void **state)
{
	char dst[4] = "abc";

	(void)state;
	assert_int_equal(str_copy(dst, sizeof(dst), "1234"), -ENAMETOOLONG);
	assert_string_equal(dst, "");
	assert_int_equal(str_copy(dst, sizeof(dst), "123"), 0);
	assert_string_equal(dst, "123");
}

static void test_u64_bounds(void **state)
{
	static const char *const bad[] = {"",   "-1",  "+1", " 1",
					  "1 ", "0x1", "1.0"};
	uint64_t v = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(str_to_u64(bad[i], UINT64_MAX, &v), -EINVAL);
	assert_int_equal(str_to_u64("18446744073709551616", UINT64_MAX, &v),
			 -ERANGE);
	assert_int_equal(str_to_u64("11", 10, &v), -ERANGE);
	assert_int_equal(v, 7);
	assert_int_equal(str_to_u64("10", 10, &v), 0);
	assert_int_equal(v, 10);
}

static void test_double_refuses_non_finite(void **state)
{
	double v = 7;

	(void)state;
	assert_int_equal(str_to_double("nan", &v), -EINVAL);
	assert_int_equal(str_to_double("inf", &v), -EINVAL);
	assert_int_equal(str_to_double("1x", &v), -EINVAL);
	assert_int_equal(str_to_double("", &v), -EINVAL);
	assert_true(v == 7);
	assert_int_equal(str_to_double("-0.5", &v), 0);
	assert_true(v == -0.5);
}

static void test_uuid_form(void **state)
{
	char a[UUID_TEXT_BYTES];
	char b[UUID_TEXT_BYTES];

	(void)state;
	uuid_make(a);
	uuid_make(b);
	assert_true(uuid_valid(a));
	assert_int_equal(a[14], '4');
	assert_string_not_equal(a, b);
	assert_false(uuid_valid("1234"));
	a[8] = '0';
	assert_false(uuid_valid(a));
}

static void test_has_word_whole_words_only(void **state)
{
	(void)state;
	assert_true(str_has_word("in out", "in"));
	assert_true(str_has_word("in out", "out"));
	assert_false(str_has_word("in out", "ou"));
	assert_false(str_has_word("in out", "in out"));
	assert_false(str_has_word("in  out ", ""));
	assert_false(str_has_word("", "in"));
}

static void test_listed_whole_text_only(void **state)
{
	static const char *const list[] = {"in", "out", NULL};

	(void)state;
	assert_true(str_listed(list, "in"));
	assert_true(str_listed(list, "out"));
	assert_false(str_listed(list, "ou"));
	assert_false(str_listed(list, ""));
	assert_false(str_listed(list + 2, "in"));
}

static void test_clock_format_known_time(void **state)
{
	char text[CLOCK_TEXT_BYTES];

	(void)state;
	clock_format(text, INT64_C(1700000000) * NS_PER_S);
	assert_string_equal(text, "2023-11-14 22:13:20");
}

static void test_utf8_repair(void **state)
{
	static const struct {
		const char *text;
		const char *repaired;
	} rows[] = {
		{"", ""},
		{"plain\r\n\x7f", "plain\r\n\x7f"},
		{"\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80",
		 "\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80"},
		{"\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf",
		 "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"},
		/* truncated sequences */
		{"a\xc3", "a?"},
		{"a\xe2\x82", "a??"},
		{"a\xf0\x9f\x98", "a???"},
		{"\xc3(", "?("},
		{"\xe2\x82\xc3\xa4", "??\xc3\xa4"},
		/* Latin-1, lone continuation, overlong, surrogate, too large */
		{"M\xfcller", "M?ller"},
		{"\x80\xbf", "??"},
		{"\xc0\xaf\xc1\xbf", "????"},
		{"\xe0\x9f\xbf", "???"},
		{"\xed\xa0\x80", "???"},
		{"\xf0\x8f\xbf\xbf", "????"},
		{"\xf4\x90\x80\x80", "????"},
		{"\xf5\x80\x80\x80\xff\xfe", "??????"},
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(str_copy(text, sizeof(text), rows[i].text), 0);
		str_utf8_repair(text);
		assert_string_equal(text, rows[i].repaired);
	}
}

static void test_distance_counts_edits(void **state)
{
	char word[STR_DISTANCE_MAX + 2];

	(void)state;
	assert_int_equal(str_distance("", ""), 0);
	assert_int_equal(str_distance("", "abc"), 3);
	assert_int_equal(str_distance("schedule", "schedules"), 1);
	assert_int_equal(str_distance("agent", "agnet"), 1);
	assert_int_equal(str_distance("kitten", "sitting"), 3);
	assert_int_equal(str_distance("ca", "abc"), 3); /* no part twice */
	memset(word, 'a', sizeof(word));
	word[STR_DISTANCE_MAX] = '\0';
	assert_int_equal(str_distance(word, ""), STR_DISTANCE_MAX);
	word[STR_DISTANCE_MAX] = 'a';
	word[STR_DISTANCE_MAX + 1] = '\0';
	assert_true(str_distance(word, "") == SIZE_MAX);
	assert_true(str_distance("", word) == SIZE_MAX);
}

static void test_state_names_round_trip(void **state)
{
	enum ua_state s;

	(void)state;
	for (int i = 0; i < UA_STATE_COUNT; i++) {
		assert_true(
			ua_state_parse(ua_state_name((enum ua_state)i), &s));
		assert_int_equal(s, i);
	}
	assert_false(ua_state_parse("CALL_NONSENSE", &s));
}

static void test_str_decimal_is_as_printf_has_it(void **state)
{
	uint64_t number = 1;
	char expected[STR_DECIMAL_BYTES];
	char text[STR_DECIMAL_BYTES];

	(void)state;
	assert_string_equal(str_decimal(text, UINT64_MAX),
			    "18446744073709551615");
	for (uint64_t small = 0; small <= 20000; small++) {
		snprintf(expected, sizeof(expected), "%llu",
			 (unsigned long long)small);
		assert_string_equal(str_decimal(text, small), expected);
	}
	for (int digits = 1; digits < 20; digits++, number *= 10) {
		for (uint64_t near = number - 1; near <= number + 1; near++) {
			snprintf(expected, sizeof(expected), "%llu",
				 (unsigned long long)near);
			assert_string_equal(str_decimal(text, near), expected);
		}
	}
}

static void test_join_cuts_and_terminates(void **state)
{
	char text[6] = "xxxxx";

	(void)state;
	assert_int_equal(str_join(text, sizeof(text), "ab", "", "cde", NULL),
			 5);
	assert_string_equal(text, "abcde");
	assert_int_equal(str_join(text, sizeof(text), "ab", "cdef", "g", NULL),
			 -ENAMETOOLONG);
	assert_string_equal(text, "abcde");
	assert_int_equal(str_join(text, sizeof(text), "", NULL), 0);
	assert_string_equal(text, "");
	assert_int_equal(str_join(text, 0, "a", NULL), -ENAMETOOLONG);
	assert_string_equal(text, "");
	assert_int_equal(str_join(text, 1, "", NULL), 0);
}

static void test_hex_is_as_printf_has_it(void **state)
{
	const uint64_t number = 0x0123456789abcdef;
	char expected[STR_HEX_BYTES], text[STR_HEX_BYTES];

	(void)state;
	for (unsigned int digits = 1; digits <= 16; digits++) {
		uint64_t low = digits < 16 ? number & ((1ull << 4 * digits) - 1)
					   : number;

		snprintf(expected, sizeof(expected), "%0*llx", (int)digits,
			 (unsigned long long)low);
		assert_string_equal(str_hexadecimal(text, number, digits),
				    expected);
	}
	assert_string_equal(str_hexadecimal(text, 0, 8), "00000000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_join_cuts_and_terminates),
		cmocka_unit_test(test_hex_is_as_printf_has_it),
		cmocka_unit_test(test_str_decimal_is_as_printf_has_it),
		cmocka_unit_test(test_copy_too_long),
		cmocka_unit_test(test_u64_bounds),
		cmocka_unit_test(test_double_refuses_non_finite),
		cmocka_unit_test(test_uuid_form),
		cmocka_unit_test(test_has_word_whole_words_only),
		cmocka_unit_test(test_listed_whole_text_only),
		cmocka_unit_test(test_clock_format_known_time),
		cmocka_unit_test(test_utf8_repair),
		cmocka_unit_test(test_distance_counts_edits),
		cmocka_unit_test(test_state_names_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
