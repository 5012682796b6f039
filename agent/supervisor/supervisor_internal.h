/**
 * Inside the supervisor: shared by supervisor.c (start, signals, leases, end)
 * and controller_link.c (enrolment, polls).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_SUPERVISOR_INTERNAL_H
#define OFFHOOK_AGENT_SUPERVISOR_SUPERVISOR_INTERNAL_H

#include "agent/link/http_client.h"
#include "agent/link/identity.h"
#include "agent/supervisor/lease.h"
#include "agent/supervisor/orphans.h"
#include "agent/supervisor/service_notify.h"
#include "agent/supervisor/supervisor.h"
#include "base/event_loop.h"
#include "base/str.h"

#include <limits.h>

/* Running jobs (capacity is at most 64) and older ones still being uploaded. */
#define LEASES_MAX 256

enum stop_state {
	STOP_NO,
	STOP_DRAINING,   /* no new jobs; the running ones finish */
	STOP_CANCELLING, /* the running ones are cancelled */
	STOP_LEAVING,    /* the disconnect request is under way */
};

struct supervisor {
	const struct agent_conf *conf;
	const char *join_token;
	const char *engine_program;
	json_t *features;    /* found at the start */
	json_t *calibration; /* NULL: none */
	struct event_loop *loop;
	struct http_client *http;
	struct service_notify *notify;
	struct orphans orphans;
	int lock_fd;
	int result; /* of supervisor_run() */

	/* signals */
	struct event_loop_fd signals;
	unsigned terminations;         /* SIGTERM and SIGINT seen */
	supervisor_reload_h *reload_h; /* SIGHUP; may be NULL */
	void *reload_arg;

	/* controller */
	struct identity identity;
	bool enrolled;
	bool refused;                   /* for good: supervisor_refused() */
	char instance[UUID_TEXT_BYTES]; /* of this process */
	uint32_t poll_s;
	json_t *cursor; /* opaque; NULL: none yet */
	struct http_client_call *enrol;
	struct http_client_call *poll;
	struct http_client_call *disconnect;
	bool gone;                /* it signs off for good */
	bool polled_without_room; /* the poll under way has free: 0 */
	bool polled_draining;     /* the poll under way has draining: true */
	struct event_loop_timer poll_timer;
	struct event_loop_timer unauthorized;

	/* leases */
	char spool_dir[PATH_MAX];
	char artifact_dir[PATH_MAX];
	char prompt_cache[PATH_MAX];
	struct spool_space space;
	struct lease_env env;
	struct lease *leases[LEASES_MAX];
	size_t lease_count;

	/* one run's jobs, then the end: supervisor_acquire() */
	struct {
		bool on;
		bool expired;     /* no more waiting */
		char session[64]; /* whose jobs are taken; empty: none yet */
		enum acquired result;
		int64_t until_ns;
		struct event_loop_timer timer;
	} acquire;

	/* the end */
	enum stop_state stop;
	struct event_loop_timer stop_timer;
	struct event_loop_timer flush_timer;
};

/* ---- controller_link.c ---- */

/** Set up the timers of the link. */
void link_init(struct supervisor *s);
/** Cancel its requests and timers. */
void link_release(struct supervisor *s);
/** Poll, or enrol if there are no credentials yet. */
void link_begin(struct supervisor *s);
/** Free capacity or draining has changed: poll again to report it. */
void link_changed(struct supervisor *s);
/** 401: enrol again, or give up; in a later turn of the loop.
 * @param arg  struct supervisor */
void link_unauthorized(void *arg);
/** Send a disconnect, once; the loop ends with its answer. */
void link_leave(struct supervisor *s);

/* ---- supervisor.c ---- */

/** The controller offered a job. @param job  borrowed */
void supervisor_offer(struct supervisor *s, json_t *job);
/** How many more jobs the agent takes. */
size_t supervisor_free_slots(const struct supervisor *s);
/** Whether it takes no more jobs for good. */
bool supervisor_draining(const struct supervisor *s);
/** Begin to stop, or go to a later state of stopping. */
void supervisor_stop(struct supervisor *s, enum stop_state how);
/** End the loop: supervisor_run() returns err. */
void supervisor_fail(struct supervisor *s, int err);
/** The controller does not want this agent, also at its next start: end the loop. */
void supervisor_refuse(struct supervisor *s);
/** Discard all leases and their spools. */
void supervisor_drop_leases(struct supervisor *s);

#endif
