/**
 * The planner: a test as it is now, overrides applied -> one job a role
 * (docs/internals/wire.md), or the list of what is wrong. Reads pools through the
 * callbacks only.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_RUN_PLAN_H
#define OFFHOOK_SERVER_RUN_PLAN_H

#include "control/server/run/override.h"

#include <stdint.h>

/* Roles of a run: caller, callee, A ... Z and some more. */
#define PLAN_ROLES_MAX 32

/** Where the planner finds pools. @return 0; -ENOENT; -ENOMEM; -EIO */
struct plan_source {
	/** Credentials with passwords, as a job carries them: new array. */
	int (*credentials)(void *arg, int64_t pool_id, json_t **ret);
	/** {hosts, domain, outbound_proxy, tls}: new object. */
	int (*target)(void *arg, int64_t target_id, json_t **ret);
	/** Hash of the uploaded prompt of a name. May be NULL: there are none.
	 * @param sha256  receives 64 digits
	 * @return also -EMEDIUMTYPE: what was uploaded is no prompt */
	int (*prompt)(void *arg, const char *name, char sha256[static 65]);
	void *arg;
};

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
};

struct plan {
	struct plan_role roles[PLAN_ROLES_MAX];
	size_t role_count;
};

/**
 * Make the jobs, each of which passes wire_job_decode().
 * @param errors  array; what is wrong is added as {pointer, detail}: then the
 *                plan is not to be used
 * @return 0 (see errors); -ENOMEM; -EIO. plan_release() in any case
 */
int plan_make(struct plan *plan, const struct plan_params *params,
	      const struct plan_source *source, json_t *errors);

void plan_release(struct plan *plan);

/** A copy of a spec without passwords. @return new reference; NULL */
json_t *plan_spec_public(const json_t *spec);

#endif
