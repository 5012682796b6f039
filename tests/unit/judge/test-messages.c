/*
 * Conditions on SIP messages: which messages are selected, and how a failure is
 * described.
 */
#include "case.h"

static const char invite[] = "INVITE sip:1002@x SIP/2.0\r\n"
			     "i: id-caller-1\r\nCSeq: 7 INVITE\r\n"
			     "From: \"A\" <sip:1001@x>;tag=1\r\n"
			     "X-Long: one\r\n two\r\n\r\nv=0\r\no=- 1 1 IN\r\n";
static const char trying[] = "SIP/2.0 100 Trying\r\nCall-ID: id-caller-1\r\n"
			     "CSeq: 7 INVITE\r\n\r\n";
static const char ok[] = "SIP/2.0 200 OK\r\nCall-ID: id-caller-1\r\n"
			 "CSeq: 7 INVITE\r\nServer: proxy 1\r\n\r\n";
static const char bye_ok[] = "SIP/2.0 200 OK\r\nCall-ID: id-caller-1\r\n"
			     "CSeq: 8 BYE\r\n\r\n";
static const char other[] = "INVITE sip:z SIP/2.0\r\nCall-ID: other\r\n"
			    "CSeq: 1 INVITE\r\nServer: foreign\r\n\r\n";

static const struct {
	const char *item;
	bool passes;
	const char *sentence;
} sip_rows[] = {
	{"{'field':'header','header':'From','type':'has','value':'1001',"
	 "'cseq':'INVITE','method':'INVITE','direction':'sent'}",
	 true, ""},
	{"{'field':'header','header':'from','type':'startswith','value':"
	 "'QUOTED'}",
	 true, ""},
	{"{'field':'header','header':'From','type':'endswith','value':'tag=1'}",
	 true, ""},
	{"{'field':'header','header':'Server','type':'is','value':'proxy 1',"
	 "'method':'200'}",
	 true, ""},
	{"{'field':'header','header':'Server','type':'is','value':'proxy 2',"
	 "'method':'200'}",
	 false,
	 "caller: header Server of a 200 message is 'proxy 2' does not hold in "
	 "call caller-1: it is 'proxy 1'"},
	{"{'field':'header','header':'Server','type':'isnot','value':'proxy 2'}",
	 true, ""},
	{"{'field':'header','header':'Server','type':'isnot','value':'proxy 1'}",
	 false, "does not hold in call caller-1: it is 'proxy 1'"},
	{"{'field':'header','header':'X-Long','type':'notpresent'}", false,
	 "header X-Long of a message notpresent does not hold in call caller-1: "
	 "it is 'one two'"},
	{"{'field':'header','header':'X-None','type':'is','value':'1',"
	 "'method':'INVITE'}",
	 false, "it is none"},
	{"{'field':'sdp','type':'is','value':'1','method':'INVITE'}", false,
	 "sdp of a INVITE message is '1' does not hold in call caller-1: it is "
	 "'v=0 o=- 1 1 IN '"},
	{"{'field':'sdp','type':'is','value':'1','method':'100'}", false,
	 "it is no SDP"},
	/* a named header is ignored when the condition tests another field */
	{"{'field':'message','header':'X-None','type':'is','value':'1',"
	 "'method':'100'}",
	 false,
	 "caller: message of a 100 message is '1' does not hold in call "
	 "caller-1: it is 'SIP/2.0 100 Trying Call-ID: id-caller-1 CS...'"},
	{"{'field':'header','header':'Call-ID','type':'is','value':"
	 "'id-caller-1','method':'INVITE'}",
	 true, ""},
	{"{'field':'header','header':'Reason','type':'notpresent','value':''}",
	 true, ""},
	{"{'field':'header','header':'Server','type':'ispresent','cseq':'BYE'}",
	 false, "does not hold"},
	{"{'field':'message','type':'ispresent','method':'486'}", false,
	 "no such message"},
	{"{'field':'message','type':'notpresent','method':'486'}", true, ""},
	{"{'field':'sdp','type':'startswith','value':'v=0','method':'INVITE'}",
	 true, ""},
	{"{'field':'sdp','type':'has','value':'proxy 1'}", false,
	 "does not hold"},
	{"{'field':'message','type':'has','value':'Trying','mseq':'1',"
	 "'direction':'received'}",
	 true, ""},
	{"{'field':'message','type':'has','value':'Trying','mseq':'2',"
	 "'direction':'received'}",
	 false, "does not hold"},
	{"{'field':'message','type':'has','value':'8 BYE','mseq':'last'}", true,
	 ""},
	{"{'field':'filter_proxy','type':'is','value':'127.0.0.1'}", true, ""},
	{"{'field':'filter_proxy','type':'is','value':'127.0.0.1:5070'}", true,
	 ""},
	{"{'field':'filter_proxy','type':'is','value':'127.0.0.2'}", false,
	 "does not hold in call caller-1: it is '127.0.0.1:5070'"},
	{"{'field':'header','header':'Server','type':'hasnot','value':"
	 "'foreign'}",
	 true, ""},
};

static void add_message(struct judge_input *in, const char *dir, int mono,
			const char *data)
{
	json_t *message =
		json_pack("{s:s, s:i, s:s, s:s}", "dir", dir, "mono", mono,
			  "peer", "127.0.0.1:5070", "data", data);

	assert_non_null(message);
	assert_int_equal(judge_input_add_message(in, "caller", message), 0);
	json_decref(message);
}

/**
 * Judge a run of one call with one SIP condition. Takes ownership of `item`.
 * @param fill  adds the messages
 */
static void judge_item(json_t *item, void (*fill)(struct judge_input *in),
		       bool passes, const char *sentence)
{
	json_t *spec = load(CALLER(1)), *events = load(ONE), *event, *array;
	struct judge_conditions *conditions;
	struct judge_problem problem;
	struct judge_result result;
	struct judge_input *in;
	json_t *description;
	size_t i;

	array = json_pack("[{s:s, s:s, s:[o]}]", "role", "caller",
			  "condition_type", "caller-sip-conditions",
			  "conditions", item);
	assert_int_equal(judge_conditions_new(&conditions, array, &problem), 0);
	assert_true(judge_conditions_need_messages(conditions));
	assert_int_equal(judge_input_new(&in), 0);
	assert_int_equal(judge_input_add_spec(in, spec), 0);
	json_array_foreach(events, i, event)
		assert_int_equal(judge_input_add_event(in, "caller", event), 0);
	fill(in);
	assert_int_equal(judge_run(&result, in, conditions), 0);
	if ((result.status == JUDGE_PASSED) != passes ||
	    !strstr(result.description, sentence))
		fail_msg("%s: %d '%s'", json_dumps(item, 0), result.status,
			 result.description);
	description = json_string(result.description); /* the description is
						        * valid UTF-8 */
	assert_non_null(description);
	json_decref(description);
	judge_result_release(&result);
	judge_input_free(in);
	judge_conditions_free(conditions);
	json_decref(array);
	json_decref(events);
	json_decref(spec);
}

static void add_call(struct judge_input *in)
{
	add_message(in, "received", 4, bye_ok); /* arrives late */
	add_message(in, "sent", 1, invite);
	add_message(in, "received", 2, trying);
	add_message(in, "received", 3, ok);
	add_message(in, "received", 2, other);
}

static void test_sip_every_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sip_rows) / sizeof(sip_rows[0]); i++) {
		json_t *item = load(sip_rows[i].item);
		const char *value =
			json_string_value(json_object_get(item, "value"));

		if (value && strcmp(value, "QUOTED") == 0)
			json_object_set_new(item, "value",
					    json_string("\"A\""));
		judge_item(item, add_call, sip_rows[i].passes,
			   sip_rows[i].sentence);
	}
}

/* ---- transactions outside a dialog ---- */

static void add_register(struct judge_input *in, int mono, const char *call_id,
			 const char *line, const char *more)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "%s\r\nCall-ID: %s\r\nCSeq: 1 REGISTER\r\n%s\r\n", line,
		 call_id, more);
	add_message(in, strncmp(line, "SIP/2.0", 7) ? "sent" : "received", mono,
		    text);
}

/* Two accounts register at the same time, and each is challenged. */
static void add_registrations(struct judge_input *in)
{
	static const char request[] = "REGISTER sip:x SIP/2.0";
	static const char *const ids[] = {"reg-b", "reg-a"};

	add_message(in, "sent", 1, invite);
	for (int i = 0; i < 2; i++) {
		add_register(in, 1 + i, ids[i], request, "");
		add_register(in, 3 + i, ids[i], "SIP/2.0 401 No",
			     "WWW-Authenticate: Digest\r\n");
		add_register(in, 5 + i, ids[i], request,
			     "Authorization: Digest\r\n");
		add_register(in, 7 + i, ids[i], "SIP/2.0 200 OK",
			     i ? "X-Last: a\r\n" : "X-Last: b\r\n");
	}
}

static void registrations(const char *text, bool passes)
{
	judge_item(load(text), add_registrations, passes, "");
}

/*
 * A position counts within its own dialog, whatever other dialogs do meanwhile.
 */
static void test_sip_positions_outside_of_calls(void **state)
{
#define REG(mseq) "{'field':'header','cseq':'REGISTER','mseq':'" mseq "',"

	(void)state;
	registrations(REG("1") "'method':'REGISTER','direction':'sent',"
			       "'header':'Authorization','type':"
			       "'notpresent'}",
		      true);
	registrations(REG("2") "'method':'REGISTER','direction':'sent',"
			       "'header':'Authorization','type':"
			       "'notpresent'}",
		      false);
	registrations(REG("2") "'method':'REGISTER','header':"
			       "'Authorization','type':'ispresent'}",
		      true);
	registrations(REG("3") "'method':'REGISTER','header':'Call-ID',"
			       "'type':'ispresent'}",
		      false);
	registrations(REG("2") "'header':'WWW-Authenticate','type':"
			       "'ispresent'}",
		      true);
	registrations(REG("last") "'header':'X-Last','type':'is',"
				  "'value':'a'}",
		      true);
	registrations(REG("last") "'header':'X-Last','type':'is',"
				  "'value':'b'}",
		      true);
	registrations(REG("last") "'header':'WWW-Authenticate','type':"
				  "'ispresent'}",
		      false);
}

/*
 * A text that is cut within a character must not prevent the run from ending.
 */
static void test_sentences_are_utf8(void **state)
{
	char value[200] = "x";

	(void)state;
	for (size_t k = 0; k < 80; k++)
		strcat(value, "\xc3\xa4");
	judge_item(json_pack("{s:s, s:s, s:s, s:s}", "field", "header",
			     "header", "Call-ID", "type", "is", "value", value),
		   add_call, false, "it is 'id-caller-1'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sip_every_row),
		cmocka_unit_test(test_sip_positions_outside_of_calls),
		cmocka_unit_test(test_sentences_are_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
