/**
 * Inside a lease: shared by lease.c (engine, results, end) and
 * lease_renewal.c (renewals, barriers).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_LEASE_INTERNAL_H
#define OFFHOOK_AGENT_LEASE_INTERNAL_H

#include "agent/lease.h"
#include "agent/process.h"
#include "agent/report.h"
#include "agent/upload.h"

enum lease_state {
	LEASE_CONFIRMING, /* the start is asked for */
	LEASE_FETCHING,   /* it is ours: prompts are on the way */
	LEASE_RUNNING,    /* there is an engine */
	LEASE_FLUSHING,   /* no engine any more; results are uploaded */
};

struct lease {
	struct lease_env *env;
	enum lease_state state;
	char id[SPOOL_NAME_BYTES];
	char session_id[64];
	char role[64];
	json_t *spec; /* until the engine has it */
	uint32_t max_duration_s;
	size_t step_count;

	/* results */
	struct spool *spool;         /* NULL: dropped */
	struct artifacts *artifacts; /* NULL: likewise */
	struct report report;
	struct upload *upload;
	bool finished; /* the outcome is in the spool */
	bool uploaded; /* accepted, or nobody wants it */
	bool dropped;
	char error[256]; /* why it ends as an error of ours; goes before the
			  * engine's outcome */

	/* engine */
	struct process *process;
	bool cancelled;
	double progress;
	int64_t step; /* the engine is in it */

	/* controller */
	struct http_call *start; /* then: the prompt */
	const char *fetched;     /* its hash, of spec */
	struct http_call *renew;
	struct http_call *barrier;
	bool lost;            /* 410 to a renewal: no more of them */
	bool barrier_waiting; /* asks again after the next renewal */
	struct loop_timer renew_timer;
	struct loop_timer expiry;
	struct loop_timer barrier_timer;
	struct loop_timer duration;
	struct loop_timer over;
};

void lease_renewal_init(struct lease *l);
/** The lease runs from sent_ns on: renew it until it is over. */
void lease_renewal_begin(struct lease *l, int64_t sent_ns);

/** Tell the engine to begin a step. @return as process_send() */
int lease_go(struct lease *l, int64_t step, int64_t in_ms);
/** The engine says that it is ready with a step. */
void lease_step_ready(struct lease *l, json_t *step);

#endif
