/**
 * The message trace: each message is reported as it is handed to the socket or
 * comes from it; the time of sending is taken here.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_TRACE_H
#define OFFHOOK_SIP_TRANSPORT_TRACE_H

#include <re.h>

struct arrival;
struct transport;

/** A message is about to be handed to the socket: note the time and report it.
 * @param data  len bytes, borrowed */
void trace_sent(struct transport *t, enum sip_transp tp, const struct sa *src,
		const struct sa *dst, const uint8_t *data, size_t len);
/** A message came. */
void trace_received(struct transport *t, const struct arrival *arrival);

#endif
