/**
 * The message trace: every SIP message as it is sent or received.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRACE_H
#define OFFHOOK_SIP_TRACE_H

#include "media/params.h"
#include "sip/host.h"

/** A whole SIP message as sent or received. */
struct sip_trace {
	int64_t mono_ns;
	bool sent;
	enum sip_transport transport;
	struct media_addr local;
	struct media_addr peer;
	const char *data; /* not terminated */
	size_t len;
};
typedef void(sip_message_h)(const struct sip_trace *trace, void *arg);

#endif
