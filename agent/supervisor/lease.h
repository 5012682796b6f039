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
#include <stdbool.h>

struct lease;

/* Shared by all leases; outlives them. */
struct lease_env {
	struct event_loop *loop;
	struct http_client *http;
	const struct agent_conf *conf;
	struct engine_pool *engines;
	const char *spool_dir;
	const char *artifact_dir; /* folder of all leases' */
	const char *prompt_cache; /* folder of prompt_files.h */
	struct spool_space *space;
	json_t *calibration; /* of this host; NULL: none */
	bool verbose;        /* print what the engines report */
	uint32_t renew_s;    /* from the controller's last answer */
	uint32_t lease_s;
	/** The engine has ended, or will not be started: its slot is free. */
	void (*idle_h)(struct lease *lease, void *arg);
	/** The lease is over: free it here. */
	void (*over_h)(struct lease *lease, void *arg);
	/** 401: the controller does not know this agent any more. */
	void (*unauthorized_h)(void *arg);
	void *arg;
};

/**
 * Accept an offered job: write it to the spool and confirm it.
 * @param job  {lease_id, epoch, session_id, role, attempt, spec}, borrowed
 * @return 0; -EINVAL no usable job; -ENOMEM; -errno the spool
 */
int lease_new(struct lease **ret, struct lease_env *env, json_t *job);

/**
 * Make a lease of the spool that an earlier process has left, and deliver its
 * results.
 * @return 0; -ENODATA the spool has nothing usable; -EINVAL; -ENOMEM; -errno
 */
int lease_recover(struct lease **ret, struct lease_env *env, const char *id);

/**
 * Cancel the job: its engine ends the calls, reports and finishes; one that does
 * not end in time is killed.
 * @param reason  why the job ends as an error of ours, or NULL: stopped by
 *                the user
 */
void lease_cancel(struct lease *lease, const char *reason);

/** Discard the lease and its spool: the controller does not want the results.
 * over_h follows. */
void lease_drop(struct lease *lease);

/** Kill the engine and free the lease; the spool stays. @return NULL */
struct lease *lease_free(struct lease *lease);

enum lease_result {
	LEASE_UNCONFIRMED,  /* the controller did not let it start */
	LEASE_COMPLETED,    /* carried out and delivered */
	LEASE_UNSUCCESSFUL, /* delivered with another outcome */
	LEASE_UNDELIVERED,  /* the results did not reach the controller */
};

/** How a lease that is over ended. */
enum lease_result lease_result(const struct lease *lease);

/** The run that it belongs to; borrowed. */
const char *lease_session(const struct lease *lease);

/** Its id; borrowed. */
const char *lease_id(const struct lease *lease);
/** Whether it occupies a slot of the agent's capacity. */
bool lease_is_busy(const struct lease *lease);

#endif
