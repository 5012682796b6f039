/**
 * Calls of an account, placed and taken. See ua.h for threads and errors.
 */
#ifndef OFFHOOK_SIP_CALL_H
#define OFFHOOK_SIP_CALL_H

#include "sip/account.h"

enum sip_prack {
	SIP_PRACK_NONE,      /* RFC 3262 is unknown to us */
	SIP_PRACK_SUPPORTED, /* used where the peer supports it too */
	SIP_PRACK_REQUIRED,  /* 421 and Require: 100rel */
};

/** Who refreshes the session (RFC 4028), by its role in the transaction. */
enum sip_refresher {
	SIP_REFRESHER_ANY, /* the called side decides */
	SIP_REFRESHER_UAC,
	SIP_REFRESHER_UAS,
};

/** How calls behave; zeros are what a plain RFC 3261 phone does. */
struct sip_call_options {
	enum sip_prack prack;
	uint32_t session_timer_s; /* Session-Expires; 0: RFC 4028 is off.
				   * Below 90 it is our Min-SE too */
	enum sip_refresher refresher;
	/* calls we place */
	bool late_offer;         /* INVITE without SDP */
	uint32_t ring_timeout_s; /* to a final answer; 0: 180 */
	uint32_t redirects_max;  /* contacts of 3xx to try */
};

/** For calls the account takes from now on. */
void sip_account_call_options(struct sip_account *account,
			      const struct sip_call_options *options);

enum sip_call_event {
	SIP_CALL_OUTGOING,    /* INVITE on the wire */
	SIP_CALL_RINGING,     /* 180 sent or received */
	SIP_CALL_PROGRESS,    /* other 18x sent or received */
	SIP_CALL_ANSWERED,    /* final 2xx sent or received */
	SIP_CALL_ESTABLISHED, /* the 2xx came (RFC 3261 12.1), or the ACK */
	SIP_CALL_LOCAL_SDP,   /* our offer or answer was sent */
	SIP_CALL_REMOTE_SDP,  /* the peer's came; info->media if settled */
	SIP_CALL_HELD,        /* by the peer or by us; info->local says who. Of
			       * a peer whose first offer or answer holds us
			       * it follows SIP_CALL_ESTABLISHED */
	SIP_CALL_RESUMED,
	SIP_CALL_REINVITE_FAIL, /* our re-INVITE was refused: code, reason */
	SIP_CALL_REINVITED,     /* sip_call_reinvite() was accepted */
	SIP_CALL_ANSWER_TO,     /* sip_call_request() or sip_call_update() was
				 * answered, or not: info->method; code 0: no
				 * answer */
	SIP_CALL_REDIRECTED,    /* by a 3xx, or the next contact of one: the
				 * INVITE goes to info->target */
	SIP_CALL_TRANSFERRED,   /* our REFER succeeded */
	SIP_CALL_TRANSFER_FAIL, /* it was refused, or the new call failed */
	SIP_CALL_REFERRED, /* the peer wants a call to info->target; it was told
			    * 202: sip_call_refer_progress() must follow */
	SIP_CALL_DTMF,     /* an INFO brought a digit: info->digit */
	SIP_CALL_SECURED,  /* a user agent with media of its own has keys by
			    * DTLS; info->reason says of what */
	SIP_CALL_CLOSED,   /* the last event of a call, exactly once */
};

enum sip_call_end {
	SIP_END_LOCAL,    /* established, we hung up */
	SIP_END_REMOTE,   /* established, the peer hung up */
	SIP_END_REJECTED, /* never established: a final answer other than 2xx */
	SIP_END_CANCELLED, /* never established: cancelled by the caller */
	SIP_END_FAILED,    /* no answer, transport error, unusable SDP */
};

#define SIP_WARNING_BYTES 128 /* of a peer's warning that is told */

struct sip_call_info {
	int64_t mono_ns;
	bool local;
	uint16_t code;         /* SIP status where one belongs to it, or 0 */
	const char *reason;    /* never NULL */
	const char *warning;   /* SIP_CALL_CLOSED: "305 no common codec" of the
				* peer's refusal (RFC 3261 20.43); "" or NULL */
	const char *method;    /* SIP_CALL_ANSWER_TO, or NULL */
	char digit;            /* SIP_CALL_DTMF: 0-9 * # A-D */
	unsigned digit_ms;     /* of it; 0: not said */
	bool digit_in_rtp;     /* it was no INFO, but in encrypted media */
	const char *target;    /* SIP_CALL_REFERRED: Refer-To URI;
				* SIP_CALL_REDIRECTED: the contact; or NULL */
	const char *replaces;  /* SIP_CALL_REFERRED: for sip_call_params */
	enum sip_call_end end; /* SIP_CALL_CLOSED only */
	/* SIP_CALL_CLOSED: when the 2xx to our BYE came, which was sent at
	 * mono_ns; 0: there was none, or it is unknown */
	int64_t bye_ok_ns;
	const struct media_negotiated *media; /* set when offer/answer settled
					       * something new; else NULL */
	/* SIP_CALL_LOCAL_SDP of a user agent with media of its own: where it
	 * receives; else NULL */
	const struct media_addr *client_rtp;
	const struct media_addr *client_rtcp;
};
typedef void(sip_call_h)(struct sip_call *call, enum sip_call_event event,
			 const struct sip_call_info *info, void *arg);

struct sip_call_params {
	const char *uri; /* "sip:1002@example.net", or a user part "1002",
			   * completed with the account's domain */
	const struct media_local *media;        /* copied; what is offered */
	const struct sip_call_options *options; /* copied; NULL: all zeros */
	const char *replaces; /* value of a Replaces header, or NULL */
	const struct sip_custom_header *headers; /* copied: for this call
						  * instead of the account's;
						  * NULL: those */
	size_t header_count;
	sip_call_h *call_h;
	void *arg;
};

/** Place a call. The handler is never called before this returns. */
int sip_call_dial(struct sip_call **ret, struct sip_account *account,
		  const struct sip_call_params *params);

/**
 * In sip_incoming_h or later: adopt an incoming call. Until one of
 * sip_call_ring(), sip_call_answer(), sip_call_reject() is called only 100
 * was sent. The handler is never called before this returns.
 */
int sip_call_adopt(struct sip_call *call, sip_call_h *handler, void *arg);
/** When the INVITE of an incoming call came. */
int64_t sip_call_came_ns(const struct sip_call *call);
int sip_call_ring(struct sip_call *call);
/**
 * The call that an incoming one replaces (RFC 3891); NULL: none. It ends when
 * the new one is answered, which shall be at once.
 */
const struct sip_call *sip_call_replaced(const struct sip_call *call);
/**
 * Send a provisional response to the INVITE, 101 to 199; reliably (RFC 3262)
 * if the options and the caller want that. While one waits for its PRACK the
 * next ones, and the answer, wait too.
 * @param media  NULL: no SDP; else the answer goes with it (early media,
 *               RFC 3960); an unreliable one is repeated by the 2xx. If the
 *               INVITE had no offer ours goes with it, reliably or -EINVAL
 * @return 0; -EINVAL; -EBUSY too many wait
 */
int sip_call_progress(struct sip_call *call, uint16_t code,
		      const struct media_local *media);
/**
 * Redirect an incoming call (RFC 3261 21.3).
 * @param code      300 to 399
 * @param contacts  URIs, separated by commas; user parts are completed
 */
int sip_call_redirect(struct sip_call *call, uint16_t code,
		      const char *contacts);
int sip_call_answer(struct sip_call *call, const struct media_local *media);
/**
 * Refuse an incoming call, 300 to 699. A call that nobody has adopted is
 * released with it; an adopted one gets SIP_CALL_CLOSED.
 * @param reason  phrase, or NULL: that of RFC 3261
 */
int sip_call_reject(struct sip_call *call, uint16_t code, const char *reason);

/**
 * End it whatever its state: BYE, CANCEL or 603; SIP_CALL_CLOSED follows when
 * the peer has answered that, within 5 s in any case, with the time of the
 * BYE. After a 2xx of ours the BYE waits for its ACK (at most 32 s).
 */
void sip_call_hangup(struct sip_call *call);
/** Re-INVITE with another direction (RFC 3264 8.4); SIP_CALL_HELD follows. */
int sip_call_hold(struct sip_call *call);
int sip_call_resume(struct sip_call *call);
/** What the next offer or answer of ours says: other keys, candidates. Copied.
 * @return 0; -EINVAL */
int sip_call_relocate(struct sip_call *call, const struct media_local *media);
/** Re-INVITE with what is in force; SIP_CALL_REINVITED follows. */
int sip_call_reinvite(struct sip_call *call);

/**
 * UPDATE (RFC 3311): once the call is up with what is in force; before, in
 * the early dialog, with an offer only where a reliable answer settled the
 * session. SIP_CALL_ANSWER_TO follows.
 * @return 0; -ENOTCONN there is no dialog yet; -EBUSY another one is open
 */
int sip_call_update(struct sip_call *call);

/**
 * A request without offer within the dialog: MESSAGE (RFC 3428), OPTIONS,
 * INFO (RFC 6086). SIP_CALL_ANSWER_TO follows.
 * @param type  Content-Type of the body; NULL: there is none
 * @return 0; -ENOTCONN the call is not up; -EINVAL; -EBUSY too many at a time
 */
int sip_call_request(struct sip_call *call, const char *method,
		     const char *type, const char *body);
/**
 * Send a digit in the audio (RFC 4733), of a user agent with media of its own.
 * SIP_CALL_ANSWER_TO with method "DTMF" follows when it is on its way.
 * @return 0; -ENOTSUP its media are not its own; -ENOTCONN
 */
int sip_call_digit(struct sip_call *call, char digit);
/**
 * Silence instead of its sound, or its sound again, of a user agent with media
 * of its own. SIP_CALL_ANSWER_TO with method "MUTE" or "UNMUTE" follows.
 * @return 0; -ENOTSUP its media are not its own; -ENOTCONN
 */
int sip_call_mute(struct sip_call *call, bool mute);
/** Behind what a user agent with media of its own plays; it must notice the
 *  end within. */
#define SIP_PLAY_TAIL_MS 15000
/**
 * Play a file once instead of its sound, of a user agent with media of its
 * own. SIP_CALL_ANSWER_TO with method "PLAY" follows at its end.
 * @param path  WAV, 48000 Hz, two channels, 16 bit, with SIP_PLAY_TAIL_MS of
 *              silence behind what is to be played; it stays until the call
 *              is over
 * @param ns    of what is to be played
 * @return 0; -ENOTSUP its media are not its own; -ENOTCONN; -EBUSY there is
 *         another call of the account, which would hear it, too
 */
int sip_call_play(struct sip_call *call, const char *path, int64_t ns);
/**
 * Blind transfer (RFC 3515): SIP_CALL_TRANSFERRED or SIP_CALL_TRANSFER_FAIL
 * follows with the last status the peer notified. The call goes on: who wants
 * it ended hangs up.
 * @param uri     as in sip_call_params
 * @param silent  ask for no NOTIFY (Refer-Sub: false, RFC 4488)
 */
int sip_call_transfer(struct sip_call *call, const char *uri, bool silent);
/**
 * Attended transfer: refer the peer to that of another call, which the new
 * call replaces (RFC 3891, RFC 5589 7). As sip_call_transfer().
 * @return 0; -ENOTCONN one of them is not up
 */
int sip_call_transfer_attended(struct sip_call *call,
			       const struct sip_call *other);
/** How the call that SIP_CALL_REFERRED asked for goes; 200 and above is the
 * end. Nothing is sent where the peer wanted no NOTIFY. */
int sip_call_refer_progress(struct sip_call *call, uint16_t code,
			    const char *reason);

const char *sip_call_id(const struct sip_call *call);   /* Call-ID header */
const char *sip_call_peer(const struct sip_call *call); /* the other's URI */
/** Release after SIP_CALL_CLOSED. @return NULL */
struct sip_call *sip_call_free(struct sip_call *call);

#endif
