/**
 * What subscriptions, publications and referrals need of the account that they
 * belong to, which embeds it.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_EVENT_EVENT_USER_H
#define OFFHOOK_SIP_EVENT_EVENT_USER_H

#include "sip/account.h"

struct event_table;
struct originator;
struct served;

struct event_user {
	struct sip_account *account;     /* for the handlers */
	const struct originator *origin; /* an event dialog keeps a reference */
	struct event_table *table;       /* of the user agent */
	struct served *served; /* to subscribers; NULL: none are taken */
	sip_refer_h *refer_h;  /* NULL: REFERs outside of dialogs get 603 */
	void *arg;             /* of refer_h */
};

#endif
