#include "case.h"
#include "control/server/judge/input.h"

#include <errno.h>
#include <stdlib.h>

#define BUSY(name)                                                               \
	"{'kind':'state','state':'CALL_OUTGOING','account':'1001','call':'" name \
	"','mono':2}," CALL(                                                     \
		name, "'established':false,'code':486,'reason':'Busy Here',"     \
		      "'end':'rejected','streams':[]")

#define REFUSED(name, offer)                                             \
	CALL(name, offer "'established':false,'code':488,'reason':'No'," \
			 "'end':'rejected','streams':[]")

struct row {
	const char *name;
	const char *spec;
	const char *events;
	const char *type; /* NULL: no conditions */
	const char *conditions;
	enum judge_status status;
	size_t verdicts;         /* 0: not checked */
	const char *description; /* a part of the description */
};

#define DIGIT(call, mono, dir, digit, ms)                                    \
	"{'kind':'dtmf','call':'" call "','mono':" mono ",'direction':'" dir \
	"','digit':'" digit "','via':'rtpevent','ms':" ms "}"
/* events out of order, and of a call whose end was never reported */
#define DIGITS                                                                                        \
	"[" REGISTERED "," DIGIT("caller-1", "9", "in", "2", "100") "," DIGIT(                        \
		"caller-0", "1", "in", "7",                                                           \
		"100") "," DIGIT("caller-1", "3", "in", "1",                                          \
				 "80") "," DIGIT("caller-1", "4", "out", "9",                         \
						 "100") "," DIGIT("caller-2",                         \
								  "4", "in",                          \
								  "3",                                \
								  "100") "," GOOD("caller-1",         \
										  "120") "," EVIDENCE \
											 "]"
#define DTMF  "dtmf-conditions"
#define AUDIO "audio-conditions"
/* a stream with audio, one decoded and silent, one not decoded */
#define HEARD                                                               \
	"[" REGISTERED                                                      \
	"," CALL("caller-1",                                                \
		 "'established':true,'code':200,'end':'local','streams':[{" \
		 "'dir':'in','audio':{'expected_ms':5000,'heard_ms':4000,"  \
		 "'silence_max_ms':620.5,'level_dbov':-21.5,'peak_dbov':"   \
		 "-6.25,'clipped_pct':0.25,'one_way_ms':0,'tones':[{'hz':"  \
		 "440.2,'dbov':-20,'ms':1800},{'hz':1000,'dbov':-20,'ms':"  \
		 "300}]}},{'dir':'out','audio':{'expected_ms':5000,"        \
		 "'heard_ms':0,'silence_max_ms':5000}}]") "," EVIDENCE "]"
#define LEVEL(field, type, value) \
	"[{'field':'" field "','type':'" type "','value':'" value "'}]"
#define PDD                "postdial-delay-conditions"
#define ST                 "sipclient-state-conditions"
#define LIMIT(type, value) "[{'type':'" type "','value':'" value "'}]"
#define HAS(state)         "[{'type':'has','state':'" state "'}]"
#define HASNOT(state)      "[{'type':'hasnot','state':'" state "'}]"

static const struct row rows[] = {
	/* the built-in rules */
	{"one good call", CALLER(1), ONE, NULL, NULL, JUDGE_PASSED, 4, ""},
	{"no call placed", CALLER(1), "[" REGISTERED "," EVIDENCE "]", NULL,
	 NULL, JUDGE_FAILED, 3, "caller: 0 of 1 calls were placed"},
	{"too few calls", CALLER(2), ONE, NULL, NULL, JUDGE_FAILED, 4,
	 "caller: 1 of 2 calls were placed"},
	{"one call busy", CALLER(2),
	 "[" REGISTERED
	 "," GOOD("caller-1", "1") "," BUSY("caller-2") "," EVIDENCE "]",
	 NULL, NULL, JUDGE_FAILED, 4,
	 "caller: call caller-2 to sip:1002@x was not established (486 Busy "
	 "Here)"},
	{"account without registration", CALLER(1),
	 "[" GOOD("caller-1", "1") "," EVIDENCE "]", NULL, NULL, JUDGE_FAILED,
	 4, "caller: account 1001 was never registered"},
	{"registration refused", CALLER(1),
	 "[{'kind':'register','account':'1001','ok':false,'code':403,'reason':"
	 "'Forbidden'}," GOOD("caller-1", "1") "," EVIDENCE "]",
	 NULL, NULL, JUDGE_FAILED, 4,
	 "registering account 1001 failed: 403 Forbidden"},
	{"refresh without answer", CALLER(1),
	 "[" REGISTERED
	 ",{'kind':'register','account':'1001','ok':false,'code':"
	 "0,'reason':''}," GOOD("caller-1", "1") "," EVIDENCE "]",
	 NULL, NULL, JUDGE_FAILED, 4,
	 "registering account 1001 failed: no answer"},
	{"an assert did not hold", CALLER(1),
	 "[" REGISTERED "," GOOD(
		 "caller-1",
		 "1") ",{'kind':'assert','call':"
		      "'caller-1','action':'assert_established','argument':'true','text':"
		      "'the call was ringing'}," EVIDENCE "]",
	 NULL, NULL, JUDGE_FAILED, 5,
	 "assert_established true did not hold in call caller-1: the call was "
	 "ringing"},
	{"SIPp judges its own calls",
	 "{'role':'caller','steps':[[{'type':'call','client':'sipp'}]]}",
	 "[{'kind':'sipp','scenario':'uac.xml','ok':true,'end':'all calls were "
	 "successful','errors':['a warning']}," EVIDENCE "]",
	 NULL, NULL, JUDGE_PASSED, 1, ""},
	{"SIPp has failed calls",
	 "{'role':'caller','steps':[[{'type':'call','client':'sipp'}]]}",
	 "[{'kind':'sipp','scenario':'uac.xml','ok':false,'end':'1 of 2 calls "
	 "failed','errors':['Aborting call','more']}," EVIDENCE "]",
	 NULL, NULL, JUDGE_FAILED, 1,
	 "caller: SIPp did not carry out uac.xml: 1 of 2 calls failed: "
	 "Aborting call"},
	{"callee without call",
	 "{'role':'callee','steps':[[{'type':'answer'}],[]]}", "[" EVIDENCE "]",
	 NULL, NULL, JUDGE_FAILED, 1,
	 "callee: waited for calls, and none came in"},
	{"callee that nobody shall call",
	 "{'role':'callee','steps':[[{'type':'answer'}],[]]}", "[" EVIDENCE "]",
	 "callee-" ST, HASNOT("CALL_INCOMING"), JUDGE_PASSED, 1, ""},
	{"nothing to judge", "{'role':'caller','steps':[[{'type':'wait'}]]}",
	 "[" EVIDENCE "]", NULL, NULL, JUDGE_FAILED, 0,
	 "the run did nothing that could be judged"},
	/* failures of the tester itself */
	{"ring drops", CALLER(1),
	 "[" REGISTERED
	 "," GOOD("caller-1", "1") ",{'kind':'evidence',"
				   "'receive_queue_drops':0,'ring_drops':7}]",
	 NULL, NULL, JUDGE_ERRORED, 4, "ring_drops 7"},
	{"receive queue drops", CALLER(1),
	 "[" REGISTERED
	 "," GOOD("caller-1", "1") ",{'kind':'evidence',"
				   "'receive_queue_drops':3,'ring_drops':0}]",
	 NULL, NULL, JUDGE_ERRORED, 4, "receive_queue_drops 3"},
	{"flaw goes before failure", CALLER(2),
	 "[" REGISTERED "," GOOD(
		 "caller-1",
		 "1") ",{'kind':'flaw','name':"
		      "'cpu_steal','count':4,'text':'the machine was taken away'}," EVIDENCE
		      "]",
	 NULL, NULL, JUDGE_ERRORED, 4,
	 "caller: the tester itself was at fault: cpu_steal 4 (the machine was "
	 "taken away)"},
	{"generator saturated", CALLER(1),
	 "[" REGISTERED "," GOOD(
		 "caller-1",
		 "1") ",{'kind':'flaw','name':'generator_saturated','count':1,"
		      "'text':'generator saturated: 3.1 % of 1500 packets left "
		      "late'}," EVIDENCE "]",
	 NULL, NULL, JUDGE_ERRORED, 4,
	 "caller: generator saturated: 3.1 % of 1500 packets left late"},
	{"no evidence", CALLER(1), "[" REGISTERED "," GOOD("caller-1", "1") "]",
	 NULL, NULL, JUDGE_ERRORED, 4, "gave no evidence"},
	{"evidence of both engines", CALLER(1),
	 "[" REGISTERED
	 "," GOOD("caller-1", "1") "," ENGINE(2, 2) "," ENGINE(1, 2) "]",
	 NULL, NULL, JUDGE_PASSED, 4, ""},
	{"no evidence of one engine", CALLER(1),
	 "[" REGISTERED
	 "," GOOD("caller-1", "1") "," ENGINE(1, 3) "," ENGINE(3, 3) "]",
	 NULL, NULL, JUDGE_ERRORED, 4, "gave no evidence"},
	{"evidence of one engine twice", CALLER(1),
	 "[" REGISTERED
	 "," GOOD("caller-1", "1") "," ENGINE(1, 2) "," ENGINE(1, 2) "]",
	 NULL, NULL, JUDGE_ERRORED, 4, "gave no evidence"},
	{"evidence of both shards", SHARED(1),
	 "[" REGISTERED "," GOOD("caller-1", "1") "," SHARD(2, "") "," SHARD(
		 1,
		 ",'engine':2,'engines':2") "," SHARD(1,
						      ",'engine':1,'engines':2") "]",
	 NULL, NULL, JUDGE_PASSED, 4, ""},
	{"no evidence of one shard", SHARED(1),
	 "[" REGISTERED
	 "," GOOD("caller-1", "1") "," SHARD(2, "") "," SHARD(2, "") "]",
	 NULL, NULL, JUDGE_ERRORED, 4, "gave no evidence"},
	{"no evidence of an engine of a shard", SHARED(1),
	 "[" REGISTERED "," GOOD("caller-1", "1") "," SHARD(2, "") "," SHARD(
		 1, ",'engine':2,'engines':2") "]",
	 NULL, NULL, JUDGE_ERRORED, 4, "gave no evidence"},
	/* states */
	{"has reached", CALLER(1), ONE, "caller-" ST, HAS("CALL_ESTABLISHED"),
	 JUDGE_PASSED, 3, ""},
	{"has account", CALLER(1), ONE, "caller-" ST, HAS("REGISTER_OK"),
	 JUDGE_PASSED, 4, ""},
	{"has account missing", CALLER(1), ONE, "caller-" ST,
	 HAS("REGISTER_FAIL"), JUDGE_FAILED, 4,
	 "caller: account 1001 did not reach REGISTER_FAIL"},
	{"has not reached", CALLER(1), ONE, "caller-" ST, HAS("CALL_HOLD"),
	 JUDGE_FAILED, 3, "caller: call caller-1 did not reach CALL_HOLD"},
	{"has in one of two", CALLER(2),
	 "[" REGISTERED
	 "," GOOD("caller-1", "1") "," BUSY("caller-2") "," EVIDENCE "]",
	 "caller-" ST, HAS("CALL_RINGING"), JUDGE_FAILED, 3,
	 "call caller-2 did not reach CALL_RINGING (486 Busy Here) (1 of 2 do "
	 "not hold it)"},
	{"refused offers", CALLER(3),
	 "[" REGISTERED
	 "," REFUSED("caller-1", "'audio_codecs':['GSM'],") "," REFUSED(
		 "caller-2",
		 "'audio_codecs':['PCMA'],'media_encryption':'sdes',") "," REFUSED("caller-3",
										   "") "," EVIDENCE
										       "]",
	 "caller-" ST, HAS("CALL_MENC"), JUDGE_FAILED, 3,
	 "caller: call caller-1 did not reach CALL_MENC (488 No to an offer of "
	 "GSM without encryption) (3 of 3 do not hold it; also caller-2 "
	 "(PCMA), caller-3)"},
	{"no encryption", CALLER(1), ONE, "caller-" ST, HAS("CALL_MENC"),
	 JUDGE_FAILED, 3,
	 "caller: call caller-1 did not reach CALL_MENC (no media encryption "
	 "was agreed on)"},
	{"has without calls", CALLER(1), "[" REGISTERED "," EVIDENCE "]",
	 "caller-" ST, HAS("CALL_ESTABLISHED"), JUDGE_FAILED, 3,
	 "there was no call, expected CALL_ESTABLISHED"},
	{"has of a role that was not there", CALLER(1), ONE, "callee-" ST,
	 HAS("CALL_ESTABLISHED"), JUDGE_FAILED, 5, "callee: there was no call"},
	{"hasnot", CALLER(1), ONE, "caller-" ST, HASNOT("CALL_FAILED"),
	 JUDGE_PASSED, 3, ""},
	{"hasnot did", CALLER(1), ONE, "caller-" ST, HASNOT("CALL_RINGING"),
	 JUDGE_FAILED, 3, "call caller-1 reached CALL_RINGING, expected not"},
	{"busy as wished", CALLER(1),
	 "[" REGISTERED "," BUSY("caller-1") "," EVIDENCE "]", "caller-" ST,
	 HASNOT("CALL_ESTABLISHED"), JUDGE_PASSED, 3, ""},
	/* digits */
	{"digits is", CALLER(1), DIGITS, "caller-" DTMF,
	 "[{'type':'is','value':'12'},{'type':'isnot','value':'1'},{'type':"
	 "'startswith','value':'1'},{'type':'endswith','value':'2'},{'type':"
	 "'has','value':'12'},{'type':'hasnot','value':'21'},{'type':'is',"
	 "'value':'','via':'inband'},{'type':'is','value':'9','direction':"
	 "'out'},{'field':'duration','type':'ge','value':80}]",
	 JUDGE_PASSED, 13, ""},
	{"audio level", CALLER(1), HEARD, "caller-" AUDIO,
	 LEVEL("level", "ge", "-21.5"), JUDGE_PASSED, 5, ""},
	{"audio too quiet", CALLER(1), HEARD, "caller-" AUDIO,
	 LEVEL("level", "ge", "-21.4"), JUDGE_FAILED, 5,
	 "level of what was heard of stream 'in' of call caller-1 was -21.5 "
	 "dBov, expected at least -21.4 dBov"},
	{"audio clipped", CALLER(1), HEARD, "caller-" AUDIO,
	 LEVEL("clipping", "lt", "0.2"), JUDGE_FAILED, 5, "was 0.25 %"},
	{"audio silence", CALLER(1), HEARD, "caller-" AUDIO,
	 LEVEL("silence", "lt", "600"), JUDGE_FAILED, 5,
	 "longest silence of stream 'in' of call caller-1 was 620.5 ms"},
	{"audio is not one-way", CALLER(1), HEARD, "caller-" AUDIO,
	 LEVEL("one_way", "lt", "1000"), JUDGE_PASSED, 5, ""},
	{"audio peak and sound", CALLER(1), HEARD, "caller-" AUDIO,
	 "[{'field':'peak','type':'le','value':'-6'},{'field':'heard','type':"
	 "'ge','value':4000}]",
	 JUDGE_PASSED, 6, ""},
	{"audio tone", CALLER(1), HEARD, "caller-" AUDIO,
	 "[{'field':'tone','hz':'440','type':'ge','value':'1800'}]",
	 JUDGE_PASSED, 5, ""},
	{"audio without the tone", CALLER(1), HEARD, "caller-" AUDIO,
	 "[{'field':'tone','hz':450,'type':'ge','value':'100'}]", JUDGE_FAILED,
	 5, "tone of 450 Hz of stream 'in' of call caller-1 was 0 ms"},
	{"audio sent was silent", CALLER(1), HEARD, "caller-" AUDIO,
	 "[{'field':'level','type':'le','value':'-10','direction':'out'}]",
	 JUDGE_FAILED, 5, "has no level of what was heard (nothing was heard)"},
	{"audio that is no prompt", CALLER(1), HEARD, "caller-" AUDIO,
	 LEVEL("prompt", "ge", "0.9"), JUDGE_FAILED, 5,
	 "nothing was heard, or no prompt expected"},
	{"audio without marker", CALLER(1), HEARD, "caller-" AUDIO,
	 LEVEL("delay", "le", "150"), JUDGE_FAILED, 5, "no marker was heard"},
	{"audio was not decoded", CALLER(1), ONE, "caller-" AUDIO,
	 LEVEL("level", "ge", "-90"), JUDGE_FAILED, 5, "it was not decoded"},
	{"audio of no call", CALLER(1), "[" REGISTERED "," EVIDENCE "]",
	 "caller-" AUDIO, LEVEL("level", "ge", "-90"), JUDGE_FAILED, 0,
	 "there was no call, so there is no audio"},
	{"digits is not", CALLER(1), DIGITS, "caller-" DTMF,
	 "[{'type':'is','value':'21'}]", JUDGE_FAILED, 5,
	 "caller: digits received of call caller-1 were \"12\", expected that "
	 "they are \"21\""},
	{"digits end with", CALLER(1), DIGITS, "caller-" DTMF,
	 "[{'type':'endswith','value':'112'}]", JUDGE_FAILED, 5, "end with"},
	{"digits by another way", CALLER(1), DIGITS, "caller-" DTMF,
	 "[{'type':'is','value':'12','via':'info'}]", JUDGE_FAILED, 5,
	 "caller: digits received of call caller-1 were \"\" by info, but "
	 "\"12\" by rtpevent, expected that they are \"12\""},
	{"digits by no way", CALLER(1), ONE, "caller-" DTMF,
	 "[{'type':'is','value':'12','via':'info'}]", JUDGE_FAILED, 5,
	 "were \"\", expected that they are \"12\""},
	{"digits too short", CALLER(1), DIGITS, "caller-" DTMF,
	 "[{'field':'duration','type':'ge','value':90}]", JUDGE_FAILED, 5,
	 "digit 1 of call caller-1 lasted 80 ms, expected at least 90 ms"},
	{"digits without duration", CALLER(1), ONE, "caller-" DTMF,
	 "[{'field':'duration','type':'ge','value':90}]", JUDGE_FAILED, 5,
	 "has no digit received whose duration is known"},
	{"digits without call", CALLER(1), "[" REGISTERED "," EVIDENCE "]",
	 "caller-" DTMF, "[{'type':'is','value':''}]", JUDGE_FAILED, 4,
	 "there was no call, so there are no digits"},
	/* post-dial delay: every operator below, at and above the limit */
	{"ge edge", CALLER(1), ONE, "caller-" PDD, LIMIT("ge", "120"),
	 JUDGE_PASSED, 5, ""},
	{"ge below", CALLER(1), ONE, "caller-" PDD, LIMIT("ge", "121"),
	 JUDGE_FAILED, 5,
	 "caller: post-dial delay of call caller-1 to sip:1002@x was 120 ms, "
	 "expected at least 121 ms"},
	{"le edge", CALLER(1), ONE, "caller-" PDD, LIMIT("le", "120"),
	 JUDGE_PASSED, 5, ""},
	{"le above", CALLER(1), ONE, "caller-" PDD, LIMIT("le", "119"),
	 JUDGE_FAILED, 5, "expected at most 119 ms"},
	{"gt edge", CALLER(1), ONE, "caller-" PDD, LIMIT("gt", "120"),
	 JUDGE_FAILED, 5, "expected more than 120 ms"},
	{"gt above", CALLER(1), ONE, "caller-" PDD, LIMIT("gt", "119"),
	 JUDGE_PASSED, 5, ""},
	{"lt edge", CALLER(1), ONE, "caller-" PDD, LIMIT("lt", "120"),
	 JUDGE_FAILED, 5, "expected less than 120 ms"},
	{"lt below", CALLER(1), ONE, "caller-" PDD, LIMIT("lt", "121"),
	 JUDGE_PASSED, 5, ""},
	{"eq", CALLER(1), ONE, "caller-" PDD, LIMIT("eq", "120"), JUDGE_PASSED,
	 5, ""},
	{"eq with an exponent", CALLER(1), ONE, "caller-" PDD,
	 LIMIT("eq", "1.2e2"), JUDGE_PASSED, 5, ""},
	{"eq with decimals in an exponent", CALLER(1), ONE, "caller-" PDD,
	 LIMIT("eq", "12004e-2"), JUDGE_FAILED, 5, "expected exactly"},
	{"eq off", CALLER(1), ONE, "caller-" PDD, LIMIT("eq", "121"),
	 JUDGE_FAILED, 5, "expected exactly 121 ms"},
	{"every call", CALLER(2),
	 "[" REGISTERED "," GOOD("caller-1", "100") "," GOOD(
		 "caller-2", "900.5") "," EVIDENCE "]",
	 "caller-" PDD, LIMIT("le", "500"), JUDGE_FAILED, 5,
	 "post-dial delay of call caller-2 to sip:1002@x was 900.5 ms, expected "
	 "at most 500 ms (1 of 2 do not hold it)"},
	{"no delay known", CALLER(1),
	 "[" REGISTERED "," BUSY("caller-1") "," EVIDENCE "]", "caller-" PDD,
	 LIMIT("ge", "0"), JUDGE_FAILED, 4, "has no post-dial delay"},
	{"no call for a delay", CALLER(1), "[" REGISTERED "," EVIDENCE "]",
	 "caller-" PDD, LIMIT("ge", "0"), JUDGE_FAILED, 4,
	 "no call was placed"},
	/* MOS and the other figures of streams */
	{"mos", CALLER(1), ONE, "caller-mos-conditions", LIMIT("ge", "4.4"),
	 JUDGE_PASSED, 5, ""},
	{"mos eq rounds as written", CALLER(1), ONE, "caller-mos-conditions",
	 LIMIT("eq", "4.41"), JUDGE_PASSED, 5, ""},
	{"mos low", CALLER(1), ONE, "caller-mos-conditions", LIMIT("gt", "4.5"),
	 JUDGE_FAILED, 5,
	 "caller: MOS of stream 'in' of call caller-1 was 4.409286, expected "
	 "more than 4.5"},
	{"mos without stream", CALLER(1),
	 "[" REGISTERED "," BUSY("caller-1") "," EVIDENCE "]",
	 "caller-mos-conditions", LIMIT("ge", "1"), JUDGE_FAILED, 4,
	 "call caller-1 has no audio stream 'in', so no MOS (486 Busy Here)"},
	{"mos without call", CALLER(1), "[" REGISTERED "," EVIDENCE "]",
	 "caller-mos-conditions", LIMIT("ge", "1"), JUDGE_FAILED, 4,
	 "there was no call, so there is no MOS"},
	{"mos without score", CALLER(1),
	 "[" REGISTERED "," CALL(
		 "caller-1",
		 "'established':true,'streams':["
		 "{'dir':'in','no_score':'shorter than a second'}]") "," EVIDENCE
								     "]",
	 "caller-mos-conditions", LIMIT("ge", "1"), JUDGE_FAILED, 5,
	 "stream 'in' of call caller-1 has no MOS (shorter than a second)"},
	{"loss", CALLER(1), ONE, "caller-loss-conditions", LIMIT("le", "0.5"),
	 JUDGE_PASSED, 5, ""},
	{"loss out unknown", CALLER(1), ONE, "caller-loss-conditions",
	 "[{'type':'le','value':'1','direction':'out'}]", JUDGE_FAILED, 5,
	 "has no packet loss (no report of the peer)"},
	{"jitter avg", CALLER(1), ONE, "caller-jitter-conditions",
	 LIMIT("le", "1"), JUDGE_PASSED, 5, ""},
	{"jitter p95", CALLER(1), ONE, "caller-jitter-conditions",
	 "[{'type':'le','value':'2.7','type_statistics':'p95'}]", JUDGE_FAILED,
	 5, "p95 jitter of stream 'in' of call caller-1 was 2.8 ms"},
	{"rtt unknown", CALLER(1), ONE, "caller-rtt-conditions",
	 LIMIT("le", "100"), JUDGE_FAILED, 5, "has no round-trip time"},
	/* counts and durations */
	{"asr", CALLER(2),
	 "[" REGISTERED
	 "," GOOD("caller-1", "1") "," BUSY("caller-2") "," EVIDENCE "]",
	 "caller-call-count-conditions",
	 "[{'type':'ge','value':'51','count':'asr'}]", JUDGE_FAILED, 3,
	 "answer-seizure ratio: 50 %, expected at least 51 %"},
	{"failed calls as wished", CALLER(2),
	 "[" REGISTERED
	 "," GOOD("caller-1", "1") "," BUSY("caller-2") "," EVIDENCE "]",
	 "caller-call-count-conditions",
	 "[{'type':'le','value':'1','count':'failed'}]", JUDGE_PASSED, 3, ""},
	{"asr without calls", CALLER(1), "[" REGISTERED "," EVIDENCE "]",
	 "caller-call-count-conditions",
	 "[{'type':'ge','value':'0','count':'asr'}]", JUDGE_FAILED, 3,
	 "there was no call"},
	{"register time", CALLER(1), ONE, "caller-register-time-conditions",
	 LIMIT("lt", "12.5"), JUDGE_FAILED, 5,
	 "registering account 1001 took 12.5 ms, expected less than 12.5 ms"},
	{"register time unknown", CALLER(1),
	 "[" GOOD("caller-1", "1") "," EVIDENCE "]",
	 "caller-register-time-conditions", LIMIT("ge", "0"), JUDGE_FAILED, 5,
	 "account 1001 was never registered"},
};

static json_t *conditions_of(const struct row *row, const char *options)
{
	char role[40] = "";
	json_t *items;

	if (!row->type)
		return json_array();
	strncpy(role, row->type, strcspn(row->type, "-"));
	items = load(row->conditions);
	return json_pack("[{s:s, s:s, s:o, s:o}]", "role", role,
			 "condition_type", row->type, "conditions", items,
			 "options", load(options));
}

static void judge_row(const struct row *row, const char *options)
{
	json_t *spec = load(row->spec), *events = load(row->events), *event;
	json_t *array = conditions_of(row, options);
	const char *role = json_string_value(json_object_get(spec, "role"));
	struct judge_conditions *conditions;
	struct judge_problem problem;
	struct judge_result result;
	struct judge_input *in;
	size_t i;

	if (judge_conditions_new(&conditions, array, &problem))
		fail_msg("%s: %s: %s", row->name, problem.pointer,
			 problem.reason);
	assert_int_equal(judge_input_new(&in), 0);
	assert_int_equal(judge_input_add_spec(in, spec), 0);
	json_array_foreach(events, i, event)
		assert_int_equal(judge_input_add_event(in, role, event), 0);
	assert_int_equal(judge_run(&result, in, conditions), 0);
	if (result.status != row->status ||
	    !strstr(result.description, row->description) ||
	    (result.status == JUDGE_PASSED) != !result.description[0] ||
	    (row->verdicts &&
	     json_array_size(result.verdicts) != row->verdicts)) {
		char *dump = json_dumps(result.verdicts, JSON_INDENT(1));

		fail_msg("%s: status %d, '%s'\n%s", row->name, result.status,
			 result.description, dump);
	}
	judge_result_release(&result);
	judge_input_free(in);
	judge_conditions_free(conditions);
	json_decref(array);
	json_decref(events);
	json_decref(spec);
}

static void test_verdict_every_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		judge_row(&rows[i], "[]");
}

/* @return the verdict on one shard of two, of 3 calls on 2 accounts */
static enum judge_status judge_half(int64_t left_out)
{
	json_t *spec = load("{'role':'caller','share':{'index':0,'of':2},"
			    "'steps':[[{'type':'register','credentials':["
			    "{'username':'1001'},{'username':'1002'}]}],["
			    "{'type':'call','max_total_calls':3}]]}");
	json_t *events = load("[" REGISTERED "," GOOD("caller-1", "1") "," GOOD(
		"caller-3", "1") "," SHARD(1, "") "]");
	json_t *none = json_array(), *event;
	struct judge_conditions *conditions;
	struct judge_problem problem;
	struct judge_result result;
	struct judge_input *in;
	enum judge_status status;
	size_t i;

	assert_int_equal(judge_conditions_new(&conditions, none, &problem), 0);
	assert_int_equal(judge_input_new(&in), 0);
	assert_int_equal(judge_input_add_spec(in, spec), 0);
	assert_int_equal(judge_input_leave_out(in, "caller", 2), -EINVAL);
	assert_int_equal(judge_input_leave_out(in, "callee", 0), -EINVAL);
	if (left_out >= 0)
		assert_int_equal(judge_input_leave_out(in, "caller", left_out),
				 0);
	json_array_foreach(events, i, event)
		assert_int_equal(judge_input_add_event(in, "caller", event), 0);
	assert_int_equal(judge_run(&result, in, conditions), 0);
	status = result.status;
	judge_result_release(&result);
	judge_input_free(in);
	judge_conditions_free(conditions);
	json_decref(none);
	json_decref(events);
	json_decref(spec);
	return status;
}

/* Neither its calls nor its accounts nor its evidence are expected. */
static void test_shard_that_was_lost_is_left_out(void **state)
{
	(void)state;
	assert_int_equal(judge_half(1), JUDGE_PASSED);
	assert_int_equal(judge_half(0), JUDGE_ERRORED); /* of 2: no evidence */
	assert_int_equal(judge_half(-1), JUDGE_ERRORED);
}

static void test_strict_order(void **state)
{
	struct row row = {
		"in order",
		CALLER(1),
		ONE,
		"caller-" ST,
		"[{'type':'has','state':'REGISTER_OK'},{'type':'hasnot',"
		"'state':'CALL_FAILED'},{'type':'has','state':'CALL_OUTGOING'}"
		",{'type':'has','state':'CALL_ESTABLISHED'}]",
		JUDGE_PASSED,
		6,
		""};

	(void)state;
	judge_row(&row, "['strict_order']");
	row.name = "swapped, no order asked";
	row.conditions = "[{'type':'has','state':'CALL_ESTABLISHED'},"
			 "{'type':'has','state':'CALL_OUTGOING'}]";
	row.verdicts = 4;
	judge_row(&row, "[]");
	row.name = "swapped";
	row.status = JUDGE_FAILED;
	row.verdicts = 5;
	row.description =
		"the states of call caller-1 are not in the listed "
		"order: there is no CALL_OUTGOING after CALL_ESTABLISHED";
	judge_row(&row, "['strict_order']");
	row.name = "account alone";
	row.conditions = "[{'type':'has','state':'REGISTER_OK'},"
			 "{'type':'has','state':'REGISTERING'}]";
	row.description = "states of account 1001 are not in the listed order";
	row.verdicts = 6;
	judge_row(&row, "['strict_order']");
}

/* Uploads may arrive in any order: the events are sorted by time. */
static void test_states_sorted_by_time(void **state)
{
	struct row row = {
		"shuffled",
		CALLER(1),
		"[" EVIDENCE ",{'kind':'state','state':'CALL_ESTABLISHED',"
		"'account':'1001','call':'caller-1','mono':9},{'kind':'state',"
		"'state':'CALL_OUTGOING','account':'1001','call':'caller-1',"
		"'mono':8}," REGISTERED "," CALL("caller-1", "'established':"
							     "true") "]",
		"caller-" ST,
		"[{'type':'has','state':'CALL_OUTGOING'},{'type':'has','state':"
		"'CALL_ESTABLISHED'}]",
		JUDGE_PASSED,
		5,
		""};

	(void)state;
	judge_row(&row, "['strict_order']");
}

/* Equal times: the order in which the agent reported them. */
static void test_states_of_one_time(void **state)
{
	struct row row = {
		"one message settles and establishes",
		CALLER(1),
		"[" EVIDENCE ",{'kind':'state','state':'CALL_ANSWERED',"
		"'account':'1001','call':'caller-1','mono':9},{'kind':'state',"
		"'state':'CALL_ESTABLISHED','account':'1001','call':'caller-1',"
		"'mono':9},{'kind':'state','state':'CALL_RTPESTAB','account':"
		"'1001','call':'caller-1','mono':9}," REGISTERED
		"," CALL("caller-1", "'established':true") "]",
		"caller-" ST,
		"[{'type':'has','state':'CALL_ANSWERED'},{'type':'has','state':"
		"'CALL_ESTABLISHED'},{'type':'has','state':'CALL_RTPESTAB'}]",
		JUDGE_PASSED,
		6,
		""};

	(void)state;
	judge_row(&row, "['strict_order']");
	row.conditions = "[{'type':'has','state':'CALL_RTPESTAB'},{'type':"
			 "'has','state':'CALL_ESTABLISHED'}]";
	row.status = JUDGE_FAILED;
	row.verdicts = 5;
	row.description = "there is no CALL_ESTABLISHED";
	judge_row(&row, "['strict_order']");
}

/* Of a call only states are known: the agent lost its end. */
static void test_call_never_accounted_for(void **state)
{
	struct row row = {
		"unaccounted",
		CALLER(1),
		"[" REGISTERED ",{'kind':'state','state':'CALL_OUTGOING',"
		"'account':'1001','call':'caller-1','mono':8}," EVIDENCE "]",
		NULL,
		NULL,
		JUDGE_ERRORED,
		3,
		"the tester itself was at fault: it never reported how 1 call "
		"ended (the first is caller-1)"};

	(void)state;
	judge_row(&row, "[]");
}

static void add_point(struct judge_input *in, double value, json_t *sketch)
{
	struct judge_point point = {
		.role = "caller",
		.measure = MEASURE_rtp_jitter,
		.d = {.n = 10,
		      .min = value - 1,
		      .max = value + 1,
		      .avg = value,
		      .median = value,
		      .p75 = value,
		      .p90 = value,
		      .p95 = value},
		.sketch = sketch,
	};

	assert_int_equal(judge_input_add_point(in, &point), 0);
}

static void judge_rtp(const char *statistic, const char *limit, bool two,
		      bool passes, const char *sentence)
{
	json_t *array = json_pack("[{s:s, s:s, s:[{s:s, s:s, s:s, s:s, s:s}]}]",
				  "role", "caller", "condition_type",
				  "caller-rtp-advanced-conditions",
				  "conditions", "type", "le", "value", limit,
				  "direction", "in", "type_statistics",
				  statistic, "type_rtp_measures", "rtp_jitter");
	json_t *spec = load(CALLER(1)), *events = load(ONE), *event;
	struct judge_conditions *conditions;
	struct judge_problem problem;
	struct judge_result result;
	struct judge_input *in;
	size_t k;

	assert_int_equal(judge_conditions_new(&conditions, array, &problem), 0);
	assert_true(judge_conditions_need_points(conditions));
	assert_int_equal(judge_input_new(&in), 0);
	assert_int_equal(judge_input_add_spec(in, spec), 0);
	json_array_foreach(events, k, event)
		assert_int_equal(judge_input_add_event(in, "caller", event), 0);
	add_point(in, 10, NULL);
	if (two)
		add_point(in, 30, NULL);
	assert_int_equal(judge_run(&result, in, conditions), 0);
	assert_int_equal(result.status, passes ? JUDGE_PASSED : JUDGE_FAILED);
	if (!strstr(result.description, sentence))
		fail_msg("%s", result.description);
	judge_result_release(&result);
	judge_input_free(in);
	judge_conditions_free(conditions);
	json_decref(array);
	json_decref(events);
	json_decref(spec);
}

static void test_rtp_statistics(void **state)
{
	(void)state;
	judge_rtp("p95", "10", false, true, "");
	judge_rtp("p95", "9", false, false,
		  "caller: p95 of rtp_jitter 'in' was 10, expected at most 9");
	judge_rtp("avg", "20", true, true, "");
	judge_rtp("avg", "19", true, false, "was 20, expected");
	judge_rtp("max", "31", true, true, "");
	judge_rtp("min", "8", true, false, "was 9, expected");
	judge_rtp("median", "100", true, false, "no sketches to merge");
}

static void test_records_have_a_ceiling(void **state)
{
	struct records r = {0};
	int err = 0;

	(void)state;
	while (r.count < JUDGE_RECORDS_MAX)
		assert_non_null(records_add(&r, 1, &err));
	assert_int_equal(err, 0);
	assert_null(records_add(&r, 1, &err));
	assert_int_equal(err, -EMSGSIZE);
	assert_int_equal(r.count, JUDGE_RECORDS_MAX);
	free(r.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdict_every_row),
		cmocka_unit_test(test_shard_that_was_lost_is_left_out),
		cmocka_unit_test(test_strict_order),
		cmocka_unit_test(test_states_sorted_by_time),
		cmocka_unit_test(test_states_of_one_time),
		cmocka_unit_test(test_call_never_accounted_for),
		cmocka_unit_test(test_rtp_statistics),
		cmocka_unit_test(test_records_have_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
