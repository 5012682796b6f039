#include "control/server/judge/judge_conditions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct row {
	const char *role;
	const char *type;
	const char *value;
	const char *pointer; /* NULL: the conditions are valid */
	const char *reason;  /* a part of the reason */
};

#define STATE "caller-sipclient-state-conditions"
#define PDD   "caller-postdial-delay-conditions"
#define MOS   "callee-mos-conditions"
#define SIP   "caller-sip-conditions"
#define RTP   "caller-rtp-advanced-conditions"
#define DTMF  "caller-dtmf-conditions"
#define AUDIO_MEASURE(name, value)                                          \
	"{\"conditions\":[{\"type\":\"ge\",\"type_statistics\":\"avg\","    \
	"\"direction\":\"in\",\"type_rtp_measures\":\"" name "\",\"value\"" \
	":\"" value "\"}]}"

static const struct row rows[] = {
	/* the examples of the contract's section 4.3 */
	{"caller", STATE,
	 "{\"conditions\":[{\"type\":\"has\",\"state\":\"REGISTER_OK\"},"
	 "{\"type\":\"hasnot\",\"state\":\"CALL_FAILED\"}],\"options\":[]}",
	 NULL, NULL},
	{"caller", STATE,
	 "{\"conditions\":[{\"type\":\"has\",\"state\":\"CALL_OUTGOING\"}],"
	 "\"options\":[\"strict_order\"]}",
	 NULL, NULL},
	{"caller", PDD,
	 "{\"conditions\":[{\"type\":\"le\",\"value\":\"3000\"}]}", NULL, NULL},
	{"callee", MOS, "{\"conditions\":[{\"type\":\"ge\",\"value\":4.1}]}",
	 NULL, NULL},
	{"A", "A-mos-conditions", "{\"conditions\":[]}", NULL, NULL},
	{"caller", SIP,
	 "{\"conditions\":[{\"cseq\":\"INVITE\",\"mseq\":\"last\",\"type\":\"has\","
	 "\"value\":\"x\",\"header\":\"From\",\"method\":\"200\",\"direction\":"
	 "\"received\",\"field\":\"header\"}]}",
	 NULL, NULL},
	{"caller", RTP,
	 "{\"conditions\":[{\"type\":\"le\",\"type_statistics\":\"p95\","
	 "\"direction\":\"in\",\"type_rtp_measures\":\"rtp_jitter\",\"value\":"
	 "\"20\"}]}",
	 NULL, NULL},
	{"caller", "caller-loss-conditions",
	 "{\"conditions\":[{\"type\":\"lt\",\"value\":\"1\"}]}", NULL, NULL},
	{"caller", "caller-jitter-conditions",
	 "{\"conditions\":[{\"type\":\"lt\",\"value\":\"1\",\"direction\":"
	 "\"out\",\"type_statistics\":\"max\"}]}",
	 NULL, NULL},
	{"caller", "caller-call-count-conditions",
	 "{\"conditions\":[{\"type\":\"ge\",\"value\":\"95\",\"count\":"
	 "\"asr\"}]}",
	 NULL, NULL},
	{"caller", "caller-register-time-conditions",
	 "{\"conditions\":[{\"type\":\"le\",\"value\":\"500\"}]}", NULL, NULL},
	{"caller", DTMF,
	 "{\"conditions\":[{\"type\":\"is\",\"value\":\"12*#A\"},{\"field\":"
	 "\"duration\",\"type\":\"ge\",\"value\":40,\"direction\":\"out\","
	 "\"via\":\"info\"}]}",
	 NULL, NULL},
	{"caller", DTMF,
	 "{\"conditions\":[{\"type\":\"is\",\"value\":\"12x\"}]}",
	 "/conditions/0/value", "must be digits"},
	{"caller", DTMF, "{\"conditions\":[{\"type\":\"ge\",\"value\":\"1\"}]}",
	 "/conditions/0/type", "is, isnot"},
	{"caller", DTMF,
	 "{\"conditions\":[{\"type\":\"is\",\"value\":\"1\",\"via\":\"sms\"}]}",
	 "/conditions/0/via", "any, rtpevent, info, inband"},
	{"caller", DTMF,
	 "{\"conditions\":[{\"field\":\"duration\",\"type\":\"is\",\"value\":"
	 "\"1\"}]}",
	 "/conditions/0/type", "ge, le"},
	{"caller", "caller-cli-conditions",
	 "{\"conditions\":[{\"type\":\"is\",\"value\":\"1001\"},{\"type\":"
	 "\"ispresent\",\"field\":\"name\",\"header\":"
	 "\"P-Asserted-Identity\"}]}",
	 NULL, NULL},
	{"caller", "caller-cli-conditions",
	 "{\"conditions\":[{\"type\":\"is\"}]}", "/conditions/0/value",
	 "must be a string"},
	{"caller", "caller-cli-conditions",
	 "{\"conditions\":[{\"type\":\"ge\",\"value\":\"1\"}]}",
	 "/conditions/0/type", "is, isnot"},
	{"caller", "caller-cli-conditions",
	 "{\"conditions\":[{\"type\":\"is\",\"value\":\"1\",\"header\":"
	 "\"To\"}]}",
	 "/conditions/0/header", "From, P-Asserted-Identity"},
	{"caller", "caller-audio-conditions",
	 "{\"conditions\":[{\"field\":\"tone\",\"type\":\"ge\",\"value\":\"500\","
	 "\"hz\":\"440\"},{\"field\":\"level\",\"type\":\"ge\",\"value\":\"-30\"}]}",
	 NULL, NULL},
	{"caller", "caller-audio-conditions",
	 "{\"conditions\":[{\"field\":\"loudness\",\"type\":\"ge\","
	 "\"value\":\"1\"}]}",
	 "/conditions/0/field", "level, peak, clipping"},
	{"caller", "caller-audio-conditions",
	 "{\"conditions\":[{\"field\":\"level\",\"type\":\"ge\",\"value\":\"1\"}]}",
	 "/conditions/0/value", "from -96 to 0"},
	{"caller", "caller-audio-conditions",
	 "{\"conditions\":[{\"field\":\"tone\",\"type\":\"ge\",\"value\":\"1\"}]}",
	 "/conditions/0/hz", "from 100 to 3600"},
	{"caller", "caller-audio-conditions",
	 "{\"conditions\":[{\"field\":\"one_way\",\"type\":\"lt\","
	 "\"value\":\"1\",\"direction\":\"out\"}]}",
	 "/conditions/0/direction", "direction in"},
	/* unknown names */
	{"caller", "caller-nothing-conditions", "{\"conditions\":[]}", "",
	 "unknown condition type"},
	/*
	 * transcription may be switched off; then a condition on it cannot be
	 * judged
	 */
	{"caller", "caller-transcription-conditions", "{\"conditions\":[]}",
	 NULL, NULL},
	{"caller", "caller-transcription-conditions",
	 "{\"conditions\":[{\"type\":\"has\",\"value\":\"hello\"}]}",
	 "/conditions/0", "transcribe nothing"},
	{"caller", "caller-transcription-conditions", "{}", "/conditions",
	 "must be an array"},
	{"caller", "caller-transcription-conditions",
	 "{\"conditions\":[],\"options\":[\"x\"]}", "/options/0",
	 "has no such option"},
	{"callee", STATE, "{\"conditions\":[]}", "", "does not start with"},
	{"cal ler", STATE, "{\"conditions\":[]}", "", "is no role"},
	/* wrong shapes */
	{"caller", STATE, "[]", "", "must be an object"},
	{"caller", STATE, "{}", "/conditions", "must be an array"},
	{"caller", STATE, "{\"conditions\":{}}", "/conditions",
	 "must be an array"},
	{"caller", STATE, "{\"conditions\":[1]}", "/conditions/0",
	 "must be an object"},
	{"caller", STATE, "{\"conditions\":[],\"opt\":[]}", "/opt",
	 "unknown key 'opt'"},
	{"caller", STATE, "{\"conditions\":[],\"options\":\"strict_order\"}",
	 "/options", "must be an array"},
	{"caller", STATE, "{\"conditions\":[],\"options\":[\"loose\"]}",
	 "/options/0", "has no such option"},
	{"caller", PDD, "{\"conditions\":[],\"options\":[\"strict_order\"]}",
	 "/options/0", "has no such option"},
	/* wrong values */
	{"caller", STATE, "{\"conditions\":[{\"type\":\"has\"}]}",
	 "/conditions/0/state", "state must be one of"},
	{"caller", STATE,
	 "{\"conditions\":[{\"type\":\"has\",\"state\":\"CALL_OUTGOING\"},"
	 "{\"type\":\"had\",\"state\":\"CALL_OUTGOING\"}]}",
	 "/conditions/1/type", "has, hasnot"},
	{"caller", STATE,
	 "{\"conditions\":[{\"type\":\"has\",\"state\":\"CALL_ESTABLISHEDX\"}]}",
	 "/conditions/0/state", "CALL_ESTABLISHEDX"},
	{"caller", STATE,
	 "{\"conditions\":[{\"type\":\"has\",\"state\":\"CALL_OUTGOING\","
	 "\"value\":\"1\"}]}",
	 "/conditions/0/value", "has no field"},
	{"caller", PDD,
	 "{\"conditions\":[{\"type\":\"like\",\"value\":\"1\"}]}",
	 "/conditions/0/type", "ge, le, gt, lt, eq"},
	{"caller", PDD, "{\"conditions\":[{\"type\":\"le\",\"value\":\"1s\"}]}",
	 "/conditions/0/value", "value must be a number"},
	{"caller", PDD, "{\"conditions\":[{\"type\":\"le\",\"value\":\"-1\"}]}",
	 "/conditions/0/value", "from 0"},
	{"caller", PDD, "{\"conditions\":[{\"type\":\"le\"}]}",
	 "/conditions/0/value", "must be a number"},
	{"callee", MOS,
	 "{\"conditions\":[{\"type\":\"ge\",\"value\":\"5.1\"}]}",
	 "/conditions/0/value", "from 1 to 5"},
	{"callee", MOS,
	 "{\"conditions\":[{\"type\":\"ge\",\"value\":\"nan\"}]}",
	 "/conditions/0/value", "must be a number"},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"is\",\"value\":\"x\",\"field\":"
	 "\"header\"}]}",
	 "/conditions/0/header", "must name a header"},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"is\",\"value\":\"x\",\"field\":\"sdp\","
	 "\"mseq\":\"0\"}]}",
	 "/conditions/0/mseq", "mseq must be"},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"notpresent\",\"field\":\"sdp\",\"method\":\"2000\"}]}",
	 "/conditions/0/method", "method must be a method"},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"notpresent\",\"field\":\"sdp\",\"method\":\"99\"}]}",
	 "/conditions/0/method", "method must be a method"},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"notpresent\",\"field\":\"sdp\",\"method\":\"700\"}]}",
	 "/conditions/0/method", "method must be a method"},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"notpresent\",\"field\":\"sdp\",\"method\":\"bye\"}]}",
	 "/conditions/0/method", "method must be a method"},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"notpresent\",\"field\":\"sdp\",\"method\":\"2xx\"}]}",
	 "/conditions/0/method", "method must be a method"},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"notpresent\",\"field\":\"sdp\",\"method\":\"INVITE \"}]}",
	 "/conditions/0/method", "method must be a method"},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"notpresent\",\"field\":\"sdp\",\"cseq\":\"200\"}]}",
	 "/conditions/0/cseq", "cseq must be a method"},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"notpresent\",\"field\":\"sdp\",\"cseq\":\"invite\"}]}",
	 "/conditions/0/cseq", "cseq must be a method"},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"notpresent\",\"field\":\"sdp\",\"method\":\"100\"}]}",
	 NULL, NULL},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"notpresent\",\"field\":\"sdp\",\"method\":\"699\"}]}",
	 NULL, NULL},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"notpresent\",\"field\":\"sdp\",\"method\":\"PRACK\"}]}",
	 NULL, NULL},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"notpresent\",\"field\":\"sdp\",\"method\":\"\"}]}",
	 NULL, NULL},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"notpresent\",\"field\":\"sdp\",\"cseq\":\"SUBSCRIBE\"}]}",
	 NULL, NULL},
	{"caller", SIP,
	 "{\"conditions\":[{\"type\":\"notpresent\",\"field\":\"sdp\",\"cseq\":\"\"}]}",
	 NULL, NULL},
	{"caller", RTP,
	 "{\"conditions\":[{\"type\":\"le\",\"type_statistics\":\"p99\","
	 "\"direction\":\"in\",\"type_rtp_measures\":\"rtp_jitter\",\"value\":"
	 "\"20\"}]}",
	 "/conditions/0/type_statistics", "p95"},
	{"caller", RTP,
	 "{\"conditions\":[{\"type\":\"le\",\"type_statistics\":\"p95\","
	 "\"direction\":\"in\",\"type_rtp_measures\":\"sip_pdd\",\"value\":"
	 "\"20\"}]}",
	 "/conditions/0/type_rtp_measures",
	 "must be one of rtp_xr_ (loss, discard, "},
	/* every role is named, up to the last */
	{"caller", RTP, "{\"conditions\":[{\"type_rtp_measures\":\"audio_\"}]}",
	 "/conditions/0/type_rtp_measures",
	 "rtp_ (byte_per_sec, jitter, lost, lost_per_sec, mos, pkt_per_sec, "
	 "rtt, lost_pct, burst_lost, reordered, duplicates, discarded, ooo, "
	 "r_factor, mos_wb, send_lateness, gap), srtp_ (auth_failed, "
	 "replayed), audio_"},
	{"caller", RTP, "{\"conditions\":[{\"type_rtp_measures\":7}]}",
	 "/conditions/0/type_rtp_measures",
	 "audio_ (level, peak, clipping, heard, delay)"},
	{"caller", RTP, AUDIO_MEASURE("audio_level", "-20.5"), NULL, NULL},
	{"caller", RTP, AUDIO_MEASURE("audio_level", "0.5"),
	 "/conditions/0/value", "from -96 to 0"},
	{"caller", RTP, AUDIO_MEASURE("audio_peak", "-97"),
	 "/conditions/0/value", "from -96 to 0"},
	{"caller", RTP, AUDIO_MEASURE("audio_clipping", "0.1"), NULL, NULL},
	{"caller", RTP, AUDIO_MEASURE("audio_heard", "-1"),
	 "/conditions/0/value", "from 0 to"},
	{"caller", RTP, AUDIO_MEASURE("audio_delay", "-3"), NULL, NULL},
	{"caller", RTP, AUDIO_MEASURE("audio_delay", "1201"),
	 "/conditions/0/value", "from -1200 to 1200"},
	{"caller", "caller-call-count-conditions",
	 "{\"conditions\":[{\"type\":\"ge\",\"value\":\"101\",\"count\":"
	 "\"asr\"}]}",
	 "/conditions/0/value", "from 0 to 100"},
};

static void test_check_every_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct judge_problem problem = {"untouched", "untouched"};
		json_t *value = json_loads(row->value, 0, NULL);
		int err;

		assert_non_null(value);
		err = judge_conditions_check(row->role, row->type, value,
					     &problem);
		if (err != (row->pointer ? -EINVAL : 0))
			fail_msg("row %zu: %d (%s: %s)", i, err,
				 problem.pointer, problem.reason);
		if (row->pointer) {
			assert_string_equal(problem.pointer, row->pointer);
			if (!strstr(problem.reason, row->reason))
				fail_msg("row %zu: %s", i, problem.reason);
		}
		json_decref(value);
	}
}

static void refuse(const char *text, const char *pointer, const char *reason)
{
	struct judge_conditions *c = NULL;
	struct judge_problem problem;
	json_t *array = json_loads(text, JSON_DECODE_ANY, NULL);

	assert_non_null(array);
	assert_int_equal(judge_conditions_new(&c, array, &problem), -EINVAL);
	assert_null(c);
	assert_string_equal(problem.pointer, pointer);
	assert_non_null(strstr(problem.reason, reason));
	json_decref(array);
}

static void test_conditions_pointers(void **state)
{
	(void)state;
	refuse("{}", "", "must be an array");
	refuse("[1]", "/0/role", "must be an object");
	refuse("[{\"role\":\"caller\"}]", "/0/condition_type",
	       "must be an object");
	refuse("[{\"role\":\"caller\",\"condition_type\":\"" PDD "\","
	       "\"conditions\":[{\"type\":\"le\",\"value\":\"x\"}]}]",
	       "/0/conditions/0/value", "value must be");
	refuse("[{\"role\":\"caller\",\"condition_type\":\"" PDD "\","
	       "\"conditions\":[]},{\"role\":\"caller\",\"condition_type\":\"" PDD
	       "\",\"conditions\":[]}]",
	       "/1/condition_type", "twice");
}

static bool needs_audio(const char *type, const char *fields, const char *role)
{
	char text[512];
	struct judge_conditions *c = NULL;
	struct judge_problem problem;
	json_t *array;
	bool needs;

	snprintf(text, sizeof(text),
		 "[{\"role\":\"caller\",\"condition_type\":\"%s\","
		 "\"conditions\":[%s]}]",
		 type, fields);
	array = json_loads(text, 0, NULL);
	assert_non_null(array);
	assert_int_equal(judge_conditions_new(&c, array, &problem), 0);
	needs = judge_conditions_need_audio(c, role);
	judge_conditions_free(c);
	json_decref(array);
	return needs;
}

/* Only the roles whose conditions need audio decode it. */
static void test_conditions_on_audio_need_it(void **state)
{
	static const char level[] = "{\"field\":\"level\",\"type\":\"ge\","
				    "\"value\":-20}";
	static const char measure[] =
		"{\"type\":\"ge\",\"value\":-20,\"type_statistics\":\"avg\","
		"\"direction\":\"in\",\"type_rtp_measures\":\"audio_level\"}";
	static const char jitter[] =
		"{\"type\":\"le\",\"value\":20,\"type_statistics\":\"avg\","
		"\"direction\":\"in\",\"type_rtp_measures\":\"rtp_jitter\"}";
	char both[512];

	(void)state;
	snprintf(both, sizeof(both), "%s,%s", jitter, measure);
	assert_true(needs_audio("caller-audio-conditions", level, "caller"));
	assert_true(needs_audio(RTP, measure, "caller"));
	assert_true(needs_audio(RTP, both, "caller"));
	assert_false(needs_audio(RTP, measure, "callee"));
	assert_false(needs_audio(RTP, jitter, "caller"));
	assert_false(needs_audio("caller-audio-conditions", "", "caller"));
}

static void test_conditions_too_many_refused(void **state)
{
	struct judge_problem problem;
	struct judge_conditions *c = NULL;
	json_t *array, *set, *items;

	(void)state;
	array = json_pack("[{s:s, s:s, s:[]}]", "role", "caller",
			  "condition_type", PDD, "conditions");
	set = json_array_get(array, 0);
	items = json_object_get(set, "conditions");
	for (unsigned i = 0; i <= JUDGE_CONDITIONS_MAX; i++)
		json_array_append_new(items, json_pack("{s:s, s:s}", "type",
						       "le", "value", "1"));
	assert_int_equal(judge_conditions_new(&c, array, &problem), -EINVAL);
	json_array_remove(items, 0);
	assert_int_equal(judge_conditions_new(&c, array, &problem), 0);
	assert_false(judge_conditions_need_messages(c));
	assert_false(judge_conditions_need_points(c));
	judge_conditions_free(c);
	json_decref(array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_every_row),
		cmocka_unit_test(test_conditions_pointers),
		cmocka_unit_test(test_conditions_on_audio_need_it),
		cmocka_unit_test(test_conditions_too_many_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
