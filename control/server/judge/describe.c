#include "control/server/judge/describe.h"

#include "control/server/judge/condition_type.h"

#include <string.h>

/* Words of choices. A choice that is not here is its own word: names of states,
 * measures and header fields. */
static const struct {
	const char *choice;
	const char *word;
} words[] = {
	{"ge", "at least"},
	{"le", "at most"},
	{"gt", "more than"},
	{"lt", "less than"},
	{"eq", "exactly"},
	{"is", "is"},
	{"isnot", "is not"},
	{"startswith", "starts with"},
	{"endswith", "ends with"},
	{"has", "has"},
	{"hasnot", "has not"},
	{"ispresent", "is present"},
	{"notpresent", "is not present"},
	{"in", "received"},
	{"out", "sent"},
	{"avg", "average"},
	{"min", "lowest"},
	{"max", "highest"},
	{"p75", "75th percentile"},
	{"p90", "90th percentile"},
	{"p95", "95th percentile"},
	{"asr", "answer-seizure ratio"},
	{"answer_seizure_ratio", "answer-seizure ratio"},
	{"pdd_p95", "95th percentile of the post-dial delay"},
	{"mos_p05", "5th percentile of the MOS"},
	{"loss_rate", "packet loss"},
	{"rtpevent", "RFC 4733"},
	{"info", "INFO"},
	{"inband", "tones"},
	{"any", "any way"},
	{"sdp", "session description"},
	{"message", "whole message"},
	{"filter_proxy", "address of the peer"},
	{"uri", "URI"},
	{"heard", "sound"},
	{"silence", "longest silence"},
	{"one_way", "longest one-way audio"},
	{"prompt", "likeness to the prompt"},
	{"prompt_begin", "beginning of the prompt"},
	{"strict_order", "in this order"},
	{"stop_early", "end the run at the answer"},
};

static const char *word_of(const char *choice)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].choice, choice) == 0)
			return words[i].word;
	}
	return choice;
}

static json_t *choice_entry(const char *choice)
{
	return json_pack("{s:s, s:s}", "key", choice, "word", word_of(choice));
}

static json_t *choices_of(const struct condition_field *f)
{
	json_t *list = json_array();
	const char *name;

	for (unsigned i = 0; f->choices && f->choices[i]; i++)
		json_array_append_new(list, choice_entry(f->choices[i]));
	for (unsigned i = 0; f->choice_at && (name = f->choice_at(i)); i++)
		json_array_append_new(list, choice_entry(name));
	return list;
}

/* {min, max, unit}; units begin with a blank where sentences need one. */
static json_t *range_entry(struct condition_range range)
{
	const char *unit = range.unit + strspn(range.unit, " ");

	return json_pack("{s:f, s:f, s:s}", "min", range.min, "max", range.max,
			 "unit", unit);
}

/* Ranges by the choice of another member: {choice: {min, max, unit}}. */
static json_t *ranges_of(const struct condition_type *type,
			 const struct condition_field *f)
{
	const struct condition_field *by =
		condition_field_find(type, f->range_by);
	json_t *choices = by ? choices_of(by) : NULL;
	json_t *ranges = json_object(), *choice;
	size_t i;

	json_array_foreach(choices, i, choice)
	{
		const struct condition_range range = f->range((unsigned)i);

		if (range.unit)
			json_object_set_new(ranges,
					    json_string_value(json_object_get(
						    choice, "key")),
					    range_entry(range));
	}
	json_decref(choices);
	return ranges;
}

/* "field header" as {field: "field", choices: ["header"]}. */
static json_t *only_of(const char *only)
{
	size_t len = strcspn(only, " ");
	json_t *choices = json_array();
	json_t *entry = json_pack("{s:o, s:o}", "key", json_stringn(only, len),
				  "choices", choices);

	for (only += len; *only; only += len) {
		only += strspn(only, " ");
		len = strcspn(only, " ");
		json_array_append_new(choices, json_stringn(only, len));
	}
	return entry;
}

static json_t *field_entry(const struct condition_type *type,
			   const struct condition_field *f)
{
	json_t *entry =
		json_pack("{s:s, s:s, s:b}", "key", f->name, "word", f->word,
			  "required", !f->optional && !f->fallback);

	if (f->choices || f->choice_at)
		json_object_set_new(entry, "choices", choices_of(f));
	if (f->fallback)
		json_object_set_new(entry, "default", json_string(f->fallback));
	if (f->range && f->range_by) {
		json_object_set_new(entry, "range_by",
				    json_string(f->range_by));
		json_object_set_new(entry, "ranges", ranges_of(type, f));
	} else if (f->range) {
		json_object_set_new(entry, "range", range_entry(f->range(0)));
	}
	if (f->only)
		json_object_set_new(entry, "only", only_of(f->only));
	if (f->help)
		json_object_set_new(entry, "help", json_string(f->help));
	return entry;
}

static json_t *type_entry(const struct condition_type *type)
{
	json_t *fields = json_array(), *options = json_array();

	for (const struct condition_field *f = type->fields; f->name; f++)
		json_array_append_new(fields, field_entry(type, f));
	for (size_t i = 0; type->options[i]; i++)
		json_array_append_new(options, choice_entry(type->options[i]));
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "key", type->suffix,
			 "word", type->word, "scope", type->scope, "help",
			 type->help, "fields", fields, "options", options);
}

json_t *judge_describe(void)
{
	json_t *types = json_array();
	const struct condition_type *type;

	for (size_t i = 0; (type = condition_type_at(i)); i++) {
		if (type->parse)
			json_array_append_new(types, type_entry(type));
	}
	return types;
}
