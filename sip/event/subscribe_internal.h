/**
 * What the files of a subscription share: subscribe.c (its life and its
 * notifications) and subscribe_request.c (SUBSCRIBE and the answers to it).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_EVENT_SUBSCRIBE_INTERNAL_H
#define OFFHOOK_SIP_EVENT_SUBSCRIBE_INTERNAL_H

#include "sip/event/event_dialog.h"
#include "sip/message/text.h"
#include "sip/mono_timer.h"

/* The first NOTIFY is due within 64*T1 (RFC 6665 4.1.2.4, timer N). */
#define NOTIFY_WAIT_MS (64 * SIP_T1)

/* A longer one is refreshed after a day like any other. */
#define SUBSCRIBE_EXPIRES_MAX_S 86400

enum subscription_state {
	SUBSCRIPTION_ASKING, /* no NOTIFY yet */
	SUBSCRIPTION_PAUSED, /* it begins again when the notifier wants it */
	SUBSCRIPTION_ACTIVE,
	SUBSCRIPTION_LEAVING,
	SUBSCRIPTION_OVER,
};

struct sip_subscription {
	struct event_dialog d;
	char *uri;
	enum subscription_state state;
	uint32_t asked_s;   /* of the whole */
	uint32_t sending_s; /* of the request under way */
	uint32_t granted_s;
	bool raised;   /* by a 423 */
	bool answered; /* SIP_SUBSCRIBED was told */
	bool expired;  /* under a refresh: its answer decides */
	unsigned renewals;
	struct mono_timer tmr;     /* refresh */
	struct mono_timer tmr_end; /* no NOTIFY, no refresh, no end */
	char reason[REASON_BYTES];
	sip_subscription_h *handler;
	void *arg;
};

/* ---- subscribe.c ---- */

void subscription_tell(struct sip_subscription *s,
		       enum sip_subscription_event event,
		       struct sip_subscription_info *info);
/** The last event. @param msg  what ended it, or NULL */
void subscription_over(struct sip_subscription *s, const struct sip_msg *msg,
		       const char *reason);
/** It lasts so long from now on; its refresh is due before. */
void subscription_granted(struct sip_subscription *s, uint32_t expires_s);
/** Its time is over: a timer's handler. */
void subscription_end(void *arg);

/* ---- subscribe_request.c ---- */

/** Send SUBSCRIBE. @return 0; -errno */
int subscription_ask(struct sip_subscription *s, uint32_t expires_s);

#endif
