/**
 * Calls of an account, outgoing and incoming. See ua.h for threads and errors.
 */
#ifndef OFFHOOK_SIP_CALL_H
#define OFFHOOK_SIP_CALL_H

#include "sip/account.h"

enum sip_prack {
	SIP_PRACK_NONE,      /* RFC 3262 is not supported */
	SIP_PRACK_SUPPORTED, /* used where the peer supports it, too */
	SIP_PRACK_REQUIRED,  /* Require: 100rel; 421 to peers without it */
};

/** Who refreshes the session (RFC 4028), by its role in the transaction. */
enum sip_refresher {
	SIP_REFRESHER_ANY, /* the called side decides */
	SIP_REFRESHER_UAC,
	SIP_REFRESHER_UAS,
};

/** Extensions and limits of calls; all zeros: plain RFC 3261. */
struct sip_call_options {
	enum sip_prack prack;
	uint32_t session_timer_s; /* Session-Expires; 0: RFC 4028 is off.
				   * Below 90 it is our Min-SE too */
	enum sip_refresher refresher;
	/* outgoing calls */
	bool late_offer;         /* INVITE without SDP */
	uint32_t ring_timeout_s; /* to a final response; 0: 180 */
	uint32_t redirects_max;  /* contacts of 3xx to call */
};

/** Options of incoming calls from now on; copied. */
void sip_account_call_options(struct sip_account *account,
			      const struct sip_call_options *options);

enum sip_call_event {
	SIP_CALL_OUTGOING,    /* INVITE on the wire */
	SIP_CALL_RINGING,     /* 180 sent or received */
	SIP_CALL_PROGRESS,    /* other 18x sent or received */
	SIP_CALL_ANSWERED,    /* final 2xx sent or received */
	SIP_CALL_ESTABLISHED, /* the 2xx came (RFC 3261 12.1), or the ACK */
	SIP_CALL_LOCAL_SDP,   /* our offer or answer was sent */
	SIP_CALL_REMOTE_SDP,  /* the peer's was received; info->media when
			       * offer and answer are complete */
	SIP_CALL_HELD,        /* info->local: by us, else by the peer. If its
			       * first offer or answer holds us this follows
			       * SIP_CALL_ESTABLISHED */
	SIP_CALL_RESUMED,
	SIP_CALL_REINVITE_FAIL, /* our re-INVITE was refused: code, reason */
	SIP_CALL_REINVITED,     /* sip_call_reinvite() was accepted */
	SIP_CALL_ANSWER_TO,     /* final response to sip_call_request() or
				 * sip_call_update(): info->method; code 0:
				 * there was none */
	SIP_CALL_REDIRECTED,    /* after a 3xx: the INVITE is sent to
				 * info->target, one of its contacts */
	SIP_CALL_TRANSFERRED,   /* our REFER succeeded */
	SIP_CALL_TRANSFER_FAIL, /* it was refused, or the new call failed */
	SIP_CALL_REFERRED, /* a REFER of the peer to info->target was answered
			    * 202: sip_call_refer_progress() must follow */
	SIP_CALL_DTMF,     /* a digit was received in an INFO: info->digit */
	SIP_CALL_SECURED,  /* a user agent with its own media has keys from
			    * DTLS; info->reason: for which stream */
	/* An offer of the peer has a new SRTP key (SDES), which the peer may
	 * use as soon as it has our answer. Called before the answer is sent,
	 * within the user agent: the handler must not call its functions. */
	SIP_CALL_NEW_KEY,
	SIP_CALL_CLOSED, /* the last event of a call, exactly once */
};

enum sip_call_end {
	SIP_END_LOCAL,     /* established, we hung up */
	SIP_END_REMOTE,    /* established, the peer hung up */
	SIP_END_REJECTED,  /* never established: a final response but 2xx */
	SIP_END_CANCELLED, /* never established: cancelled by the caller */
	SIP_END_FAILED,    /* no response, transport error, unusable SDP */
};

#define SIP_WARNING_BYTES 128 /* of a peer's Warning that are reported */

struct sip_call_info {
	int64_t mono_ns;
	bool local;
	uint16_t code;         /* SIP status, where the event has one, or 0 */
	const char *reason;    /* never NULL */
	const char *warning;   /* SIP_CALL_CLOSED: "305 no common codec" of the
				* peer's refusal (RFC 3261 20.43); "" or NULL */
	const char *method;    /* SIP_CALL_ANSWER_TO, or NULL */
	char digit;            /* SIP_CALL_DTMF: 0-9 * # A-D */
	unsigned digit_ms;     /* its duration; 0: not given */
	bool digit_in_rtp;     /* not in an INFO, but in encrypted media */
	const char *target;    /* SIP_CALL_REFERRED: Refer-To URI;
				* SIP_CALL_REDIRECTED: the contact; or NULL */
	const char *replaces;  /* SIP_CALL_REFERRED: for sip_call_params */
	enum sip_call_end end; /* SIP_CALL_CLOSED only */
	/* SIP_CALL_CLOSED: when the 2xx to our BYE was received, which was
	 * sent at mono_ns; 0: there was none, or it is not known */
	int64_t bye_ok_ns;
	const struct media_negotiated *media; /* result of offer/answer, if it
					       * changed; else NULL */
	/* SIP_CALL_LOCAL_SDP of a user agent with its own media: where it
	 * receives; else NULL */
	const struct media_addr *client_rtp;
	const struct media_addr *client_rtcp;
};
typedef void(sip_call_h)(struct sip_call *call, enum sip_call_event event,
			 const struct sip_call_info *info, void *arg);

struct sip_call_params {
	const char *uri; /* "sip:1002@example.net", or a user part "1002",
			   * completed with the account's domain */
	const struct media_local *media;        /* of our offer; copied */
	const struct sip_call_options *options; /* copied; NULL: all zeros */
	const char *replaces; /* value of a Replaces header, or NULL */
	const struct sip_custom_header *headers; /* of this call; copied;
						  * NULL: the account's */
	size_t header_count;
	sip_call_h *call_h;
	void *arg;
};

/**
 * Send an INVITE. The handler is never called before this returns.
 * @return 0; -EINVAL; -EAGAIN or -EBUSY too many calls; -ENOMEM; -errno
 */
int sip_call_dial(struct sip_call **ret, struct sip_account *account,
		  const struct sip_call_params *params);

/**
 * Adopt an incoming call, in sip_incoming_h or later. Only 100 was sent until
 * sip_call_ring(), sip_call_answer() or sip_call_reject() is called. The handler
 * is never called before this returns.
 */
int sip_call_adopt(struct sip_call *call, sip_call_h *handler, void *arg);
/** When the INVITE of an incoming call was received, monotonic ns. */
int64_t sip_call_came_ns(const struct sip_call *call);
/** Send 180. @return as sip_call_progress() */
int sip_call_ring(struct sip_call *call);
/**
 * The call that an incoming one replaces (RFC 3891); NULL: none. It ends when
 * the new one is answered, which should be done at once.
 */
const struct sip_call *sip_call_replaced(const struct sip_call *call);
/**
 * Send a provisional response to the INVITE, 101 to 199; reliably (RFC 3262)
 * if the options and the peer agree on that. While one waits for its PRACK,
 * further ones and the final response are queued.
 * @param media  NULL: no SDP; else it has our answer (early media, RFC 3960),
 *               which the 2xx repeats if the response is not reliable. If the
 *               INVITE had no offer it has ours, if it is reliable
 * @return 0; -EINVAL; -EBUSY too many are queued
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
/** Send 200 with our answer, or our offer. @return 0; -EINVAL */
int sip_call_answer(struct sip_call *call, const struct media_local *media);
/**
 * Refuse an incoming call, 300 to 699. A call that was not adopted is released;
 * for an adopted one SIP_CALL_CLOSED follows.
 * @param reason  reason phrase, or NULL: that of RFC 3261
 * @return 0; -EINVAL
 */
int sip_call_reject(struct sip_call *call, uint16_t code, const char *reason);

/**
 * End the call in any state: BYE, CANCEL or 603. SIP_CALL_CLOSED, with the time of
 * the BYE, follows with the response to it, after 5 s at most. After our 2xx the
 * BYE waits for the ACK (at most 32 s).
 */
void sip_call_hangup(struct sip_call *call);
/** Re-INVITE with another direction (RFC 3264 8.4); SIP_CALL_HELD follows. */
int sip_call_hold(struct sip_call *call);
int sip_call_resume(struct sip_call *call);
/** Set what our next offer or answer has: other keys, candidates. Copied.
 * @return 0; -EINVAL */
int sip_call_relocate(struct sip_call *call, const struct media_local *media);
/** Re-INVITE with the present session; SIP_CALL_REINVITED follows. */
int sip_call_reinvite(struct sip_call *call);

/**
 * UPDATE (RFC 3311) with an offer of the present session. In an early dialog it has
 * an offer only if a reliable response completed offer and answer.
 * SIP_CALL_ANSWER_TO follows.
 * @return 0; -ENOTCONN there is no dialog yet; -EBUSY an UPDATE or INVITE runs
 */
int sip_call_update(struct sip_call *call);

/**
 * Send a request within the dialog: MESSAGE (RFC 3428), OPTIONS, INFO (RFC
 * 6086). SIP_CALL_ANSWER_TO follows.
 * @param type  Content-Type of the body; NULL: there is none
 * @return 0; -ENOTCONN the call is not up; -EINVAL; -EBUSY too many at a time
 */
int sip_call_request(struct sip_call *call, const char *method,
		     const char *type, const char *body);
/**
 * Send a digit in RTP (RFC 4733), by a user agent with its own media.
 * SIP_CALL_ANSWER_TO with method "DTMF" follows when it accepted the command.
 * @return 0; -ENOTSUP the user agent has no media; -ENOTCONN
 */
int sip_call_digit(struct sip_call *call, char digit);
/**
 * Mute or unmute a user agent with its own media. SIP_CALL_ANSWER_TO with method "MUTE" or "UNMUTE" follows.
 * @return 0; -ENOTSUP the user agent has no media; -ENOTCONN
 */
int sip_call_mute(struct sip_call *call, bool mute);
/** Silence behind a file that a user agent with its own media plays: the end of
 *  the file is noticed within it. */
#define SIP_PLAY_TAIL_MS 15000
/**
 * Play a file once instead of the usual audio, by a user agent with its own
 * media. SIP_CALL_ANSWER_TO with method "PLAY" follows at its end.
 * @param path  WAV, 48000 Hz, two channels, 16 bit, with SIP_PLAY_TAIL_MS of
 *              silence at its end; must exist until the call is over
 * @param ns    length without that silence
 * @return 0; -ENOTSUP the user agent has no media; -ENOTCONN; -EBUSY the account
 *         has another call, which would hear the file, too
 */
int sip_call_play(struct sip_call *call, const char *path, int64_t ns);
/**
 * Blind transfer (RFC 3515): SIP_CALL_TRANSFERRED or SIP_CALL_TRANSFER_FAIL
 * follows with the last status that the peer notified. The call goes on until
 * sip_call_hangup().
 * @param uri     as in sip_call_params
 * @param silent  ask for no NOTIFY (Refer-Sub: false, RFC 4488)
 */
int sip_call_transfer(struct sip_call *call, const char *uri, bool silent);
/**
 * Attended transfer: refer the peer to the peer of another call, which the new
 * call replaces (RFC 3891, RFC 5589 7). Events as of sip_call_transfer().
 * @return 0; -ENOTCONN one of the calls is not established
 */
int sip_call_transfer_attended(struct sip_call *call,
			       const struct sip_call *other);
/** NOTIFY the status of the call that SIP_CALL_REFERRED asked for; 200 and above
 * is the last one. Nothing is sent if the peer wanted no NOTIFY.
 * @return 0; -EALREADY a final one was sent; -EINVAL; -ENOTCONN */
int sip_call_refer_progress(struct sip_call *call, uint16_t code,
			    const char *reason);

const char *sip_call_id(const struct sip_call *call);   /* Call-ID header */
const char *sip_call_peer(const struct sip_call *call); /* the other's URI */
/** Release after SIP_CALL_CLOSED. @return NULL */
struct sip_call *sip_call_free(struct sip_call *call);

#endif
