/**
 * Parses the output of baresip -s: SIP messages, each after a line "UDP
 * 10.0.0.1:5060 -> 10.0.0.2:5060" and between two marker lines, among log lines.
 * Thread: one owner.
 */
#ifndef OFFHOOK_SIP_BARESIP_TRACE_H
#define OFFHOOK_SIP_BARESIP_TRACE_H

#include "base/buf.h"
#include "sip/trace.h"

#define BARESIP_MESSAGE_MAX 65536 /* bytes; longer messages are left out */
#define BARESIP_LINE_BYTES  256   /* of a log line; longer ones are cut */

struct baresip_traced {
	bool addressed; /* false: transport, src and dst are unknown */
	enum sip_transport transport;
	struct media_addr src;
	struct media_addr dst;
	const char *data; /* not terminated */
	size_t len;
};
typedef void(baresip_traced_h)(const struct baresip_traced *m, void *arg);
/** @param line  terminated, without its end */
typedef void(baresip_line_h)(const char *line, void *arg);

struct baresip_trace {
	struct buf data;
	uint64_t left_out; /* parts that were too long or no SIP message */
	baresip_traced_h *message_h;
	baresip_line_h *line_h;
	void *arg;
};

/** Set up an empty parser. */
void baresip_trace_init(struct baresip_trace *t, baresip_traced_h *message_h,
			baresip_line_h *line_h, void *arg);
/** Wipe and free its buffer. */
void baresip_trace_release(struct baresip_trace *t);

/** Parse more output; calls the handlers. @return 0; -ENOMEM */
int baresip_trace_feed(struct baresip_trace *t, const char *data, size_t len);

#endif
