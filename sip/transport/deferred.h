/**
 * Deferred handlers. Handlers of the API's user are never called within a function
 * of the API, but always before the next message is handled: a call that a BYE
 * ended is over before the INVITE behind it is seen.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_DEFERRED_H
#define OFFHOOK_SIP_TRANSPORT_DEFERRED_H

#include <re.h>

#include "sip/mono_timer.h"

/** A handler to be called; embedded in its owner, all zero while not queued. */
struct deferred {
	struct le le;
	void (*handler)(void *arg);
	void *arg;
};

/** Queued handlers, in order; all zero at first. */
struct deferred_queue {
	struct list due;
	struct mono_timer tmr;
	bool handling; /* a message is being handled; deferred_run() follows */
};

/** Queue a handler.
 * @param deferred  linked until the handler is called or deferred_cancel(); if it
 *                  is queued already it keeps its place */
void deferred_start(struct deferred_queue *queue, struct deferred *deferred,
		    void (*handler)(void *arg), void *arg);
/** Remove a handler from the queue, if it is queued. */
void deferred_cancel(struct deferred *deferred);
/** Call the queued handlers. What they queue waits for the loop's next turn. */
void deferred_run(struct deferred_queue *queue);
/** Stop the queue before its memory is released; no handler is called any more. */
void deferred_close(struct deferred_queue *queue);

#endif
