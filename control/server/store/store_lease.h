/**
 * Leases: which agent carries out which role of which run. Every transition is
 * one transaction with a compare-and-set, so that requests of agents and the
 * sweeper may run concurrently. Times are parameters, ms since 1970.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_LEASE_H
#define OFFHOOK_SERVER_STORE_STORE_LEASE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct store;

struct lease_times {
	int64_t now;
	int64_t offer_ms; /* time to confirm an offer */
	int64_t lease_ms; /* time between renewals of a started lease */
	int64_t grace_ms; /* uploads are accepted for this long after its end */
};

/* A poll that does not list a lease younger than this does not end it: the
 * lease may have started after the poll was sent. */
#define LEASE_FRESH_MS 10000

/* Longest time that a job may take to end after a cancel. */
#define LEASE_STOPPING_MS 120000

struct lease_poll {
	int64_t agent_id;
	int64_t free; /* jobs the agent can take now */
	bool draining;
	bool one_run;         /* it takes jobs of one run only */
	const char *instance; /* of the agent's process; NULL: unknown */
	json_t *held;         /* array of lease ids, borrowed */
	json_t *features;     /* array, borrowed; NULL: unchanged */
	json_t *calibration;  /* checked; NULL: unchanged */
	int64_t arrived;      /* when the poll arrived */
	bool has_offset;
	int64_t offset_us; /* agent's clock minus ours */
};

/**
 * Handle a poll: record that the agent is alive, end leases that it no longer
 * holds, and offer it waiting leases of its pool. All roles of a run are
 * offered together, if necessary to several agents of the pool, each role to an
 * agent with the capabilities it needs.
 * @param ret_jobs   new array of {lease_id, session_id, role, attempt, spec}
 * @param ret_spread true: another agent was offered a role, wake its poll
 * @return 0; -ESTALE a later poll has replaced it, or the agent has signed off
 *         since; -ENOENT no such agent; -EIO; -ENOMEM
 */
int lease_poll(struct store *s, const struct lease_poll *poll,
	       const struct lease_times *times, json_t **ret_jobs,
	       bool *ret_spread);

/**
 * Whether a lease waits for an agent, or for the poll of the one that it is offered
 * to: else no poll needs to be looked at.
 * @return 0; -EIO
 */
int lease_waits(struct store *s, bool *ret);

/**
 * Whether lease_poll() would do nothing for a poll that it has recorded before: no
 * lease is there for it, and it is still the agent's latest. Reads only, in most
 * cases nothing.
 * @return 0; -EIO
 */
int lease_poll_idle(struct store *s, const struct lease_poll *poll, bool *ret);

/* All functions below also return -ENOENT: no such lease, or another agent's;
 * -ESTALE: the lease is over for this agent, which drops the job. */

/** Confirm an offer; may be repeated. @param epoch  of the offer, -ESTALE if the
 * lease was offered again since; 0: the agent does not tell */
int lease_start(struct store *s, int64_t agent_id, const char *lease_id,
		int64_t epoch, const struct lease_times *times);

/* When a shard began its calls. */
struct lease_began {
	int64_t t_us;     /* by the controller's clock; 0: not told */
	int64_t error_us; /* at most */
};

/** Renew a started lease.
 * @param began  NULL: not told; of several the one with the least error is kept
 * @param ret_command  what the agent is to do: "continue"; "enough": place no more
 * calls; "cancel": end the job */
int lease_renew(struct store *s, int64_t agent_id, const char *lease_id,
		double progress, const struct lease_began *began,
		const struct lease_times *times, const char **ret_command);

struct lease_ready {
	int64_t step; /* it is done with */
	struct lease_began began;
};

/**
 * Report a role ready for the next step.
 * @param ret_go_in_ms  delay until the step starts, at the same instant for all
 * @param ret_last      true: this call completed the barrier, wake the others
 * @return 0 go; -EAGAIN others are not ready; -ECANCELED the run is stopping;
 *         -ERANGE the role cannot have reached that step yet
 */
int lease_ready(struct store *s, int64_t agent_id, const char *lease_id,
		const struct lease_ready *ready,
		const struct lease_times *times, int64_t *ret_go_in_ms,
		bool *ret_last);

struct lease_end {
	const char *outcome; /* completed, failed, error, stopped */
	const char *reason;
	int64_t last_seq;
};

/* Ceiling of missing ranges listed in one answer. */
#define LEASE_MISSING_MAX 100

/**
 * End a lease: the job is over.
 * @param ret_missing  with -EBUSY: new array of [from, to]
 * @return 0; -EBUSY uploads are missing
 */
int lease_finish(struct store *s, int64_t agent_id, const char *lease_id,
		 const struct lease_end *end, const struct lease_times *times,
		 json_t **ret_missing);

struct lease_leave {
	int64_t agent_id;
	const char *
		instance; /* of its process, which polls no more; "": unknown */
	bool gone;        /* it does not come back: delete it */
};

/**
 * Disconnect an agent: its offers wait again, its started leases are lost. One that
 * does not come back is deleted if it had no started lease.
 * @param ret_deleted  true: it was deleted
 */
int lease_disconnect(struct store *s, const struct lease_leave *leave,
		     const struct lease_times *times, bool *ret_deleted);

#endif
