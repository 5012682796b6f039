/**
 * The message trace: reports each message when it is handed to the socket or was
 * received. The time of sending is taken here.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_TRACE_H
#define OFFHOOK_SIP_TRANSPORT_TRACE_H

#include <re.h>

struct arrival;
struct transport;

/** Report a message that is about to be handed to the socket, and take its time.
 * @param data  len bytes, borrowed */
void trace_sent(struct transport *t, enum sip_transp tp, const struct sa *src,
		const struct sa *dst, const uint8_t *data, size_t len);
/** Report a received message. */
void trace_received(struct transport *t, const struct arrival *arrival);

#endif
