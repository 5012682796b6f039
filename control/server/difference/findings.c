#include "control/server/difference/findings.h"

#include "base/buf.h"
#include "control/server/difference/tally.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SENTENCE_BYTES 600

static const char *const kind_names[DIFFERENCE_KINDS] = {
	[DIFFERENCE_TESTER] = "tester",
	[DIFFERENCE_CONDITION] = "condition",
	[DIFFERENCE_PARAMETER] = "parameter",
	[DIFFERENCE_RESPONSE] = "response",
	[DIFFERENCE_MESSAGE] = "message",
	[DIFFERENCE_ORDER] = "order",
	[DIFFERENCE_CODEC] = "codec",
	[DIFFERENCE_ENCRYPTION] = "encryption",
	[DIFFERENCE_MEDIA_ADDRESS] = "media_address",
	[DIFFERENCE_SDP] = "sdp",
	[DIFFERENCE_HEADER] = "header",
	[DIFFERENCE_SOFTWARE] = "software",
	[DIFFERENCE_AGENT] = "agent",
	[DIFFERENCE_RETRANSMISSION] = "retransmission",
	[DIFFERENCE_TIMING] = "timing",
	[DIFFERENCE_MEDIA] = "media",
};

/* What a condition is about. */
static const struct {
	const char *type; /* part of its condition_type */
	const char *text; /* part of its text, or NULL: any */
	unsigned scope;
} conditions[] = {
	{"built-in", "regist", EXPLAINS_REGISTER},
	{"built-in", NULL, EXPLAINS_CALLS},
	{"sipclient-state", "REGISTER", EXPLAINS_REGISTER},
	{"sipclient-state", "RTPESTAB", EXPLAINS_CALLS | EXPLAINS_RTP},
	{"sipclient-state", "RTCP", EXPLAINS_CALLS | EXPLAINS_RTP},
	{"sipclient-state", "MENC", EXPLAINS_CALLS | EXPLAINS_RTP},
	{"sipclient-state", "DTMF", EXPLAINS_CALLS | EXPLAINS_DTMF},
	{"sipclient-state", NULL, EXPLAINS_CALLS},
	{"call-count", NULL, EXPLAINS_CALLS},
	{"postdial-delay", NULL, EXPLAINS_DELAY},
	{"register-time", NULL, EXPLAINS_REGISTER_TIME},
	{"mos", NULL, EXPLAINS_MOS},
	{"loss", NULL, EXPLAINS_LOSS},
	{"jitter", NULL, EXPLAINS_JITTER},
	{"rtt", NULL, EXPLAINS_RTT},
	{"rtp-advanced", NULL, EXPLAINS_RTP},
	{"audio", NULL, EXPLAINS_AUDIO},
	{"dtmf", NULL, EXPLAINS_DTMF},
	{"cli", NULL, EXPLAINS_SIP},
	{"sip-", NULL, EXPLAINS_SIP},
};

static unsigned scope_of(const json_t *verdict)
{
	const char *type = text_of(verdict, "condition_type");
	const char *text = text_of(verdict, "text");

	for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++)
		if (strstr(type, conditions[i].type) &&
		    (!conditions[i].text || strstr(text, conditions[i].text)))
			return conditions[i].scope;
	return EXPLAINS_CALLS;
}

/* ---- adding ---- */

int finding_add(json_t *findings, const struct finding *f, const char *sentence,
		...)
{
	char text[SENTENCE_BYTES];
	json_t *object, *words;
	va_list args;

	va_start(args, sentence);
	vsnprintf(text, sizeof(text), sentence, args);
	va_end(args);
	words = f->words ? wire_text(f->words) : NULL;
	object = json_pack(
		"{s:i, s:I, s:o*, s:o, s:s, s:o, s:o, s:i, s:b, s:o}", "kind",
		(int)f->kind, "scope", (json_int_t)f->explains, "words", words,
		"same_as", wire_text(f->same_as ? f->same_as : text), "role",
		f->role ? f->role : "", "before",
		f->before ? wire_text(f->before) : json_null(), "after",
		f->after ? wire_text(f->after) : json_null(), "weight",
		f->weight, "single", f->single, "sentence", wire_text(text));
	return json_array_append_new(findings, object) ? -ENOMEM : 0;
}

/* ---- what a finding explains ---- */

static bool names(const char *text, const char *word)
{
	return word[0] && strcasestr(text, word);
}

/* A condition on SIP messages that contains a word of the finding. */
static bool mentions(const json_t *finding, const json_t *verdict)
{
	static const char *const members[] = {"text", "expected", "actual"};
	const char *words = text_of(finding, "words");

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		const char *text = text_of(verdict, members[i]);

		if (names(text, words) ||
		    names(text, text_of(finding, "after")) ||
		    names(text, text_of(finding, "before")))
			return true;
	}
	return false;
}

static bool explains(const json_t *finding, const json_t *verdict)
{
	unsigned scope =
		(unsigned)json_integer_value(json_object_get(finding, "scope"));
	unsigned about = scope_of(verdict);

	if (scope & about)
		return true;
	return scope & EXPLAINS_TEXT &&
	       (about == EXPLAINS_SIP ||
		json_integer_value(json_object_get(finding, "kind")) ==
			DIFFERENCE_CONDITION) &&
	       mentions(finding, verdict);
}

static json_t *explained(const json_t *finding, const json_t *verdicts)
{
	json_t *list = json_array(), *verdict;
	size_t i;

	json_array_foreach(verdicts, i, verdict)
	{
		if (!json_is_true(json_object_get(verdict, "passed")) &&
		    explains(finding, verdict))
			json_array_append(list,
					  json_object_get(verdict, "text"));
	}
	return list;
}

/* ---- rank ---- */

struct ranked {
	json_t *finding;
	json_t *explains; /* owned */
	size_t order;
};

static json_int_t number_of(const struct ranked *r, const char *member)
{
	return json_integer_value(json_object_get(r->finding, member));
}

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	size_t n = json_array_size(x->explains);
	size_t m = json_array_size(y->explains);

	if (n != m)
		return n > m ? -1 : 1;
	if (number_of(x, "kind") != number_of(y, "kind"))
		return number_of(x, "kind") < number_of(y, "kind") ? -1 : 1;
	if (number_of(x, "weight") != number_of(y, "weight"))
		return number_of(x, "weight") > number_of(y, "weight") ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Findings of the same kind that say the same of two roles are one. */
static json_t *without_repeats(const json_t *findings)
{
	json_t *seen = json_object(), *list = json_array(), *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
	{
		char key[KEY_BYTES + 20];

		snprintf(key, sizeof(key), "%lld|%s",
			 (long long)json_integer_value(
				 json_object_get(finding, "kind")),
			 text_of(finding, "same_as"));
		if (json_object_get(seen, key))
			continue;
		(void)json_object_set_new(seen, key, json_true());
		json_array_append(list, finding);
	}
	json_decref(seen);
	return list;
}

static json_t *shown(const struct ranked *r)
{
	return json_pack("{s:s, s:O, s:O, s:O, s:O, s:O}", "kind",
			 kind_names[number_of(r, "kind")], "sentence",
			 json_object_get(r->finding, "sentence"), "role",
			 json_object_get(r->finding, "role"), "before",
			 json_object_get(r->finding, "before"), "after",
			 json_object_get(r->finding, "after"), "explains",
			 r->explains);
}

json_t *findings_rank(json_t *findings, const json_t *verdicts)
{
	json_t *list = without_repeats(findings), *named = json_array();
	size_t count = 0, all = json_array_size(list), i;
	struct ranked *ranked = calloc(all + 1, sizeof(*ranked));
	json_t *ret = NULL;

	for (i = 0; ranked && i < all; i++) {
		json_t *finding = json_array_get(list, i);

		ranked[count] = (struct ranked){
			.finding = finding,
			.explains = explained(finding, verdicts),
			.order = i,
		};
		if (json_is_true(json_object_get(finding, "single")) &&
		    !json_array_size(ranked[count].explains))
			json_decref(ranked[count].explains);
		else
			count++;
	}
	if (ranked && named) {
		qsort(ranked, count, sizeof(*ranked), by_rank);
		for (i = 0; i < count && i < DIFFERENCE_NAMED_MAX; i++)
			json_array_append_new(named, shown(&ranked[i]));
		ret = json_pack("{s:O, s:I}", "differences", named, "further",
				(json_int_t)(count - i));
	}
	for (i = 0; ranked && i < count; i++)
		json_decref(ranked[i].explains);
	free(ranked);
	json_decref(named);
	json_decref(list);
	json_decref(findings);
	return ret;
}
