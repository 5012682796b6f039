/*
 * The verdict by how a call ended, and the conditions that replace this rule:
 * the tables of docs/reference/conditions.md.
 */
#include "case.h"

#define CALLEE "{'role':'callee','steps':[[{'type':'answer'}]]}"
#define TIMER  "the session timer expired: no refresh within 90 s"

struct end {
	const char *direction;
	bool established;
	const char *end;
	int expected; /* -1: the member is absent */
	int code;
	const char *reason;
};

static const struct end hung_up = {"out", true, "local", 1, 0, "hung up by us"};
static const struct end dropped = {"out", true, "failed", 0, 0, TIMER};
static const struct end busy = {"out", false, "rejected", 0, 486, "Busy Here"};

static json_t *call_event(const char *role, unsigned number,
			  const struct end *end)
{
	char name[32];
	json_t *event;

	snprintf(name, sizeof(name), "%s-%u", role, number);
	event = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:[]}",
			  "kind", "call", "call", name, "account", "1001",
			  "direction", end->direction, "peer", "sip:1002@x",
			  "call_id", "id", "established", end->established,
			  "end", end->end, "reason", end->reason, "streams");
	assert_non_null(event);
	if (end->expected >= 0)
		json_object_set_new(event, "expected_end",
				    json_boolean(end->expected));
	if (end->code)
		json_object_set_new(event, "code", json_integer(end->code));
	return event;
}

static void add(struct judge_input *in, const char *role, json_t *event)
{
	assert_int_equal(judge_input_add_event(in, role, event), 0);
	json_decref(event);
}

static void add_states(struct judge_input *in, const char *role,
		       const struct end *end)
{
	static const char *const ends[][2] = {
		{"local", "CALL_ENDED_LOCAL"},
		{"remote", "CALL_ENDED_REMOTE"},
		{"rejected", "CALL_REJECTED"},
		{"failed", "CALL_FAILED"},
		{"cancelled", "CALL_ENDED_LOCAL"},
	};
	char text[200];

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (strcmp(ends[i][0], end->end) != 0)
			continue;
		snprintf(text, sizeof(text),
			 "{'kind':'state','state':'%s','account':'1001',"
			 "'call':'%s-1','mono':9}",
			 ends[i][1], role);
		add(in, role, load(text));
	}
	if (!end->established)
		return;
	snprintf(text, sizeof(text),
		 "{'kind':'state','state':'CALL_ESTABLISHED','account':'1001',"
		 "'call':'%s-1','mono':4}",
		 role);
	add(in, role, load(text));
}

/**
 * Judge a run of one role with one call, or with two calls that ended alike.
 * @param conditions  entries of condition type "ROLE-" type; NULL: none
 * @param message     the final response that was received; NULL: none
 */
static void judge(const char *spec_text, const struct end *end, unsigned calls,
		  const char *type, const char *conditions, const char *message,
		  enum judge_status status, const char *description)
{
	json_t *spec = load(spec_text), *array = json_array();
	const char *role = json_string_value(json_object_get(spec, "role"));
	struct judge_conditions *parsed;
	struct judge_problem problem;
	struct judge_result result;
	struct judge_input *in;

	if (type)
		json_array_append_new(
			array, json_pack("{s:s, s:s+, s:o}", "role", role,
					 "condition_type", role, type,
					 "conditions", load(conditions)));
	if (judge_conditions_new(&parsed, array, &problem))
		fail_msg("%s: %s", problem.pointer, problem.reason);
	assert_int_equal(judge_input_new(&in), 0);
	assert_int_equal(judge_input_add_spec(in, spec), 0);
	add(in, role,
	    load("{'kind':'register','account':'1001','ok':true,'ms':1}"));
	for (unsigned i = 1; i <= calls; i++)
		add(in, role, call_event(role, i, end));
	add_states(in, role, end);
	add(in, role, load(EVIDENCE));
	if (message) {
		json_t *m = json_pack("{s:s, s:i, s:s, s:s}", "dir", "received",
				      "mono", 3, "peer", "127.0.0.1:5070",
				      "data", message);

		assert_int_equal(judge_input_add_message(in, role, m), 0);
		json_decref(m);
	}
	assert_int_equal(judge_run(&result, in, parsed), 0);
	if (result.status != status ||
	    (status == JUDGE_PASSED ? result.description[0] != '\0'
				    : !strstr(result.description, description)))
		fail_msg("%s %s, %s %s: status %d '%s'", end->direction,
			 end->end, type ? type : "no conditions",
			 conditions ? conditions : "", result.status,
			 result.description);
	judge_result_release(&result);
	judge_input_free(in);
	judge_conditions_free(parsed);
	json_decref(array);
	json_decref(spec);
}

static void test_each_end(void **state)
{
	static const struct {
		struct end end;
		const char *description; /* NULL: the run passes */
	} rows[] = {
		{{"out", true, "local", 1, 0, "hung up by us"}, NULL},
		{{"out", true, "remote", 1, 0, "hung up by the peer"}, NULL},
		{{"in", true, "local", 1, 0, "hung up by us"}, NULL},
		{{"in", true, "remote", 1, 0, "hung up by the peer"}, NULL},
		{{"out", true, "failed", 0, 0, TIMER},
		 "caller: call caller-1 to sip:1002@x was established, but "
		 "failed (" TIMER ")"},
		{{"out", true, "failed", 0, 481, "481 to our INFO"},
		 "was established, but failed (481 to our INFO)"},
		{{"in", true, "failed", 0, 0, "no answer to our re-INVITE"},
		 "callee: call callee-1 from sip:1002@x was established, but "
		 "failed (no answer to our re-INVITE)"},
		{{"out", false, "failed", 0, 0, "the answer has no SDP"},
		 "caller-1 to sip:1002@x was not established (the answer has "
		 "no SDP)"},
		{{"out", false, "rejected", 0, 486, "Busy Here"},
		 "was not established (486 Busy Here)"},
		{{"out", false, "cancelled", 0, 487, "cancelled by us"},
		 "was not established (cancelled by us)"},
		{{"in", false, "failed", 0, 0, "no ACK for our 200 OK"},
		 "callee: call callee-1 from sip:1002@x was not established "
		 "(no ACK for our 200 OK)"},
		{{"in", false, "rejected", 0, 488, "no common codec"},
		 "from sip:1002@x was not established (488 no common codec"},
		{{"in", false, "rejected", 1, 486, "Busy Here"}, NULL},
		{{"in", false, "cancelled", 0, 0, "cancelled by the caller"},
		 "was not established (cancelled by the caller)"},
		{{"in", false, "cancelled", 1, 0, "cancelled by the caller"},
		 NULL},
		{{"in", false, "remote", 0, 0, "hung up by the peer"},
		 "was not established (hung up by the peer)"},
		/* an agent that does not report what was expected */
		{{"out", true, "local", -1, 0, ""}, NULL},
		{{"out", true, "failed", -1, 0, TIMER}, TIMER},
		{{"in", false, "cancelled", -1, 0, ""}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool in = strcmp(rows[i].end.direction, "in") == 0;

		judge(in ? CALLEE : CALLER(1), &rows[i].end, 1, NULL, NULL,
		      NULL, rows[i].description ? JUDGE_FAILED : JUDGE_PASSED,
		      rows[i].description);
	}
}

static void test_calls_are_counted(void **state)
{
	(void)state;
	judge(CALLER(3), &dropped, 3, NULL, NULL, NULL, JUDGE_FAILED,
	      "; 3 of 3 calls ended otherwise than the test asked");
}

/* A call whose end the agent never reported is no fault of the peer. */
static void test_call_never_accounted_for(void **state)
{
	const struct end none = {"in", true, "", 0, 0, ""};

	(void)state;
	judge(CALLEE, &none, 0, NULL, NULL, NULL, JUDGE_ERRORED,
	      "callee: the tester itself was at fault: it never reported how "
	      "1 call ended (the first is callee-1)");
}

#define ST           "-sipclient-state-conditions"
#define SIP          "-sip-conditions"
#define COUNT        "-call-count-conditions"
#define SIP_OF(more) "[{'cseq':'INVITE','direction':'received'," more "}]"

/*
 * Conditions that hold for a call that failed or was refused, and the verdict
 * they lead to.
 */
static void test_what_replaces_the_rule(void **state)
{
	static const char refusal[] = "SIP/2.0 486 Busy Here\r\nCall-ID: id\r\n"
				      "CSeq: 1 INVITE\r\nServer: x\r\n\r\n";
	static const char ok[] = "SIP/2.0 200 OK\r\nCall-ID: id\r\n"
				 "CSeq: 1 INVITE\r\nServer: x\r\n\r\n";
	static const struct {
		const struct end *end;
		const char *message;
		const char *type;
		const char *conditions;
		bool passes;
	} rows[] = {
		/* conditions on call states */
		{&dropped, ok, ST, "[{'type':'has','state':'CALL_FAILED'}]",
		 true},
		{&dropped, ok, ST,
		 "[{'type':'has','state':'CALL_ESTABLISHED'}]", true},
		{&busy, refusal, ST,
		 "[{'type':'hasnot','state':'CALL_ESTABLISHED'}]", true},
		{&dropped, ok, ST, "[{'type':'has','state':'REGISTER_OK'}]",
		 false},
		{&dropped, ok, ST, "[{'type':'hasnot','state':'REFER'}]",
		 false},
		/* conditions on counts */
		{&dropped, ok, COUNT,
		 "[{'count':'dropped','type':'eq','value':'1'}]", true},
		{&dropped, ok, COUNT,
		 "[{'count':'failed','type':'eq','value':'1'}]", true},
		{&dropped, ok, COUNT,
		 "[{'count':'established','type':'eq','value':'1'}]", true},
		{&busy, refusal, COUNT,
		 "[{'count':'failed','type':'eq','value':'1'},{'count':"
		 "'dropped','type':'eq','value':'0'}]",
		 true},
		{&dropped, ok, COUNT,
		 "[{'count':'failed','type':'eq','value':'0'}]", false},
		/* conditions on the final response */
		{&busy, refusal, SIP,
		 SIP_OF("'method':'486','field':'message','type':'ispresent'"),
		 true},
		{&busy, refusal, SIP,
		 SIP_OF("'method':'486','field':'header','header':'Server',"
			"'type':'is','value':'x'"),
		 true},
		{&busy, refusal, SIP,
		 SIP_OF("'method':'200','field':'message',"
			"'type':'notpresent'"),
		 true},
		{&busy, refusal, SIP,
		 SIP_OF("'field':'message','type':'startswith','value':"
			"'SIP/2.0 486'"),
		 true},
		{&busy, refusal, SIP,
		 SIP_OF("'method':'503','field':'message',"
			"'type':'notpresent'"),
		 false},
		{&busy, refusal, SIP,
		 "[{'cseq':'BYE','method':'486','field':'message','type':"
		 "'notpresent'}]",
		 false},
		{&dropped, ok, SIP,
		 SIP_OF("'method':'200','field':'message','type':'ispresent'"),
		 false},
		/* conditions on headers and figures */
		{&dropped, ok, SIP,
		 SIP_OF("'field':'header','header':'Server','type':'is',"
			"'value':'x'"),
		 false},
		{&dropped, ok, SIP,
		 SIP_OF("'method':'200','field':'header','header':'Server',"
			"'type':'is','value':'x'"),
		 false},
		{&busy, refusal, SIP,
		 SIP_OF("'field':'header','header':'Server','type':'is',"
			"'value':'x'"),
		 false},
		{&dropped, ok, "-mos-conditions", "[]", false},
		{&dropped, ok, "-register-time-conditions",
		 "[{'type':'le','value':'100'}]", false},
		{&dropped, ok, "-dtmf-conditions", "[{'type':'is','value':''}]",
		 false},
		{&hung_up, ok, "-register-time-conditions",
		 "[{'type':'le','value':'100'}]", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		judge(CALLER(1), rows[i].end, 1, rows[i].type,
		      rows[i].conditions, rows[i].message,
		      rows[i].passes ? JUDGE_PASSED : JUDGE_FAILED, "caller:");
}

/*
 * A condition on a state of a registration replaces the rule for the
 * registrations of the role.
 */
static void test_what_replaces_registrations(void **state)
{
	const struct end none = {"out", true, "local", 1, 0, ""};

	(void)state;
	judge("{'role':'caller','steps':[[{'type':'register','credentials':[{"
	      "'username':'1001'},{'username':'1002'}]}],[{'type':'call'}]]}",
	      &none, 1, ST, "[{'type':'hasnot','state':'MWI_NOTIFY'}]", NULL,
	      JUDGE_FAILED, "account 1002 was never registered");
	judge("{'role':'caller','steps':[[{'type':'register','credentials':[{"
	      "'username':'1001'},{'username':'1002'}]}],[{'type':'call'}]]}",
	      &none, 1, ST, "[{'type':'hasnot','state':'REGISTER_FAIL'}]", NULL,
	      JUDGE_PASSED, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_end),
		cmocka_unit_test(test_calls_are_counted),
		cmocka_unit_test(test_call_never_accounted_for),
		cmocka_unit_test(test_what_replaces_the_rule),
		cmocka_unit_test(test_what_replaces_registrations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
