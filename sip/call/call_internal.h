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
#include "sip/call/session_timer.h"
#include "sip/message/text.h"
#include "sip/mono_timer.h"
#include "sip/object.h"
#include "sip/transport/deferred.h"

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

/* What the files above call.c do for it. */
struct call_handlers {
	/* SIP_CALL_CLOSED follows: a transfer that has no end yet fails */
	void (*closing_h)(struct sip_call *call);
	/* BYE is sent, or the call is over: end what else runs in its dialog */
	void (*stop_h)(struct sip_call *call);
	/* Refresh the session. @return 0; -EBUSY: try again; -errno */
	int (*refresh_h)(struct sip_call *call);
};

struct sip_call {
	struct sip_object object;
	const struct call_handlers *handlers;
	struct le he;
	struct sip_ua *ua;
	struct transaction_layer *sip;
	struct transport *transport;
	struct sip_account *account;
	const struct originator *origin; /* the account's */
	struct dialog *dialog;
	struct digest *digest;
	char *peer;
	char *replaces_line;       /* of our INVITE, or NULL */
	struct sip_call *replaces; /* ends when this one is answered */
	bool outgoing;
	struct sip_call_options options;
	enum call_state state;
	sip_call_h *handler;
	void *arg;

	/* events on their way to the handler */
	struct list events;
	struct call_event *closed; /* made beforehand: it must not fail */
	struct deferred due;

	/* client transactions: each holds a reference while it runs */
	struct client_request *req; /* INVITE or re-INVITE */
	struct client_request *bye;
	struct client_request *ack;
	struct mbuf *ack_mb; /* repeated for a repeated 2xx */
	struct sa ack_dst;
	enum sip_transp ack_tp;
	uint32_t ack_cseq;
	int64_t invite_sent_ns;
	int64_t invite_came_ns; /* 0: it is ours */
	uint16_t last_provisional;
	struct list early;
	struct list targets;       /* of redirections, best first */
	struct list targets_tried; /* with the first one */
	uint32_t redirect_count;
	struct mono_timer tmr_ring;
	struct mono_timer tmr_end;

	/* server side of INVITE and re-INVITE */
	struct server_transaction *st;
	struct sip_msg *msg;
	struct mbuf *ok_mb; /* the 2xx, until the ACK */
	uint32_t ok_count;  /* transmissions */
	uint32_t ok_cseq;
	struct mono_timer tmr_ok;
	struct mono_timer tmr_no_ack;
	bool answer_in_ack; /* our offer went with the 2xx */
	bool bye_after_ack;
	struct reliable reliable;

	/* how it ended, kept until the BYE is answered */
	enum sip_call_end end;
	bool end_local;
	uint16_t end_code;
	char end_reason[REASON_BYTES];
	char end_warning[SIP_WARNING_BYTES]; /* of the peer's refusal, or "" */
	int64_t end_ns;
	int64_t bye_ok_ns; /* 0: not answered 2xx */

	/* offer/answer */
	struct media_local local;
	struct sdp *remote; /* the peer's last one */
	uint64_t session_id;
	uint64_t version;
	struct buf sdp;               /* what we sent last */
	enum media_direction offered; /* by our pending offer */
	bool settled;
	struct media_negotiated media;
	struct media_negotiated reported;
	bool early_answer; /* a provisional response had it */
	bool hold_known;   /* established: hold and resume are events */
	bool held;         /* by us */
	bool held_by_peer;

	/* our re-INVITE */
	bool reinviting;
	bool reinvite_plain; /* changes nothing */
	bool reinvite_hold;
	bool reinvite_retried;
	bool reinvite_refreshes; /* for the session timer: nobody asked */
	struct mono_timer tmr_reinvite;

	struct update *update; /* ours, or NULL */
	struct session_timer timer;
	bool refusing;   /* its offer is unusable: 488 follows, nothing else */
	bool progressed; /* the peer knows the dialog: 18x sent */

	/* other requests, and REFER both ways */
	struct list forks; /* other branches that were answered too */
	uint32_t request_count;
	bool transferring; /* our REFER: its end has not been told */
	struct mono_timer tmr_transfer;
	uint16_t transfer_code;
	char transfer_reason[REASON_BYTES];
	bool referred;      /* theirs: it has not ended */
	bool refer_silent;  /* without NOTIFY */
	uint32_t refer_seq; /* CSeq of the REFER, for the Event id */
};

/* ---- call.c ---- */

/**
 * @param outgoing  we send the INVITE
 * @return 0; -ENOMEM
 */
int call_new(struct sip_call **ret, struct sip_account *account, bool outgoing,
	     const struct call_handlers *handlers);
/** Report the end, now. Once; later ones are ignored. */
void call_close(struct sip_call *call);
/** Set how the call ends; call_close() reports it. */
void call_set_end(struct sip_call *call, enum sip_call_end end, bool local,
		  uint16_t code, const char *reason);
void call_set_end_msg(struct sip_call *call, enum sip_call_end end,
		      const struct sip_msg *msg);
struct sip_call *call_find(struct sip_ua *ua, const struct sip_msg *msg);
/** The call whose INVITE this response belongs to, whatever its branch. */
struct sip_call *call_find_branch(struct sip_ua *ua, const struct sip_msg *msg);
void call_bye(struct sip_call *call);
/**
 * The 2xx is acknowledged, offer and answer are over: the call is up, or ends
 * at once.
 * @param local    our ACK did it, not the peer's
 * @param code     of the response that decided, or 0
 * @param refusal  why the call cannot be; NULL: it can
 * @return its event; NULL: it ends, or there is no memory
 */
struct call_event *call_established(struct sip_call *call, bool local,
				    uint16_t code, const char *refusal);
void call_register(struct sip_call *call);
/** How long to wait before an offer that was answered 491 is repeated (RFC 3261
 * 14.1), in ms. */
uint32_t call_glare_ms(const struct sip_call *call);

#endif
