#include "control/cli/call/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FINISH "{\"type\":\"finish\",\"outcome\":\"completed\",\"reason\":\"\"}"
#define CALL(established, in, out)                                             \
	"{\"kind\":\"call\",\"call\":\"caller-1\",\"peer\":\"sip:b\","         \
	"\"established\":" established ",\"end\":\"rejected\",\"code\":486,"   \
	"\"reason\":\"Busy Here\",\"streams\":[{\"dir\":\"in\",\"packets\":9," \
	"\"received\":" in "},{\"dir\":\"out\",\"packets\":" out "}]}"
#define ASSERT                                                            \
	"{\"kind\":\"assert\",\"call\":\"caller-1\",\"action\":\"hold\"," \
	"\"argument\":\"\",\"text\":\"was refused: 488\"}"

static void judge_kind(bool registers, const char *event, const char *second,
		       const char *finish, bool passed, const char *reason)
{
	const char *const events[] = {event, second};
	struct verdict v;
	json_t *o;

	verdict_init(&v, registers);
	for (size_t i = 0; i < 2; i++) {
		if (!events[i])
			continue;
		o = json_loads(events[i], 0, NULL);
		assert_non_null(o);
		verdict_event(&v, o);
		json_decref(o);
	}
	if (finish) {
		o = json_loads(finish, 0, NULL);
		verdict_finish(&v, o);
		json_decref(o);
	}
	assert_int_equal(verdict_passed(&v), passed);
	assert_string_equal(verdict_reason(&v), reason);
	verdict_release(&v);
}

static void judge(const char *event, const char *second, const char *finish,
		  bool passed, const char *reason)
{
	judge_kind(false, event, second, finish, passed, reason);
}

static void test_registration(void **state)
{
	static const char ok[] =
		"{\"kind\":\"register\",\"account\":\"1001\",\"ok\":true,"
		"\"code\":200,\"ms\":12.34,\"expires_s\":60}";

	(void)state;
	judge_kind(true, ok, NULL, FINISH, true,
		   "1001 was registered in 12.3 ms for 60 s");
	judge_kind(true, NULL, NULL, FINISH, false,
		   "there was no answer to the REGISTER");
	judge_kind(true, ok, NULL,
		   "{\"outcome\":\"failed\",\"reason\":\"role caller: 403\"}",
		   false, "role caller: 403");
	judge_kind(true, ok, NULL, NULL, false,
		   "1001 was registered in 12.3 ms for 60 s");
}

static void test_verdicts(void **state)
{
	(void)state;
	judge(CALL("true", "10", "10"), NULL, FINISH, true,
	      "1 call was established, audio flowed both ways");
	judge(CALL("true", "0", "10"), NULL, FINISH, false,
	      "call caller-1 was established, but no audio came from sip:b");
	judge(CALL("true", "10", "0"), NULL, FINISH, false,
	      "call caller-1 was established, but no audio went to sip:b");
	judge(CALL("false", "0", "0"), NULL, FINISH, false,
	      "call caller-1 to sip:b was not established (rejected): 486 Busy Here");
	judge("{\"kind\":\"call\",\"call\":\"caller-1\",\"direction\":\"out\","
	      "\"peer\":\"sip:b\",\"established\":false,\"end\":\"rejected\","
	      "\"code\":488,\"reason\":\"No\",\"audio_codecs\":[\"GSM\"],"
	      "\"media_encryption\":\"dtls\",\"streams\":[]}",
	      NULL, FINISH, false,
	      "call caller-1 to sip:b was not established (rejected): 488 No "
	      "to an offer of GSM with dtls");
	judge("{\"kind\":\"call\",\"call\":\"caller-1\",\"direction\":\"out\","
	      "\"peer\":\"sip:b\",\"established\":false,\"end\":\"rejected\","
	      "\"code\":403,\"reason\":\"Forbidden\","
	      "\"warning\":\"399 not from here\",\"streams\":[]}",
	      NULL, FINISH, false,
	      "call caller-1 to sip:b was not established (rejected): 403 "
	      "Forbidden, the peer warns: 399 not from here");
	judge(CALL("true", "10", "10"), ASSERT, FINISH, false,
	      "call caller-1: hold : was refused: 488");
	/*
	 * The outcome of the call is reported rather than the assertion that
	 * failed before it.
	 */
	judge(ASSERT, CALL("false", "0", "0"), FINISH, false,
	      "call caller-1 to sip:b was not established (rejected): 486 Busy Here");
	judge(NULL, NULL, FINISH, false, "there was no call");
	judge(NULL, NULL,
	      "{\"outcome\":\"failed\",\"reason\":\"role caller: refused\"}",
	      false, "role caller: refused");
}

#define ENDED(direction, established, end, expected)                           \
	"{\"kind\":\"call\",\"call\":\"caller-1\",\"peer\":\"sip:b\","         \
	"\"direction\":\"" direction "\",\"established\":" established         \
	",\"end\":\"" end "\",\"expected_end\":" expected                      \
	",\"reason\":\"the session timer expired\",\"streams\":[{\"dir\":"     \
	"\"in\",\"packets\":9,\"received\":9},{\"dir\":\"out\",\"packets\":9}" \
	"]}"

/*
 * How the call ended is judged before the audio. A call that was refused or
 * gave up, as its condition in docs/reference/conditions.md expects, needs no
 * audio.
 */
static void test_ends(void **state)
{
	static const char one[] =
		"1 call was established, audio flowed both ways";
	static const char refused[] = "1 call was refused, as asked";
	const char *good = ENDED("in", "true", "remote", "true");

	(void)state;
	judge(ENDED("out", "true", "local", "true"), NULL, FINISH, true, one);
	judge(good, NULL, FINISH, true, one);
	judge(ENDED("out", "true", "failed", "false"), NULL, FINISH, false,
	      "call caller-1 to sip:b was established, but ended failed: the "
	      "session timer expired");
	judge(ENDED("in", "true", "failed", "false"), ASSERT, FINISH, false,
	      "call caller-1 from sip:b was established, but ended failed: the "
	      "session timer expired");
	/* of several incoming calls, one good call is enough */
	judge(good, ENDED("in", "true", "failed", "false"), FINISH, false,
	      "call caller-1 from sip:b was established, but ended failed: the "
	      "session timer expired");
	judge(ENDED("in", "false", "rejected", "true"), NULL, FINISH, true,
	      refused);
	judge(ENDED("in", "false", "rejected", "true"), good, FINISH, true,
	      one);
	judge(ENDED("in", "false", "cancelled", "false"), NULL, FINISH, false,
	      "call caller-1 from sip:b was not established (cancelled): the "
	      "session timer expired");
	/* an outgoing call must be established, whatever the engine reports */
	judge(ENDED("out", "false", "cancelled", "true"), NULL, FINISH, false,
	      "call caller-1 to sip:b was not established (cancelled): the "
	      "session timer expired");
}

#define FLAW                                                               \
	"{\"kind\":\"flaw\",\"name\":\"ring_drops\",\"count\":7,\"text\":" \
	"\"packets were lost inside\"}"

/* A failure of our own is not a statement about the peer. */
static void judge_errored(const char *event, const char *second,
			  const char *finish, const char *reason)
{
	const char *const texts[] = {event, second};
	struct verdict v;
	json_t *o;

	verdict_init(&v, false);
	for (size_t i = 0; i < 2; i++) {
		if (!texts[i])
			continue;
		o = json_loads(texts[i], 0, NULL);
		verdict_event(&v, o);
		json_decref(o);
	}
	o = json_loads(finish, 0, NULL);
	verdict_finish(&v, o);
	json_decref(o);
	assert_true(verdict_errored(&v));
	assert_false(verdict_passed(&v));
	assert_string_equal(verdict_reason(&v), reason);
	verdict_release(&v);
}

static void test_errored(void **state)
{
	static const char flaw[] =
		"the tester itself was at fault: packets were lost inside (7)";
	static const char finish[] =
		"{\"outcome\":\"error\",\"reason\":\"role caller: no port\"}";

	(void)state;
	judge_errored(CALL("true", "10", "10"), FLAW, FINISH, flaw);
	judge_errored(CALL("false", "0", "0"), FLAW, FINISH, flaw);
	judge_errored(CALL("true", "10", "10"),
		      "{\"kind\":\"evidence\",\"ring_drops\":3}", FINISH,
		      "the tester itself was at fault: 3 packets were received "
		      "but not measured, this machine was too busy");
	judge_errored(
		CALL("true", "10", "10"),
		"{\"kind\":\"artifact_lost\",\"name\":\"a-in.wav\","
		"\"text\":\"it could not be written\"}",
		FINISH,
		"the recording a-in.wav is lost: it could not be written");
	judge_errored(CALL("true", "10", "10"), NULL, finish,
		      "role caller: no port");
}

/* An engine that crashed has not passed, whatever it reported before. */
static void test_unfinished(void **state)
{
	struct verdict v;
	json_t *o = json_loads(CALL("true", "10", "10"), 0, NULL);

	(void)state;
	verdict_init(&v, false);
	verdict_event(&v, o);
	assert_false(verdict_passed(&v));
	json_decref(o);
	verdict_release(&v);
}

/* A reason phrase that is cut in the middle of a character stays text: else there
 * would be no JSON object. */
static void test_cut_characters(void **state)
{
	static const char call[] =
		"{\"kind\":\"call\",\"call\":\"caller-1\",\"peer\":\"sip:b\","
		"\"established\":false,\"end\":\"rejected\",\"code\":486,"
		"\"reason\":\"a%s\",\"streams\":[]}";
	char long_phrase[401] = "", text[800];
	struct verdict v;
	json_t *o, *printed;
	char *json;
	size_t bytes;
	FILE *out = open_memstream(&json, &bytes);

	(void)state;
	for (int i = 0; i < 200; i++)
		strcat(long_phrase, "ä");
	snprintf(text, sizeof(text), call, long_phrase);
	o = json_loads(text, 0, NULL);
	assert_non_null(o);
	verdict_init(&v, false);
	verdict_event(&v, o);
	verdict_print_json(&v, out);
	fclose(out);
	printed = json_loads(json, 0, NULL);
	assert_non_null(printed);
	assert_non_null(
		strstr(json_string_value(json_object_get(printed, "reason")),
		       "486 aä"));
	json_decref(printed);
	json_decref(o);
	free(json);
	verdict_release(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_registration),
		cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_errored),
		cmocka_unit_test(test_cut_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
