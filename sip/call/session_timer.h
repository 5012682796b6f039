/**
 * The session timer of a call (RFC 4028).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_SESSION_TIMER_H
#define OFFHOOK_SIP_CALL_SESSION_TIMER_H

#include <re.h>

#include "sip/call.h"
#include "sip/mono_timer.h"

struct transaction_layer;

/** Refresh the session by UPDATE or re-INVITE.
 * @return 0; -EBUSY: not now, try again until the expiry; -errno: wait for it */
typedef int(session_refresh_h)(void *arg);
/** The session expired: end it. @return 0; -EBUSY: not now, try again */
typedef int(session_expired_h)(const char *reason, void *arg);

struct session_timer {
	const struct sip_call_options *options;
	session_refresh_h *refresh_h;
	session_expired_h *expired_h;
	void *arg;
	uint32_t interval_s; /* agreed; 0: none */
	uint32_t min_s;      /* the largest Min-SE of the 422s to us */
	unsigned raises;     /* 422s after which we asked again */
	bool ours;           /* we are the refresher */
	bool peer_knows;     /* the peer supports RFC 4028 */
	bool peer_updates;   /* the peer's Allow has UPDATE */
	int64_t expiry_ns;   /* of the last refresh: then BYE is sent */
	struct mono_timer tmr;
};

/** @param t        zeros before
 *  @param options  of the call; not copied, may be set later */
void session_timer_init(struct session_timer *t,
			const struct sip_call_options *options,
			session_refresh_h *refresh_h,
			session_expired_h *expired_h, void *arg);
/** Bytes of the header lines of a request, terminated. */
#define SESSION_TIMER_BYTES 96
/** Write Session-Expires and Min-SE of a request of ours; empty: no timer. */
void session_timer_request(char dst[static SESSION_TIMER_BYTES],
			   const struct session_timer *t);
/** Print Session-Expires of our 2xx to a request of the peer. */
int session_timer_response(struct re_printf *pf, const struct session_timer *t);
/**
 * The peer's INVITE or UPDATE: agree on interval and refresher.
 * session_timer_run() follows when the 2xx was sent.
 * @return false: the interval is too small, the request was answered 422
 */
bool session_timer_asked(struct session_timer *t, struct transaction_layer *sip,
			 const struct sip_msg *msg);
/** A 2xx to our request: take interval and refresher from it, run the timer. */
void session_timer_answered(struct session_timer *t, const struct sip_msg *msg);
/** A 422 to our request. @return true: repeat it with the larger interval */
bool session_timer_raise(struct session_timer *t, const struct sip_msg *msg);
/** Start the refresh timer, or the expiry timer if the peer refreshes. */
void session_timer_run(struct session_timer *t);
void session_timer_stop(struct session_timer *t);
/** Remember whether the Allow of a message of the peer has UPDATE. */
void session_timer_peer(struct session_timer *t, const struct sip_msg *msg);

#endif
