/**
 * The answers to an INVITE that came (RFC 3261 13.3).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_UAS_H
#define OFFHOOK_SIP_CALL_UAS_H

#include <re.h>

struct call_handlers;
struct call_user;
struct media_local;
struct sip_call;

/** An INVITE outside of any dialog. @param handlers  of every call, not copied */
void uas_invite(const struct call_user *user, const struct sip_msg *msg,
		const struct call_handlers *handlers);
/** An ACK to a 2xx of ours: the call is up. */
void uas_ack(struct sip_call *call, const struct sip_msg *msg);
/** A re-INVITE came before the ACK to our 2xx: the call is up (RFC 5407 3.1.5). */
void uas_ack_overtaken(struct sip_call *call);
/** Refuse the INVITE with a status; the call ends. */
void uas_refuse(struct sip_call *call, uint16_t code, const char *reason);
/**
 * Refuse an INVITE for its offer: 488 with a Warning, 415, or 400 if it cannot
 * be read. The call ends with the reason.
 * @param err  of offer_answer_read() or offer_answer_new_answer()
 */
void uas_refuse_offer(struct sip_call *call, int err, const char *reason);
/** A BYE of the peer: the call ends. */
void uas_bye(struct sip_call *call, const struct sip_msg *msg);
/** A response of a call that makes or refreshes its dialog or session. */
struct uas_response {
	const struct sip_msg *msg; /* the request */
	struct server_transaction *
		*server;      /* its transaction; NULL: one is made */
	struct mbuf **ret_mb; /* a reference, to send it again; or NULL */
	uint16_t code;
	const char *reason;
	const char *headers; /* more lines, or NULL */
	bool routes;         /* it makes the dialog */
	bool timer;          /* a 2xx: what of the session timer is agreed */
	bool sdp;            /* with call->session.sdp */
};
/** Send it, with our Contact and what we support. @return 0; -errno */
int uas_respond(struct sip_call *call, const struct uas_response *response);
/** Send 200 to INVITE or re-INVITE, and again until its ACK comes.
 * @param sdp  with call->session.sdp
 * @return 0; -errno */
int uas_accept(struct sip_call *call, const struct sip_msg *msg, bool sdp);
/** Send the 2xx that sip_call_answer() has asked for. */
void uas_answer(struct sip_call *call);
/** Send a provisional response, reliably if the peer supports it.
 * @param media  makes an early answer; or NULL
 * @return 0; -EINVAL; -EBUSY; otherwise the call has ended */
int uas_progress(struct sip_call *call, uint16_t code,
		 const struct media_local *media);
/** Send a provisional response, and report it.
 * @param ret      to send it again, or NULL
 * @param headers  more lines
 * @param sdp      with call->session.sdp */
int uas_provisional(struct sip_call *call, struct mbuf **ret, uint16_t code,
		    const char *headers, bool sdp);
/** The 2xx is not sent again, its ACK is not waited for. */
void uas_stop_timers(struct sip_call *call);

#endif
