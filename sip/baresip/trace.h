/**
 * What baresip -s prints: each SIP message between two lines of its own,
 * after "UDP 10.0.0.1:5060 -> 10.0.0.2:5060", among lines of its log.
 * Thread: one owner.
 */
#ifndef OFFHOOK_SIP_BARESIP_TRACE_H
#define OFFHOOK_SIP_BARESIP_TRACE_H

#include "base/buf.h"
#include "sip/trace.h"

#define BARESIP_MESSAGE_MAX 65536 /* bytes of one; a longer one is left out */
#define BARESIP_LINE_BYTES  256   /* of a line of the log; cut */

struct baresip_traced {
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
	uint64_t left_out; /* messages that were too long or not understood */
	baresip_traced_h *message_h;
	baresip_line_h *line_h;
	void *arg;
};

void baresip_trace_init(struct baresip_trace *t, baresip_traced_h *message_h,
			baresip_line_h *line_h, void *arg);
void baresip_trace_release(struct baresip_trace *t);

/** Take what it printed. @return 0; -ENOMEM */
int baresip_trace_feed(struct baresip_trace *t, const char *data, size_t len);

#endif
