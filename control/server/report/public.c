#include "control/server/report/public.h"

#include "base/buf.h"
#include "base/str.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define TEXT_BYTES_MAX (1u << 20)
#define DIGITS         "0123456789*#ABCDabcd"

/* The state of a scan for digits. */
struct piece {
	const char *at;
	const char *end;
	bool digits; /* about DTMF: quoted texts are digits */
};

static bool has_word(const struct piece *p, const char *word)
{
	return memmem(p->at, (size_t)(p->end - p->at), word, strlen(word));
}

static bool begins(const struct piece *p, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(p->end - p->at) >= len && memcmp(p->at, word, len) == 0;
}

/* Count the digits at this place. */
static size_t run_of(const struct piece *p)
{
	size_t len = 0;

	while (p->at + len < p->end && strchr(DIGITS, p->at[len]))
		len++;
	return len;
}

static int take(struct buf *out, struct piece *p, size_t len)
{
	int err = buf_add(out, p->at, len);

	p->at += len;
	return err;
}

static int mask(struct buf *out, struct piece *p, size_t len)
{
	int err = 0;

	p->at += len;
	while (!err && len-- > 0)
		err = buf_print(out, PUBLIC_MASK);
	return err;
}

/* Mask the text between quotation marks: 'were "12"'. */
static int mask_quoted(struct buf *out, struct piece *p)
{
	int err = take(out, p, 1);

	while (!err && p->at < p->end && *p->at != '"')
		err = strchr(DIGITS, *p->at) ? mask(out, p, 1)
					     : take(out, p, 1);
	return !err && p->at < p->end ? take(out, p, 1) : err;
}

/* Get the length of a digit's state name. @return 0: there is none here */
static size_t state_of(const struct piece *p)
{
	static const char *const words[] = {"ASTERISK", "POUND"};
	size_t run = run_of(p);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (begins(p, words[i]))
			return strlen(words[i]);
	return run == 1 ? 1 : 0;
}

/* Mask digits behind known words: "assert_dtmf 12 5000", "digit 1 of",
 * "CALL_DTMF_1", and of the body of an INFO "Signal=1". */
static int mask_named(struct buf *out, struct piece *p)
{
	static const char *const words[] = {"dtmf ", "digit ",
					    "Signal=", "Signal= "};
	static const char state[] = "CALL_DTMF_";
	size_t len;
	int err;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct piece rest = *p;

		if (!begins(p, words[i]))
			continue;
		rest.at += strlen(words[i]);
		len = run_of(&rest);
		if (len == 0 ||
		    (rest.at + len < rest.end && !strchr(" '\r", rest.at[len])))
			continue; /* a word, as in "digit by" */
		err = take(out, p, strlen(words[i]));
		return err ? err : mask(out, p, len);
	}
	if (!begins(p, state))
		return take(out, p, 1);
	err = take(out, p, sizeof(state) - 1);
	len = state_of(p);
	if (err || !len)
		return err;
	p->at += len - 1;
	return mask(out, p, 1);
}

static int mask_piece(struct buf *out, struct piece p)
{
	int err = 0;

	p.digits = p.digits || has_word(&p, "digit") || has_word(&p, "dtmf ");
	while (!err && p.at < p.end)
		err = p.digits && *p.at == '"' ? mask_quoted(out, &p)
					       : mask_named(out, &p);
	return err;
}

static int mask_text(struct buf *out, const char *text, bool digits)
{
	int err = buf_add(out, "", 0);

	while (!err && *text) {
		const char *end = strstr(text, "; ");
		struct piece p = {.at = text, .digits = digits};

		p.end = end ? end + 2 : text + strlen(text);
		err = mask_piece(out, p);
		text = p.end;
	}
	return err;
}

int public_sentence(struct buf *out, const char *text)
{
	return mask_text(out, text, false);
}

/* ---- the report ---- */

static int mask_member(json_t *object, const char *name, bool digits)
{
	const char *text = json_string_value(json_object_get(object, name));
	struct buf out;
	int err;

	if (!text)
		return 0;
	buf_init(&out, TEXT_BYTES_MAX);
	err = mask_text(&out, text, digits);
	if (!err && json_object_set_new(object, name,
					wire_text(out.data ? out.data : "")))
		err = -ENOMEM;
	buf_release(&out);
	return err;
}

static int mask_verdict(json_t *verdict)
{
	static const char suffix[] = "-dtmf-conditions";
	static const char *const members[] = {"text", "expected", "actual",
					      "sentence"};
	const char *type = text_of(verdict, "condition_type");
	size_t len = strlen(type), end = sizeof(suffix) - 1;
	bool digits = len > end && strcmp(type + len - end, suffix) == 0;
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(members) / sizeof(*members); i++)
		err = mask_member(verdict, members[i], digits);
	return err;
}

/* "1234 5000": the digits of a dtmf or assert_dtmf action, and its times. */
static int mask_assertion(json_t *event)
{
	const char *action = text_of(event, "action");
	struct piece p = {.at = text_of(event, "argument")};
	struct buf out;
	int err;

	if (strcmp(action, "dtmf") != 0 && strcmp(action, "assert_dtmf") != 0)
		return mask_member(event, "argument", false);
	p.end = p.at + strlen(p.at);
	buf_init(&out, TEXT_BYTES_MAX);
	err = mask(&out, &p, strcspn(p.at, " "));
	if (!err)
		err = buf_print(&out, "%s", p.at);
	if (!err && json_object_set_new(event, "argument", wire_text(out.data)))
		err = -ENOMEM;
	buf_release(&out);
	return err ? err : mask_member(event, "text", true);
}

/* "CALL_DTMF_1"; the text of such a state is the digit, too. */
static int mask_state(json_t *event)
{
	static const char digits[] = "CALL_DTMF_";

	if (strncmp(text_of(event, "state"), digits, sizeof(digits) - 1) == 0)
		(void)json_object_del(event, "text");
	return mask_member(event, "state", false);
}

/* An agent's own addresses, in its network, too. */
static void remove_addresses(json_t *call)
{
	static const char *const sockets[] = {"rtp", "rtcp"};
	json_t *path = json_object_get(call, "path");

	for (size_t i = 0; i < sizeof(sockets) / sizeof(*sockets); i++)
		(void)json_object_del(json_object_get(path, sockets[i]),
				      "local");
}

int public_mask(json_t *report)
{
	json_t *item;
	size_t i;
	int err = mask_member(json_object_get(report, "run"),
			      "result_description", false);

	json_array_foreach(json_object_get(report, "verdicts"), i, item)
	{
		err = err ? err : mask_verdict(item);
	}
	json_array_foreach(json_object_get(report, "calls"), i, item)
	{
		remove_addresses(item);
	}
	json_array_foreach(json_object_get(report, "states"), i, item)
	{
		err = err ? err : mask_state(item);
	}
	json_array_foreach(json_object_get(report, "assertions"), i, item)
	{
		err = err ? err : mask_assertion(item);
	}
	json_array_foreach(json_object_get(report, "digits"), i, item)
	{
		if (!err && json_object_set_new(item, "digit",
						json_string(PUBLIC_MASK)))
			err = -ENOMEM;
	}
	return err;
}
