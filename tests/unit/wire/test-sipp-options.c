#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "control/wire/sipp_options.h"

static const char *const files[] = {"users.csv", "speech.wav"};

/* @return NULL: allowed; else the reason, and *ret_index */
static const char *check(size_t *ret_index, const char *const *words)
{
	static char reason[WIRE_SIPP_REASON_MAX];
	size_t count = 0;

	*ret_index = 999;
	while (words[count])
		count++;
	return wire_sipp_options_check(words, count, files, 2, ret_index,
				       reason)
		       ? reason
		       : NULL;
}

#define CHECK(index, ...) check(index, (const char *const[]){__VA_ARGS__, NULL})

static void test_options_allowed(void **state)
{
	size_t at;

	(void)state;
	assert_null(CHECK(&at, "-s", "1002", "-m", "5", "-r", "2.5", "-l", "1",
			  "-d", "500", "-rp", "2s", "-timeout", "1.5m"));
	assert_null(CHECK(&at, "-inf", "users.csv", "-infindex", "users.csv",
			  "0", "-key", "number", "42 and more"));
	assert_null(CHECK(&at, "-3pcc", "127.0.0.1:7700", "-rsa",
			  "[2001:db8::1]:5060", "-t", "tn", "-nd", "-aa"));
	assert_null(CHECK(&at, "-default_behaviors", "all,-bye", "-rtcheck",
			  "loose", "-reconnect_close", "false"));
	assert_null(CHECK(&at, "-trace_stat", "-trace_err", "-trace_msg"));
	assert_int_equal(at, 999);
	assert_int_equal(
		wire_sipp_options_check(NULL, 0, NULL, 0, &at,
					(char[WIRE_SIPP_REASON_MAX]){""}),
		0);
}

/* Each would write a file, leave the agent, or move what the agent assigned. */
static void test_options_refused(void **state)
{
	static const char *const words[] = {"-bg",
					    "-i",
					    "-mi",
					    "-ci",
					    "-bind_local",
					    "-p",
					    "-mp",
					    "-cp",
					    "-sf",
					    "-sn",
					    "-sd",
					    "-oocsn",
					    "-plugin",
					    "-stf",
					    "-message_file",
					    "-error_file",
					    "-log_file",
					    "-trace_logs",
					    "-trace_screen",
					    "-trace_rtt",
					    "-trace_counts",
					    "-trace_calldebug",
					    "-slave_cfg",
					    "-master",
					    "-slave",
					    "-tdmmap",
					    "-v",
					    "-h",
					    "-",
					    "--",
					    "",
					    "127.0.0.1:5060",
					    "-S",
					    "-s ",
					    "-trace_error_codes"};
	size_t at;

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		assert_non_null(CHECK(&at, "-nd", words[i]));
		assert_int_equal(at, 1);
	}
	assert_string_equal(CHECK(&at, "-p"),
			    "the agent assigns ports: use sipp_port");
	assert_string_equal(CHECK(&at, "-trace_logs"),
			    "it would write a file on the agent's host");
	assert_string_equal(CHECK(&at, "5060"),
			    "is no option: these begin with -");
}

/* A value can never be read as an option, whatever number of values SIPp takes. */
static void test_values_refused(void **state)
{
	size_t at;

	(void)state;
	assert_non_null(CHECK(&at, "-s", "-bg"));
	assert_int_equal(at, 1);
	assert_non_null(CHECK(&at, "-key", "a", "-bg"));
	assert_int_equal(at, 2);
	assert_string_equal(CHECK(&at, "-nd", "-key", "a"),
			    "a value is missing behind it");
	assert_int_equal(at, 1);
	assert_non_null(CHECK(&at, "-inf", "/etc/passwd"));
	assert_non_null(CHECK(&at, "-inf", "other.csv"));
	assert_string_equal(CHECK(&at, "-inf", "../users.csv"),
			    "must be one of sipp_files");
	assert_non_null(CHECK(&at, "-m", "1000001"));
	assert_non_null(CHECK(&at, "-m", "five"));
	assert_non_null(CHECK(&at, "-m", "+5"));
	assert_non_null(CHECK(&at, "-r", "10001"));
	assert_non_null(CHECK(&at, "-r", "nan"));
	assert_non_null(CHECK(&at, "-l", "10001"));
	assert_non_null(CHECK(&at, "-d", "soon"));
	assert_non_null(CHECK(&at, "-d", "10 s"));
	assert_non_null(CHECK(&at, "-d", "1111111111111"));
	assert_non_null(CHECK(&at, "-t", "l1"));
	assert_non_null(CHECK(&at, "-3pcc", "127.0.0.1"));
	assert_non_null(CHECK(&at, "-3pcc", "127.0.0.1:0"));
	assert_non_null(CHECK(&at, "-3pcc", "a b:1"));
	assert_non_null(CHECK(&at, "-default_behaviors", "all,files"));
	assert_non_null(CHECK(&at, "-s", "a\nb"));
	assert_non_null(CHECK(&at, "-aa", "true"));
	assert_int_equal(at, 1);
}

static void test_values_bounds(void **state)
{
	const char *words[WIRE_SIPP_WORDS_MAX + 1];
	char text[WIRE_SIPP_VALUE_BYTES + 1];
	char reason[WIRE_SIPP_REASON_MAX];
	size_t at;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[WIRE_SIPP_VALUE_BYTES] = '\0';
	assert_non_null(CHECK(&at, "-s", text));
	text[WIRE_SIPP_VALUE_BYTES - 1] = '\0';
	assert_null(CHECK(&at, "-s", text));
	for (size_t i = 0; i <= WIRE_SIPP_WORDS_MAX; i++)
		words[i] = "-nd";
	assert_int_equal(wire_sipp_options_check(words, WIRE_SIPP_WORDS_MAX,
						 NULL, 0, &at, reason),
			 0);
	assert_int_equal(wire_sipp_options_check(words, WIRE_SIPP_WORDS_MAX + 1,
						 NULL, 0, &at, reason),
			 -EINVAL);
}

static void test_option_found(void **state)
{
	static const char *const words[] = {"-key", "-l", "-l", "-nd",
					    "-l",   "4",  "-s", "-l2",
					    "-l",   "5",  "-aa"};

	(void)state;
	assert_string_equal(wire_sipp_option(words, 11, "-l"), "5");
	assert_string_equal(wire_sipp_option(words, 8, "-l"), "4");
	assert_null(wire_sipp_option(words, 4, "-l"));
	assert_null(wire_sipp_option(words, 11, "-m"));
	assert_null(wire_sipp_option(words, 11, "-nd"));
	assert_null(wire_sipp_option(NULL, 0, "-l"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options_allowed),
		cmocka_unit_test(test_options_refused),
		cmocka_unit_test(test_values_refused),
		cmocka_unit_test(test_values_bounds),
		cmocka_unit_test(test_option_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
