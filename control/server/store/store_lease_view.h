/**
 * The lease and run that an agent's request names. Included by
 * control/server/store only.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_LEASE_VIEW_H
#define OFFHOOK_SERVER_STORE_STORE_LEASE_VIEW_H

#include "control/server/store/db.h"
#include "control/server/store/store_lease.h"

/* "caller (shard 2 of 4)" */
#define LEASE_WHOSE_BYTES 72

/** Write which role a lease is of, and which shard if there are several.
 * @param shard  from 0 */
void lease_whose(char text[static LEASE_WHOSE_BYTES], const char *role,
		 int64_t shard, int64_t shards);

/* A lease with fields of its run. */
struct lease_view {
	bool found;
	int64_t run_id;
	char role[40];
	char whose[LEASE_WHOSE_BYTES]; /* the role, and which shard */
	int64_t agent_id;              /* 0: none */
	char state[16];
	int64_t ended_at; /* 0: not ended */
	int64_t next_seq;
	char phase[16];
	int64_t stopping_at;
	int64_t go_step;
	int64_t go_at;
	int64_t epoch;
	bool enough; /* the run needs no more calls */
};

/** Read a lease. @return 0; -ENOENT no such lease, or another agent's; -ESTALE
 * no agent has it; -EIO */
int lease_view(struct db *db, const char *lease_id, int64_t agent_id,
	       struct lease_view *ret);

/** What answers tell the agent: "continue"; "enough": place no more calls; "cancel": end the job. */
const char *lease_command(const struct lease_view *v);

/** True if the lease still accepts uploads. */
bool lease_uploads(const struct lease_view *v, const struct lease_times *times);

#endif
