/**
 * Work that is put off: handlers of the API's user never run within a call of
 * the API, but always before the next message is looked at. So a call that a
 * BYE ended is over for those who count calls when the INVITE right behind it
 * comes.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_DEFERRED_H
#define OFFHOOK_SIP_TRANSPORT_DEFERRED_H

#include <re.h>

#include "sip/mono_timer.h"

/** Embedded in its owner; all zero while it is not due. */
struct deferred {
	struct le le;
	void (*handler)(void *arg);
	void *arg;
};

/** Those that are due, in order; all zero at first. */
struct deferred_queue {
	struct list due;
	struct mono_timer tmr;
	bool handling; /* a message is: deferred_run() follows */
};

/** Run a handler soon, after those that are due already.
 * @param deferred  linked until the handler is called or it is cancelled; one
 *                  that is due already keeps its place */
void deferred_start(struct deferred_queue *queue, struct deferred *deferred,
		    void (*handler)(void *arg), void *arg);
/** Nothing if it is not due. */
void deferred_cancel(struct deferred *deferred);
/** Run those that are due. What they add waits for the loop's next turn. */
void deferred_run(struct deferred_queue *queue);
/** Stop its timer, before the memory is released; nothing more is run. */
void deferred_close(struct deferred_queue *queue);

#endif
