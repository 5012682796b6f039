/**
 * The second user agent behind sip/ua.h: Debian's baresip, one process per account,
 * driven over its control connection. Its SIP messages are read from its trace:
 * states and times are those of the messages, as of the native user agent. Its RTP
 * is measured by a tap (media.h) at the address of SIP_CALL_LOCAL_SDP.
 *
 * Not possible with baresip 1.0.0 (-ENOTSUP): provisional responses, refusals other
 * than 486, redirects, UPDATE, other requests within and outside of dialogs,
 * attended transfer. Docs: docs/reference/second-client.md
 * Thread: loop.
 */
#ifndef OFFHOOK_SIP_BARESIP_BARESIP_H
#define OFFHOOK_SIP_BARESIP_BARESIP_H

#include "sip/ua.h"

#define BARESIP_PROGRAM "/usr/bin/baresip"
/* Accounts are processes of 10 MB and more. */
#define BARESIP_ACCOUNTS_MAX 64

struct baresip_params {
	const char *bind_addr; /* literal, not a loopback address */
	uint16_t rtp_min;
	uint16_t rtp_max;
	sip_message_h *trace_h; /* may be NULL */
	void *arg;
	char *reason; /* SIP_REASON_BYTES; written on failure */
};

/**
 * Check whether baresip can run on this host.
 * Thread: any.
 * @param bind_addr  literal
 * @param reason     SIP_REASON_BYTES; written on failure: cause and remedy
 * @return 0; -ENOENT baresip is not installed; -EADDRNOTAVAIL a loopback
 *         address; -EINVAL
 */
int baresip_usable(const char *bind_addr, char *reason);

/**
 * Make a user agent without accounts; its sip_ua_port() is 0.
 * @return 0; -ENOENT baresip is not installed; -EADDRNOTAVAIL a loopback
 *         address; -ENOMEM
 */
int baresip_new(struct sip_ua **ret, const struct baresip_params *params);

#endif
