#include "control/server/run/test_steps.h"

#include "base/str.h"
#include "control/server/request/fields.h"
#include "control/server/run/step_params.h"
#include "control/wire/job_decode.h"
#include "control/wire/job_limits.h"
#include "control/wire/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ROLE_BYTES_MAX 32

bool step_role_valid(const char *role)
{
	size_t i;

	for (i = 0; role[i]; i++) {
		if (!isalnum((unsigned char)role[i]) && role[i] != '_')
			return false;
	}
	return i > 0 && i <= ROLE_BYTES_MAX;
}

/* Every role with a user, so that a template naming it can be tried out. */
static json_t *peers_of(json_t *steps)
{
	json_t *peers = json_object();
	json_t *step, *action;
	size_t i, k;

	json_array_foreach(steps, i, step)
	{
		json_array_foreach(step, k, action)
		{
			const char *role = json_string_value(
				json_object_get(action, "role"));

			if (role)
				json_object_set_new(peers, role,
						    json_pack("[s]", "1000"));
		}
	}
	return peers;
}

/* A job of this one action, its pools replaced by something that resolves. */
static json_t *trial_spec(json_t *action, json_t *peers)
{
	static const char *const named[] = {"challenge_pool",
					    "turn_credential_pool"};
	json_t *trial = json_copy(action);

	json_object_set_new(trial, "credentials",
			    json_pack("[{s:s}]", "username", "1000"));
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		const json_t *id = json_object_get(trial, named[i]);

		if (json_is_integer(id) || json_is_string(id))
			json_object_set_new(
				trial, step_pool_member(named[i]),
				json_pack("[{s:s}]", "username", "1000"));
	}
	json_object_set_new(
		trial, "target",
		json_pack("{s:[{s:s}]}", "hosts", "host", "192.0.2.1"));
	/* the plan lets it call the callee */
	if (json_object_get(peers, "callee") &&
	    strcmp(text_of(action, "client"), "sipp") &&
	    !json_object_get(trial, "dial_destination"))
		json_object_set_new(trial, "dial_destination",
				    json_string("{{callee.username}}"));
	return json_pack("{s:s, s:O, s:i, s:i, s:i, s:s, s:O, s:[[o]]}",
			 "session_id", "00000000-0000-4000-8000-000000000000",
			 "role", json_object_get(action, "role"), "attempt", 1,
			 "interval_s", 10, "max_duration_s", 3600, "record",
			 "sip", "peers", peers, "steps", trial);
}

/* Let the wire's decoder look at an action: it is what the agent will do. */
static void check_by_wire(json_t *action, json_t *peers, const char *pointer,
			  struct reply *rep)
{
	static const char place[] = "/steps/0/0";
	char at[POINTER_BYTES] = "", reason[WIRE_REASON_BYTES];
	char pool[POINTER_BYTES];
	json_t *spec = trial_spec(action, peers);
	const char *text = reason;
	struct wire_job *job;
	int err;

	err = wire_job_decode(&job, spec, reason);
	json_decref(spec);
	if (err == 0) {
		wire_job_free(job);
		return;
	}
	if (err == -ENOMEM)
		str_copy(reason, sizeof(reason), "is too large");
	if (strncmp(reason, place, sizeof(place) - 1) == 0) {
		const char *rest = reason + sizeof(place) - 1;
		size_t len = strcspn(rest, ":");

		text = rest[len] ? rest + len + 2 : rest;
		/* A test names a pool instead of these members. */
		if (len > 0)
			str_print(pool, sizeof(pool), "%.*s",
				  (int)strcspn(rest + 1, "/:"), rest + 1);
		if (len > 0 && step_pool_param(pool)) {
			str_print(pool, sizeof(pool), "/%s",
				  step_pool_param(pool));
			rest = pool;
			len = strlen(rest);
		}
		str_print(at, sizeof(at), "%s%.*s", pointer, (int)len, rest);
	}
	field_error(rep, at[0] ? at : pointer, "%s", text);
}

static void check_action(json_t *action, json_t *peers, const char *pointer,
			 struct reply *rep)
{
	const char *type = json_string_value(json_object_get(action, "type"));
	const char *role = json_string_value(json_object_get(action, "role"));
	char at[POINTER_BYTES];
	const char *name;
	json_t *value;
	bool wrong = false;

	if (!json_is_object(action)) {
		field_error(rep, pointer, "must be an object");
		return;
	}
	if (!role || !step_role_valid(role)) {
		str_print(at, sizeof(at), "%.100s/role", pointer);
		field_error(rep, at, "must be caller, callee, A, B, ...");
		wrong = true;
	}
	json_object_foreach(action, name, value)
	{
		if (strcmp(name, "type") == 0 || strcmp(name, "role") == 0 ||
		    !type || step_param_find(type, name))
			continue;
		/* of no known type: the type itself is the error below */
		if (!step_type_known(type))
			continue;
		str_print(at, sizeof(at), "%.60s/%.80s", pointer, name);
		field_error(rep, at, "is no parameter of %.20s", type);
		wrong = true;
	}
	if (!wrong)
		check_by_wire(action, peers, pointer, rep);
}

void steps_check(json_t *steps, const char *pointer, struct reply *rep)
{
	json_t *peers = peers_of(steps);
	json_t *step, *action;
	size_t i, k;

	if (json_array_size(steps) == 0 ||
	    json_array_size(steps) > WIRE_STEPS_MAX)
		field_error(rep, pointer, "must hold 1 to %d steps",
			    WIRE_STEPS_MAX);
	json_array_foreach(steps, i, step)
	{
		char at[POINTER_BYTES];

		str_print(at, sizeof(at), "%.60s/%zu", pointer, i);
		if (!json_is_array(step) || json_array_size(step) == 0 ||
		    json_array_size(step) > WIRE_ACTIONS_MAX) {
			field_error(rep, at,
				    "must be an array of 1 to %d actions",
				    WIRE_ACTIONS_MAX);
			continue;
		}
		json_array_foreach(step, k, action)
		{
			str_print(at, sizeof(at), "%.60s/%zu/%zu", pointer, i,
				  k);
			check_action(action, peers, at, rep);
		}
	}
	json_decref(peers);
}

static json_t *parameter_entry(json_t *action, const char *key,
			       const struct step_param *p)
{
	json_t *fallback =
		p->fallback ? json_loads(p->fallback, JSON_DECODE_ANY, NULL)
			    : json_null();
	json_t *value = json_object_get(action, p->name);

	return json_pack("{s:s, s:O, s:O, s:s, s:O, s:o}", "key", key, "role",
			 json_object_get(action, "role"), "action",
			 json_object_get(action, "type"), "type", p->type,
			 "value", value ? value : fallback, "default",
			 fallback);
}

json_t *steps_parameters(json_t *steps)
{
	json_t *list = json_array();
	json_t *step, *action;
	size_t i, k;

	json_array_foreach(steps, i, step)
	{
		json_array_foreach(step, k, action)
		{
			const char *type = json_string_value(
				json_object_get(action, "type"));

			const struct step_param *p;

			for (size_t n = 0; type && (p = step_param_at(n));
			     n++) {
				char key[96];

				if (!str_has_word(p->actions, type))
					continue;
				str_print(key, sizeof(key), "step.%zu.%zu.%s",
					  i, k, p->name);
				json_array_append_new(
					list, parameter_entry(action, key, p));
			}
		}
	}
	return list;
}
