/**
 * One lease: a role of a run that this agent carries out. Confirms the offer,
 * starts an engine for it, passes barriers, renews, spools and uploads what
 * the engine reports, and finishes (docs/internals/wire.md).
 *
 *   CONFIRMING -> RUNNING -> FLUSHING -> over
 *
 * A lease that was found in the spool begins in FLUSHING.
 * Thread: the loop's; handlers too.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_LEASE_H
#define OFFHOOK_AGENT_SUPERVISOR_LEASE_H

#include "agent/link/http_client.h"
#include "agent/spool/spool.h"
#include "agent/supervisor/engine_pool.h"
#include "conf/agent_conf.h"

#include <jansson.h>

struct lease;

/* What all leases share; outlives them. */
struct lease_env {
	struct event_loop *loop;
	struct http_client *http;
	const struct agent_conf *conf;
	struct engine_pool *engines;
	const char *spool_dir;
	const char *artifact_dir; /* folder of all leases' */
	const char *prompt_cache; /* folder of prompt_files.h */
	struct spool_space *space;
	uint32_t renew_s; /* as the controller said last */
	uint32_t lease_s;
	/** The engine is gone, or there will be none: its slot is free. */
	void (*idle_h)(struct lease *lease, void *arg);
	/** Nothing is left to do; release the lease here. */
	void (*over_h)(struct lease *lease, void *arg);
	/** 401: this agent is not known any more. */
	void (*unauthorized_h)(void *arg);
	void *arg;
};

/**
 * Take an offer.
 * @param job  {lease_id, session_id, role, attempt, spec}, borrowed
 * @return 0; -EINVAL no usable job; -ENOMEM; -errno the spool
 */
int lease_new(struct lease **ret, struct lease_env *env, json_t *job);

/**
 * Take up what a process before us has left in the spool.
 * @return 0; -ENODATA nothing usable; -EINVAL; -ENOMEM; -errno
 */
int lease_recover(struct lease **ret, struct lease_env *env, const char *id);

/**
 * End its calls, report and finish; an engine that does not end is killed.
 * @param reason  why the job ends as an error of ours, or NULL: stopped by
 *                the user
 */
void lease_cancel(struct lease *lease, const char *reason);

/** Drop it with its spool: nobody wants the results. over_h follows. */
void lease_drop(struct lease *lease);

/** Kill the engine and release; the spool stays. @return NULL */
struct lease *lease_free(struct lease *lease);

const char *lease_id(const struct lease *lease);
/** True while it takes a slot of the capacity. */
bool lease_is_busy(const struct lease *lease);

#endif
