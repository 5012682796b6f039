/**
 * Real engine processes on loopback, alone or as a pair that call each other.
 */
#ifndef TESTS_UNIT_ENGINE_PAIR_H
#define TESTS_UNIT_ENGINE_PAIR_H

#include "control/wire/frame.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

struct process {
	pid_t pid;
	struct wire_channel *channel;
	json_t *events;
	json_t *series;
	json_t *messages;
	json_t *finish;
	unsigned lives;
	int ready; /* the last step that is ready, -1: none */
};

struct pair {
	struct process callee;
	struct process caller;
	uint16_t port; /* the callee's */
};

/** Return a port that is free now for UDP and TCP. */
uint16_t free_port(void);
/** Read what arrives within 20 ms. */
void pump(struct process *p);
/** Start an engine process. */
void process_start(struct process *p);
/**
 * Wait for the end of the process.
 * @return its exit code, -1: it crashed
 */
int process_end(struct process *p);
void send_text(struct process *p, const char *text);
/** Tell the engine to start a step. */
void send_go(struct process *p, int step);
/** Read until the engine is ready for a step. */
void until_ready(struct process *p, int step);
/** Read until the job ends with this outcome. */
void until_finish(struct process *p, const char *outcome);
/** Return the reason of the job's end. */
const char *reason(const struct process *p);
/** Return the n-th event of a kind (and state), NULL: there is none. */
json_t *event(const struct process *p, const char *kind, const char *state_name,
	      int n);
/** Return whether a state event of this name was reported. */
bool has_state(const struct process *p, const char *name);
/** Return the stream of a call in a direction ("in", "out"). */
json_t *stream(json_t *call, const char *dir);
json_int_t number(json_t *object, const char *name);
/** Return the sum of n over the points of a measure. */
json_int_t samples(const struct process *p, const char *dir,
		   const char *measure);
/** Send the engine a job of one role, with its own RTP ports. */
void send_job(struct process *p, const char *role, uint16_t sip_port,
	      const char *steps);
/** Start both engines: the callee listens, the caller has its job. */
void pair_start(struct pair *pair, const char *answer, const char *call);
/** Wait until both have ended: completed, and no leak. */
void pair_end(struct pair *pair);
/** Wait until both processes have exited with 0. */
void pair_release(struct pair *pair);

#endif
