/**
 * An account of the native user agent; for the files of sip/ua.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_ACCOUNT_INTERNAL_H
#define OFFHOOK_SIP_UA_ACCOUNT_INTERNAL_H

#include <re.h>

#include "base/str.h"
#include "sip/call/call_user.h"
#include "sip/event/event_user.h"
#include "sip/events.h"
#include "sip/mono_timer.h"
#include "sip/transport/deferred.h"
#include "sip/ua/native_ua.h"
#include "sip/ua/register.h"

struct client_request;
struct dialog;
struct digest;
struct keepalive;
struct originator;
struct sip_digest_server;

struct sip_account {
	struct sip_object object;
	struct le le;
	struct le he;
	struct le he_contact; /* in ua->contacts */
	struct le he_user;    /* in ua->users */
	struct sip_ua *ua;
	char *username;
	struct originator *origin;
	struct digest *digest; /* of REGISTER */
	uint32_t challenges;   /* of req: see digest_challenge() */
	struct list outside;   /* requests outside of dialogs */
	uint32_t regexpire_s;
	sip_account_h *account_h;
	sip_incoming_h *incoming_h;
	void *arg;
	bool accepts;
	struct call_user call_user;
	struct event_user event_user;

	/* registration */
	enum register_state state;
	struct dialog *dialog;
	struct client_request *req;
	struct mono_timer tmr; /* refresh; end of an unregister */
	struct deferred due;
	struct list events;
	int64_t began_ns;
	int64_t first_sent_ns;          /* 0: not on the wire yet */
	uint32_t expires_s;             /* asked for */
	bool raised;                    /* by a 423 */
	unsigned busy;                  /* waits for Retry-After so far */
	unsigned recoveries;            /* failed ones in a row */
	char instance[UUID_TEXT_BYTES]; /* RFC 5626 4.1 */
	struct keepalive *keepalive;    /* NULL: not offered */

	sip_mwi_h *mwi_h; /* NULL: unsolicited ones are refused */
	struct sip_digest_server *verifier; /* NULL: nobody is challenged */
};

/** It is an account of this user agent, not of the second client. */
static inline bool account_is_native(const struct sip_account *account)
{
	return ((const struct sip_object *)account)->ops == &native_ops;
}
/**
 * Report an event to the account's handler, never within a call of the API.
 * @param code    SIP status, or 0
 * @param reason  copied
 */
void account_event_add(struct sip_account *account,
		       enum sip_account_event event, int64_t mono_ns,
		       uint16_t code, const char *reason);

#endif
