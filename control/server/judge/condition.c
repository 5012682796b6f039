#include "control/server/judge/condition.h"

#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct condition_type *const types[] = {
	&condition_state,      &condition_pdd,
	&condition_mos,        &condition_loss,
	&condition_jitter,     &condition_rtt,
	&condition_call_count, &condition_register_time,
	&condition_sip,        &condition_rtp,
	&condition_dtmf,       &condition_cli,
	&condition_audio,      &condition_confidence,
	&condition_regression, &condition_transcription,
};

#define DECIMALS_MAX 300 /* 10 to their power is a double */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int condition_refuse(struct judge_problem *problem, const char *member,
		     const char *fmt, ...)
{
	va_list ap;

	str_print(problem->pointer, sizeof(problem->pointer), "%s%s",
		  member[0] ? "/" : "", member);
	va_start(ap, fmt);
	(void)vsnprintf(problem->reason, sizeof(problem->reason), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int condition_choice(unsigned *ret, const struct condition *c,
		     const char *member, const char *const *names,
		     struct judge_problem *problem)
{
	const char *value = json_string_value(json_object_get(c->item, member));
	char list[JUDGE_REASON_BYTES] = "";
	size_t used = 0;

	for (unsigned i = 0; names[i]; i++) {
		if (value && strcmp(value, names[i]) == 0) {
			*ret = i;
			return 0;
		}
		if (used + strlen(names[i]) + 3 < sizeof(list))
			used += (size_t)sprintf(list + used, "%s%s",
						i ? ", " : "", names[i]);
	}
	return condition_refuse(problem, member, "%s must be one of %.200s",
				member, list);
}

const struct condition_field *condition_field_find(
	const struct condition_type *type, const char *name)
{
	for (const struct condition_field *f = type->fields; f->name; f++) {
		if (strcmp(f->name, name) == 0)
			return f;
	}
	return NULL;
}

const struct condition_type *condition_type_at(size_t i)
{
	return i < COUNT(types) ? types[i] : NULL;
}

/* Put the pointer to the entry before the parser's own pointer. */
static int within(struct judge_problem *problem, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int within(struct judge_problem *problem, const char *fmt, ...)
{
	char inner[JUDGE_POINTER_BYTES], outer[64];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(outer, sizeof(outer), fmt, ap);
	va_end(ap);
	memcpy(inner, problem->pointer, sizeof(inner));
	str_print(problem->pointer, sizeof(problem->pointer), "%s%s", outer,
		  inner);
	return -EINVAL;
}

static int parse_item(struct condition *c, const struct condition_set *set,
		      json_t *item, struct judge_problem *problem)
{
	const char *key;
	json_t *value;

	if (!json_is_object(item))
		return condition_refuse(problem, "",
					"a condition must be an object");
	json_object_foreach(item, key, value)
	{
		if (!condition_field_find(set->type, key))
			return condition_refuse(problem, key,
						"%.60s has no field '%.60s'",
						set->name, key);
	}
	c->set = set;
	c->item = item;
	return set->type->parse(c, problem);
}

static int parse_items(struct condition_set *set, json_t *items,
		       struct judge_problem *problem)
{
	json_t *item;
	size_t i;

	if (!json_is_array(items))
		return condition_refuse(problem, "conditions",
					"conditions must be an array");
	if (json_array_size(items) > JUDGE_CONDITIONS_MAX)
		return condition_refuse(problem, "conditions",
					"more than %u conditions",
					JUDGE_CONDITIONS_MAX);
	if (!json_array_size(items))
		return 0;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): found before */
	if (!set->type->parse)
		return condition_refuse(problem, "conditions/0",
					"agents of this version transcribe "
					"nothing: %.60s must be empty",
					set->name);
	set->conditions =
		calloc(json_array_size(items), sizeof(*set->conditions));
	if (!set->conditions)
		return -ENOMEM;
	json_array_foreach(items, i, item)
	{
		if (parse_item(&set->conditions[i], set, item, problem))
			return within(problem, "/conditions/%zu", i);
		set->count++;
	}
	return 0;
}

static int parse_options(struct condition_set *set, json_t *options,
			 struct judge_problem *problem)
{
	json_t *option;
	size_t i;

	if (!options)
		return 0;
	if (!json_is_array(options))
		return condition_refuse(problem, "options",
					"options must be an array");
	json_array_foreach(options, i, option)
	{
		const char *name = json_string_value(option);
		uint32_t bit = 0;

		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
		for (unsigned o = 0; set->type->options[o]; o++)
			if (name && strcmp(set->type->options[o], name) == 0)
				bit = 1u << o;
		if (!bit) {
			condition_refuse(problem, "",
					 "%.60s has no such option", set->name);
			return within(problem, "/options/%zu", i);
		}
		set->options |= bit;
	}
	return 0;
}

/* Get the role: the part before the type's own name. */
static bool role_valid(const char *role)
{
	size_t len = strspn(role, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return len > 0 && len <= 32 && !role[len];
}

static int find_type(struct condition_set *set, const char *role,
		     const char *name, struct judge_problem *problem)
{
	size_t len = strlen(role);
	const char *suffix;

	if (!role_valid(role))
		return condition_refuse(problem, "role",
					"'%.40s' is no role (letters, digits "
					"and _, at most 32)",
					role);
	if (strncmp(name, role, len) != 0 || name[len] != '-')
		return condition_refuse(problem, "condition_type",
					"'%.80s' does not start with the role "
					"'%s-'",
					name, role);
	suffix = name + len + 1;
	for (size_t i = 0; i < COUNT(types); i++)
		if (strcmp(types[i]->suffix, suffix) == 0)
			set->type = types[i];
	if (!set->type)
		return condition_refuse(problem, "condition_type",
					"unknown condition type '%.80s'", name);
	set->role = role;
	set->name = name;
	return 0;
}

static int parse_set(struct condition_set *set, const char *role,
		     const char *name, json_t *value,
		     struct judge_problem *problem)
{
	static const char *const members[] = {"role", "condition_type",
					      "conditions", "options", NULL};
	const char *key;
	json_t *unused;
	int err;

	err = find_type(set, role, name, problem);
	if (err)
		return err;
	if (!json_is_object(value))
		return condition_refuse(problem, "",
					"must be an object with an array "
					"'conditions'");
	json_object_foreach(value, key, unused)
	{
		if (!str_listed(members, key))
			return condition_refuse(problem, key,
						"unknown key '%.60s'", key);
	}
	err = parse_items(set, json_object_get(value, "conditions"), problem);
	if (!err)
		err = parse_options(set, json_object_get(value, "options"),
				    problem);
	return err;
}

struct judge_conditions *judge_conditions_free(struct judge_conditions *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; c->sets && i < c->count; i++)
		free(c->sets[i].conditions);
	free(c->sets);
	json_decref(c->kept);
	free(c);
	return NULL;
}

static bool twice(const struct judge_conditions *c, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(c->sets[k].name, c->sets[i].name) == 0)
			return true;
	return false;
}

static int parse_all(struct judge_conditions *c, struct judge_problem *problem)
{
	size_t total = 0;

	for (size_t i = 0; i < c->count; i++) {
		json_t *value = json_array_get(c->kept, i);
		const char *role =
			json_string_value(json_object_get(value, "role"));
		const char *name = json_string_value(
			json_object_get(value, "condition_type"));
		int err;

		if (role && name) {
			err = parse_set(&c->sets[i], role, name, value,
					problem);
		} else {
			err = condition_refuse(
				problem, role ? "condition_type" : "role",
				"must be an object with role and "
				"condition_type");
		}
		if (!err && twice(c, i))
			err = condition_refuse(problem, "condition_type",
					       "%.80s stands there twice",
					       name);
		total += c->sets[i].count;
		if (!err && total > JUDGE_CONDITIONS_MAX)
			err = condition_refuse(problem, "conditions",
					       "more than %u conditions",
					       JUDGE_CONDITIONS_MAX);
		if (err == -EINVAL)
			return within(problem, "/%zu", i);
		if (err)
			return err;
	}
	return 0;
}

int judge_conditions_new(struct judge_conditions **ret, json_t *array,
			 struct judge_problem *problem)
{
	struct judge_conditions *c;
	int err;

	if (!json_is_array(array))
		return condition_refuse(problem, "",
					"conditions must be an array");
	if (json_array_size(array) > JUDGE_CONDITIONS_MAX)
		return condition_refuse(problem, "",
					"more than %u condition types",
					JUDGE_CONDITIONS_MAX);
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->kept = json_incref(array);
	c->count = json_array_size(array);
	if (c->count) {
		c->sets = calloc(c->count, sizeof(*c->sets));
		if (!c->sets) {
			judge_conditions_free(c);
			return -ENOMEM;
		}
	}
	err = parse_all(c, problem);
	if (err) {
		judge_conditions_free(c);
		return err;
	}
	*ret = c;
	return 0;
}

int judge_conditions_check(const char *role, const char *condition_type,
			   json_t *value, struct judge_problem *problem)
{
	struct condition_set set = {0};
	int err = parse_set(&set, role, condition_type, value, problem);

	if (err == -EINVAL && !set.type) /* the name is wrong, not the value */
		problem->pointer[0] = '\0';
	free(set.conditions);
	return err;
}

bool judge_conditions_need_messages(const struct judge_conditions *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->sets[i].count && c->sets[i].type->needs_messages)
			return true;
	return false;
}

bool judge_conditions_need_audio(const struct judge_conditions *c,
				 const char *role)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct condition_set *set = &c->sets[i];

		if (strcmp(set->role, role) != 0)
			continue;
		if (set->count && set->type == &condition_audio)
			return true;
		for (size_t k = 0; k < set->count; k++)
			if (set->type->needs_audio &&
			    set->type->needs_audio(&set->conditions[k]))
				return true;
	}
	return false;
}

bool judge_conditions_need_points(const struct judge_conditions *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->sets[i].count && c->sets[i].type->needs_points)
			return true;
	return false;
}

bool judge_conditions_stop_early(const struct judge_conditions *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->sets[i].count && c->sets[i].options &&
		    c->sets[i].type->answer)
			return true;
	return false;
}

int judge_conditions_decided(const struct judge_conditions *c,
			     const struct judge_input *in)
{
	bool open = false;

	for (size_t i = 0; i < c->count; i++) {
		const struct condition_set *set = &c->sets[i];

		for (size_t k = 0; set->type->answer && k < set->count; k++) {
			enum condition_answer answer;
			int err = set->type->answer(in, &set->conditions[k],
						    &answer);

			if (err)
				return err;
			if (answer == ANSWER_FAILS)
				return 1;
			open |= answer == ANSWER_OPEN;
		}
	}
	return !open;
}

unsigned judge_conditions_need_earlier(const struct judge_conditions *c)
{
	unsigned most = 0;

	for (size_t i = 0; i < c->count; i++)
		for (size_t k = 0; k < c->sets[i].count; k++)
			if (c->sets[i].conditions[k].runs > most)
				most = c->sets[i].conditions[k].runs;
	return most;
}

/* ---- figures and limits ---- */

const char *const condition_compares[] = {"ge", "le", "gt", "lt", "eq", NULL};
const char *const condition_directions[] = {"in", "out", NULL};
const char *const condition_statistics[] = {"avg", "min", "max", "median",
					    "p75", "p90", "p95", NULL};

/* Decimals to which a number is written: 2 of "4.41", 5 of "5e-05". */
static unsigned decimals_of(const char *text)
{
	const char *point = strchr(text, '.');
	const char *exponent = strpbrk(text, "eE");
	long decimals = point ? (long)strspn(point + 1, "0123456789") : 0;

	if (exponent)
		decimals -= strtol(exponent + 1, NULL, 10);
	return decimals < 0              ? 0
	       : decimals > DECIMALS_MAX ? DECIMALS_MAX
					 : (unsigned)decimals;
}

int limit_parse(struct limit *ret, const json_t *item, double min, double max,
		struct judge_problem *problem)
{
	const json_t *type = json_object_get(item, "type");
	const json_t *value = json_object_get(item, "value");
	char text[NUMBER_TEXT_BYTES];
	const char *written = text;
	size_t i = 0;

	while (condition_compares[i] &&
	       (!json_is_string(type) ||
		strcmp(condition_compares[i], json_string_value(type)) != 0))
		i++;
	if (!condition_compares[i])
		return condition_refuse(problem, "type",
					"type must be one of ge, le, gt, lt, "
					"eq");
	if (json_is_string(value))
		written = json_string_value(value);
	else if (json_is_number(value))
		str_print(text, sizeof(text), "%.10g",
			  json_number_value(value));
	else
		return condition_refuse(problem, "value",
					"value must be a number, as a string "
					"or a JSON number");
	if (str_to_double(written, &ret->value) || ret->value < min ||
	    ret->value > max)
		return condition_refuse(problem, "value",
					"value must be a number from %g to %g",
					min, max);
	ret->compare = (enum compare)i;
	ret->decimals = decimals_of(written);
	return 0;
}

bool limit_holds(const struct limit *limit, double actual)
{
	double scale;

	switch (limit->compare) {
	case COMPARE_GE:
		return actual >= limit->value;
	case COMPARE_LE:
		return actual <= limit->value;
	case COMPARE_GT:
		return actual > limit->value;
	case COMPARE_LT:
		return actual < limit->value;
	case COMPARE_EQ:
		/* `eq` compares rounded figures: no measured value equals 4.4
		 * exactly. */
		scale = pow(10, limit->decimals);
		return round(actual * scale) == round(limit->value * scale);
	}
	return false;
}

void number_text(char text[static NUMBER_TEXT_BYTES], double value,
		 const char *unit)
{
	char digits[32];
	size_t len;

	/* Six decimals at most, as the API writes numbers. */
	if (fabs(value) >= 1e15) {
		str_print(text, NUMBER_TEXT_BYTES, "%g%s", value, unit);
		return;
	}
	str_print(digits, sizeof(digits), "%.6f", value);
	len = strlen(digits);
	while (len && digits[len - 1] == '0')
		digits[--len] = '\0';
	if (len && digits[len - 1] == '.')
		digits[--len] = '\0';
	str_print(text, NUMBER_TEXT_BYTES, "%s%s",
		  strcmp(digits, "-0") == 0 ? "0" : digits, unit);
}

void limit_text(char text[static LIMIT_TEXT_BYTES], const struct limit *limit,
		const char *unit)
{
	static const char *const words[] = {
		[COMPARE_GE] = "at least",  [COMPARE_LE] = "at most",
		[COMPARE_GT] = "more than", [COMPARE_LT] = "less than",
		[COMPARE_EQ] = "exactly",
	};
	char number[NUMBER_TEXT_BYTES];

	number_text(number, limit->value, unit);
	str_print(text, LIMIT_TEXT_BYTES, "%s %s", words[limit->compare],
		  number);
}

/* ---- verdicts ---- */

bool tally_figure(struct tally *t, const struct limit *limit, double figure)
{
	t->subjects++;
	if (!t->figures || figure < t->lowest)
		t->lowest = figure;
	if (!t->figures || figure > t->highest)
		t->highest = figure;
	t->figures++;
	return limit_holds(limit, figure);
}

/* " caller-3 (PCMA), caller-4 (G722), ..." */
static void also_missed(struct tally *t, const char *call)
{
	size_t used = strlen(t->also);
	char one[80];

	if (!call || t->also_full)
		return;
	str_print(one, sizeof(one), "%s%.40s%s%s%s", used ? ", " : "", call,
		  t->label && t->label[0] ? " (" : "", t->label ? t->label : "",
		  t->label && t->label[0] ? ")" : "");
	t->also_full = used + strlen(one) + sizeof(", ...") > sizeof(t->also);
	str_print(t->also + used, sizeof(t->also) - used, "%s",
		  t->also_full ? ", ..." : one);
}

void tally_miss(struct tally *t, const char *call, const char *actual,
		const char *fmt, ...)
{
	va_list ap;

	if (t->misses++) {
		also_missed(t, call);
		return;
	}
	t->miss_call = call;
	if (str_copy(t->actual, sizeof(t->actual), actual))
		memcpy(t->actual, "?", 2);
	va_start(ap, fmt);
	(void)vsnprintf(t->miss, sizeof(t->miss), fmt, ap);
	va_end(ap);
}

static void range_text(char *text, size_t size, const struct tally *t,
		       const char *unit)
{
	char low[NUMBER_TEXT_BYTES], high[NUMBER_TEXT_BYTES];

	text[0] = '\0';
	if (!t->figures)
		return;
	number_text(low, t->lowest, t->lowest == t->highest ? unit : "");
	number_text(high, t->highest, unit);
	if (t->lowest == t->highest)
		str_print(text, size, "%s", low);
	else
		str_print(text, size, "%s to %s", low, high);
}

int tally_verdict(const struct tally *t, const struct condition *c,
		  const char *text, const char *expected, const char *unit,
		  const char *none, json_t *verdicts)
{
	char range[2 * NUMBER_TEXT_BYTES + 8];
	char sentence[2 * JUDGE_REASON_BYTES];
	struct verdict v = {
		.role = c->set->role,
		.condition_type = c->set->name,
		.text = text,
		.expected = expected,
		.actual = range,
		.sentence = sentence,
		.passed = t->subjects && !t->misses,
	};

	range_text(range, sizeof(range), t, unit);
	if (!range[0])
		(void)str_copy(range, sizeof(range), t->held);
	if (!t->subjects) {
		str_print(sentence, sizeof(sentence), "%s: %s, expected %s",
			  c->set->role, none, expected);
	} else if (t->misses) {
		int used = str_print(sentence, sizeof(sentence), "%s: %s",
				     c->set->role, t->miss);

		if (used > 0 && t->subjects > 1)
			str_print(sentence + used,
				  sizeof(sentence) - (size_t)used,
				  " (%zu of %zu do not hold it%s%s)", t->misses,
				  t->subjects, t->also[0] ? "; also " : "",
				  t->also);
		v.call = t->miss_call;
		v.actual = t->actual;
	}
	return verdict_add(verdicts, &v);
}

/* ---- a role, and a run ---- */

static bool replaces_calls(const struct condition *c)
{
	if (c->set->type == &condition_state)
		return strncmp(ua_state_name(c->state), "CALL_", 5) == 0;
	return c->set->type == &condition_call_count ||
	       (c->set->type->replaces_calls &&
		c->set->type->replaces_calls(c));
}

static bool replaces_registers(const struct condition *c)
{
	return c->set->type == &condition_state && c->state <= UA_UNREGISTERING;
}

struct judge_replaced judge_conditions_replace(const struct judge_conditions *c,
					       const char *role)
{
	struct judge_replaced replaced = {0};

	for (size_t i = 0; i < c->count; i++) {
		const struct condition_set *set = &c->sets[i];

		if (strcmp(set->role, role) != 0)
			continue;
		for (size_t k = 0; k < set->count; k++) {
			replaced.calls |= replaces_calls(&set->conditions[k]);
			replaced.registers |=
				replaces_registers(&set->conditions[k]);
		}
	}
	return replaced;
}

static int judge_set(const struct judge_input *in,
		     const struct condition_set *set, json_t *verdicts)
{
	int err = 0;

	for (size_t i = 0; !err && i < set->count; i++)
		err = set->type->judge(in, &set->conditions[i], verdicts);
	if (!err && set->type->judge_set)
		err = set->type->judge_set(in, set, verdicts);
	return err;
}

int judge_conditions_judge(const struct judge_conditions *c,
			   const struct judge_input *in, json_t *verdicts)
{
	int err = 0;

	for (size_t i = 0; !err && i < c->count; i++)
		err = judge_set(in, &c->sets[i], verdicts);
	return err;
}
