/**
 * Who a message that came is for.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_DISPATCH_H
#define OFFHOOK_SIP_UA_DISPATCH_H

#include <re.h>

struct sip_ua;

/* Header fields of a message (a comma makes another one); more is refused. */
#define HEADERS_MAX 512

/** A request of another SIP version than 2.0 (RFC 3261 21.5.6): 505. */
void dispatch_other_version(struct sip_ua *ua, const struct sip_msg *msg);
/** What was received and could be decoded. */
void dispatch_message(struct sip_ua *ua, const struct sip_msg *msg);

#endif
