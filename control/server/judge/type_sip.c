/* {role}-sip-conditions: header, SDP, text or peer of selected messages */
#include "base/str.h"
#include "control/server/judge/condition.h"
#include "control/server/judge/text_test.h"
#include "control/wire/text.h"

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

/* True for a method in capitals (RFC 3261 section 7.1: methods are
 * case-sensitive) or a status code. Anything else would select no message. */
static bool method_valid(const char *text, bool or_code)
{
	size_t capitals = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	uint64_t code;

	if (capitals)
		return !text[capitals];
	return or_code && str_to_u64(text, 699, &code) == 0 && code >= 100;
}

static int check_texts(const struct condition *c, enum field field,
		       struct judge_problem *problem)
{
	static const char *const names[] = {"cseq", "mseq", "value", "header",
					    "method"};
	const char *cseq = text_of(c->item, "cseq"),
		   *method = text_of(c->item, "method");
	const char *mseq = text_of(c->item, "mseq");
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
	if (cseq[0] && !method_valid(cseq, false))
		return condition_refuse(
			problem, "cseq",
			"cseq must be a method, such as INVITE");
	if (method[0] && !method_valid(method, true))
		return condition_refuse(problem, "method",
					"method must be a method, such as "
					"INVITE, or a code from 100 to 699");
	if (field == HEADER && !text_of(c->item, "header")[0])
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
			const char *name, const char *value, unsigned *ret_nth)
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
		if (holds)
			*ret_nth = n;
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

static enum text_test test_of(const struct condition *c)
{
	return (enum text_test)(c->choice & 0xff);
}

static enum field field_of(const struct condition *c)
{
	return (enum field)(c->choice >> 8);
}

static bool matches(const struct condition *c, const struct message_record *m)
{
	enum text_test test = test_of(c);
	const char *value = text_of(c->item, "value");
	unsigned nth;

	switch (field_of(c)) {
	case HEADER:
		return test_header(test, m->data, text_of(c->item, "header"),
				   value, &nth);
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

/* True if a message is selected, the position aside. */
static bool selected(const struct condition *c, const struct message_record *m)
{
	const char *direction = text_of(c->item, "direction");
	const char *cseq = text_of(c->item, "cseq"),
		   *method = text_of(c->item, "method");

	if (direction[0] && m->sent != (strcmp(direction, "sent") == 0))
		return false;
	if (method[0] && !sip_part_is(sip_method(m->data), method))
		return false;
	return !cseq[0] || sip_part_is(sip_cseq_method(m->data), cseq);
}

/* Get the tested part of a message: the header field that matches, else the
 * first of that name. Empty if there is none. */
static struct sip_part found(const struct condition *c,
			     const struct message_record *m)
{
	struct sip_part part = {"", 0};
	unsigned nth = 0;

	switch (field_of(c)) {
	case HEADER:
		(void)test_header(test_of(c), m->data,
				  text_of(c->item, "header"),
				  text_of(c->item, "value"), &nth);
		(void)sip_header(m->data, text_of(c->item, "header"), nth,
				 &part);
		break;
	case SDP:
		part = sip_sdp(m->data);
		break;
	case MESSAGE:
		part = (struct sip_part){m->data, strlen(m->data)};
		break;
	case FILTER_PROXY:
		part = (struct sip_part){m->peer, strlen(m->peer)};
		break;
	}
	return part;
}

/* Write a part in quotes, cut and on one line; or that it is absent. */
static void actual_text(char *dst, size_t size, const struct condition *c,
			const struct message_record *m)
{
	struct sip_part part = found(c, m);
	size_t used = 0, i;

	if (!part.len) {
		str_print(dst, size, field_of(c) == SDP ? "no SDP" : "none");
		return;
	}
	dst[used++] = '\'';
	for (i = 0; i < part.len && used + 5 < size; i++) {
		if ((unsigned char)part.p[i] > ' ')
			dst[used++] = part.p[i];
		else if (dst[used - 1] != ' ')
			dst[used++] = ' ';
	}
	str_print(dst + used, size - used, "%s'", i < part.len ? "..." : "");
}

struct hits {
	size_t selected;
	size_t matching;
	/* the first that shows why it fails; NULL: none was selected */
	const struct message_record *shown;
};

static void hits_add(struct hits *hits, const struct message_record *m,
		     bool match, bool negated)
{
	hits->selected++;
	hits->matching += match;
	if (!hits->shown && match == negated)
		hits->shown = m;
}

/* Test the selected messages of one dialog. */
static struct hits look(const struct condition *c, struct message_span dialog)
{
	const char *mseq = text_of(c->item, "mseq");
	uint64_t wanted = 0, position = 0;
	struct hits hits = {0};
	bool last = strcmp(mseq, "last") == 0;

	if (mseq[0] && !last)
		(void)str_to_u64(mseq, 1000000, &wanted);
	for (size_t i = 0; i < dialog.count; i++) {
		if (!selected(c, &dialog.first[i]))
			continue;
		position++;
		if (wanted && position != wanted)
			continue;
		if (last)
			hits = (struct hits){0};
		hits_add(&hits, &dialog.first[i], matches(c, &dialog.first[i]),
			 c->negated);
	}
	return hits;
}

/* Test the selected messages of all the role's dialogs. */
static struct hits look_at_all(const struct judge_input *in,
			       const struct condition *c)
{
	const char *role = c->set->role;
	size_t at = judge_role_messages(in, role);
	struct message_span dialog;
	struct hits all = {0};

	while ((dialog = judge_dialog_at(in, role, at)).count) {
		struct hits hits = look(c, dialog);

		all.selected += hits.selected;
		all.matching += hits.matching;
		if (!all.shown)
			all.shown = hits.shown;
		at += dialog.count;
	}
	return all;
}

/* Methods whose transactions are not part of a call. */
static bool outside_calls(const struct condition *c)
{
	static const char *const methods[] = {"REGISTER",  "OPTIONS", "MESSAGE",
					      "SUBSCRIBE", "PUBLISH", "NOTIFY"};
	const char *cseq = text_of(c->item, "cseq"),
		   *method = text_of(c->item, "method");

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strcmp(cseq, methods[i]) == 0 ||
		    strcmp(method, methods[i]) == 0)
			return true;
	return false;
}

static void describe(char *text, size_t size, const struct condition *c)
{
	const char *header = text_of(c->item, "header"),
		   *mseq = text_of(c->item, "mseq");
	const char *direction = text_of(c->item, "direction");
	const char *cseq = text_of(c->item, "cseq"),
		   *method = text_of(c->item, "method");

	str_print(
		text, size,
		"%s%.60s of %s%.12s%s%.20s%smessage%s%.20s%s%.30s %s%s%.80s%s",
		field_of(c) == HEADER ? "header " : "",
		field_of(c) == HEADER ? header : text_of(c->item, "field"),
		mseq[0] ? "the " : "a ", direction, direction[0] ? " " : "",
		method, method[0] ? " " : "", mseq[0] ? " number " : "", mseq,
		cseq[0] ? " with CSeq " : "", cseq, text_tests[test_of(c)],
		text_of(c->item, "value")[0] ? " '" : "",
		text_of(c->item, "value"),
		text_of(c->item, "value")[0] ? "'" : "");
}

static void judge_one(struct tally *t, const struct judge_input *in,
		      const struct condition *c, const struct call_record *call,
		      const char *text)
{
	struct hits hits =
		call ? look(c, judge_dialog(in, call->role, call->call_id))
		     : look_at_all(in, c);
	char where[80] = "", actual[NUMBER_TEXT_BYTES] = "no such message";

	t->subjects++;
	if (c->negated ? !hits.matching : hits.matching)
		return;
	if (call)
		str_print(where, sizeof(where), " in call %.60s", call->name);
	if (hits.shown)
		actual_text(actual, sizeof(actual), c, hits.shown);
	tally_miss(t, call ? call->name : NULL, actual,
		   "%.220s does not hold%.70s: %s%.47s", text, where,
		   hits.shown ? "it is " : "", actual);
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
			judge_one(&t, in, c, &calls[i], inner);
	if (!t.subjects)
		judge_one(&t, in, c, NULL, inner);
	return tally_verdict(&t, c, text, c->negated ? "no match" : "a match",
			     "", "", verdicts);
}

/* True if the condition selects final responses to INVITE of that class. */
static bool selects_final(const struct condition *c, bool success)
{
	const char *cseq = text_of(c->item, "cseq"),
		   *method = text_of(c->item, "method");
	char class = method[0];

	if (cseq[0] && strcmp(cseq, "INVITE") != 0)
		return false;
	/* without a selected code: the class in the expected status line */
	if (!class && field_of(c) == MESSAGE &&
	    strncmp(text_of(c->item, "value"), "SIP/2.0 ", 8) == 0)
		class = text_of(c->item, "value")[8];
	return success ? class == '2' : class >= '3' && class <= '6';
}

/* A final response to INVITE that refuses the call: a code of 300 or above, or no 2xx. */
static bool replaces_calls(const struct condition *c)
{
	return selects_final(c, c->negated);
}

/* clang-format off */
static const struct condition_field sip_fields[] = {
	{.name = "direction", .word = "Direction", .choices = directions, .optional = true},
	{.name = "cseq", .word = "Method in CSeq", .optional = true, .help = "a method in capitals"},
	{.name = "method", .word = "Request or code", .optional = true, .help = "a method in capitals, or a code from 100 to 699"},
	{.name = "mseq", .word = "Position", .optional = true, .help = "1, 2, 3, ... or last: the position among those of its dialog"},
	{.name = "field", .word = "What is tested", .choices = fields},
	{.name = "header", .word = "Header field", .only = "field header", .help = "its full or compact name"},
	{.name = "type", .word = "Test", .choices = text_tests},
	{.name = "value", .word = "Text", .only = "type is isnot startswith endswith has hasnot"},
	{.name = NULL},
};
/* clang-format on */

const struct condition_type condition_sip = {
	.suffix = "sip-conditions",
	.word = "SIP messages",
	.scope = "a selected message of every call",
	.help = "every call of the role has a selected message for which the test holds; for isnot, hasnot and notpresent no selected message may match",
	.fields = sip_fields,
	.options = (const char *const[]){NULL},
	.needs_messages = true,
	.replaces_calls = replaces_calls,
	.parse = parse,
	.judge = judge,
};
