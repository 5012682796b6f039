/**
 * The states on which a run can be judged, named like the user agent events of
 * baresip. The API uses these names (condition type sipclient-state, field
 * `state`).
 */
#ifndef OFFHOOK_BASE_STATE_H
#define OFFHOOK_BASE_STATE_H

#include <stdbool.h>

/* X(name) */
#define UA_STATES(X)            \
	X(REGISTERING)          \
	X(REGISTER_OK)          \
	X(REGISTER_FAIL)        \
	X(UNREGISTERING)        \
	X(CALL_INCOMING)        \
	X(CALL_OUTGOING)        \
	X(CALL_RINGING)         \
	X(CALL_PROGRESS)        \
	X(CALL_ANSWERED)        \
	X(CALL_ESTABLISHED)     \
	X(CALL_RTPESTAB)        \
	X(CALL_RTCP)            \
	X(CALL_MENC)            \
	X(CALL_LOCAL_SDP)       \
	X(CALL_REMOTE_SDP)      \
	X(CALL_HOLD)            \
	X(CALL_RESUME)          \
	X(CALL_REDIRECT)        \
	X(CALL_TRANSFER)        \
	X(CALL_TRANSFER_FAILED) \
	X(CALL_DTMF_START)      \
	X(CALL_DTMF_0)          \
	X(CALL_DTMF_1)          \
	X(CALL_DTMF_2)          \
	X(CALL_DTMF_3)          \
	X(CALL_DTMF_4)          \
	X(CALL_DTMF_5)          \
	X(CALL_DTMF_6)          \
	X(CALL_DTMF_7)          \
	X(CALL_DTMF_8)          \
	X(CALL_DTMF_9)          \
	X(CALL_DTMF_A)          \
	X(CALL_DTMF_B)          \
	X(CALL_DTMF_C)          \
	X(CALL_DTMF_D)          \
	X(CALL_DTMF_ASTERISK)   \
	X(CALL_DTMF_POUND)      \
	X(CALL_DTMF_END)        \
	X(CALL_ENDED_LOCAL)     \
	X(CALL_ENDED_REMOTE)    \
	X(CALL_CLOSED)          \
	X(CALL_REJECTED)        \
	X(CALL_FAILED)          \
	X(MWI_NOTIFY)           \
	X(REFER)                \
	X(PRESENCE_NOTIFY)      \
	X(SUBSCRIBE_OK)         \
	X(SUBSCRIBE_FAIL)       \
	X(SUBSCRIBE_CLOSED)     \
	X(PUBLISH_OK)           \
	X(PUBLISH_FAIL)         \
	X(PUBLISH_CLOSED)       \
	X(WATCHER_NEW)          \
	X(WATCHER_NOTIFIED)     \
	X(WATCHER_GONE)         \
	X(CALLER_VERIFIED)      \
	X(CALLER_REFUSED)

enum ua_state {
#define X(name) UA_##name,
	UA_STATES(X)
#undef X
	UA_STATE_COUNT
};

/** @return the name in the API, e.g. "CALL_ESTABLISHED"; never NULL */
const char *ua_state_name(enum ua_state state);

/** Find a state by its name.
 * @return false: unknown (*ret unchanged) */
bool ua_state_parse(const char *name, enum ua_state *ret);

#endif
