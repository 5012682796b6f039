/**
 * What a transport reports to its owner.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_TRANSPORT_HANDLERS_H
#define OFFHOOK_SIP_TRANSPORT_TRANSPORT_HANDLERS_H

#include <re.h>

#include "sip/trace.h"

/** All are set; none may release the transport. */
struct transport_handlers {
	/* A message was received. other_version: a request of another SIP
	 * version than 2.0, decoded as if it were SIP/2.0. */
	void (*message_h)(const struct sip_msg *msg, bool other_version,
			  void *arg);
	/* ICMP reported that dst cannot be reached over UDP; err positive.
	 * Never called from within a send. */
	void (*unreachable_h)(const struct sa *dst, int err, void *arg);
	/* A STUN message came over UDP (RFC 5626 4.4.2). */
	void (*stun_h)(const struct sa *src, const uint8_t *data, size_t len,
		       void *arg);
	/* A message is about to be sent, or was received. */
	sip_message_h *trace_h;
	/* A ceiling was reached; see ceiling.h. */
	void (*full_h)(const char *reason, void *arg);
	void *arg; /* of all handlers */
};

#endif
