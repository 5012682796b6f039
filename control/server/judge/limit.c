#include "base/str.h"
#include "control/server/judge/condition.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const char *const compare_names[] = {"ge", "le", "gt", "lt", "eq", NULL};

static unsigned decimals_of(const char *text)
{
	const char *point = strchr(text, '.');

	return point ? (unsigned)strspn(point + 1, "0123456789") : 0;
}

int limit_parse(struct limit *ret, const json_t *item, double min, double max,
		struct judge_problem *problem)
{
	const json_t *type = json_object_get(item, "type");
	const json_t *value = json_object_get(item, "value");
	char text[NUMBER_TEXT_BYTES];
	const char *written = text;
	size_t i = 0;

	while (compare_names[i] &&
	       (!json_is_string(type) ||
		strcmp(compare_names[i], json_string_value(type)) != 0))
		i++;
	if (!compare_names[i])
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
		/* No measured figure is 4.4 to the last bit. */
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
