/**
 * The planner: a test as it is now, overrides applied -> one job a role
 * (docs/internals/wire.md), or the list of what is wrong. Reads pools through the
 * callbacks only.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_RUN_PLAN_H
#define OFFHOOK_SERVER_RUN_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan_source;

/* Roles of a run: caller, callee, A ... Z and some more. */
#define PLAN_ROLES_MAX 32

/* Shards of all roles together. */
#define PLAN_JOBS_MAX 64

struct plan_params {
	const char *session_id;
	unsigned attempt;
	uint32_t interval_s;
	uint32_t max_duration_s;
	const char *record; /* of the test: none, sip, media */
	json_t *steps;      /* overrides applied, borrowed */
	json_t *conditions; /* likewise */
};

struct plan_role {
	const char *role; /* borrowed from spec */
	json_t *spec;     /* with passwords */
	uint32_t shards;  /* over which it is divided, 1 to WIRE_SHARDS_MAX */
	uint32_t agents_min; /* on which these are, at least */
	bool allow_reduced;  /* the run may go on without some of them */
};

struct plan {
	struct plan_role roles[PLAN_ROLES_MAX];
	size_t role_count;
};

/**
 * Make the jobs; each passes wire_job_decode().
 * @param errors  array; errors are added as {pointer, detail}: then the plan is
 *                not used
 * @return 0 (see errors); -ENOMEM; -EIO. plan_release() in any case
 */
int plan_make(struct plan *plan, const struct plan_params *params,
	      const struct plan_source *source, json_t *errors);

void plan_release(struct plan *plan);

#endif
