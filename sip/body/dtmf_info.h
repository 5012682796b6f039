/**
 * DTMF in the body of an INFO request: application/dtmf-relay ("Signal=5",
 * "Duration=160") and application/dtmf ("5"). There is no RFC; this is what
 * implementations send.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_BODY_DTMF_INFO_H
#define OFFHOOK_SIP_BODY_DTMF_INFO_H

#include <stddef.h>

#define DTMF_INFO_BODY_BYTES 64

struct dtmf_info {
	char digit;  /* 0-9 * # A-D */
	unsigned ms; /* 0: not given */
};

/**
 * Read a digit.
 * @param type  Content-Type without parameters, any case
 * @param body  not terminated
 * @return 0; -ENOTSUP another type; -EBADMSG it has no digit
 */
int dtmf_info_parse(struct dtmf_info *ret, const char *type, size_t type_len,
		    const char *body, size_t len);

#endif
