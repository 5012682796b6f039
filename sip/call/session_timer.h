/**
 * Session timers (RFC 4028).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_SESSION_TIMER_H
#define OFFHOOK_SIP_CALL_SESSION_TIMER_H

#include <re.h>

#include "sip/mono_timer.h"

struct sip_call;

/** RFC 4028: what the present session's timer is. */
struct session_timer {
	uint32_t interval_s; /* agreed; 0: none */
	uint32_t min_s;      /* what 422 answers asked for */
	unsigned raises;     /* 422 answers obeyed */
	bool ours;           /* we refresh */
	bool peer_knows;
	bool peer_updates; /* it takes UPDATE */
	struct mono_timer tmr;
};

/** Print the lines of a request of ours, and of our 2xx to one. */
int session_timer_request(struct re_printf *pf, const struct sip_call *call);
int session_timer_response(struct re_printf *pf, const struct sip_call *call);
/** The peer's request: what its 2xx will say. session_timer_run() follows the 2xx.
 * @return false: it was answered 422 */
bool session_timer_asked(struct sip_call *call, const struct sip_msg *msg);
/** The 2xx to our request. */
void session_timer_answered(struct sip_call *call, const struct sip_msg *msg);
/** 422: @return true: ask again */
bool session_timer_raise(struct sip_call *call, const struct sip_msg *msg);
void session_timer_run(struct sip_call *call);
void session_timer_stop(struct sip_call *call);
/** Does the peer take UPDATE? */
void session_timer_peer(struct sip_call *call, const struct sip_msg *msg);

#endif
