#include "control/wire/duration.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DURATION_S_MAX 86400.0
#define TEXT_BYTES_MAX 64

static bool in_range(double s)
{
	return s >= 0 && s <= DURATION_S_MAX;
}

/** Parse "a" or "a,b". @return count of numbers; 0 neither form */
static int numbers(const char *text, double *a, double *b)
{
	char copy[TEXT_BYTES_MAX];
	char *comma;

	if (str_copy(copy, sizeof(copy), text))
		return 0;
	comma = strchr(copy, ',');
	if (comma)
		*comma = '\0';
	if (str_to_double(copy, a))
		return 0;
	if (!comma)
		return 1;
	return str_to_double(comma + 1, b) ? 0 : 2;
}

int wire_duration_parse(const char *text, struct wire_duration *ret)
{
	static const struct {
		const char *prefix;
		int kind;
		int count;
	} forms[] = {
		{"uniform:", WIRE_DURATION_UNIFORM, 2},
		{"exponential:", WIRE_DURATION_EXPONENTIAL, 1},
		{"normal:", WIRE_DURATION_NORMAL, 2},
		{"", WIRE_DURATION_FIXED, 1},
	};
	struct wire_duration d = {.kind = WIRE_DURATION_FIXED};
	size_t i = 0;

	/* The last form has an empty prefix: every text matches one. */
	while (strncmp(text, forms[i].prefix, strlen(forms[i].prefix)) != 0)
		i++;
	if (numbers(text + strlen(forms[i].prefix), &d.a_s, &d.b_s) !=
	    forms[i].count)
		return -EINVAL;
	if (!in_range(d.a_s) || !in_range(d.b_s))
		return -EINVAL;
	if (forms[i].kind == WIRE_DURATION_UNIFORM && d.b_s < d.a_s)
		return -EINVAL;
	switch (forms[i].kind) {
	case WIRE_DURATION_UNIFORM:
		d.kind = WIRE_DURATION_UNIFORM;
		break;
	case WIRE_DURATION_EXPONENTIAL:
		d.kind = WIRE_DURATION_EXPONENTIAL;
		break;
	case WIRE_DURATION_NORMAL:
		d.kind = WIRE_DURATION_NORMAL;
		break;
	default:
		break;
	}
	*ret = d;
	return 0;
}
