/* {role}-sip-conditions: header, SDP, text or peer of selected messages */
#include "base/str.h"
#include "control/server/judge/condition.h"
#include "control/server/judge/text_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum field {
	HEADER,
	SDP,
	MESSAGE,
	FILTER_PROXY
};
static const char *const fields[] = {"header", "sdp", "message", "filter_proxy",
				     NULL};
static const char *const directions[] = {"sent", "received", NULL};

static const char *member(const struct condition *c, const char *name)
{
	const char *text = json_string_value(json_object_get(c->item, name));

	return text ? text : "";
}

static int check_texts(const struct condition *c, enum field field,
		       struct judge_problem *problem)
{
	static const char *const names[] = {"cseq", "mseq", "value", "header",
					    "method"};
	const char *mseq = member(c, "mseq");
	uint64_t position;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const json_t *value = json_object_get(c->item, names[i]);

		if (value && !json_is_string(value))
			return condition_refuse(problem, names[i],
						"%s must be a string",
						names[i]);
	}
	if (mseq[0] && strcmp(mseq, "last") != 0 &&
	    (str_to_u64(mseq, 1000000, &position) || !position))
		return condition_refuse(problem, "mseq",
					"mseq must be 1, 2, 3, ... or last");
	if (field == HEADER && !member(c, "header")[0])
		return condition_refuse(problem, "header",
					"header must name a header field");
	return 0;
}

static int parse(struct condition *c, struct judge_problem *problem)
{
	unsigned test, field, unused;
	int err;

	err = condition_choice(&test, c, "type", text_tests, problem);
	if (!err)
		err = condition_choice(&field, c, "field", fields, problem);
	if (!err && json_object_get(c->item, "direction"))
		err = condition_choice(&unused, c, "direction", directions,
				       problem);
	if (!err)
		err = check_texts(c, (enum field)field, problem);
	if (err)
		return err;
	if (test != TEXT_ISPRESENT && test != TEXT_NOTPRESENT &&
	    !json_object_get(c->item, "value"))
		return condition_refuse(problem, "value", "value is missing");
	c->negated = text_test_negated((enum text_test)test);
	c->choice = test | field << 8;
	return 0;
}

static bool test_header(enum text_test test, const char *message,
			const char *name, const char *value)
{
	struct sip_part part;
	bool holds = false;

	for (unsigned n = 0; !holds && sip_header(message, name, n, &part);
	     n++) {
		char *text = sip_unfolded(part);

		if (text)
			part = (struct sip_part){text, strlen(text)};
		holds = test == TEXT_ISPRESENT || test == TEXT_NOTPRESENT ||
			text_test_holds(test, part, value);
		free(text);
	}
	return holds;
}

/* The address with its port, or without. */
static bool test_peer(enum text_test test, const char *peer, const char *value)
{
	const char *colon = strrchr(peer, ':');
	struct sip_part whole = {peer, strlen(peer)};
	struct sip_part host = {peer,
				colon ? (size_t)(colon - peer) : whole.len};

	return text_test_holds(test, whole, value) ||
	       text_test_holds(test, host, value);
}

static bool matches(const struct condition *c, const struct message_record *m)
{
	enum text_test test = c->choice & 0xff;
	const char *value = member(c, "value");

	switch ((enum field)(c->choice >> 8)) {
	case HEADER:
		return test_header(test, m->data, member(c, "header"), value);
	case SDP:
		return text_test_holds(test, sip_sdp(m->data), value);
	case MESSAGE:
		return text_test_holds(
			test, (struct sip_part){m->data, strlen(m->data)},
			value);
	case FILTER_PROXY:
		return test_peer(test, m->peer, value);
	}
	return false;
}

/* By all but the position. */
static bool selected(const struct condition *c, const struct message_record *m)
{
	const char *direction = member(c, "direction");
	const char *cseq = member(c, "cseq"), *method = member(c, "method");

	if (strcmp(m->role, c->set->role) != 0)
		return false;
	if (direction[0] && m->sent != (strcmp(direction, "sent") == 0))
		return false;
	if (method[0] && !sip_part_is(sip_method(m->data), method))
		return false;
	return !cseq[0] || sip_part_is(sip_cseq_method(m->data), cseq);
}

struct hits {
	size_t selected;
	size_t matching;
};

/* Messages of one dialog (one Call-ID; NULL: of any) that the condition is
 * about. Messages are in the order of time. */
static struct hits look(const struct judge_input *in, const struct condition *c,
			const char *call_id)
{
	const struct message_record *messages =
		RECORDS(in, messages, message_record);
	const char *mseq = member(c, "mseq");
	uint64_t wanted = 0, position = 0;
	struct hits hits = {0};
	bool last = strcmp(mseq, "last") == 0;

	if (mseq[0] && !last)
		(void)str_to_u64(mseq, 1000000, &wanted);
	for (size_t i = 0; i < in->messages.count; i++) {
		struct sip_part id;

		if (call_id &&
		    (!sip_header(messages[i].data, "Call-ID", 0, &id) ||
		     !sip_part_is(id, call_id)))
			continue;
		if (!selected(c, &messages[i]))
			continue;
		position++;
		if (wanted && position != wanted)
			continue;
		if (last)
			hits = (struct hits){0};
		hits.selected++;
		hits.matching += matches(c, &messages[i]);
	}
	return hits;
}

/* Methods whose transactions belong to no call. */
static bool outside_calls(const struct condition *c)
{
	static const char *const methods[] = {"REGISTER",  "OPTIONS", "MESSAGE",
					      "SUBSCRIBE", "PUBLISH", "NOTIFY"};
	const char *cseq = member(c, "cseq"), *method = member(c, "method");

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strcmp(cseq, methods[i]) == 0 ||
		    strcmp(method, methods[i]) == 0)
			return true;
	return false;
}

static void describe(char *text, size_t size, const struct condition *c)
{
	const char *header = member(c, "header"), *mseq = member(c, "mseq");
	const char *direction = member(c, "direction");
	const char *cseq = member(c, "cseq"), *method = member(c, "method");

	str_print(text, size,
		  "%s%.60s of %s%.12s%s%.20s message%s%.20s%s%.30s %s%s%.80s%s",
		  header[0] ? "header " : "",
		  header[0] ? header : member(c, "field"),
		  mseq[0] ? "the " : "a ", direction, direction[0] ? " " : "",
		  method, mseq[0] ? " number " : "", mseq,
		  cseq[0] ? " with CSeq " : "", cseq,
		  text_tests[c->choice & 0xff],
		  member(c, "value")[0] ? " '" : "", member(c, "value"),
		  member(c, "value")[0] ? "'" : "");
}

static void judge_dialog(struct tally *t, const struct judge_input *in,
			 const struct condition *c,
			 const struct call_record *call, const char *text)
{
	struct hits hits = look(in, c, call ? call->call_id : NULL);
	char where[80] = "";

	t->subjects++;
	if (call)
		str_print(where, sizeof(where), " in call %.60s", call->name);
	if (c->negated) {
		if (hits.matching)
			tally_miss(t, call ? call->name : NULL, "found",
				   "%.130s does not hold%.70s", text, where);
	} else if (!hits.selected) {
		tally_miss(t, call ? call->name : NULL, "no such message",
			   "%.130s does not hold%.70s: no such message", text,
			   where);
	} else if (!hits.matching) {
		tally_miss(t, call ? call->name : NULL, "not found",
			   "%.130s does not hold%.70s", text, where);
	}
}

static int judge(const struct judge_input *in, const struct condition *c,
		 json_t *verdicts)
{
	const struct call_record *calls = RECORDS(in, calls, call_record);
	char inner[320], text[360];
	struct tally t = {0};

	describe(inner, sizeof(inner), c);
	str_print(text, sizeof(text), "%s: %s", c->set->role, inner);
	for (size_t i = 0; !outside_calls(c) && i < in->calls.count; i++)
		if (strcmp(calls[i].role, c->set->role) == 0 &&
		    !calls[i].serves_other && calls[i].call_id)
			judge_dialog(&t, in, c, &calls[i], inner);
	if (!t.subjects)
		judge_dialog(&t, in, c, NULL, inner);
	return tally_verdict(&t, c, text, c->negated ? "no match" : "a match",
			     "", "", verdicts);
}

const struct condition_type condition_sip = {
	.suffix = "sip-conditions",
	.fields =
		(const char *const[]){"cseq", "mseq", "type", "value", "header",
				      "method", "direction", "field", NULL},
	.options = (const char *const[]){NULL},
	.needs_messages = true,
	.parse = parse,
	.judge = judge,
};
