/**
 * What calls need of the account that they belong to, which embeds it.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_CALL_USER_H
#define OFFHOOK_SIP_CALL_CALL_USER_H

#include <re.h>

#include "sip/call.h"
#include "sip/object.h"

struct call_table;
struct originator;

struct call_user {
	struct sip_object object;        /* every call begins with it */
	const struct originator *origin; /* a call keeps a reference */
	struct call_table *table;        /* of the user agent */
	struct sip_call_options incoming_options; /* of incoming calls */

	/* An incoming call is there: it is adopted, refused or released. */
	void (*incoming_h)(struct sip_call *call, void *arg);
	/* Has a request within a call the credentials that the account asks
	 * for? @return false: it was answered */
	bool (*verify_h)(const struct sip_msg *msg, void *arg);
	void *arg;
};

#endif
