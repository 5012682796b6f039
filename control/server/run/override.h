/**
 * The flat keys of a run-start body (docs/reference/api.md) applied to a test's
 * steps and conditions. Pure; every error is reported.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_RUN_OVERRIDE_H
#define OFFHOOK_SERVER_RUN_OVERRIDE_H

#include <jansson.h>
#include <stdbool.h>

/** Add {pointer, detail} to an array of errors. */
void plan_error(json_t *errors, const char *pointer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** As plan_error(), for a flat key of a body, in which "/" and "~" are
 * escaped. */
void plan_key_error(json_t *errors, const char *key, const char *below,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Ceiling of keys in a body: every parameter of every action fits. */
#define OVERRIDE_KEYS_MAX 4096

/**
 * Apply step.S.A.PARAM and condition.ROLE.TYPE keys; other keys must be listed
 * in `known`.
 * @param body        object, borrowed; NULL: no overrides
 * @param known       NULL-terminated: keys the caller reads itself
 * @param steps       of the test; changed in place
 * @param conditions  of the test; changed in place
 * @param errors      array; what is wrong is added
 * @return 0; -ENOMEM
 */
int override_apply(json_t *body, const char *const *known, json_t *steps,
		   json_t *conditions, json_t *errors);

/**
 * Put entries {role, condition_type, conditions, options} in the place of those
 * of the same role and type.
 * @param list     of the request, borrowed
 * @param pointer  where it stands: "/conditions"
 * @return 0 (see errors); -ENOMEM
 */
int override_conditions(json_t *list, const char *pointer, json_t *conditions,
			json_t *errors);

#endif
