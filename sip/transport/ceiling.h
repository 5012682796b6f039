/**
 * What peers can make a user agent keep, of all of them together: sums of
 * bytes that do not go beyond a ceiling.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_CEILING_H
#define OFFHOOK_SIP_TRANSPORT_CEILING_H

#include <stdbool.h>
#include <stddef.h>

struct sip_ua;

enum ceiling_of {
	CEILING_SERVERS,    /* transactions of requests of others */
	CEILING_STREAM_IN,  /* of messages that are not whole yet */
	CEILING_STREAM_OUT, /* of messages that connections do not take */
	CEILINGS,
};

#define CEILING_BYTES_MAX ((size_t)256 * 1024 * 1024) /* each */

struct ceiling {
	size_t bytes;
	size_t bytes_max;
	bool told; /* that something went beyond it */
};

void ceilings_init(struct sip_ua *ua);

/**
 * @return false: it would be more than there may be; nothing is taken, and the
 *         first time full_h of sip_ua_params is told
 */
bool ceiling_take(struct sip_ua *ua, enum ceiling_of of, size_t bytes);
void ceiling_give(struct sip_ua *ua, enum ceiling_of of, size_t bytes);

#endif
