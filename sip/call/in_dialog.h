/**
 * Requests within the dialog of a call that are no offer.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_IN_DIALOG_H
#define OFFHOOK_SIP_CALL_IN_DIALOG_H

#include <re.h>

struct sip_call;

/* Requests of ours within a dialog, INVITE and BYE aside, at a time. */
#define CALL_REQUESTS_MAX 32

int in_dialog_send(struct sip_call *call, const char *method,
		   const char *headers, const char *type, const char *body);
void info_received(struct sip_call *call, const struct sip_msg *msg);

#endif
