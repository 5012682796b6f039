/**
 * REFER within a call, both ways (RFC 3515, RFC 4488).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_REFER_H
#define OFFHOOK_SIP_CALL_REFER_H

#include <re.h>

#include "sip/message/text.h"

struct sip_call;

#define REFER_TYPE          "message/sipfrag;version=2.0"
#define REFER_HEADERS_BYTES 128
#define REFER_BODY_BYTES    (REASON_BYTES + 32)

void refer_received(struct sip_call *call, const struct sip_msg *msg);
void refer_notified(struct sip_call *call, const struct sip_msg *msg);
/** The call ends: so does a transfer that has not. */
void refer_stop(struct sip_call *call);

/** The target of a REFER, and the Replaces in it or NULL. @return 0; -errno */
int refer_target(char **ret, char **ret_replaces, const struct sip_msg *msg);
/** No NOTIFY is wanted (RFC 4488). */
bool refer_is_silent(const struct sip_msg *msg);
/** Header lines and body of the NOTIFY of a status.
 * @param seq  CSeq of the REFER */
void refer_status_print(char headers[static REFER_HEADERS_BYTES],
			char body[static REFER_BODY_BYTES], uint32_t seq,
			uint16_t code, const char *reason);

#endif
