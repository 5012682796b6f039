/**
 * What the files of sip/ share and nobody else sees. Objects are libre's
 * reference-counted ones (mem_ref, mem_deref); errors inside sip/ are
 * negative errnos like everywhere, libre's are turned with neg().
 */
#ifndef OFFHOOK_SIP_INTERNAL_H
#define OFFHOOK_SIP_INTERNAL_H

#include <errno.h>
#include <re.h>

#include "base/buf.h"
#include "base/str.h"
#include "sip/ceiling.h"
#include "sip/client.h"
#include "sip/events.h"
#include "sip/keepalive.h"
#include "sip/later.h"
#include "sip/native.h"
#include "sip/sdp.h"
#include "sip/server.h"
#include "sip/transport.h"
#include "sip/ua.h"

#define REASON_BYTES 192

/* Events a call keeps for a handler that has not come yet. */
#define CALL_EVENTS_MAX 64

/* After BYE, CANCEL or the removal of a binding: report, do not wait on. */
#define END_WAIT_MS 5000

/* Challenges answered in one transaction, a realm (the first, then stale). */
#define DIGEST_TRIES_MAX  3
#define DIGEST_REALMS_MAX 4

/* Other branches of an INVITE that are ended; more are left alone. */
#define CALL_FORKS_MAX 16

/* Header fields of a message (a comma makes another one); more is refused. */
#define HEADERS_MAX 512

/* Hosts of a target. */
#define HOSTS_MAX 16

/* Requests of ours within a dialog, INVITE and BYE aside, at a time. */
#define CALL_REQUESTS_MAX 32

/* Branches of an INVITE whose early dialogs are known (RFC 3261 12.1). */
#define CALL_EARLY_MAX 16

/* Provisional responses that wait for a PRACK. */
#define PRACK_QUEUE_MAX 8

#define ALLOW_HEADER                                                       \
	"Allow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, MESSAGE, REFER, " \
	"NOTIFY, PRACK, UPDATE\r\n"

static inline int neg(int libre_error)
{
	return libre_error > 0 ? -libre_error : libre_error;
}

/* ---- digest.c: credentials for challenges (RFC 7616, RFC 3261 22) ---- */

struct digest;

/** What is signed. */
struct digest_request {
	const char *method;
	const char *uri;
	const void *body; /* auth-int */
	size_t body_len;
};

int digest_new(struct digest **ret, const char *username, const char *password);
/** A transaction begins: its first challenge is answered in any case. */
void digest_begin(struct digest *digest);
/**
 * Take the challenges of a 401 or 407.
 * @return 0: send again; -EACCES credentials were refused; -ENOKEY there is
 *         no password; -EPROTONOSUPPORT no algorithm we know; -EBADMSG; -ENOMEM
 */
int digest_challenge(struct digest *digest, const struct sip_msg *msg);
/** Append (Proxy-)Authorization for the challenges seen. */
int digest_write(struct mbuf *mb, struct digest *digest,
		 const struct digest_request *request);
/** What to report when digest_challenge() said no. */
void digest_reason(char *dst, size_t size, int err, const struct sip_msg *msg);

/* ---- digest_hash.c: the arithmetic of both sides ---- */

#define DIGEST_HEX_BYTES 129 /* a digest of 64 bytes in hex */

struct digest_input {
	bool sha256;
	bool sess;
	const char *username;
	const char *realm;
	const char *password;
	const char *nonce;
	const char *qop;    /* NULL: none */
	const char *nc;     /* with a qop */
	const char *cnonce; /* with a qop, or sess */
	const struct digest_request *request;
};

/** The response (RFC 7616 3.4.1 to 3.4.3). @return 0; -ENOMEM;
 * -EPROTONOSUPPORT MD5 is off in this process */
int digest_response(char response[static DIGEST_HEX_BYTES],
		    const struct digest_input *in);

/* ---- headers.c: custom headers ---- */

struct header_list {
	struct sip_custom_header *items;
	size_t count;
};

int headers_copy(struct header_list *ret,
		 const struct sip_custom_header *headers, size_t count);
void headers_release(struct header_list *list);
/** A list of its own, to be shared (mem_ref). @return as headers_copy() */
int headers_new(struct header_list **ret,
		const struct sip_custom_header *headers, size_t count);
/**
 * The scopes a request belongs to, as bits 1 << enum sip_header_scope.
 * @param lines  its own header lines, may be NULL: a NOTIFY of a REFER is no
 *               presence
 */
unsigned headers_scopes(const char *method, bool in_dialog, const char *lines);
/** Append the custom headers of these scopes, but for a From. */
int headers_write(struct mbuf *mb, const struct header_list *list,
		  unsigned scopes);
/** Append header lines of ours, but for those a custom header replaces. */
int headers_write_own(struct mbuf *mb, const struct header_list *list,
		      unsigned scopes, const char *lines);
/** Value of the custom header that replaces this one; NULL: none does. */
const char *headers_find(const struct header_list *list, unsigned scopes,
			 const char *name);
/** No control characters: the text may stand in a header. */
bool header_text_valid(const char *text);

/* ---- dialog.c: RFC 3261 section 12 ---- */

struct dialog {
	char *callid;
	char *ltag;
	char *rtag;     /* NULL: not established */
	char *local;    /* From of our requests, with the tag */
	char *remote;   /* To of our requests, with the tag if there is one */
	char *target;   /* request URI */
	char *next_hop; /* where to send it; NULL: the first route, or target */
	char *routes;   /* Route header lines, may be NULL */
	char *route;    /* URI of the first one, may be NULL */
	uint32_t lseq;  /* of the last request */
	uint32_t rseq;  /* of the peer's last request */
	struct header_list *headers; /* instead of the account's; or NULL */
};

int dialog_new(struct dialog **ret, const struct sip_account *account,
	       const char *target, const char *to_uri);
int dialog_accept(struct dialog **ret, const struct sip_msg *msg);
/** The dialog a branch of our INVITE made with this response; its CSeq goes
 * on from that of the INVITE (12.1.2). */
int dialog_branch(struct dialog **ret, const struct dialog *dialog,
		  const struct sip_msg *msg);
/**
 * Route lines of all headers of this kind, and the URI of the first; what was
 * there is released. Both NULL: there are none.
 */
int routes_read(char **ret_lines, char **ret_first, const struct sip_msg *msg,
		enum sip_hdrid id, bool forward);
/** The 2xx to our INVITE came, or a NOTIFY to our SUBSCRIBE. */
int dialog_establish(struct dialog *dialog, const struct sip_msg *msg);
/** Target refresh (12.2). */
void dialog_refresh(struct dialog *dialog, const struct sip_msg *msg);
bool dialog_match(const struct dialog *dialog, const struct sip_msg *msg);
/** True and remembered if the request is not older than the last one. */
bool dialog_in_order(struct dialog *dialog, const struct sip_msg *msg);

struct request {
	const char *method;
	uint32_t ack_cseq;     /* ACK: of the INVITE; else 0 */
	const char *headers;   /* more header lines, may be NULL */
	const struct buf *sdp; /* may be NULL */
	const char *type;      /* of another body; NULL: there is none */
	const char *body;
	sip_send_h *sendh;
	sip_resp_h *resph;
	void *arg;
};
/** Send a request of the account within (or beginning) the dialog. */
int dialog_send(struct client **ret, struct sip_account *account,
		struct dialog *dialog, struct digest *digest,
		const struct request *request);

/* ---- ua.c, dispatch.c, trace.c ---- */

struct sip_ua {
	struct sip_object object;
	struct transport *sip;
	struct dnsc *dnsc;
	struct list tls; /* contexts in use */
	struct sa laddr; /* of all transports */
	char *software;
	struct list accounts;
	struct hash *calls;     /* by Call-ID */
	struct hash *registers; /* accounts by the Call-ID of their REGISTER */
	struct hash *clients;   /* transactions by branch */
	struct hash *servers;   /* by branch */
	struct hash *merges;    /* the same ones by Call-ID */
	struct hash *events;    /* event dialogs by Call-ID */
	struct list resolving;  /* client transactions without address yet */
	struct list due;        /* see later.h */
	struct list keepalives;
	struct tmr tmr_due;
	struct ceiling ceilings[CEILINGS];
	bool closing;
	uint32_t calls_max;
	uint32_t call_count;
	uint32_t referral_count;
	uint32_t contact_count; /* makes contact users unique */
	sip_message_h *trace_h;
	sip_full_h *full_h;
	void *arg;
	int64_t sent_ns;            /* last message put on the wire */
	int64_t received_ns;        /* the message being handled came */
	bool handling;              /* there is one */
	char failure[REASON_BYTES]; /* why the last request got no answer */
};

/** A message is about to be handed to the socket. */
void trace_sent(struct sip_ua *ua, enum sip_transp tp, const struct sa *src,
		const struct sa *dst, const uint8_t *data, size_t len);
void trace_received(struct sip_ua *ua, const struct arrival *arrival);
/** When it happens: the arrival of the message being handled, else now. */
int64_t ua_event_ns(const struct sip_ua *ua);
/** What was received and could be decoded. */
void dispatch_message(struct sip_ua *ua, const struct sip_msg *msg);

/* ---- account.c, register.c ---- */

enum register_state {
	REGISTER_IDLE,
	REGISTER_TRYING, /* the first one, or a recovery */
	REGISTER_LOST,   /* a refresh failed; it is tried again later */
	REGISTER_DONE,   /* bound; a refresh may be under way */
	REGISTER_REMOVING,
};

struct sip_account {
	struct sip_object object;
	struct le le;
	struct le he;
	struct sip_ua *ua;
	char *username;
	char *user;   /* escaped for a URI */
	char *domain; /* host[:port] */
	char *from;   /* From without tag */
	char *aor;    /* sip:user@domain */
	char *contact_user;
	char *next_hop; /* URI that leads to the target; NULL: direct */
	struct resolve_host hosts[HOSTS_MAX]; /* of the target, in order */
	size_t host_count;
	char *target_text;       /* "127.0.0.1:5060 over UDP" */
	struct tls_context *tls; /* never NULL */
	char *tls_name;          /* NULL: the host */
	char *outbound_proxy;    /* URI with ;lr, or NULL */
	struct digest *digest;   /* of REGISTER */
	struct list outside;     /* requests outside of dialogs */
	char *auth_username;
	char *password;
	struct header_list headers;
	uint32_t regexpire_s;
	sip_account_h *account_h;
	sip_incoming_h *incoming_h;
	void *arg;
	bool accepts;
	struct sip_call_options call_options; /* of calls taken */

	/* registration */
	enum register_state state;
	struct dialog *dialog;
	struct client *req;
	struct tmr tmr; /* refresh; end of an unregister */
	struct later due;
	struct list events;
	int64_t began_ns;
	int64_t first_sent_ns;          /* 0: not on the wire yet */
	uint32_t expires_s;             /* asked for */
	bool raised;                    /* by a 423 */
	unsigned busy;                  /* waits for Retry-After */
	unsigned recoveries;            /* failed ones in a row */
	char instance[UUID_TEXT_BYTES]; /* RFC 5626 4.1 */
	bool outbound;                  /* the registrar keeps the flow */
	struct keepalive *keepalive;    /* NULL: not offered */
	char *service_routes;           /* Route lines (RFC 3608), or NULL */
	char *service_route;            /* URI of the first, or NULL */
	struct sip_account *registered; /* whose these are; NULL: ours */

	sip_refer_h *refer_h;  /* NULL: REFERs outside of dialogs get 603 */
	sip_mwi_h *mwi_h;      /* NULL: unsolicited ones are refused */
	struct served *served; /* to subscribers; NULL: none are taken */
	struct sip_verifier *verifier; /* NULL: nobody is challenged */
};

/** Not one of another user agent: of these only ops.h is known. */
static inline bool account_is_native(const struct sip_account *account)
{
	return ((const struct sip_object *)account)->ops == &native_ops;
}
void register_stop(struct sip_account *account);
/** The flow the binding stands on is gone: it is sought again. */
void register_flow_lost(struct sip_account *account, const char *reason);
/** Whose registration its requests go by: another one's, or its own. */
const struct sip_account *account_registration(
	const struct sip_account *account);
/** Contact of requests and responses that make dialogs. */
struct contact {
	const struct sip_account *account;
	const struct sa *addr;
	enum sip_transp tp;
};
void contact_set(struct contact *contact, const struct sip_account *account,
		 const struct sa *addr, enum sip_transp tp);
int contact_print(struct re_printf *pf, const struct contact *contact);
void register_sent(struct sip_account *account, int64_t mono_ns);
/** Why no answer came; err as sip_resp_h gives it. */
void failure_reason(char *dst, size_t size, const struct sip_account *account,
		    int err);
/** The same of a request that went elsewhere. */
void failure_at(char *dst, size_t size, const struct sip_account *account,
		const char *where, int err);

/* ---- calls ---- */

enum call_state {
	CALL_INVITING, /* INVITE sent */
	CALL_INCOMING, /* INVITE received */
	CALL_ACCEPTED, /* 2xx sent, ACK awaited */
	CALL_UP,
	CALL_ENDING, /* CANCEL or BYE sent */
	CALL_DONE,   /* SIP_CALL_CLOSED queued */
};

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

/** Our reliable provisional responses (RFC 3262 section 3). */
struct reliable {
	struct mbuf *mb; /* the one that waits for its PRACK, or NULL */
	uint32_t rseq;
	unsigned count;
	bool offers;      /* it has our offer: the PRACK answers */
	bool answered;    /* one of them had our answer */
	bool answer_next; /* sip_call_answer() waits */
	struct list queue;
	struct tmr tmr;
	struct tmr tmr_end;
};

/** RFC 4028: what the present session's timer is. */
struct session_timer {
	uint32_t interval_s; /* agreed; 0: none */
	uint32_t min_s;      /* what 422 answers asked for */
	unsigned raises;     /* 422 answers obeyed */
	bool ours;           /* we refresh */
	bool peer_knows;
	bool peer_updates; /* it takes UPDATE */
	struct tmr tmr;
};

struct update;

struct call_event {
	struct le le;
	enum sip_call_event event;
	int64_t mono_ns;
	bool local;
	uint16_t code;
	char reason[REASON_BYTES];
	const char *method; /* static */
	char *target;
	char *replaces;
	char digit;
	unsigned digit_ms;
	enum sip_call_end end;
	int64_t bye_ok_ns;
	bool has_media;
	struct media_negotiated media;
};

struct sip_call {
	struct sip_object object;
	struct le he;
	struct sip_ua *ua;
	struct sip_account *account;
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
	struct later due;

	/* client transactions: each holds a reference while it runs */
	struct client *req; /* INVITE or re-INVITE */
	struct client *bye;
	struct client *ack;
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
	struct tmr tmr_ring;
	struct tmr tmr_end;

	/* server side of INVITE and re-INVITE */
	struct server *st;
	struct sip_msg *msg;
	struct mbuf *ok_mb; /* the 2xx, until the ACK */
	uint32_t ok_count;
	uint32_t ok_cseq;
	struct tmr tmr_ok;
	struct tmr tmr_no_ack;
	bool answer_in_ack; /* our offer went with the 2xx */
	bool bye_after_ack;
	struct reliable reliable;

	/* how it ended, kept until the BYE is answered */
	enum sip_call_end end;
	bool end_local;
	uint16_t end_code;
	char end_reason[REASON_BYTES];
	int64_t end_ns;
	int64_t bye_ok_ns; /* 0: not answered 2xx */

	/* offer/answer */
	bool has_local;
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
	struct tmr tmr_reinvite;

	struct update *update; /* ours, or NULL */
	struct session_timer timer;
	bool progressed; /* the peer knows the dialog: 18x sent */

	/* other requests, and REFER both ways */
	struct list forks; /* other branches that were answered too */
	uint32_t request_count;
	bool transferring; /* our REFER: its end has not been told */
	struct tmr tmr_transfer;
	uint16_t transfer_code;
	char transfer_reason[REASON_BYTES];
	bool referred;      /* theirs: it has not ended */
	bool refer_silent;  /* without NOTIFY */
	uint32_t refer_seq; /* CSeq of the REFER, for the Event id */
};

/* call.c */
int call_new(struct sip_call **ret, struct sip_account *account, bool outgoing);
struct call_event *call_event(struct sip_call *call, enum sip_call_event event,
			      bool local, int64_t mono_ns);
void call_event_reason(struct call_event *event, const struct sip_msg *msg);
/** Report the end, now. Once; later ones are ignored. */
void call_close(struct sip_call *call);
/** Note how it ended; call_close() will say so. */
void call_set_end(struct sip_call *call, enum sip_call_end end, bool local,
		  uint16_t code, const char *reason);
void call_set_end_msg(struct sip_call *call, enum sip_call_end end,
		      const struct sip_msg *msg);
void call_sent(struct sip_call *call, int64_t mono_ns);
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
void call_bye_send(struct sip_call *call);
void call_register(struct sip_call *call);

/* early.c: the early dialogs of a call we place */
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
/** The dialog of the call that a request belongs to. */
struct dialog *call_dialog(const struct sip_call *call,
			   const struct sip_msg *msg);

/** The session that call->remote stands for is its branch's. */
void early_settle(const struct sip_call *call, struct early *early);

/* redirect.c: RFC 3261 8.1.3.4 */
/**
 * A 3xx: go on with the best of its contacts.
 * @param reason  REASON_BYTES, why there is none
 * @return true: another INVITE is under way
 */
bool redirect_take(struct sip_call *call, const struct sip_msg *msg,
		   char *reason);
/** The INVITE goes to a contact itself, not through the account's target. */
bool redirect_away(const struct sip_call *call);
/** A contact failed: the next one, if there is one. */
bool redirect_next(struct sip_call *call);

/* update.c: RFC 3311 */
void update_received(struct sip_call *call, const struct sip_msg *msg);
/** One without an offer, for the session timer. @return 0; -EBUSY; -errno */
int update_refresh(struct sip_call *call);
/** Our UPDATE has an offer that is not answered yet. */
bool update_offers(const struct sip_call *call);
void update_stop(struct sip_call *call);

/* timer.c: RFC 4028 */
/** Print the lines of a request of ours, and of our 2xx to one. */
int timer_request(struct re_printf *pf, const struct sip_call *call);
int timer_response(struct re_printf *pf, const struct sip_call *call);
/** The peer's request: what its 2xx will say. timer_run() follows the 2xx.
 * @return false: it was answered 422 */
bool timer_asked(struct sip_call *call, const struct sip_msg *msg);
/** The 2xx to our request. */
void timer_answered(struct sip_call *call, const struct sip_msg *msg);
/** 422: @return true: ask again */
bool timer_raise(struct sip_call *call, const struct sip_msg *msg);
void timer_run(struct sip_call *call);
void timer_stop(struct sip_call *call);
/** Does the peer take UPDATE? */
void timer_peer(struct sip_call *call, const struct sip_msg *msg);

/* prack.c: RFC 3262 as calling party */
bool prack_is_reliable(const struct sip_call *call, const struct sip_msg *msg);
/** Acknowledge a reliable response. @param sdp  our answer, or NULL */
int prack_send(struct sip_call *call, struct early *early,
	       const struct sip_msg *msg, const struct buf *sdp);

/* reliable.c: RFC 3262 as called party */
/** The INVITE and our options ask for reliable responses. */
bool reliable_wanted(const struct sip_call *call);
void reliable_received(struct sip_call *call, const struct sip_msg *msg);
void reliable_stop(struct sip_call *call);
/** Send now, or when the PRACK for the one before came. */
int reliable_send(struct sip_call *call, uint16_t code,
		  const struct media_local *media);

/* extensions.c: Supported, Require (RFC 3261 8.2.2.3, 19.2) */
/** Lines of a request that begins or refreshes the session. */
int extensions_request(char **ret, const struct sip_call *call, bool invite);
/** Lines of our response to one. */
int extensions_response(char **ret, const struct sip_call *call);
/** Refuse a request, 420 or 421, that asks for more, or less, than we do.
 * @return true: it was answered */
bool extensions_refuse(struct sip_ua *ua, const struct sip_msg *msg,
		       const struct sip_call_options *options);
bool extensions_has(const struct sip_msg *msg, enum sip_hdrid id,
		    const char *tag);

/* session.c: offer/answer of a call */
int session_offer(struct sip_call *call, enum media_direction direction);
int session_answer(struct sip_call *call, enum media_direction want);
/**
 * Take the peer's description from a message.
 * @param reason  REASON_BYTES, why it is unusable
 * @return 1 there is none; 0 parsed, in call->remote; -errno
 */
int session_read(struct sip_call *call, const struct sip_msg *msg,
		 char *reason);
/** The message has no body. */
bool session_empty(const struct sip_msg *msg);
/** The remote description answers our offer. @return 0; -errno, reason */
int session_accept(struct sip_call *call, char *reason);
/**
 * The answer to our offer, with its events: where every offer of ours ends.
 * @param missing  the reason if the message has none
 * @return 0; -errno with the reason: media is what it was
 */
int session_conclude(struct sip_call *call, const struct sip_msg *msg,
		     const char *missing, char *reason);
/**
 * An offer within the call: make our answer, in call->sdp.
 * @return 0; 1 there is none; -errno: everything is what it was
 */
int session_offered(struct sip_call *call, const struct sip_msg *msg);
/** The answer of session_offered() was sent: the events. */
void session_answered(struct sip_call *call);
/** What is settled differs from what was reported. */
bool session_news(const struct sip_call *call);
void session_event_media(struct sip_call *call, struct call_event *event);
void session_hold_events(struct sip_call *call, int64_t mono_ns);
enum media_direction session_wanted(const struct sip_call *call, bool held);

/* uac.c */
int call_local_set(struct sip_call *call, const struct media_local *media);
/** @param sdp  our answer to an offer in the 2xx, or NULL */
int uac_ack(struct sip_call *call, uint32_t cseq, const struct buf *sdp);
int uac_invite(struct sip_call *call);
/** An INVITE, whose method and handlers are set, with the call's headers; its
 * response handler lets go of the call. @return 0; -errno */
int uac_invite_send(struct sip_call *call, struct request *request);
/** Give the INVITE up; how must have been set by call_set_end(). */
void uac_cancel(struct sip_call *call);
void uac_ack_again(struct sip_call *call, const struct sip_msg *msg);
/** "sip:1002@example.net" of "1002", "1002@example.net" or a URI. */
int peer_uri(char **ret, const struct sip_account *account, const char *uri);
int invite_send_handler(enum sip_transp tp, const struct sa *src,
			const struct sa *dst, struct mbuf *mb, void *arg);

/* uas.c */
void uas_invite(struct sip_ua *ua, struct sip_account *account,
		const struct sip_msg *msg);
void uas_ack(struct sip_call *call, const struct sip_msg *msg);
void uas_ack_overtaken(struct sip_call *call);
const char *phrase_of(uint16_t code);
void uas_refuse(struct sip_call *call, uint16_t code, const char *reason);
void uas_bye(struct sip_call *call, const struct sip_msg *msg);
/** @param sdp  with call->sdp */
int uas_accept(struct sip_call *call, const struct sip_msg *msg, bool sdp);
/** Send what sip_call_answer() was asked for. */
void uas_answer(struct sip_call *call);
int uas_progress(struct sip_call *call, uint16_t code,
		 const struct media_local *media);
/** A provisional response as it goes on the wire, and its event.
 * @param ret      to send it again, or NULL
 * @param headers  more lines
 * @param sdp      with call->sdp */
int uas_provisional(struct sip_call *call, struct mbuf **ret, uint16_t code,
		    const char *headers, bool sdp);
void uas_stop_timers(struct sip_call *call);

/* fork.c */
void fork_answered(struct sip_call *call, const struct sip_msg *msg);

/* indialog.c: requests within a dialog that are no offer */
int indialog_send(struct sip_call *call, const char *method,
		  const char *headers, const char *type, const char *body);
void info_received(struct sip_call *call, const struct sip_msg *msg);

/* replaces.c: RFC 3891 */
/** The call that an INVITE replaces, if any: call->replaces.
 * @return 0; else the status that refuses the INVITE */
uint16_t replaces_take(struct sip_call *call, const struct sip_msg *msg);
/** Our 2xx was sent: end the call it replaces. */
void replaces_done(struct sip_call *call);
/** URI for Refer-To: a call to the peer of this one that replaces it. */
int replaces_refer(char **ret, const struct sip_call *other);
/** The Replaces in a Refer-To; *ret untouched if there is none. */
int replaces_referred(char **ret, const struct uri *uri);

/* refer.c: RFC 3515 */
void refer_received(struct sip_call *call, const struct sip_msg *msg);
void refer_notified(struct sip_call *call, const struct sip_msg *msg);
/** The call ends: so does a transfer that has not. */
void refer_stop(struct sip_call *call);
/** Our REFER was answered; msg NULL: it was not. */
void refer_answered(struct sip_call *call, const struct sip_msg *msg);

/** The target of a REFER, and the Replaces in it or NULL. @return 0; -errno */
int refer_target(char **ret, char **ret_replaces, const struct sip_msg *msg);
/** No NOTIFY is wanted (RFC 4488). */
bool refer_is_silent(const struct sip_msg *msg);
#define REFER_TYPE          "message/sipfrag;version=2.0"
#define REFER_HEADERS_BYTES 128
#define REFER_BODY_BYTES    (REASON_BYTES + 32)
/** Header lines and body of the NOTIFY of a status.
 * @param seq  CSeq of the REFER */
void refer_status_print(char headers[static REFER_HEADERS_BYTES],
			char body[static REFER_BODY_BYTES], uint32_t seq,
			uint16_t code, const char *reason);

/* referral.c: REFER outside of dialogs */
/** refer_h of the account is set. */
void referral_received(struct sip_account *account, const struct sip_msg *msg);

/* notifier.c: RFC 6665 section 4.2 */
/** A SUBSCRIBE outside of dialogs. */
void notifier_subscribed(struct sip_account *account,
			 const struct sip_msg *msg);

/* unsolicited.c */
/**
 * A NOTIFY outside of any dialog.
 * @return false: the account takes none of it; true: it was answered
 */
bool unsolicited_notified(struct sip_account *account,
			  const struct sip_msg *msg);

/* verify.c */
/**
 * Has this request the credentials that the account asks for?
 * @return false: it was answered
 */
bool verify_request(struct sip_account *account, const struct sip_msg *msg);

/* outside.c */
void outside_stop(struct sip_account *account);

/* reinvite.c */
void reinvite_received(struct sip_call *call, const struct sip_msg *msg);
void reinvite_stop(struct sip_call *call);
/** For the session timer. @return 0; -EBUSY; -errno */
int reinvite_refresh(struct sip_call *call);
/** How long to wait after a 491 (RFC 3261 14.1). */
uint32_t glare_ms(const struct sip_call *call);

/* text.c */
/** mbuf or pl to a libre string. */
int text_print(char **ret, const char *fmt, ...);
int text_user(char **ret, const char *user);
struct sip_msg *msg_ref(const struct sip_msg *msg);
void msg_line(char *dst, size_t size, const struct sip_msg *msg);
/** What follows a datagram's body is no part of it (RFC 3261 18.3). */
size_t msg_body_length(const struct sip_msg *msg);

#endif
