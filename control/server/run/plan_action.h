/**
 * Makes a job's action of a test's: converts parameters to their types,
 * replaces pools by their content and uploaded prompts by their hashes.
 * Internal to the planner.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_RUN_PLAN_ACTION_H
#define OFFHOOK_SERVER_RUN_PLAN_ACTION_H

#include <jansson.h>
#include <stddef.h>

struct plan_source;

#define PLAN_POINTER_BYTES 96

/** Write the pointer of a test's parameter: "/step.S.A.MEMBER". */
void plan_action_pointer(char pointer[static PLAN_POINTER_BYTES], size_t s,
			 size_t a, const char *member);

/**
 * Add an action to a step of a role's job.
 * @param spec    of the job; its steps are there
 * @param s       step of the test
 * @param a       position in that step
 * @param action  of the test, borrowed
 * @return 0 (see errors); -ENOMEM; -EIO
 */
int plan_action_add(json_t *spec, size_t s, size_t a, json_t *action,
		    const struct plan_source *source, json_t *errors);

/**
 * Add the hash of an upload that a script plays, if there is one of the name.
 * @param hashes   play_sha256 of the job's action
 * @param pointer  to the argument
 * @return 0 (see errors); -ENOMEM; -EIO
 */
int plan_play_add(json_t *hashes, const struct plan_source *source,
		  const char *name, const char *pointer, json_t *errors);

#endif
