/**
 * What is told to handlers: never within a call of the API, but always before
 * the next message is looked at. A call that a BYE ended is over for those who
 * count calls when the INVITE right behind it comes.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_LATER_H
#define OFFHOOK_SIP_LATER_H

#include <re.h>

struct sip_ua;

/** Embedded where it is needed; zeros when it is not due. */
struct later {
	struct le le;
	void (*handler)(void *arg);
	void *arg;
};

/** Run a handler soon, after those that are due already. */
void later_start(struct sip_ua *ua, struct later *later,
		 void (*handler)(void *arg), void *arg);
void later_cancel(struct later *later);
/** A message was handled: run those that are due. What they add waits for the
 * loop's next turn. */
void later_run(struct sip_ua *ua);

#endif
