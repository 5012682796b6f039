/**
 * What the files of a registration share: register.c (its life and its
 * requests) and register_response.c (the answers to them).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_REGISTER_INTERNAL_H
#define OFFHOOK_SIP_UA_REGISTER_INTERNAL_H

#include <re.h>

#include "sip/ua/register.h"

/* ---- register.c ---- */

/** Send REGISTER: credentials for the challenges seen. @return 0; -errno */
int register_send(struct sip_account *account);
/** Send one that may be challenged again, or fail: a timer's handler. */
void register_resume(void *arg);
/** A refresh is due, or another try after one that failed: the same. */
void register_refresh(void *arg);
/**
 * The attempt is over without a binding. One that was there is sought again.
 * @param code  SIP status; 0: no answer
 */
void register_failed(struct sip_account *account, int64_t mono_ns,
		     uint16_t code, const char *reason);

/* ---- register_response.c ---- */

/** A sip_resp_h. @param arg  the account, with a reference that ends here */
void register_response(int err, const struct sip_msg *msg, void *arg);

#endif
