/**
 * What is told to handlers: never within a call of the API, but always before
 * the next message is looked at. A call that a BYE ended is over for those who
 * count calls when the INVITE right behind it comes.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_DEFERRED_H
#define OFFHOOK_SIP_TRANSPORT_DEFERRED_H

#include <re.h>

struct sip_ua;

/** Embedded where it is needed; zeros when it is not due. */
struct deferred {
	struct le le;
	void (*handler)(void *arg);
	void *arg;
};

/** Run a handler soon, after those that are due already. */
void deferred_start(struct sip_ua *ua, struct deferred *later,
		    void (*handler)(void *arg), void *arg);
void deferred_cancel(struct deferred *later);
/** A message was handled: run those that are due. What they add waits for the
 * loop's next turn. */
void deferred_run(struct sip_ua *ua);

#endif
