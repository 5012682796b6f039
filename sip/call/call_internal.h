/**
 * A call of the native user agent, as the files of sip/ know it.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_CALL_INTERNAL_H
#define OFFHOOK_SIP_CALL_CALL_INTERNAL_H

#include <re.h>

#include "base/buf.h"
#include "sip/call.h"
#include "sip/call/call_event.h"
#include "sip/call/fork.h"
#include "sip/call/redirect.h"
#include "sip/call/session_timer.h"
#include "sip/message/text.h"
#include "sip/mono_timer.h"
#include "sip/object.h"

struct call_user;
struct client_request;
struct dialog;
struct digest;
struct originator;
struct sdp;
struct server_transaction;
struct transaction_layer;
struct transport;
struct update;

enum call_state {
	CALL_INVITING, /* INVITE sent */
	CALL_INCOMING, /* INVITE received */
	CALL_ACCEPTED, /* 2xx sent, ACK awaited */
	CALL_UP,
	CALL_ENDING, /* CANCEL or BYE sent */
	CALL_DONE,   /* SIP_CALL_CLOSED queued */
};

/* reliable_provisional.c: our reliable provisional responses (RFC 3262 3) */
struct reliable {
	struct mbuf *mb; /* the one that waits for its PRACK, or NULL */
	uint32_t rseq;
	unsigned count;   /* transmissions */
	bool offers;      /* it has our offer: the PRACK answers */
	bool answered;    /* one of them had our answer */
	bool answer_next; /* sip_call_answer() waits */
	struct list queue;
	struct mono_timer tmr;
	struct mono_timer tmr_end;
};

/* Functions of files above call.c and uac.c that these two call. */
struct call_handlers {
	/* SIP_CALL_CLOSED follows: a transfer under way fails, the ACK to a
	 * 2xx of ours is not waited for */
	void (*closing_h)(struct sip_call *call);
	/* BYE is sent, or the call is over: end other requests in its dialog */
	void (*stop_h)(struct sip_call *call);
	/* Refresh the session. @return 0; -EBUSY: try again; -errno */
	int (*refresh_h)(struct sip_call *call);
	/* The early dialogs are over, but for that which the call's dialog goes
	 * on from: so are our requests in them, and this is why */
	void (*early_end_h)(struct sip_call *call, const char *why);
};

/* uac.c: our INVITE. Each transaction holds a reference while it runs. */
struct call_uac {
	struct client_request *request; /* INVITE or re-INVITE */
	uint32_t challenges;            /* of it: see digest_challenge() */
	struct client_request *ack;
	struct mbuf *ack_mb; /* sent again when the 2xx comes again */
	struct sa ack_dst;
	enum sip_transp ack_tp;
	char *ack_name; /* of the certificate at ack_dst, or NULL */
	uint32_t ack_cseq;
	int64_t sent_ns;
	uint16_t last_provisional;
	char *replaces_line; /* header lines of our INVITE, or NULL */
	struct mono_timer tmr_ring;
};

/* uas.c: the peer's INVITE or re-INVITE */
struct call_uas {
	struct server_transaction *transaction;
	struct sip_msg *invite;
	int64_t came_ns;    /* of the INVITE that began the call */
	struct mbuf *ok_mb; /* the 2xx, until the ACK */
	uint32_t ok_count;  /* transmissions */
	uint32_t ok_cseq;
	struct mono_timer tmr_ok;
	struct mono_timer tmr_no_ack;
	bool answer_in_ack; /* our offer went with the 2xx */
	bool bye_after_ack;
	bool offer_unusable; /* 488 follows unless the account refuses first */
	bool progressed;     /* a 18x was sent: the peer knows the dialog */
	struct sip_call
		*replaces; /* ends when this call is answered, or NULL */
};

/* call.c: how the call ended, kept until the BYE is answered */
struct call_end {
	enum sip_call_end how;
	bool local;
	uint16_t code;
	char reason[REASON_BYTES];
	char warning[SIP_WARNING_BYTES]; /* of the peer's refusal, or "" */
	int64_t mono_ns;                 /* 0: not known yet */
	int64_t bye_ok_ns;               /* 0: no 2xx */
	struct client_request *bye;
	uint32_t bye_challenges; /* see digest_challenge() */
	struct mono_timer tmr;   /* bounds BYE and CANCEL */
};

/* offer_answer.c */
struct call_session {
	/* of media_local_bytes(); NULL: not set yet, see offer_answer_local() */
	struct media_local *local;
	struct sdp *remote; /* the peer's last description */
	uint64_t id;        /* of our o= line */
	uint64_t version;
	struct buf sdp;               /* what we sent last */
	enum media_direction offered; /* in our pending offer */
	/* not changed once it is made: shared with events; NULL: none yet */
	struct media_negotiated *media;
	struct media_negotiated *reported;
	bool early_answer; /* our answer went with a provisional response */
	bool hold_known;   /* established: hold and resume are events */
	bool held;         /* by us */
	bool held_by_peer;
};

/* reinvite.c: our re-INVITE */
struct call_reinvite {
	bool pending;
	bool unchanged; /* offers the present state */
	bool hold;
	bool retried;          /* after a 491 */
	bool refreshes;        /* for the session timer: no event */
	bool cancelled;        /* no final response in time */
	struct mono_timer tmr; /* until CANCEL; after a 491 until its retry */
};

/* refer.c */
struct call_refer {
	bool transferring; /* our REFER: its result was not reported yet */
	struct mono_timer tmr;
	uint16_t code; /* last status of the transfer */
	char reason[REASON_BYTES];
	bool referred; /* the peer's REFER: it has no final status yet */
	bool silent;   /* it wants no NOTIFY */
	uint32_t cseq; /* of it, for the Event id */
};

struct sip_call {
	struct sip_object object;
	const struct call_handlers *handlers;
	struct le he;
	struct transaction_layer *sip;
	struct transport *transport;
	const struct call_user *user;    /* the account's */
	const struct originator *origin; /* of user; referenced */
	struct dialog *dialog;
	struct digest *digest;
	char *peer;
	bool outgoing;
	struct sip_call_options options;
	enum call_state state;
	struct call_events events;
	struct call_uac uac;
	struct call_branches branches;
	struct call_redirect redirect;
	struct call_uas uas;
	struct reliable reliable;
	struct call_session session;
	struct call_reinvite reinvite;
	struct update *update; /* ours, or NULL */
	struct session_timer timer;
	struct call_refer refer;
	uint32_t in_dialog_count; /* requests of in_dialog.c that run */
	struct call_end end;
};

/* ---- call.c ---- */

/**
 * Make a call; released with mem_deref().
 * @param user      of its account; borrowed as long as the account lives
 * @param outgoing  we send the INVITE
 * @param handlers  not copied
 * @return 0; -ENOMEM
 */
int call_new(struct sip_call **ret, const struct call_user *user, bool outgoing,
	     const struct call_handlers *handlers);
/** Report the end, now. Once; later ones are ignored. */
void call_close(struct sip_call *call);
/** Set how the call ends; call_close() reports it. */
void call_set_end(struct sip_call *call, enum sip_call_end end, bool local,
		  uint16_t code, const char *reason);
void call_set_end_msg(struct sip_call *call, enum sip_call_end end,
		      const struct sip_msg *msg);
/** The dialog of the call that a request or response belongs to: that of the call,
 * or of a branch of its INVITE. @return borrowed; NULL: none */
struct dialog *call_dialog(const struct sip_call *call,
			   const struct sip_msg *msg);
/** Write our Contact: a sip_send_h. @param arg  the call */
int call_contact_handler(enum sip_transp tp, const struct sa *src,
			 const struct sa *dst, struct mbuf *mb, void *arg);
/** End an established call by BYE; how is set by call_set_end() before. */
void call_bye(struct sip_call *call);
/**
 * The 2xx is acknowledged, offer and answer are complete: the call is up, or is
 * ended at once.
 * @param local    our ACK did it, not the peer's
 * @param code     of the response that decided, or 0
 * @param refusal  why the call fails; NULL: it is up
 * @return its event; NULL: it ends, or there is no memory
 */
struct call_event *call_established(struct sip_call *call, bool local,
				    uint16_t code, const char *refusal);
/** Its dialog is set: messages find it by its Call-ID from now on. */
void call_register(struct sip_call *call);
/** The wait before an offer that got 491 is sent again (RFC 3261 14.1), in ms. */
uint32_t call_glare_ms(const struct sip_call *call);

#endif
