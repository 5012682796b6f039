/* {role}-cli-conditions: the caller id that calls came in with */
#include "base/str.h"
#include "control/server/judge/condition.h"
#include "control/server/judge/text_test.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum field {
	NUMBER,
	NAME,
	URI
};
static const char *const fields[] = {"number", "name", "uri", NULL};
static const char *const headers[] = {"From", "P-Asserted-Identity",
				      "P-Preferred-Identity", "Remote-Party-ID",
				      NULL};

static enum text_test test_of(const struct condition *c)
{
	return (enum text_test)(c->choice & 0xff);
}

static int parse(struct condition *c, struct judge_problem *problem)
{
	unsigned test, field = NUMBER, unused;
	int err;

	err = condition_choice(&test, c, "type", text_tests, problem);
	if (!err && json_object_get(c->item, "field"))
		err = condition_choice(&field, c, "field", fields, problem);
	if (!err && json_object_get(c->item, "header"))
		err = condition_choice(&unused, c, "header", headers, problem);
	if (err)
		return err;
	if (test != TEXT_ISPRESENT && test != TEXT_NOTPRESENT &&
	    !json_is_string(json_object_get(c->item, "value")))
		return condition_refuse(problem, "value",
					"value must be a string");
	c->negated = text_test_negated((enum text_test)test);
	c->choice = test | field << 8;
	return 0;
}

/* Find the URI: after '<', or the whole value without brackets. */
static struct sip_part uri_of(const char *text)
{
	const char *open = strchr(text, '"') ? strrchr(text, '"') : text;

	open = strchr(open, '<');
	if (open)
		return (struct sip_part){open + 1, strcspn(open + 1, ">")};
	return (struct sip_part){text, strcspn(text, ";")};
}

/* Get the user of sip:user:password@host;params or the number of
 * tel:+1-2;params. */
static struct sip_part number_of(struct sip_part uri)
{
	const char *colon = memchr(uri.p, ':', uri.len);
	const char *at;
	size_t len;

	if (!colon)
		return (struct sip_part){uri.p, 0};
	len = uri.len - (size_t)(colon + 1 - uri.p);
	at = memchr(colon + 1, '@', len);
	if (!at && strncasecmp(uri.p, "tel:", 4) != 0)
		return (struct sip_part){uri.p, 0};
	if (at)
		len = (size_t)(at - colon - 1);
	return (struct sip_part){colon + 1, strcspn(colon + 1, ";:@>") < len
						    ? strcspn(colon + 1, ";:@>")
						    : len};
}

/* Get the display name without quotes and escapes; changes text. */
static struct sip_part name_of(char *text)
{
	size_t used = 0, i;

	if (text[0] != '"') {
		if (!strchr(text, '<'))
			return (struct sip_part){text, 0};
		used = strcspn(text, "<");
		while (used && strchr(" \t", text[used - 1]))
			used--;
		return (struct sip_part){text, used};
	}
	for (i = 1; text[i] && text[i] != '"'; i++) {
		if (text[i] == '\\' && text[i + 1])
			i++;
		text[used++] = text[i];
	}
	return (struct sip_part){text, used};
}

/* Find the INVITE that began the call. @return NULL: it was not recorded */
static const char *invite_of(const struct judge_input *in,
			     const struct call_record *call)
{
	struct message_span dialog =
		judge_dialog(in, call->role, call->call_id);

	for (size_t i = 0; i < dialog.count; i++) {
		const struct message_record *m = &dialog.first[i];

		if (!m->sent && sip_part_is(sip_method(m->data), "INVITE"))
			return m->data;
	}
	return NULL;
}

static const char *header_of(const struct condition *c)
{
	return text_of(c->item, "header")[0] ? text_of(c->item, "header")
					     : headers[0];
}

/* Write a field of the header; "" if the header or the field is absent. */
static void cli_of(char *dst, size_t size, const struct condition *c,
		   const char *message)
{
	struct sip_part part;
	char *text = NULL;

	dst[0] = '\0';
	if (sip_header(message, header_of(c), 0, &part))
		text = sip_unfolded(part);
	if (!text)
		return;
	switch ((enum field)(c->choice >> 8)) {
	case NUMBER:
		part = number_of(uri_of(text));
		break;
	case NAME:
		part = name_of(text);
		break;
	case URI:
		part = uri_of(text);
		break;
	}
	str_print(dst, size, "%.*s", (int)part.len, part.p);
	free(text);
}

static void judge_call(struct tally *t, const struct judge_input *in,
		       const struct condition *c,
		       const struct call_record *call, const char *expected)
{
	const char *invite = call->call_id ? invite_of(in, call) : NULL;
	char cli[256], actual[NUMBER_TEXT_BYTES];

	t->subjects++;
	if (!invite) {
		tally_miss(t, call->name, "unknown",
			   "the INVITE of call %.60s was not recorded, so its "
			   "caller id is unknown",
			   call->name);
		return;
	}
	cli_of(cli, sizeof(cli), c, invite);
	if (text_test_holds(test_of(c), (struct sip_part){cli, strlen(cli)},
			    text_of(c->item, "value")) != c->negated)
		return;
	str_print(actual, sizeof(actual), "\"%.40s\"", cli);
	tally_miss(t, call->name, actual,
		   "caller id (%s of %s) of call %.60s was \"%.60s\", expected "
		   "%.100s",
		   fields[c->choice >> 8], header_of(c), call->name, cli,
		   expected);
}

static int judge(const struct judge_input *in, const struct condition *c,
		 json_t *verdicts)
{
	const struct call_record *calls = RECORDS(in, calls, call_record);
	enum text_test test = test_of(c);
	char text[256], expected[128];
	struct tally t = {0};

	if (test == TEXT_ISPRESENT || test == TEXT_NOTPRESENT)
		str_print(expected, sizeof(expected), "%s", text_tests[test]);
	else
		str_print(expected, sizeof(expected), "%s \"%.80s\"",
			  text_tests[test], text_of(c->item, "value"));
	str_print(text, sizeof(text), "%s: caller id (%s of %s) %s",
		  c->set->role, fields[c->choice >> 8], header_of(c), expected);
	for (size_t i = 0; i < in->calls.count; i++)
		if (strcmp(calls[i].role, c->set->role) == 0 &&
		    !calls[i].outgoing)
			judge_call(&t, in, c, &calls[i], expected);
	return tally_verdict(&t, c, text, expected, "",
			     "no call came in, so there is no caller id",
			     verdicts);
}

/* clang-format off */
static const struct condition_field cli_fields[] = {
	{.name = "field", .word = "Part", .choices = fields, .fallback = "number"},
	{.name = "header", .word = "Header field", .choices = headers, .fallback = "From"},
	{.name = "type", .word = "Test", .choices = text_tests},
	{.name = "value", .word = "Text", .only = "type is isnot startswith endswith has hasnot"},
	{.name = NULL},
};
/* clang-format on */

const struct condition_type condition_cli = {
	.suffix = "cli-conditions",
	.word = "Caller id",
	.scope = "every incoming call",
	.help = "the caller id in the INVITE of every incoming call; there must be at least one call",
	.fields = cli_fields,
	.options = (const char *const[]){NULL},
	.needs_messages = true,
	.parse = parse,
	.judge = judge,
};
