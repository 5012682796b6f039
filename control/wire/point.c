#include "control/wire/point.h"

#include "control/wire/event.h"
#include "control/wire/put_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

json_t *wire_distribution_encode(const struct distribution *d)
{
	return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "n",
			 (json_int_t)d->n, "min", d->min, "max", d->max, "avg",
			 d->avg, "median", d->median, "p75", d->p75, "p90",
			 d->p90, "p95", d->p95, "stddev", d->stddev);
}

static int distribution_decode(struct distribution *ret, json_t *object)
{
	struct distribution d = {0};
	const struct {
		const char *name;
		double *value;
	} fields[] = {
		{"min", &d.min},       {"max", &d.max},       {"avg", &d.avg},
		{"median", &d.median}, {"p75", &d.p75},       {"p90", &d.p90},
		{"p95", &d.p95},       {"stddev", &d.stddev},
	};
	json_int_t n = json_integer_value(json_object_get(object, "n"));

	if (n <= 0)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		json_t *value = json_object_get(object, fields[i].name);

		if (!json_is_number(value) ||
		    !isfinite(json_number_value(value)))
			return -EINVAL;
		*fields[i].value = json_number_value(value);
	}
	d.n = (uint64_t)n;
	*ret = d;
	return 0;
}

json_t *wire_point_encode(const struct wire_point *point)
{
	json_t *object = wire_distribution_encode(&point->d);
	int err;

	if (!object)
		return NULL;
	err = put_value(object, "role", json_string(point->role));
	err |= put_value(object, "dir",
			 json_string(point->outgoing ? "out" : "in"));
	err |= put_value(object, "measure",
			 json_string(measure_name(point->measure)));
	err |= put_value(object, "t", json_integer(point->t_s));
	if (point->sketch)
		err |= json_object_set(object, "sketch", point->sketch);
	return put_finish(object, err);
}

static int refuse(char *reason, const char *text)
{
	snprintf(reason, WIRE_REASON_BYTES, "%s", text);
	return -EINVAL;
}

int wire_point_decode(struct wire_point *ret, json_t *object,
		      char reason[static WIRE_REASON_BYTES])
{
	const char *role = json_string_value(json_object_get(object, "role"));
	const char *dir = json_string_value(json_object_get(object, "dir"));
	const char *name =
		json_string_value(json_object_get(object, "measure"));
	json_t *t = json_object_get(object, "t");
	json_t *sketch = json_object_get(object, "sketch");
	struct wire_point p = {.role = role};

	if (!role || role[0] == '\0' || strlen(role) > 32)
		return refuse(reason, "/role: must be a role's name");
	if (!dir || (strcmp(dir, "in") != 0 && strcmp(dir, "out") != 0))
		return refuse(reason, "/dir: must be in or out");
	p.outgoing = strcmp(dir, "out") == 0;
	if (!name || !measure_parse(name, &p.measure))
		return refuse(reason, "/measure: there is no such measure");
	if (!json_is_integer(t) || json_integer_value(t) < 0)
		return refuse(reason, "/t: must be seconds since 1970");
	p.t_s = json_integer_value(t);
	if (distribution_decode(&p.d, object))
		return refuse(reason,
			      "/: the distribution is incomplete or empty");
	if (sketch && !json_is_null(sketch)) {
		if (!json_is_object(sketch))
			return refuse(reason, "/sketch: must be an object");
		p.sketch = sketch;
	}
	*ret = p;
	return 0;
}
