/**
 * The controller's context: main() builds it, all modules get it. Constant
 * while requests run; each part has its own locks.
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_CONTROLLER_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_CONTROLLER_H

#include "control/server/request/parked.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct announcer;
struct callback_sender;
struct controller_conf;
struct database;
struct http;
struct remover;
struct run_engine;
struct secrets;
struct sessions;

/* Bounds of the histogram of answer times, in seconds; the last is infinite. */
#define HTTP_TIMES                                      \
	{                                               \
		0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60 \
	}
#define HTTP_TIMES_MAX 8

/** Counters of the HTTP server since its start. */
struct http_counters {
	uint64_t answers[6]; /* by the first digit of the status; [0] unused */
	uint64_t times[HTTP_TIMES_MAX +
		       1]; /* not above a bound; the last: all */
	double seconds;    /* from the headers to the answer */
	size_t queued;     /* now: waiting and parked */
	unsigned active;   /* now: requests not answered */
};

/** Operations of the HTTP server for other modules, implemented in http.c.
 * Thread: any. */
struct http_ops {
	/** Run the handlers of parked requests again. @param kinds  a sum of
	 * PARKED_BIT() */
	void (*wake_parked)(struct http *http, unsigned kinds);
	/** Answer the parked polls of an agent. */
	void (*end_polls)(struct http *http, int64_t agent_id);
	/** "http://127.0.0.1:45123", or https: the port as bound. */
	const char *(*address)(const struct http *http);
	void (*count)(struct http *http, struct http_counters *ret);
};

struct controller {
	const struct controller_conf *conf;
	struct secrets *secrets;
	struct database *database;
	struct run_engine *run_engine;
	struct sessions *sessions;
	struct callback_sender *callbacks;
	struct remover *remover;
	/* Tells other controllers on the same database that runs have changed;
	 * both NULL: there are none. */
	struct announcer *announcer;
	void (*announce_h)(struct announcer *a);
	const struct http_ops *http_ops;
	atomic_uint imports; /* relaxed: it only counts; import_turn.h */
	/* Released by main() when it serves, acquired by controller.c for
	 * threads that need it: publishes the server. */
	_Atomic(struct http *) http;
};

/* Before main() has started the HTTP server these do nothing. Thread: any. */

/** Runs or leases have changed: run the handlers of parked requests again, here and
 * in the other controllers. @param kinds  a sum of PARKED_BIT() */
void controller_wake_parked(struct controller *c, unsigned kinds);

/** Another controller has changed them: likewise all, here only. */
void controller_wake_here(struct controller *c);

/** An agent has signed off: answer its polls that wait. */
void controller_end_polls(struct controller *c, int64_t agent_id);

/** Where the server listens, as a URL. @return NULL: not listening yet */
const char *controller_address(struct controller *c);

/** Read the HTTP server's counters. @return false: not started yet */
bool controller_count(struct controller *c, struct http_counters *ret);

#endif
