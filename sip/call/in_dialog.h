/**
 * Requests within the dialog of a call that are no offer.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_IN_DIALOG_H
#define OFFHOOK_SIP_CALL_IN_DIALOG_H

#include <re.h>

struct buf;
struct early;
struct sip_call;

/* Requests of ours within a dialog, INVITE and BYE aside, at a time. */
#define CALL_REQUESTS_MAX 32

/** The final response to a request. @param msg  NULL: there was none */
typedef void(in_dialog_h)(struct sip_call *call, const char *method,
			  const struct sip_msg *msg);

/**
 * Send a request within the dialog of an established call. No response, 408 and
 * 481 end the call (RFC 3261 12.2.1.2), but for NOTIFY.
 * @param method      static
 * @param headers     more header lines, or NULL
 * @param type        Content-Type of the body, or NULL: there is none
 * @param answered_h  or NULL
 * @return 0; -EBUSY too many at a time; -ENOMEM; -errno
 */
int in_dialog_send(struct sip_call *call, const char *method,
		   const char *headers, const char *type, const char *body,
		   in_dialog_h *answered_h);
/** The provisional response to our INVITE is reliable: a PRACK is due. */
bool in_dialog_needs_prack(const struct sip_call *call,
			   const struct sip_msg *msg);
/**
 * Acknowledge a reliable provisional response by PRACK.
 * @param early  its early dialog
 * @param sdp    our answer to an offer in it, or NULL; copied
 * @return 0; -EBUSY too many requests at a time; -ENOMEM; -errno
 */
int in_dialog_prack(struct sip_call *call, struct early *early,
		    const struct sip_msg *msg, const struct buf *sdp);
/** Answer an INFO with 200, and report the DTMF digit that it may carry. */
void info_received(struct sip_call *call, const struct sip_msg *msg);

#endif
