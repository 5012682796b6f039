/**
 * A received REFER, and the NOTIFY that reports on it (RFC 3515, RFC 4488);
 * within calls and outside of them.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_EVENT_REFER_REQUEST_H
#define OFFHOOK_SIP_EVENT_REFER_REQUEST_H

#include <re.h>

#include "sip/message/text.h"

#define REFER_TYPE          "message/sipfrag;version=2.0"
#define REFER_HEADERS_BYTES 128
#define REFER_BODY_BYTES    (REASON_BYTES + 32)

/**
 * The URI of Refer-To.
 * @param ret           without its headers part; the caller's
 * @param ret_replaces  the Replaces in it, the caller's, also after an error;
 *                      untouched if there is none
 * @return 0; -EBADMSG: none, several, or no SIP URI; -ENOMEM
 */
int refer_request_target(char **ret, char **ret_replaces,
			 const struct sip_msg *msg);
/** Refer-Sub: false: the sender wants no NOTIFY, or will send none. */
bool refer_request_is_silent(const struct sip_msg *msg);
/** Header lines and body of the NOTIFY that reports a status.
 * @param seq  CSeq of the REFER */
void refer_request_status(char headers[static REFER_HEADERS_BYTES],
			  char body[static REFER_BODY_BYTES], uint32_t seq,
			  uint16_t code, const char *reason);

#endif
