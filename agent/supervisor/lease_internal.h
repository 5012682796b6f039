/**
 * Inside a lease: shared by lease.c (its life, renewals and barriers) and
 * lease_engine.c (its engine process).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_LEASE_INTERNAL_H
#define OFFHOOK_AGENT_SUPERVISOR_LEASE_INTERNAL_H

#include "agent/link/upload.h"
#include "agent/spool/report_records.h"
#include "agent/supervisor/controller_clock.h"
#include "agent/supervisor/engine_group.h"
#include "agent/supervisor/lease.h"

enum lease_state {
	LEASE_CONFIRMING, /* the start request is under way */
	LEASE_FETCHING,   /* confirmed; prompts are being fetched */
	LEASE_RUNNING,    /* an engine carries it out */
	LEASE_FLUSHING,   /* the engine has ended; results are uploaded */
};

struct lease {
	struct lease_env *env;
	enum lease_state state;
	char id[SPOOL_NAME_BYTES];
	int64_t epoch; /* of the offer; 0: of an earlier controller */
	char session_id[64];
	char role[64];
	json_t *spec;       /* until the engine has it */
	bool sharded;       /* other agents have other shards of the role */
	bool barrier_first; /* the agents of the run wait for each other before the
			     * first step, too */
	uint32_t max_duration_s;
	size_t step_count;

	/* results */
	struct spool *spool;         /* NULL: dropped */
	struct artifacts *artifacts; /* NULL: likewise */
	struct report_records report;
	struct upload *upload;
	bool confirmed; /* the controller let it start */
	bool completed; /* the outcome is so */
	bool finished;  /* the outcome is in the spool */
	bool uploaded;  /* accepted, or not wanted */
	bool dropped;
	char error[256]; /* why it ends with outcome error, whatever the
			  * engine's outcome is */

	/* engine */
	struct engine_group *engines; /* NULL: none runs */
	bool cancelled;
	bool enough;    /* it was told to place no more calls */
	bool disk_full; /* it was logged */
	double progress;
	int64_t step;     /* the engine's present one */
	int64_t began_ns; /* when the first step with calls began; 0: not yet */

	/* controller */
	struct http_client_call *start; /* later: the fetch of a prompt */
	const char *fetched;            /* hash of that prompt, in spec */
	struct http_client_call *renew;
	struct http_client_call *barrier;
	struct controller_clock clock;
	bool lost;            /* 410 to a renewal: stop renewing */
	bool barrier_waiting; /* repeat it after the next renewal */
	struct event_loop_timer renew_timer;
	struct event_loop_timer expiry;
	struct event_loop_timer barrier_timer;
	struct event_loop_timer duration;
	struct event_loop_timer over;
};

/* ---- lease.c ---- */

/** Write the outcome to the spool and upload everything. Only the first call
 * counts; l->error replaces outcome and reason. */
void lease_finish(struct lease *l, const char *outcome, const char *reason);
/** Report an artifact that the controller does not get. @param arg  the lease */
void lease_artifact_lost(const char *name, const char *why, void *arg);
/** If the lease is over, call over_h in a later turn of the loop. */
void lease_check_over(struct lease *l);

/** Send `go` for a step to all engines of the lease.
 * @return as engine_group_send() */
int lease_go(struct lease *l, int64_t step, int64_t in_ms);
/** Start the first step, if no barrier is before it.
 * @return as engine_group_send() */
int lease_begin(struct lease *l);
/** The engine has set up its job: wait for the other agents of the run, if a barrier is
 * before the first step. */
void lease_engine_prepared(struct lease *l);
/** The engine reported that the calls of a step begin.
 * @param message  its message of type "began" */
void lease_step_began(struct lease *l, const json_t *message);
/** The engine reported that it is ready with a step.
 * @param message  its message of type "ready" */
void lease_step_ready(struct lease *l, const json_t *message);

/* ---- lease_engine.c ---- */

/** Set up the timers of the engine. */
void lease_engine_init(struct lease *l);
/** Start the engine and send it the job; a failure ends the job. */
void lease_engine_start(struct lease *l);

#endif
