/**
 * The branches of our INVITE: early dialogs (RFC 3261 12.1), and those that were
 * answered after the first (13.2.2.4).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_FORK_H
#define OFFHOOK_SIP_CALL_FORK_H

#include <re.h>

struct dialog;
struct originator;
struct sdp;

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

/** The branches of a call's INVITE; embedded in the call. */
struct call_branches {
	struct list early;    /* struct early */
	struct list answered; /* those that answered after the first one */
	/* struct early of those that have not, until the call ends: their CSeq
	 * numbers are needed if they do */
	struct list unanswered;
};

/**
 * The early dialog of a provisional response, made if it is new.
 * @param dialog  of the INVITE
 * @return borrowed; NULL: the response makes none, or there are too many
 */
struct early *early_take(struct call_branches *branches,
			 const struct dialog *dialog,
			 const struct sip_msg *msg);
/** The early dialog of a request or a response. @return borrowed; NULL: none */
struct early *early_find(const struct call_branches *branches,
			 const struct sip_msg *msg);
/** A 2xx came: the dialog of the INVITE goes on from the early dialog of its
 * branch. early_find() finds none any more; a reference to one stays valid. */
void early_confirm(struct call_branches *branches, struct dialog *dialog,
		   const struct sip_msg *msg);
/** Offer and answer with the branch are complete.
 * @param remote  its description; a reference is kept */
void early_settle(struct early *early, struct sdp *remote);

/** A 2xx of another branch: acknowledge it, and end its dialog by BYE.
 * @param dialog  of the INVITE */
void fork_answered(struct call_branches *branches,
		   const struct originator *origin, const struct dialog *dialog,
		   const struct sip_msg *msg);

#endif
