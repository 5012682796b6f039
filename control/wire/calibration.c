#include "control/wire/calibration.h"

#include "base/str.h"
#include "control/wire/text.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum kind {
	TEXT,
	COUNT,
	COUNT64,
	REAL,
};

struct member {
	const char *name;
	enum kind kind;
	size_t offset;
	size_t known; /* offset of its presence bit; 0: it is always there */
	double max;
};

#define AT(field) offsetof(struct wire_calibration, field)

/* Larger values are no measurement: a day, the most that a count of JSON holds exactly,
 * the most that a kernel slews its clock by (adjtimex(2): 500 ppm) with much room. */
#define DAY_S     86400.0
#define DAY_MS    (DAY_S * 1000)
#define COUNT_MAX 9007199254740992.0
#define PPM_MAX   1e6

/* `time` is the first member: no presence bit has the offset 0. */
static const struct member members[] = {
	{"time", TEXT, AT(time), 0, 0},
	{"version", TEXT, AT(version), 0, 0},
	{"kernel", TEXT, AT(kernel), 0, 0},
	{"scheduling", TEXT, AT(scheduling), 0, 0},
	{"limited_by", TEXT, AT(limited_by), 0, 0},
	{"processors", COUNT, AT(processors), 0, 65536},
	{"duration_s", REAL, AT(duration_s), 0, DAY_S},
	{"calls", COUNT, AT(calls), 0, WIRE_CALIBRATION_CALLS_MAX},
	{"lateness_p99_ms", REAL, AT(lateness_p99_ms), 0, DAY_MS},
	{"bounds_calls", COUNT, AT(bounds_calls), 0,
	 WIRE_CALIBRATION_CALLS_MAX},
	{"packets", COUNT64, AT(packets), 0, COUNT_MAX},
	{"lost", COUNT64, AT(lost), 0, COUNT_MAX},
	{"jitter_median_ms", REAL, AT(jitter_median_ms), 0, DAY_MS},
	{"jitter_max_ms", REAL, AT(jitter_max_ms), 0, DAY_MS},
	{"rtt_median_ms", REAL, AT(rtt_median_ms), 0, DAY_MS},
	{"rtt_max_ms", REAL, AT(rtt_max_ms), 0, DAY_MS},
	{"clock_resolution_ns", REAL, AT(clock_resolution_ns), 0, 1e9},
	{"clock_step_ms", REAL, AT(clock_step_ms), 0, COUNT_MAX},
	{"clock_drift_ppm", REAL, AT(clock_drift_ppm), 0, PPM_MAX},
	{"jitter_bound_ms", REAL, AT(jitter_bound_ms), AT(has_jitter_bound),
	 DAY_MS},
	{"rtt_bound_ms", REAL, AT(rtt_bound_ms), AT(has_rtt_bound), DAY_MS},
	{"loss_bound_pct", REAL, AT(loss_bound_pct), AT(has_loss_bound), 100},
};

#define MEMBERS (sizeof(members) / sizeof(members[0]))

static const void *place(const struct wire_calibration *c, size_t offset)
{
	return (const char *)c + offset;
}

static json_t *value_encode(const struct wire_calibration *c,
			    const struct member *m)
{
	const void *at = place(c, m->offset);

	switch (m->kind) {
	case TEXT:
		return wire_text(at);
	case COUNT:
		return json_integer(*(const uint32_t *)at);
	case COUNT64:
		return json_integer((json_int_t) * (const uint64_t *)at);
	case REAL:
	default:
		return json_real(*(const double *)at);
	}
}

json_t *wire_calibration_encode(const struct wire_calibration *c)
{
	json_t *object = json_object();

	for (size_t i = 0; object && i < MEMBERS; i++) {
		const struct member *m = &members[i];

		if (m->known && !*(const bool *)place(c, m->known))
			continue;
		if (json_object_set_new(object, m->name, value_encode(c, m))) {
			json_decref(object);
			object = NULL;
		}
	}
	return object;
}

/* A text is shown on pages and in tables. */
static int text_decode(char dst[static WIRE_CALIBRATION_TEXT_BYTES],
		       const json_t *value)
{
	const char *text = json_string_value(value);

	if (!text || strlen(text) != json_string_length(value) ||
	    str_copy(dst, WIRE_CALIBRATION_TEXT_BYTES, text))
		return -EINVAL;
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return -EINVAL;
	}
	return 0;
}

static int value_decode(struct wire_calibration *c, const struct member *m,
			const json_t *value)
{
	void *at = (char *)c + m->offset;
	double number = json_number_value(value);

	if (m->kind == TEXT)
		return text_decode(at, value);
	if (!(m->kind == REAL ? json_is_number(value)
			      : json_is_integer(value)) ||
	    !isfinite(number) || number < 0 || number > m->max)
		return -EINVAL;
	if (m->kind == COUNT)
		*(uint32_t *)at = (uint32_t)json_integer_value(value);
	else if (m->kind == COUNT64)
		*(uint64_t *)at = (uint64_t)json_integer_value(value);
	else
		*(double *)at = number;
	return 0;
}

int wire_calibration_decode(struct wire_calibration *ret, const json_t *object,
			    const char **ret_member)
{
	struct wire_calibration c = {.time = ""};
	const char *wrong = json_is_object(object) ? NULL : "";

	for (size_t i = 0; !wrong && i < MEMBERS; i++) {
		const struct member *m = &members[i];
		const json_t *value = json_object_get(object, m->name);

		if (m->known && (!value || json_is_null(value)))
			continue;
		if (value_decode(&c, m, value))
			wrong = m->name;
		else if (m->known)
			*(bool *)((char *)&c + m->known) = true;
	}
	if (!wrong && c.bounds_calls > c.calls)
		wrong = "bounds_calls";
	if (wrong) {
		if (ret_member)
			*ret_member = wrong;
		return -EINVAL;
	}
	*ret = c;
	return 0;
}
