/**
 * The second user agent behind sip/ua.h: Debian's baresip, a process an
 * account, driven over its control connection. What it puts on the wire and
 * takes from it is read from its trace: states and times are those of SIP
 * messages, as of the native user agent. Its RTP is its own; who wants
 * figures taps it (media.h), where SIP_CALL_LOCAL_SDP says.
 *
 * What baresip 1.0.0 cannot do gives -ENOTSUP: provisional answers, refusals
 * other than 486, redirects, UPDATE, requests within dialogs and outside,
 * attended transfer. Docs: docs/reference/second-client.md
 * Thread: loop.
 */
#ifndef OFFHOOK_SIP_BARESIP_BARESIP_H
#define OFFHOOK_SIP_BARESIP_BARESIP_H

#include "sip/ua.h"

/* Accounts are processes of 10 MB and more. */
#define BARESIP_ACCOUNTS_MAX 64

struct baresip_params {
	const char *bind_addr; /* literal, no loopback: baresip refuses it */
	uint16_t rtp_min;
	uint16_t rtp_max;
	sip_message_h *trace_h; /* may be NULL */
	void *arg;
	char *reason; /* SIP_REASON_BYTES; written on failure */
};

/**
 * Can baresip be run here?
 * Thread: any.
 * @param bind_addr  literal
 * @param reason     SIP_REASON_BYTES; written on failure: cause and remedy
 * @return 0; -ENOENT baresip is not installed; -EADDRNOTAVAIL a loopback
 *         address; -EINVAL
 */
int baresip_usable(const char *bind_addr, char *reason);

/**
 * A user agent without accounts yet; sip_ua_port() of it is 0.
 * @return 0; -ENOENT baresip is not installed; -EADDRNOTAVAIL a loopback
 *         address; -ENOMEM
 */
int baresip_new(struct sip_ua **ret, const struct baresip_params *params);

#endif
