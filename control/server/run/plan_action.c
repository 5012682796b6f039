#include "control/server/run/plan_action.h"

#include "base/str.h"
#include "control/server/run/override.h"
#include "control/server/run/params.h"
#include "control/server/run/plan_pool.h"
#include "control/wire/job_limits.h"
#include "control/wire/text.h"

#include <errno.h>
#include <string.h>

/* Of `requires`. */
#define LABELS_MAX 16
#define LABEL_LEN  60
#define LABEL_CHARS                                            \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789._-=:"

void plan_action_pointer(char pointer[static PLAN_POINTER_BYTES], size_t s,
			 size_t a, const char *member)
{
	str_print(pointer, PLAN_POINTER_BYTES, "/step.%zu.%zu.%s", s, a,
		  member);
}

static bool known_member(const char *name)
{
	return strcmp(name, "type") == 0 || strcmp(name, "role") == 0 ||
	       strcmp(name, "name") == 0 ||
	       strcmp(name, "credential_share") == 0;
}

/* Only scenarios have these members; steps_check() refuses them in stored
 * tests. */
static bool is_inline(const char *name)
{
	return strcmp(name, "credentials") == 0 || strcmp(name, "target") == 0;
}

/* @return 0; -ENOENT there is no upload of the name; or it is no prompt, which
 * an error tells; -ENOMEM; -EIO */
static int find_upload(const struct plan_source *source, const char *name,
		       char sha256[static 65], const char *pointer,
		       json_t *errors)
{
	int err = source->prompt && name
			  ? source->prompt(source->arg, name, sha256)
			  : -ENOENT;

	if (err != -EMEDIUMTYPE)
		return err;
	plan_error(errors, pointer,
		   "the appimage '%.80s' is of the kind application: PUT it "
		   "with the kind prompt if it is audio to play, else name "
		   "another one",
		   name);
	return -ENOENT;
}

/* An uploaded prompt is identified by its hash; any other prompt is a file of
 * the agent. */
static int plan_prompt(json_t *planned, const struct plan_source *source,
		       const char *member, const char *name,
		       const char *pointer, json_t *errors)
{
	char sha256[65];
	char hash[32];
	int err = find_upload(source, name, sha256, pointer, errors);

	if (err)
		return err == -ENOENT ? 0 : err;
	str_print(hash, sizeof(hash), "%s_sha256", member);
	return json_object_set_new(planned, hash, json_string(sha256)) ? -ENOMEM
								       : 0;
}

int plan_play_add(json_t *hashes, const struct plan_source *source,
		  const char *name, const char *pointer, json_t *errors)
{
	char sha256[65];
	int err = find_upload(source, name, sha256, pointer, errors);

	if (err)
		return err == -ENOENT ? 0 : err;
	return json_object_set_new(hashes, name, json_string(sha256)) ? -ENOMEM
								      : 0;
}

/* The hashes of the uploads that a script plays, by their names; names with
 * placeholders are filled in when the job is known (plan_check.c). */
static int plan_plays(json_t *planned, const struct plan_source *source,
		      const json_t *script, const char *pointer, json_t *errors)
{
	json_t *hashes = json_object();
	json_t *entry;
	size_t i;
	int err = hashes ? 0 : -ENOMEM;

	json_array_foreach(script, i, entry)
	{
		const char *action =
			json_string_value(json_array_get(entry, 0));
		const char *name = json_string_value(json_array_get(entry, 1));
		char place[PLAN_POINTER_BYTES + 24];

		if (err || !action || !name || strcmp(action, "play") != 0 ||
		    wire_argument_is_template(name))
			continue;
		str_print(place, sizeof(place), "%s/%zu/1", pointer, i);
		err = plan_play_add(hashes, source, name, place, errors);
	}
	if (!err && json_object_size(hashes))
		err = json_object_set(planned, "play_sha256", hashes) ? -ENOMEM
								      : 0;
	json_decref(hashes);
	return err;
}

/* Check `requires`: words of the characters that labels of agents have. */
static void check_labels(const json_t *labels, const char *pointer,
			 json_t *errors)
{
	const json_t *label;
	size_t i;

	if (json_array_size(labels) > LABELS_MAX)
		plan_error(errors, pointer,
			   "requires must have %d texts at most", LABELS_MAX);
	json_array_foreach(labels, i, label)
	{
		const char *text = json_string_value(label);
		size_t len = text ? strlen(text) : 0;

		if (len > 0 && len <= LABEL_LEN &&
		    len == json_string_length(label) &&
		    strspn(text, LABEL_CHARS) == len)
			continue;
		plan_error(
			errors, pointer,
			"requires must be labels as site=fra: 1 to %d "
			"letters, digits, dots, dashes, underscores, = and :",
			LABEL_LEN);
		return;
	}
}

/* The hash of an upload that client sipp needs, beside the name in `hashes`; without an
 * upload it is a file of the agent. */
static int plan_file(json_t *hashes, const char *key,
		     const struct plan_source *source, const char *name)
{
	char sha256[65];
	int err = source->file && name ? source->file(source->arg, name, sha256)
				       : -ENOENT;

	if (err)
		return err == -ENOENT ? 0 : err;
	return json_object_set_new(hashes, key, json_string(sha256)) ? -ENOMEM
								     : 0;
}

static int plan_files(json_t *planned, const struct plan_source *source,
		      const json_t *names)
{
	json_t *hashes = json_object();
	const json_t *name;
	size_t i;
	int err = hashes ? 0 : -ENOMEM;

	json_array_foreach(names, i, name)
	{
		const char *text = json_string_value(name);

		if (!err && text)
			err = plan_file(hashes, text, source, text);
	}
	if (!err && json_object_size(hashes) &&
	    json_object_set(planned, "sipp_files_sha256", hashes))
		err = -ENOMEM;
	json_decref(hashes);
	return err;
}

/* Add the hashes of the uploads that a parameter names. */
static int plan_uploads(json_t *planned, const struct plan_source *source,
			const char *name, const json_t *value,
			const char *pointer, json_t *errors)
{
	if (strcmp(name, "prompt") == 0 || strcmp(name, "expect_prompt") == 0)
		return plan_prompt(planned, source, name,
				   json_string_value(value), pointer, errors);
	if (strcmp(name, "sipp_scenario") == 0)
		return plan_file(planned, "sipp_scenario_sha256", source,
				 json_string_value(value));
	if (strcmp(name, "sipp_files") == 0)
		return plan_files(planned, source, value);
	if (strcmp(name, "sipclient_actions") == 0)
		return plan_plays(planned, source, value, pointer, errors);
	return 0;
}

/* Copy one member of a test's action to the job's. */
static int plan_member(json_t *planned, const char *type, const char *name,
		       json_t *value, const struct plan_source *source,
		       const char *pointer, json_t *errors)
{
	const struct step_param *param = step_param_find(type, name);
	json_t *typed;
	bool pool;
	int err;

	if (is_inline(name))
		return json_object_set(planned, name, value) ? -ENOMEM : 0;
	if (!param) {
		plan_error(errors, pointer,
			   "a %.20s action has no parameter '%.60s'", type,
			   name);
		return 0;
	}
	err = param_normalize(param, value, &typed);
	if (err == -EINVAL) {
		plan_error(errors, pointer, "%s must be %s", name,
			   param_type_name(param));
		return 0;
	}
	if (err)
		return err;
	if (strcmp(name, "requires") == 0)
		check_labels(typed, pointer, errors);
	pool = step_pool_member(name) != NULL;
	err = pool ? plan_pool_resolve(planned, source, name,
				       json_integer_value(typed), pointer,
				       errors)
		   : plan_uploads(planned, source, name, typed, pointer,
				  errors);
	if (err || pool) {
		json_decref(typed);
		return err;
	}
	return json_object_set_new(planned, name, typed) ? -ENOMEM : 0;
}

int plan_action_add(json_t *spec, size_t s, size_t a, json_t *action,
		    const struct plan_source *source, json_t *errors)
{
	const char *type = text_of(action, "type"), *name;
	json_t *steps = json_object_get(spec, "steps"), *value;
	json_t *planned =
		json_pack("{s:s, s:I}", "type", type, "index", (json_int_t)a);
	char pointer[PLAN_POINTER_BYTES];
	int err;

	if (!planned ||
	    json_array_append_new(json_array_get(steps, s), planned))
		return -ENOMEM;
	json_object_foreach(action, name, value)
	{
		if (known_member(name) || json_is_null(value))
			continue;
		plan_action_pointer(pointer, s, a, name);
		err = plan_member(planned, type, name, value, source, pointer,
				  errors);
		if (err)
			return err;
	}
	value = json_object_get(action, "credential_share");
	if (!value || !json_object_get(planned, "credentials"))
		return 0;
	plan_action_pointer(pointer, s, a, "credential_pool");
	return plan_pool_share(planned, value, pointer, errors);
}
