#include "control/server/run/plan_pool.h"

#include "control/server/run/override.h"
#include "control/server/run/step_params.h"

#include <errno.h>
#include <string.h>

int plan_pool_resolve(json_t *action, const struct plan_source *source,
		      const char *pool, int64_t id, const char *pointer,
		      json_t *errors)
{
	bool credentials = strcmp(pool, "target_pool") != 0;
	json_t *value;
	int err;

	err = credentials ? source->credentials(source->arg, id, &value)
			  : source->target(source->arg, id, &value);
	if (err == -ENOENT) {
		plan_error(errors, pointer, "there is no %s with the id %lld",
			   credentials ? "credential pool" : "target",
			   (long long)id);
		return 0;
	}
	if (err)
		return err;
	if (credentials && !json_array_size(value))
		plan_error(errors, pointer,
			   "there is no credential pool with the id %lld, or "
			   "it is empty",
			   (long long)id);
	return json_object_set_new(action, step_pool_member(pool), value)
		       ? -ENOMEM
		       : 0;
}

int plan_pool_share(json_t *planned, const json_t *share, const char *pointer,
		    json_t *errors)
{
	json_t *all = json_object_get(planned, "credentials");
	size_t part =
		(size_t)json_integer_value(json_object_get(share, "part"));
	size_t of = (size_t)json_integer_value(json_object_get(share, "of"));
	json_t *own = json_array();

	/* an empty pool was reported before */
	if (json_array_size(all) && json_array_size(all) < of)
		plan_error(errors, pointer,
			   "the credential pool has %zu credentials, the %zu "
			   "roles that share it need one each",
			   json_array_size(all), of);
	for (size_t i = part; own && of && i < json_array_size(all); i += of)
		if (json_array_append(own, json_array_get(all, i))) {
			json_decref(own);
			return -ENOMEM;
		}
	return json_object_set_new(planned, "credentials", own) ? -ENOMEM : 0;
}

static void passwords_remove(json_t *credentials)
{
	json_t *credential;
	size_t i;

	json_array_foreach(credentials, i, credential)
	{
		json_object_del(credential, "password");
	}
}

json_t *plan_spec_public(const json_t *spec)
{
	json_t *copy = json_deep_copy(spec), *step, *action, *value;
	const char *member;
	size_t s, a;

	json_array_foreach(json_object_get(copy, "steps"), s, step)
	{
		json_array_foreach(step, a, action)
		{
			json_object_foreach(action, member,
					    value) if (step_pool_param(member))
				passwords_remove(value);
		}
	}
	return copy;
}
