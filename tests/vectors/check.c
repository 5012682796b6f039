#include "tests/vectors/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void check_fail(struct check *c, const char *name, const char *what)
{
	c->failed++;
	if (c->failed <= 40)
		fprintf(stderr, "%s: %s: %s\n", c->where, name, what);
}

const json_t *check_member(struct check *c, const json_t *object,
			   const char *name)
{
	const json_t *v = json_object_get(object, name);

	c->compared++;
	if (!v)
		check_fail(c, name, "not in the expectation");
	return v;
}

void check_int(struct check *c, const json_t *object, const char *name,
	       int64_t got)
{
	const json_t *v = check_member(c, object, name);
	char text[100];

	if (!v || (json_is_integer(v) && json_integer_value(v) == got))
		return;
	snprintf(text, sizeof(text), "got %lld, expected %lld", (long long)got,
		 (long long)json_integer_value(v));
	check_fail(c, name, text);
}

void check_real(struct check *c, const json_t *object, const char *name,
		double got, double tolerance)
{
	check_maybe(c, object, name, true, got, tolerance);
}

void check_maybe(struct check *c, const json_t *object, const char *name,
		 bool known, double got, double tolerance)
{
	const json_t *v = check_member(c, object, name);
	char text[120];

	if (!v)
		return;
	if (json_is_null(v)) {
		if (known)
			check_fail(c, name, "expected null");
		return;
	}
	if (known && json_is_number(v) &&
	    fabs(json_number_value(v) - got) <= tolerance)
		return;
	snprintf(text, sizeof(text), "got %s%.9g, expected %.9g",
		 known ? "" : "unknown ", got, json_number_value(v));
	check_fail(c, name, text);
}

void check_bool(struct check *c, const json_t *object, const char *name,
		bool got)
{
	const json_t *v = check_member(c, object, name);

	if (v && (!json_is_boolean(v) || json_is_true(v) != got))
		check_fail(c, name, got ? "got true" : "got false");
}

void check_text(struct check *c, const json_t *object, const char *name,
		const char *got)
{
	const json_t *v = check_member(c, object, name);

	if (v && (!json_is_string(v) || strcmp(json_string_value(v), got) != 0))
		check_fail(c, name, got);
}
