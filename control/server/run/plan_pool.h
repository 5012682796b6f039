/**
 * Replaces pools in the actions of a test by their content. Used by the planner
 * and by checks of single actions.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_RUN_PLAN_POOL_H
#define OFFHOOK_SERVER_RUN_PLAN_POOL_H

#include <jansson.h>
#include <stdint.h>

/** Reads pools for the planner. @return 0; -ENOENT; -ENOMEM; -EIO */
struct plan_source {
	/** Credentials with passwords, as a job carries them: new array. */
	int (*credentials)(void *arg, int64_t pool_id, json_t **ret);
	/** {hosts, domain, outbound_proxy, tls}: new object. */
	int (*target)(void *arg, int64_t target_id, json_t **ret);
	/** Hash of the uploaded prompt of a name. May be NULL: there are none.
	 * @param sha256  receives 64 digits
	 * @return also -EMEDIUMTYPE: what was uploaded is no prompt */
	int (*prompt)(void *arg, const char *name, char sha256[static 65]);
	/** The same of an upload of any kind. */
	int (*file)(void *arg, const char *name, char sha256[static 65]);
	void *arg;
};

/**
 * Put what a pool holds into a job's action.
 * @param pool     parameter that names it: step_pool_member() knows it
 * @param pointer  of the parameter, for errors
 * @return 0 (see errors); -ENOMEM; -EIO
 */
int plan_pool_resolve(json_t *action, const struct plan_source *source,
		      const char *pool, int64_t id, const char *pointer,
		      json_t *errors);

/**
 * Reduce the credentials of an action to the share of its role: every n-th.
 * @param share    {part, of}: part counts from 0
 * @param pointer  of the pool, for errors
 * @return 0 (see errors); -ENOMEM
 */
int plan_pool_share(json_t *action, const json_t *share, const char *pointer,
		    json_t *errors);

/** Copy a spec without its passwords. @return new reference; NULL */
json_t *plan_spec_public(const json_t *spec);

#endif
