/**
 * Find agents of a pool for the roles of a run: they must have room, and the
 * capabilities that the role needs (docs/internals/orchestration.md). Needs and
 * capabilities are compared only here: for polls that place runs, and for the
 * sentence that says what a queued run waits for.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_LEASE_FIT_H
#define OFFHOOK_SERVER_STORE_STORE_LEASE_FIT_H

#include "base/str.h"
#include "control/server/store/store_db.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Roles and their shards: PLAN_JOBS_MAX of run/plan.h. */
#define FIT_ROLES_MAX 64

/* A role, or a shard of one. */
struct fit_role {
	char lease_id[UUID_TEXT_BYTES];
	char role[40];
	json_t *needs;      /* array of texts; NULL: none */
	int64_t shards;     /* of the role */
	int64_t agents_min; /* on which they are, at least */
	bool alone; /* no agent has two shards of the role that are so */
};

/* An agent that has a shard which is `alone`. */
struct fit_held {
	char role[40];
	int64_t agent_id;
};

struct fit_agent {
	int64_t id;
	char name[128];
	int64_t capacity;
	int64_t room;     /* capacity not used by jobs; may be negative */
	json_t *features; /* array, as reported */
};

struct fit {
	struct fit_role roles[FIT_ROLES_MAX]; /* waiting for an agent */
	size_t role_count;
	struct fit_held held[FIT_ROLES_MAX]; /* by earlier offers of the run */
	size_t held_count;
	struct fit_agent *agents; /* allocated; those that take jobs */
	size_t agent_count;
	char *features_text; /* of the agent that was read last; or NULL */
};

struct fit_query {
	int64_t run_id;
	int64_t seen_after;  /* ms since 1970: agents seen later are online */
	int64_t first_agent; /* listed first, even if not online; 0: none */
	bool only_first;     /* the other agents are not read */
};

/**
 * Read the waiting roles of a run and the agents of its pool that are online
 * and take jobs: `first_agent`, then those with most room.
 * @param ret  fit_release() in any case
 * @return 0; -ENOMEM; -EIO
 */
int fit_read(struct db *db, const struct fit_query *query, struct fit *ret);

void fit_release(struct fit *f);

/** True if the agent has room and capabilities for one of the waiting roles. */
bool fit_takes_any(const struct fit *f, const struct fit_agent *agent);

/** True if the agent has room and capabilities for all waiting roles, none of which is
 * divided over agents. */
bool fit_takes_all(const struct fit *f, const struct fit_agent *agent);

/**
 * Find an agent for every role, with the capabilities it needs. Agents listed
 * first are preferred; a shard prefers one that has fewest of its role.
 * @param idle   true: assume that no agent has a job
 * @param seats  receives an index into `agents` for each role
 * @return false: not every role has one (seats are undefined)
 */
bool fit_seat(const struct fit *f, bool idle,
	      size_t seats[static FIT_ROLES_MAX]);

/**
 * Write which capability is missing: no agent has what a role needs, or the
 * agents that have it can take too few jobs even when idle.
 * @param text  one sentence, cut to the size; written only if true is returned
 */
bool fit_missing(const struct fit *f, const char *pool, char *text,
		 size_t size);

/** Write the capabilities that the run needs: "client:baresip, codec:opus".
 * @return false: none */
bool fit_needs(const struct fit *f, char *text, size_t size);

#endif
