#include "control/server/difference/compare_setup.h"

#include "base/str.h"
#include "control/server/difference/facts_internal.h"
#include "control/server/difference/findings.h"
#include "control/server/difference/tally.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 100 /* bytes of a value in a sentence */

/* ---- parameters ---- */

/* Members of an action that are no parameters, or belong to the run, or may
 * hold a secret. */
static const char *const left_out[] = {"type",
				       "index",
				       "credentials",
				       "challenge_credentials",
				       "turn_credentials",
				       "password",
				       "tls",
				       NULL};

static char *text_of_value(json_t *value)
{
	json_t *shown;
	char *text;

	if (!value)
		return strdup("");
	if (json_is_string(value))
		return strdup(json_string_value(value));
	shown = json_copy(value);
	(void)json_object_del(shown, "tls"); /* certificates of a target */
	text = json_dumps(shown, JSON_COMPACT | JSON_ENCODE_ANY |
					 JSON_SORT_KEYS |
					 JSON_REAL_PRECISION(6));
	json_decref(shown);
	return text;
}

static int add_parameter(json_t *findings, const char *role, const char *type,
			 const char *name, json_t *before, json_t *after)
{
	char *a = text_of_value(before), *b = text_of_value(after);
	char same[400];
	const struct finding f = {
		.kind = DIFFERENCE_PARAMETER,
		.explains = EXPLAINS_ALL | EXPLAINS_SIP,
		.same_as = same,
		.role = role,
		.before = before ? a : NULL,
		.after = after ? b : NULL,
	};
	int err = -ENOMEM;

	if (a && b) {
		str_print(same, sizeof(same), "%s|%s|%s|%.100s", role, type,
			  name, b);
		err = finding_add(findings, &f,
				  "The parameter %.60s of %.40s (%.40s) was "
				  "%s%.*s%s and is %s%.*s%s.",
				  name, role, type, before ? "\"" : "", SHOWN,
				  before ? a : "not given", before ? "\"" : "",
				  after ? "\"" : "", SHOWN,
				  after ? b : "not given", after ? "\"" : "");
	}
	free(a);
	free(b);
	return err;
}

/* Compare what only one of two actions has, or what differs. */
static int compare_members(json_t *findings, const char *role, json_t *a,
			   json_t *b)
{
	const char *name, *type = text_of(b, "type");
	json_t *value;
	int err = 0;

	json_object_foreach(a, name, value)
	{
		json_t *now = json_object_get(b, name);

		if (!err && !str_listed(left_out, name) &&
		    !json_equal(value, now))
			err = add_parameter(findings, role, type, name, value,
					    now);
	}
	json_object_foreach(b, name, value)
	{
		if (!err && !str_listed(left_out, name) &&
		    !json_object_get(a, name))
			err = add_parameter(findings, role, type, name, NULL,
					    value);
	}
	return err;
}

static int compare_steps(json_t *findings, const char *role, const json_t *a,
			 const json_t *b)
{
	size_t steps = json_array_size(b), actions;
	int err = 0;

	for (size_t i = 0; !err && i < steps; i++) {
		const json_t *old = json_array_get(a, i);
		const json_t *now = json_array_get(b, i);

		actions = json_array_size(now);
		if (actions != json_array_size(old))
			continue; /* said below */
		for (size_t k = 0; !err && k < actions; k++) {
			json_t *x = json_array_get(old, k);
			json_t *y = json_array_get(now, k);

			if (strcmp(text_of(x, "type"), text_of(y, "type")) == 0)
				err = compare_members(findings, role, x, y);
		}
	}
	return err;
}

/* The types of the actions of a role, "register, call; unregister". */
static void steps_text(const json_t *steps, char *dst, size_t size)
{
	const json_t *step, *action;
	size_t used = 0, i, k;

	dst[0] = '\0';
	json_array_foreach(steps, i, step)
	{
		json_array_foreach(step, k, action)
		{
			int len = str_print(dst + used, size - used, "%s%s",
					    !used ? ""
					    : k   ? ", "
						  : "; ",
					    text_of(action, "type"));

			if (len < 0)
				return;
			used += (size_t)len;
		}
	}
}

static int compare_spec(json_t *findings, const char *role, const json_t *a,
			const json_t *b)
{
	char before[300], after[300];
	const json_t *old = json_object_get(a, "steps");
	const json_t *now = json_object_get(b, "steps");
	const struct finding f = {.kind = DIFFERENCE_PARAMETER,
				  .explains = EXPLAINS_ALL | EXPLAINS_SIP,
				  .role = role,
				  .before = before,
				  .after = after,
				  .weight = 1};

	steps_text(old, before, sizeof(before));
	steps_text(now, after, sizeof(after));
	if (strcmp(before, after) != 0)
		return finding_add(findings, &f,
				   "The actions of %.40s were \"%.150s\" and "
				   "are \"%.150s\".",
				   role, before, after);
	return compare_steps(findings, role, old, now);
}

static int compare_specs(json_t *findings, const struct difference_run *before,
			 const struct difference_run *after)
{
	const char *role;
	json_t *spec;
	int err = 0;

	json_object_foreach(after->specs, role, spec)
	{
		const json_t *old = json_object_get(before->specs, role);

		if (!err && old)
			err = compare_spec(findings, role, old, spec);
	}
	return err;
}

/* ---- agents ---- */

static void names_text(json_t *names, char *dst, size_t size)
{
	const char *name;
	json_t *value;
	size_t used = 0;

	dst[0] = '\0';
	json_object_foreach(names, name, value)
	{
		int len = str_print(dst + used, size - used, "%s%s",
				    used ? ", " : "", name);

		if (len < 0)
			return;
		used += (size_t)len;
	}
}

static int compare_agents(json_t *findings, const struct difference_run *before,
			  const struct difference_run *after)
{
	const char *role;
	json_t *now;
	int err = 0;

	json_object_foreach(after->agents, role, now)
	{
		json_t *old = json_object_get(before->agents, role);
		char a[200], b[200];
		const struct finding f = {.kind = DIFFERENCE_AGENT,
					  .role = role,
					  .before = a,
					  .after = b};

		if (err || !old || json_equal(old, now))
			continue;
		names_text(old, a, sizeof(a));
		names_text(now, b, sizeof(b));
		err = finding_add(findings, &f,
				  "%.40s ran on agent %.150s and before on "
				  "%.150s.",
				  role, b, a);
	}
	return err;
}

/* ---- conditions ---- */

static const json_t *verdict_of(const json_t *verdicts, const json_t *like,
				const char *member)
{
	const json_t *v;
	size_t i;

	json_array_foreach(verdicts, i, v)
	{
		if (strcmp(text_of(v, "role"), text_of(like, "role")) == 0 &&
		    strcmp(text_of(v, "condition_type"),
			   text_of(like, "condition_type")) == 0 &&
		    strcmp(text_of(v, member), text_of(like, member)) == 0)
			return v;
	}
	return NULL;
}

static bool is_built_in(const json_t *verdict)
{
	return json_is_true(json_object_get(verdict, "built_in"));
}

/* A condition of the later run that the earlier one did not have. */
static int compare_conditions(json_t *findings,
			      const struct difference_run *before,
			      const struct difference_run *after)
{
	const json_t *v;
	size_t i;
	int err = 0;

	json_array_foreach(after->verdicts, i, v)
	{
		const json_t *old = NULL, *w;
		struct finding f = {.kind = DIFFERENCE_CONDITION,
				    .explains = EXPLAINS_TEXT,
				    .words = text_of(v, "text"),
				    .role = text_of(v, "role"),
				    .after = text_of(v, "text")};
		size_t k;

		if (err || is_built_in(v) ||
		    verdict_of(before->verdicts, v, "text"))
			continue;
		json_array_foreach(before->verdicts, k, w)
		{
			if (!is_built_in(w) &&
			    strcmp(text_of(v, "role"), text_of(w, "role")) ==
				    0 &&
			    strcmp(text_of(v, "condition_type"),
				   text_of(w, "condition_type")) == 0 &&
			    !verdict_of(after->verdicts, w, "text"))
				old = w;
		}
		f.before = old ? text_of(old, "text") : NULL;
		err = old ? finding_add(findings, &f,
					"The condition \"%.150s\" is new; it "
					"was \"%.150s\".",
					f.after, f.before)
			  : finding_add(findings, &f,
					"The condition \"%.200s\" is new.",
					f.after);
	}
	return err;
}

/* ---- the tester ---- */

static int compare_flaws(json_t *findings, const struct difference_run *before,
			 const struct difference_run *after)
{
	const char *key;
	json_t *text;
	int err = 0;

	json_object_foreach(after->flaws, key, text)
	{
		char role[KEY_BYTES], name[KEY_BYTES];
		const struct finding f = {.kind = DIFFERENCE_TESTER,
					  .explains =
						  EXPLAINS_ALL | EXPLAINS_SIP,
					  .role = role,
					  .after = json_string_value(text)};

		key_part(key, 0, role);
		key_part(key, 1, name);
		if (!err && !json_object_get(before->flaws, key))
			err = finding_add(findings, &f,
					  "The tester itself was at fault "
					  "(%.40s: %.60s): %.200s.",
					  role, name, f.after);
	}
	return err;
}

int compare_setup(json_t *findings, const struct difference_run *before,
		  const struct difference_run *after)
{
	int err = compare_flaws(findings, before, after);

	if (!err)
		err = compare_conditions(findings, before, after);
	if (!err)
		err = compare_specs(findings, before, after);
	return err ? err : compare_agents(findings, before, after);
}
