/**
 * The branches of our INVITE: early dialogs (RFC 3261 12.1), and those that were
 * answered after the first (13.2.2.4).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_FORK_H
#define OFFHOOK_SIP_CALL_FORK_H

#include <re.h>

struct dialog;
struct sdp;
struct sip_call;

/** A branch of our INVITE that answered provisionally: an early dialog. */
struct early {
	struct le le;
	struct dialog *dialog;
	bool has_rseq;
	uint32_t rseq;      /* of its last reliable response */
	bool answered;      /* it had SDP */
	bool settled;       /* reliably: what follows says nothing new */
	struct sdp *remote; /* that SDP */
};

/**
 * That of a provisional response, made if it is new.
 * @return NULL: it makes none, or there are too many
 */
struct early *early_take(struct sip_call *call, const struct sip_msg *msg);
/** That of a request, or of a response. */
struct early *early_find(const struct sip_call *call,
			 const struct sip_msg *msg);
/** A 2xx came: the call's dialog goes on from that of its branch. */
void early_confirm(struct sip_call *call, const struct sip_msg *msg);
/** The session that call->session.remote stands for is its branch's. */
void early_settle(const struct sip_call *call, struct early *early);

/** A 2xx of another branch: acknowledge it, and end its dialog by BYE. */
void fork_answered(struct sip_call *call, const struct sip_msg *msg);

#endif
