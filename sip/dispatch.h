/**
 * Who a message that came is for.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_DISPATCH_H
#define OFFHOOK_SIP_DISPATCH_H

#include <re.h>

struct sip_ua;

/* Header fields of a message (a comma makes another one); more is refused. */
#define HEADERS_MAX 512

/** What was received and could be decoded. */
void dispatch_message(struct sip_ua *ua, const struct sip_msg *msg);

#endif
