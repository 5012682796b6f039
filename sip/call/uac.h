/**
 * The INVITE of a call we place, and its ACK (RFC 3261 13.2).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_UAC_H
#define OFFHOOK_SIP_CALL_UAC_H

#include <re.h>

struct buf;
struct call_handlers;
struct call_user;
struct dialog_request_params;
struct sip_call;
struct sip_call_params;

/** sip_call_dial(). @param handlers  of every call, not copied */
int uac_dial(struct sip_call **ret, const struct call_user *user,
	     const struct sip_call_params *params,
	     const struct call_handlers *handlers);
/** Send the ACK to a 2xx. @param sdp  our answer to an offer in the 2xx, or NULL */
int uac_ack(struct sip_call *call, uint32_t cseq, const struct buf *sdp);
/** Send the INVITE of the call. @return 0; -errno */
int uac_invite(struct sip_call *call);
/** Its responses: a sip_resp_h. @param arg  the call */
void uac_response(int err, const struct sip_msg *msg, void *arg);
/** An INVITE of the call is about to be handed to the socket. */
void uac_sent(struct sip_call *call, int64_t mono_ns);
/** An INVITE, whose method and handlers are set, with the call's headers; its
 * response handler lets go of the call. @return 0; -errno */
int uac_invite_send(struct sip_call *call,
		    struct dialog_request_params *request);
/** Cancel the INVITE; the call ends as call_set_end() has set it before. */
void uac_cancel(struct sip_call *call);
/** A repeated 2xx: send its ACK again. */
void uac_ack_again(struct sip_call *call, const struct sip_msg *msg);

#endif
