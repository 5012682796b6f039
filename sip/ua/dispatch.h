/**
 * Finds the account, call or subscription that a received message is for.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_DISPATCH_H
#define OFFHOOK_SIP_UA_DISPATCH_H

#include <re.h>

struct sip_trace;
struct sip_ua;

/* Header fields of a message (a comma separates two); a message with more is
 * refused. */
#define HEADERS_MAX 512

/** A request of another SIP version than 2.0 (RFC 3261 21.5.6): 505. */
void dispatch_other_version(struct sip_ua *ua, const struct sip_msg *msg);
/** A received message that could be decoded. */
void dispatch_message(struct sip_ua *ua, const struct sip_msg *msg);

/**
 * A message is about to be handed to the socket: note the time at the call or
 * registration whose request it is. A request may wait for its connection or a
 * name, so the time it left is known only now.
 */
void dispatch_sent(struct sip_ua *ua, const struct sip_trace *trace);

#endif
