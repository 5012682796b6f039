#include "control/server/run/override.h"

#include "base/str.h"
#include "control/server/judge/judge_conditions.h"
#include "control/server/request/body.h"
#include "control/server/run/params.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DETAIL_BYTES  768
#define POINTER_BYTES 512
#define INDEX_MAX     9999

__attribute__((format(printf, 3, 0))) static void add_error(json_t *errors,
							    const char *pointer,
							    const char *fmt,
							    va_list ap)
{
	char detail[DETAIL_BYTES];

	/* keys and values of the request may be cut here */
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	(void)json_array_append_new(
		errors, json_pack("{s:o, s:o}", "pointer", wire_text(pointer),
				  "detail", wire_text(detail)));
}

void plan_error(json_t *errors, const char *pointer, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_error(errors, pointer, fmt, ap);
	va_end(ap);
}

/* RFC 6901 section 3 */
static void escape(char *dst, size_t size, const char *key)
{
	size_t used = 0;

	for (; *key && used + 3 < size; key++) {
		if (*key == '~' || *key == '/') {
			dst[used++] = '~';
			dst[used++] = *key == '~' ? '0' : '1';
		} else {
			dst[used++] = *key;
		}
	}
	dst[used] = '\0';
}

void plan_key_error(json_t *errors, const char *key, const char *below,
		    const char *fmt, ...)
{
	char pointer[POINTER_BYTES], name[POINTER_BYTES - 160];
	va_list ap;

	escape(name, sizeof(name), key);
	str_print(pointer, sizeof(pointer), "/%s%s", name, below);
	va_start(ap, fmt);
	add_error(errors, pointer, fmt, ap);
	va_end(ap);
}

/* Parse "S." at *text. @return true, and *text points after it */
static bool take_index(const char **text, size_t *ret)
{
	size_t len = strcspn(*text, ".");
	char digits[8];
	uint64_t value;

	if (len == 0 || len >= sizeof(digits) || (*text)[len] != '.')
		return false;
	memcpy(digits, *text, len);
	digits[len] = '\0';
	if (str_to_u64(digits, INDEX_MAX, &value))
		return false;
	*text += len + 1;
	*ret = (size_t)value;
	return true;
}

static int apply_step(const char *key, json_t *value, json_t *steps,
		      json_t *errors)
{
	const char *rest = key + strlen("step.");
	const struct step_param *param;
	json_t *action, *typed;
	const char *type;
	size_t s, a;
	int err;

	if (!take_index(&rest, &s) || !take_index(&rest, &a)) {
		plan_key_error(errors, key, "",
			       "must be step.STEP.ACTION.PARAMETER");
		return 0;
	}
	if (s >= json_array_size(steps)) {
		plan_key_error(errors, key, "",
			       "the test has no step %zu, it has %zu steps", s,
			       json_array_size(steps));
		return 0;
	}
	action = json_array_get(json_array_get(steps, s), a);
	if (!action) {
		plan_key_error(errors, key, "",
			       "step %zu has no action %zu, it has %zu actions",
			       s, a, json_array_size(json_array_get(steps, s)));
		return 0;
	}
	type = json_string_value(json_object_get(action, "type"));
	param = type ? step_param_find(type, rest) : NULL;
	if (!param) {
		plan_key_error(errors, key, "",
			       "a %.20s action has no parameter '%.60s'",
			       type ? type : "broken", rest);
		return 0;
	}
	if (json_is_null(value)) { /* as if it had been left out */
		(void)json_object_del(action, param->name);
		return 0;
	}
	err = param_normalize(param, value, &typed);
	if (err == -EINVAL) {
		plan_key_error(errors, key, "", "%s must be %s", param->name,
			       param_type_name(param));
		return 0;
	}
	if (err)
		return err;
	return json_object_set_new(action, param->name, typed) ? -ENOMEM : 0;
}

/* Remove the test's own entry of the role and type. */
static void remove_conditions(json_t *conditions, const char *type)
{
	for (size_t i = json_array_size(conditions); i > 0; i--) {
		const char *name = json_string_value(json_object_get(
			json_array_get(conditions, i - 1), "condition_type"));

		if (name && strcmp(name, type) == 0)
			(void)json_array_remove(conditions, i - 1);
	}
}

static int set_conditions(json_t *conditions, const char *role,
			  const char *type, json_t *value)
{
	json_t *set;

	remove_conditions(conditions, type);
	set = json_pack("{s:s, s:s, s:O}", "role", role, "condition_type", type,
			"conditions", json_object_get(value, "conditions"));
	if (set && json_object_get(value, "options") &&
	    json_object_set(set, "options",
			    json_object_get(value, "options"))) {
		json_decref(set);
		set = NULL;
	}
	return json_array_append_new(conditions, set) ? -ENOMEM : 0;
}

static bool has_role(const json_t *steps, const char *role)
{
	const json_t *step, *action;
	size_t s, a;

	json_array_foreach(steps, s, step)
	{
		json_array_foreach(step, a, action)
		{
			const char *name = json_string_value(
				json_object_get(action, "role"));

			if (name && strcmp(name, role) == 0)
				return true;
		}
	}
	return false;
}

/* Check conditions as the judge does. A condition on a role that no step has is
 * refused: it would always fail. */
static int check_override(const char *role, const char *type, json_t *value,
			  const json_t *steps, struct judge_problem *problem)
{
	int err = judge_conditions_check(role, type, value, problem);

	if (err || has_role(steps, role) ||
	    !json_array_size(json_object_get(value, "conditions")))
		return err;
	problem->pointer[0] = '\0';
	str_print(problem->reason, sizeof(problem->reason),
		  "the test has no role '%.40s'", role);
	return -EINVAL;
}

static int apply_condition(const char *key, json_t *value, const json_t *steps,
			   json_t *conditions, json_t *errors)
{
	const char *rest = key + strlen("condition.");
	size_t len = strcspn(rest, ".");
	struct judge_problem problem;
	char role[64];
	json_t *parsed;
	int err;

	if (!len || len >= sizeof(role) || rest[len] != '.') {
		plan_key_error(errors, key, "",
			       "must be condition.ROLE.CONDITION_TYPE");
		return 0;
	}
	memcpy(role, rest, len);
	role[len] = '\0';
	rest += len + 1;
	if (json_is_null(value)) /* as if it had been left out */
		return 0;
	if (json_is_string(value))
		parsed = body_json_text(json_string_value(value));
	else
		parsed = json_incref(value);
	if (!json_is_object(parsed)) {
		plan_key_error(errors, key, "",
			       "must be a JSON object, or a string with one");
		json_decref(parsed);
		return 0;
	}
	err = check_override(role, rest, parsed, steps, &problem);
	if (err == -EINVAL) {
		plan_key_error(errors, key, problem.pointer, "%s",
			       problem.reason);
		err = 0;
	} else if (!err) {
		err = set_conditions(conditions, role, rest, parsed);
	}
	json_decref(parsed);
	return err;
}

static int override_entry(json_t *entry, const char *pointer,
			  json_t *conditions, json_t *errors)
{
	const char *role = json_string_value(json_object_get(entry, "role"));
	const char *type =
		json_string_value(json_object_get(entry, "condition_type"));
	struct judge_problem problem;
	json_t *body;
	int err;

	if (!role || !type) {
		plan_error(errors, pointer,
			   "must be an object with role and condition_type");
		return 0;
	}
	/* the check knows the members of an override's value only */
	body = json_copy(entry);
	(void)json_object_del(body, "role");
	(void)json_object_del(body, "condition_type");
	err = body ? judge_conditions_check(role, type, body, &problem)
		   : -ENOMEM;
	if (err == -EINVAL) {
		char at[POINTER_BYTES];

		str_print(at, sizeof(at), "%s%s", pointer, problem.pointer);
		plan_error(errors, at, "%s", problem.reason);
		err = 0;
	} else if (!err) {
		err = set_conditions(conditions, role, type, body);
	}
	json_decref(body);
	return err;
}

int override_conditions(json_t *list, const char *pointer, json_t *conditions,
			json_t *errors)
{
	json_t *entry;
	size_t i;
	int err = 0;

	json_array_foreach(list, i, entry)
	{
		char at[64];

		str_print(at, sizeof(at), "%.40s/%zu", pointer, i);
		err = override_entry(entry, at, conditions, errors);
		if (err)
			break;
	}
	return err;
}

int override_apply(json_t *body, const char *const *known, json_t *steps,
		   json_t *conditions, json_t *errors)
{
	const char *key;
	json_t *value;
	int err = 0;

	if (!body)
		return 0;
	if (json_object_size(body) > OVERRIDE_KEYS_MAX) {
		plan_error(errors, "", "more than %d keys", OVERRIDE_KEYS_MAX);
		return 0;
	}
	json_object_foreach(body, key, value)
	{
		if (strncmp(key, "step.", 5) == 0)
			err = apply_step(key, value, steps, errors);
		else if (strncmp(key, "condition.", 10) == 0)
			err = apply_condition(key, value, steps, conditions,
					      errors);
		else if (!str_listed(known, key))
			plan_key_error(errors, key, "", "unknown key '%.100s'",
				       key);
		if (err)
			return err;
	}
	return 0;
}
