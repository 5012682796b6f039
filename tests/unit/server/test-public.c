#include "control/server/report/public.h"

#include "base/buf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define M PUBLIC_MASK

static void sentence(const char *text, const char *wanted)
{
	struct buf out;

	buf_init(&out, 4096);
	assert_int_equal(public_sentence(&out, text), 0);
	assert_string_equal(out.data ? out.data : "", wanted);
	buf_release(&out);
}

static void test_sentences_of_digits(void **state)
{
	(void)state;
	sentence("", "");
	sentence("caller: digits received of call caller-12 were \"12#\", "
		 "expected that they are \"4*D\"",
		 "caller: digits received of call caller-12 were \"" M M M
		 "\", expected that they are \"" M M M "\"");
	sentence("callee: digits received of call callee-1 were \"\" by info, "
		 "but \"12345678901234567890...\" by rtpevent and \"1\" by "
		 "inband, expected that they hold \"7\"",
		 "callee: digits received of call callee-1 were \"\" by info, "
		 "but \"" M M M M M M M M M M M M M M M M M M M M
		 "...\" by rtpevent and \"" M "\" by inband, expected that "
		 "they hold \"" M "\"");
	sentence("caller: digit 7 of call caller-1 lasted 80 ms, expected at "
		 "least 90 ms",
		 "caller: digit " M " of call caller-1 lasted 80 ms, expected "
		 "at least 90 ms");
	sentence("callee: assert_dtmf 12 5000 did not hold in call callee-1: "
		 "heard \"42\" in the time given",
		 "callee: assert_dtmf " M M " 5000 did not hold in call "
		 "callee-1: heard \"" M M "\" in the time given");
	sentence("callee: dtmf 1d# did not hold in call callee-1: the call "
		 "ended before it was carried out",
		 "callee: dtmf " M M M " did not hold in call callee-1: the "
		 "call ended before it was carried out");
	sentence("caller: call caller-1 did not reach CALL_DTMF_9 (1 of 2 do "
		 "not hold it); caller: call caller-1 reached CALL_DTMF_POUND, "
		 "expected not",
		 "caller: call caller-1 did not reach CALL_DTMF_" M " (1 of 2 "
		 "do not hold it); caller: call caller-1 reached CALL_DTMF_" M
		 ", expected not");
	sentence("it is 'Signal=5 Duration=160'",
		 "it is 'Signal=" M " Duration=160'");
	sentence("digits cut \"12", "digits cut \"" M M);
}

static void test_other_sentences_stay(void **state)
{
	static const char *const texts[] = {
		"caller: call caller-1 did not reach CALL_DTMF_START (no digit "
		"came)",
		"caller: call caller-1 did not reach CALL_DTMF_END",
		"callee: the number is \"1002\", expected \"1003\"; caller: "
		"486 Busy Here",
		"caller: call caller-1 has no digit received whose duration "
		"is known, expected at least 90 ms",
		"caller: MOS of call caller-1 was 3.2, expected at least 4",
		"dtmf ",
		"digit ",
		"CALL_DTMF_",
		"\xff\"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		sentence(texts[i], texts[i]);
	/* only statements about digits, whatever else is in the text */
	sentence("callee: the number is \"1002\"; caller: digits were \"12\"",
		 "callee: the number is \"1002\"; caller: digits were \"" M M
		 "\"");
}

static const char report_text[] =
	"{\"run\":{\"result_description\":\"callee: digits received of call "
	"callee-1 were \\\"987\\\"\",\"test_name\":\"987\"},"
	"\"verdicts\":[{\"role\":\"callee\",\"condition_type\":"
	"\"callee-dtmf-conditions\",\"text\":\"callee: digits received in "
	"every call are \\\"986\\\"\",\"expected\":\"are \\\"986\\\"\","
	"\"actual\":\"\\\"987\\\"\",\"call\":\"callee-1\",\"sentence\":"
	"\"callee: digits were \\\"987\\\"\"},"
	"{\"role\":\"callee\",\"condition_type\":\"built-in\",\"text\":"
	"\"callee: assert_dtmf 987 holds\",\"expected\":\"holds\"},"
	"{\"role\":\"caller\",\"condition_type\":\"caller-mos-conditions\","
	"\"actual\":\"4.1\"}],"
	"\"assertions\":[{\"action\":\"assert_dtmf\",\"argument\":\"987 5000\","
	"\"text\":\"heard \\\"98\\\" in the time given\"},"
	"{\"action\":\"dtmf\",\"argument\":\"987\",\"text\":\"\"},"
	"{\"action\":\"assert_state\",\"argument\":\"CALL_DTMF_9\","
	"\"text\":\"the call did not reach the state within 32 s\"}],"
	"\"digits\":[{\"call\":\"callee-1\",\"digit\":\"9\",\"ms\":80},"
	"{\"call\":\"callee-1\",\"digit\":\"8\",\"ms\":80}]}";

static const char *at(const json_t *report, const char *list, size_t i,
		      const char *member)
{
	return json_string_value(json_object_get(
		json_array_get(json_object_get(report, list), i), member));
}

static void test_a_report_has_no_digit(void **state)
{
	json_t *report = json_loads(report_text, 0, NULL);

	(void)state;
	assert_non_null(report);
	assert_int_equal(public_mask(report), 0);
	assert_string_equal(at(report, "verdicts", 0, "actual"),
			    "\"" M M M "\"");
	assert_string_equal(at(report, "verdicts", 0, "expected"),
			    "are \"" M M M "\"");
	assert_string_equal(at(report, "verdicts", 0, "call"), "callee-1");
	assert_string_equal(at(report, "verdicts", 1, "text"),
			    "callee: assert_dtmf " M M M " holds");
	assert_string_equal(at(report, "verdicts", 2, "actual"), "4.1");
	assert_string_equal(at(report, "assertions", 0, "argument"),
			    M M M " 5000");
	assert_string_equal(at(report, "assertions", 0, "text"),
			    "heard \"" M M "\" in the time given");
	assert_string_equal(at(report, "assertions", 1, "argument"), M M M);
	assert_string_equal(at(report, "assertions", 2, "argument"),
			    "CALL_DTMF_" M);
	assert_string_equal(at(report, "digits", 1, "digit"), M);
	assert_int_equal(
		json_integer_value(json_object_get(
			json_array_get(json_object_get(report, "digits"), 0),
			"ms")),
		80);
	/* wherever it is */
	json_object_del(json_object_get(report, "run"), "test_name");
	char *text = json_dumps(report, 0);

	assert_null(strstr(text, "98"));
	free(text);
	json_decref(report);
}

/* An agent's own addresses of a call's path; the peer's stay. */
static void test_addresses_of_agents(void **state)
{
	json_t *report = json_loads(
		"{\"calls\":[{\"call\":\"caller-1\"},{\"path\":{\"mode\":\"ice\","
		"\"rtp\":{\"local_type\":\"host\",\"local\":\"10.1.2.3:5\","
		"\"remote\":\"192.0.2.1:6\"},\"rtcp\":{\"local\":\"10.1.2.3:7\"}}}"
		"]}",
		0, NULL);
	char *text;

	(void)state;
	assert_non_null(report);
	assert_int_equal(public_mask(report), 0);
	text = json_dumps(report, 0);
	assert_null(strstr(text, "10.1.2.3"));
	assert_non_null(strstr(text, "192.0.2.1:6"));
	assert_non_null(strstr(text, "local_type"));
	free(text);
	json_decref(report);
}

static void test_an_empty_report_stays(void **state)
{
	json_t *report = json_loads("{\"run\":{},\"verdicts\":[]}", 0, NULL);

	(void)state;
	assert_int_equal(public_mask(report), 0);
	assert_int_equal(json_object_size(report), 2);
	json_decref(report);
}

static void test_ceiling(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out, 12);
	assert_int_equal(public_sentence(&out, "digits \"12345\""), -EMSGSIZE);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sentences_of_digits),
		cmocka_unit_test(test_other_sentences_stay),
		cmocka_unit_test(test_a_report_has_no_digit),
		cmocka_unit_test(test_addresses_of_agents),
		cmocka_unit_test(test_an_empty_report_stays),
		cmocka_unit_test(test_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
