/**
 * What goes over the wire is told as it goes, and times come from there.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_TRACE_H
#define OFFHOOK_SIP_TRANSPORT_TRACE_H

#include <re.h>

struct arrival;
struct sip_ua;

/** A message is about to be handed to the socket. */
void trace_sent(struct sip_ua *ua, enum sip_transp tp, const struct sa *src,
		const struct sa *dst, const uint8_t *data, size_t len);
void trace_received(struct sip_ua *ua, const struct arrival *arrival);
/** When it happens: the arrival of the message being handled, else now. */
int64_t ua_event_ns(const struct sip_ua *ua);

#endif
