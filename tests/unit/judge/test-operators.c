/*
 * Every condition type with every operator, field and direction, against one
 * run with known figures and messages. The expected result is computed here.
 */
#include "case.h"

#include "base/state.h"

#define DIST(avg)                                                            \
	"{'n':9,'min':" #avg ".125,'max':" #avg ".875,'avg':" #avg           \
	".25,'median':" #avg ".375,'p75':" #avg ".5,'p90':" #avg ".625,'p95" \
	"':" #avg ".75,'stddev':1}"

static const char events[] =
	"[{'kind':'state','state':'REGISTER_OK','account':'1001','mono':1},"
	"{'kind':'register','account':'1001','ok':true,'code':200,'ms':12.5},"
	"{'kind':'state','state':'CALL_INCOMING','account':'1001','call':"
	"'caller-1','mono':2},"
	"{'kind':'dtmf','call':'caller-1','mono':3,'direction':'in','digit':'1'"
	",'via':'info','ms':80},"
	"{'kind':'dtmf','call':'caller-1','mono':4,'direction':'in','digit':'2'"
	",'via':'info','ms':80},"
	"{'kind':'dtmf','call':'caller-1','mono':5,'direction':'in','digit':'#'"
	",'via':'info','ms':80},"
	"{'kind':'dtmf','call':'caller-1','mono':5,'direction':'out','digit':"
	"'A','via':'rtpevent','ms':60},"
	"{'kind':'call','call':'caller-1','account':'1001','direction':'in',"
	"'peer':'sip:2002@x','call_id':'id-1','established':true,'end':'local',"
	"'code':200,'streams':[{'dir':'in','mos_total':4.25,'loss_pct':0.5,"
	"'jitter_ms':" DIST(2) ",'rtt_ms':" DIST(
		30) "},{'dir':'out',"
		    "'mos_total':4.25,'loss_pct':2.5,'jitter_ms':" DIST(4) ",'rtt_ms':" DIST(
			    50) "}]},"
				"{'kind':'call','call':'caller-2','account':'1001','direction':'out',"
				"'peer':'sip:2003@x','call_id':'id-2','established':false,'end':"
				"'rejected','code':486,'reason':'Busy Here','pdd_ms':120,"
				"'placed_for':'caller-1','streams':[{'dir':'in','mos_total':4.25,"
				"'loss_pct':0.5,'jitter_ms':" DIST(2) ",'rtt_ms':" DIST(
					30) "},"
					    "{'dir':'out','loss_pct':2.5,'jitter_ms':" DIST(
						    4) ",'rtt_ms':" DIST(50) "}]},"
									     "{'kind':'evidence','receive_queue_drops':0,'ring_drops':0}]";

static const struct {
	const char *dir;
	const char *peer;
	const char *data;
} messages[] = {
	{"received", "192.0.2.1:5060",
	 "INVITE sip:1001@x SIP/2.0\r\nv: SIP/2.0/UDP h;branch=z9hG4bK1\r\n"
	 "f: \"Al \\\"B\\\" C\" <sip:2002;x=1@host.example;user=phone>;tag=a\r\n"
	 "t: <sip:1001@x>\r\ni: id-1\r\nCSEQ:  7   INVITE\r\n"
	 "P-Asserted-Identity: <tel:+49301;ext=2>\r\n"
	 "Subject : alpha\r\n  beta\r\n\tgamma\r\nc: application/sdp\r\n\r\n"
	 "v=0\r\na=middle\r\na=end"},
	{"sent", "192.0.2.1:5060",
	 "SIP/2.0 100 Trying\r\nCall-ID: id-1\r\nCSeq: 7 INVITE\r\n\r\n"},
	{"sent", "192.0.2.1:5060",
	 "SIP/2.0 200 OK\r\nCall-ID: id-1\r\nCSeq: 7 INVITE\r\n"
	 "Content-Type: multipart/mixed;boundary=b\r\n\r\n--b\r\n"
	 "Content-Type: application/sdp\r\n\r\nv=0\r\na=part\r\n--b\r\n"
	 "Content-Type: text/plain\r\n\r\na=other\r\n--b--\r\n"},
	{"received", "192.0.2.1:5060",
	 "ACK sip:1001@x SIP/2.0\r\nCall-ID: id-1\r\nCSeq: 7 ACK\r\n\r\n"},
	{"received", "192.0.2.2:5070",
	 "NOTIFY sip:1001@x SIP/2.0\r\nCall-ID: id-1\r\nCSeq: 8 NOTIFY\r\n"
	 "c: message/sipfrag\r\no: refer\r\n\r\nSIP/2.0 200 OK\r\n"},
	{"received", "[2001:db8::1]:5060",
	 "BYE sip:1001@x SIP/2.0\r\nCall-ID: id-1\r\nCSeq: 9 BYE\r\n"
	 "Reason: last\r\n\r\n"},
};

/* the six measures of the contract (4.3), the first without an offset */
static const enum measure measures[] = {
	MEASURE_rtp_rtt,          MEASURE_rtp_pkt_per_sec,
	MEASURE_rtp_byte_per_sec, MEASURE_rtp_lost_per_sec,
	MEASURE_rtp_jitter,       MEASURE_rtp_mos,
};
#define SEED_MEASURES (sizeof(measures) / sizeof(measures[0]))

static void fill(struct judge_input *in)
{
	json_t *list = load(events), *event,
	       *spec = load("{'role':'caller',"
			    "'steps':[]}");
	size_t i;

	assert_int_equal(judge_input_add_spec(in, spec), 0);
	json_array_foreach(list, i, event)
		assert_int_equal(judge_input_add_event(in, "caller", event), 0);
	for (i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		json_t *m =
			json_pack("{s:s, s:i, s:s, s:s}", "dir",
				  messages[i].dir, "mono", (int)i, "peer",
				  messages[i].peer, "data", messages[i].data);

		assert_non_null(m);
		assert_int_equal(judge_input_add_message(in, "caller", m), 0);
		json_decref(m);
	}
	/*
	 * each measure has its own figures, and the other role has different
	 * ones
	 */
	for (i = 0; i < 4 * SEED_MEASURES; i++) {
		double base = 100 * (double)(i / 4) + (double)(i % 4);
		struct judge_point point = {
			.role = i % 4 < 2 ? "caller" : "callee",
			.outgoing = i % 2 == 1,
			.measure = measures[i / 4],
			.d = {.n = 4,
			      .min = base + 10,
			      .avg = base + 20,
			      .median = base + 30,
			      .p75 = base + 40,
			      .p90 = base + 50,
			      .p95 = base + 60,
			      .max = base + 70},
		};

		assert_int_equal(judge_input_add_point(in, &point), 0);
	}
	json_decref(list);
	json_decref(spec);
}

/** Does the run pass with this one condition? Takes ownership of `item`. */
static bool passes(const char *suffix, json_t *item, char *why, size_t size)
{
	char type[64];
	json_t *array;
	struct judge_conditions *conditions;
	struct judge_problem problem;
	struct judge_result result;
	struct judge_input *in;
	bool passed;

	snprintf(type, sizeof(type), "caller-%s-conditions", suffix);
	array = json_pack("[{s:s, s:s, s:[o]}]", "role", "caller",
			  "condition_type", type, "conditions", item);
	assert_non_null(array);
	if (judge_conditions_new(&conditions, array, &problem))
		fail_msg("%s: %s: %s", type, problem.pointer, problem.reason);
	assert_int_equal(judge_input_new(&in), 0);
	fill(in);
	assert_int_equal(judge_run(&result, in, conditions), 0);
	passed = result.status == JUDGE_PASSED;
	/* there is a description if and only if it failed */
	assert_int_equal(passed, !result.description[0]);
	snprintf(why, size, "%s", result.description);
	judge_result_release(&result);
	judge_input_free(in);
	judge_conditions_free(conditions);
	json_decref(array);
	return passed;
}

/* ---- figures ---- */

struct figure {
	const char *suffix;
	const char *more; /* other members of the condition */
	double value;
	double step; /* distance to the neighbouring values */
};

static const struct figure figures[] = {
	{"postdial-delay", "", 120, 1},
	{"mos", "", 4.25, 0.25},
	{"loss", "", 0.5, 0.25},
	{"loss", ",'direction':'in'", 0.5, 0.25},
	{"loss", ",'direction':'out'", 2.5, 0.25},
	{"jitter", "", 2.25, 0.125},
	{"jitter", ",'type_statistics':'min'", 2.125, 0.125},
	{"jitter", ",'type_statistics':'median'", 2.375, 0.125},
	{"jitter", ",'type_statistics':'p75'", 2.5, 0.125},
	{"jitter", ",'type_statistics':'p90'", 2.625, 0.125},
	{"jitter", ",'type_statistics':'p95'", 2.75, 0.125},
	{"jitter", ",'type_statistics':'max'", 2.875, 0.125},
	{"jitter", ",'type_statistics':'avg','direction':'out'", 4.25, 0.125},
	{"rtt", "", 30.25, 0.125},
	{"rtt", ",'type_statistics':'max','direction':'out'", 50.875, 0.125},
	{"call-count", ",'count':'attempted'", 2, 1},
	{"call-count", ",'count':'established'", 1, 1},
	{"call-count", ",'count':'failed'", 1, 1},
	{"call-count", ",'count':'asr'", 50, 0.5},
	{"register-time", "", 12.5, 0.5},
	{"dtmf", ",'field':'duration'", 80, 1},
	{"dtmf", ",'field':'duration','direction':'out','via':'rtpevent'", 60,
	 1},
#define RTP(statistic, direction)                                         \
	"rtp-advanced", ",'type_rtp_measures':'rtp_rtt','type_statistics" \
			"':'" statistic "','direction':'" direction "'"
	{RTP("min", "in"), 10, 1},
	{RTP("avg", "in"), 20, 1},
	{RTP("median", "in"), 30, 1},
	{RTP("p75", "in"), 40, 1},
	{RTP("p90", "in"), 50, 1},
	{RTP("p95", "in"), 60, 1},
	{RTP("max", "in"), 70, 1},
	{RTP("min", "out"), 11, 1},
	{RTP("max", "out"), 71, 1},
#define MEASURE(name, direction)                                           \
	"rtp-advanced", ",'type_rtp_measures':'" name "','type_statistics" \
			"':'avg','direction':'" direction "'"
	{MEASURE("rtp_pkt_per_sec", "in"), 120, 1},
	{MEASURE("rtp_pkt_per_sec", "out"), 121, 1},
	{MEASURE("rtp_byte_per_sec", "in"), 220, 1},
	{MEASURE("rtp_byte_per_sec", "out"), 221, 1},
	{MEASURE("rtp_lost_per_sec", "in"), 320, 1},
	{MEASURE("rtp_lost_per_sec", "out"), 321, 1},
	{MEASURE("rtp_jitter", "in"), 420, 1},
	{MEASURE("rtp_jitter", "out"), 421, 1},
	{MEASURE("rtp_mos", "in"), 520, 1},
	{MEASURE("rtp_mos", "out"), 521, 1},
};

static void test_figures(void **state)
{
	/* with a limit below, at and above the figure */
	static const struct {
		const char *type;
		bool holds[3];
	} operators[] = {
		{"ge", {true, true, false}},  {"gt", {true, false, false}},
		{"le", {false, true, true}},  {"lt", {false, false, true}},
		{"eq", {false, true, false}},
	};
	char text[512], why[1024];

	(void)state;
	for (size_t f = 0; f < sizeof(figures) / sizeof(figures[0]); f++)
		for (size_t o = 0; o < 5; o++)
			/* an integer figure has no decimals for eq to round */
			for (int at = o == 4 ? 3 : 0; at < 6; at++) {
				double limit = figures[f].value +
					       (at % 3 - 1) * figures[f].step;

				/*
				 * the limit as a JSON number and as a JSON
				 * string
				 */
				snprintf(text, sizeof(text),
					 at < 3 ? "{'type':'%s','value':%.3f%s}"
						: "{'type':'%s','value':"
						  "'%.3f'%s}",
					 operators[o].type, limit,
					 figures[f].more);
				if (passes(figures[f].suffix, load(text), why,
					   sizeof(why)) !=
				    operators[o].holds[at % 3])
					fail_msg("%s %s: '%s'",
						 figures[f].suffix, text, why);
			}
}

/* ---- texts ---- */

struct words {
	const char *suffix;
	const char *more;
	const char *whole;
	const char *start;  /* a prefix, not the whole text */
	const char *end;    /* a suffix, not the whole text, and not a prefix */
	const char *middle; /* neither a prefix nor a suffix */
	bool presence;      /* whether ispresent and notpresent apply */
};

#define HDR(name) ",'field':'header','header':'" name "'"
#define INV       ",'cseq':'INVITE','method':'INVITE','direction':'received'"

static const struct words words[] = {
	{"sip", HDR("Subject") INV, "alpha beta gamma", "alpha b", "a gamma",
	 " beta ", true},
	{"sip", HDR("s") INV, "alpha beta gamma", "alpha", "gamma", "beta",
	 true},
	{"sip", HDR("CALL-ID") INV, "id-1", "id", "1", "d-", true},
	{"sip", HDR("I") ",'method':'200','direction':'sent'", "id-1", "id",
	 "1", "d-", true},
	{"sip", HDR("o") ",'method':'NOTIFY'", "refer", "ref", "er", "efe",
	 true},
	{"sip", HDR("Event") ",'method':'NOTIFY'", "refer", "ref", "er", "efe",
	 true},
	{"sip", ",'field':'sdp'" INV, "v=0\r\na=middle\r\na=end", "v=0",
	 "a=end", "middle", true},
	{"sip", ",'field':'sdp','method':'200'", "v=0\r\na=part\r\n", "v=0",
	 "part\r\n", "a=p", true},
	{"sip", ",'field':'message','method':'100'",
	 "SIP/2.0 100 Trying\r\nCall-ID: id-1\r\nCSeq: 7 INVITE\r\n\r\n",
	 "SIP/2.0 100", "INVITE\r\n\r\n", "Call-ID: id-1", true},
	{"sip", ",'field':'filter_proxy'" INV, "192.0.2.1:5060", "192.0.2",
	 ":5060", "0.2.", true},
	{"dtmf", "", "12#", "1", "#", "2", false},
	{"dtmf", ",'via':'info'", "12#", "12", "2#", "2", false},
	{"cli", "", "2002", "20", "02", "00", true},
	{"cli", ",'field':'name'", "Al \"B\" C", "Al", "C", "\"B\"", true},
	{"cli", ",'field':'uri'", "sip:2002;x=1@host.example;user=phone",
	 "sip:", "=phone", "host", true},
	{"cli", ",'field':'number','header':'P-Asserted-Identity'", "+49301",
	 "+49", "01", "93", true},
};

static json_t *text_item(const struct words *w, const char *type,
			 const char *value)
{
	char text[512];
	json_t *item;

	snprintf(text, sizeof(text), "{'type':'%s'%s}", type, w->more);
	item = load(text);
	if (value)
		json_object_set_new(item, "value", json_string(value));
	return item;
}

static void expect(const struct words *w, const char *type, const char *value,
		   bool holds)
{
	char why[1024];

	if (passes(w->suffix, text_item(w, type, value), why, sizeof(why)) !=
	    holds)
		fail_msg("%s%s %s '%s': '%s'", w->suffix, w->more, type,
			 value ? value : "", why);
}

static void test_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const struct words *w = &words[i];
		bool digits = strcmp(w->suffix, "dtmf") == 0;
		const struct {
			const char *value;
			bool is, starts, ends, has;
		} values[] = {
			{w->whole, true, true, true, true},
			{w->start, false, true, false, true},
			{w->end, false, false, true, true},
			{w->middle, false, false, false, true},
			{digits ? "9" : "nothing", false, false, false, false},
		};

		for (size_t k = 0; k < sizeof(values) / sizeof(values[0]);
		     k++) {
			const char *value = values[k].value;

			expect(w, "is", value, values[k].is);
			expect(w, "isnot", value, !values[k].is);
			expect(w, "startswith", value, values[k].starts);
			expect(w, "endswith", value, values[k].ends);
			expect(w, "has", value, values[k].has);
			expect(w, "hasnot", value, !values[k].has);
		}
		if (w->presence) {
			expect(w, "ispresent", NULL, true);
			expect(w, "notpresent", NULL, false);
		}
	}
}

static void test_what_is_not_there(void **state)
{
	static const struct words absent[] = {
		{"sip", HDR("X-None"), "", "", "", "", true},
		/* a body that is not SDP */
		{"sip", ",'field':'sdp','method':'NOTIFY'", "", "", "", "",
		 true},
		{"sip", ",'field':'message','method':'486'", "", "", "", "",
		 true},
		{"sip", ",'field':'message','direction':'sent','method':'BYE'",
		 "", "", "", "", true},
		{"sip", HDR("Subject") ",'cseq':'BYE'", "", "", "", "", true},
		{"cli", ",'header':'Remote-Party-ID'", "", "", "", "", true},
		{"cli", ",'field':'name','header':'P-Asserted-Identity'", "",
		 "", "", "", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
		expect(&absent[i], "ispresent", NULL, false);
		expect(&absent[i], "notpresent", NULL, true);
		expect(&absent[i], "is", "x", false);
		expect(&absent[i], "isnot", "x", true);
		expect(&absent[i], "has", "x", false);
		expect(&absent[i], "hasnot", "x", true);
		expect(&absent[i], "startswith", "x", false);
		expect(&absent[i], "endswith", "x", false);
	}
}

static void test_positions(void **state)
{
	/* received in the dialog: INVITE, ACK, NOTIFY, BYE */
	static const struct {
		const char *more;
		const char *start;
	} rows[] = {
		{",'direction':'received','mseq':'1'", "INVITE "},
		{",'direction':'received','mseq':'2'", "ACK "},
		{",'direction':'received','mseq':'3'", "NOTIFY "},
		{",'direction':'received','mseq':'4'", "BYE "},
		{",'direction':'received','mseq':'last'", "BYE "},
		{",'direction':'sent','mseq':'1'", "SIP/2.0 100"},
		{",'direction':'sent','mseq':'last'", "SIP/2.0 200"},
		{",'mseq':'1'", "INVITE "},
		{",'mseq':'2'", "SIP/2.0 100"},
		{",'mseq':'last'", "BYE "},
		{",'cseq':'INVITE','mseq':'3'", "SIP/2.0 200"},
		{",'cseq':'INVITE','mseq':'last'", "SIP/2.0 200"},
	};
	char more[160];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct words w = {"sip", more, "", "", "", "", true};

		snprintf(more, sizeof(more), ",'field':'message'%s",
			 rows[i].more);
		expect(&w, "startswith", rows[i].start, true);
		expect(&w, "has", "no such text", false);
		for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
			expect(&w, "startswith", rows[k].start,
			       strcmp(rows[k].start, rows[i].start) == 0);
	}
	/* there is no fifth one */
	{
		const struct words w = {
			"sip",
			",'field':'message','direction':'received','mseq':'5'",
			"",
			"",
			"",
			"",
			true};

		expect(&w, "ispresent", NULL, false);
		expect(&w, "notpresent", NULL, true);
	}
}

/* ---- states ---- */

static void test_states(void **state)
{
	char text[128], why[1024];

	(void)state;
	for (int s = 0; s < UA_STATE_COUNT; s++) {
		const char *name = ua_state_name((enum ua_state)s);
		bool there = s == UA_REGISTER_OK || s == UA_CALL_INCOMING;

		for (int negated = 0; negated < 2; negated++) {
			snprintf(text, sizeof(text),
				 "{'type':'%s','state':'%s'}",
				 negated ? "hasnot" : "has", name);
			if (passes("sipclient-state", load(text), why,
				   sizeof(why)) != (there != negated))
				fail_msg("%s: '%s'", text, why);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_what_is_not_there),
		cmocka_unit_test(test_positions),
		cmocka_unit_test(test_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
