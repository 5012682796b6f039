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
#include "agent/supervisor/service_notify.h"
#include "agent/supervisor/supervisor.h"
#include "base/event_loop.h"

#include <limits.h>

/* Running jobs (capacity is at most 64) and older ones still being uploaded. */
#define LEASES_MAX 256

enum stop_state {
	STOP_NO,
	STOP_DRAINING,   /* no new jobs; the running ones finish */
	STOP_CANCELLING, /* the running ones are cancelled */
	STOP_LEAVING,    /* saying good-bye */
};

struct supervisor {
	const struct agent_conf *conf;
	const char *join_token;
	const char *engine_program;
	json_t *features; /* as of the start */
	struct event_loop *loop;
	struct http_client *http;
	struct service_notify *notify;
	int lock_fd;
	int result; /* of supervisor_run() */

	/* signals */
	struct event_loop_fd signals;
	unsigned terminations; /* SIGTERM and SIGINT seen */

	/* controller */
	struct identity identity;
	bool enrolled;
	uint32_t poll_s;
	json_t *cursor; /* opaque; NULL: none yet */
	struct http_client_call *enrol;
	struct http_client_call *poll;
	struct http_client_call *disconnect;
	bool polled_without_room; /* the poll under way can bring no job */
	bool polled_draining;     /* the poll under way says so */
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

	/* the end */
	enum stop_state stop;
	struct event_loop_timer stop_timer;
	struct event_loop_timer flush_timer;
};

/* controller_link.c */
void link_init(struct supervisor *s);
void link_release(struct supervisor *s);
/** Enrol, or poll with the credentials there are. */
void link_begin(struct supervisor *s);
/** Room or readiness has changed: let the controller know. */
void link_changed(struct supervisor *s);
/** 401: enrol anew, or give up. Deferred to a fresh turn of the loop. */
void link_unauthorized(void *arg);
/** Say good-bye, once; ends the loop. */
void link_leave(struct supervisor *s);

/* supervisor.c */
void supervisor_offer(struct supervisor *s, json_t *job);
size_t supervisor_free_slots(const struct supervisor *s);
/** Begin to stop, or go on to a harder way of it. */
void supervisor_stop(struct supervisor *s, enum stop_state how);
/** The controller does not want us. */
void supervisor_fail(struct supervisor *s, int err);
void supervisor_drop_leases(struct supervisor *s);

#endif
