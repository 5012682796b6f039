/**
 * The native SIP user agent on libre: one per engine process. Accounts
 * register, calls are placed and taken; everything is reported through
 * handlers with monotonic times taken at the socket. What accounts and calls
 * do stands in account.h and call.h, which come with this header.
 *
 * Thread: all functions and handlers run on the loop thread (sip_loop_run()).
 * Errors: 0 or negative errno; libre's positive ones are turned here.
 */
#ifndef OFFHOOK_SIP_UA_H
#define OFFHOOK_SIP_UA_H

#include "media/params.h"
#include "sip/account.h"
#include "sip/call.h"
#include "sip/host.h"

struct sip_ua;

/* ---- the message trace ---- */

/** A whole SIP message as sent or received. */
struct sip_trace {
	int64_t mono_ns;
	bool sent;
	enum sip_transport transport;
	struct media_addr local;
	struct media_addr peer;
	const char *data; /* not terminated */
	size_t len;
};
typedef void(sip_message_h)(const struct sip_trace *trace, void *arg);
/** Peers made us keep as much of something as we do, and what we do beyond it:
 * once for each such thing. It is for the log; nothing here may be called. */
typedef void(sip_full_h)(const char *reason, void *arg);

/* ---- the user agent ---- */

struct sip_ua_params {
	const char *bind_addr; /* IPv4 or IPv6 literal, not "any" */
	uint16_t port;         /* 0: any free one; UDP, TCP and TLS */
	const char *software;  /* User-Agent */
	uint32_t calls_max;    /* sizes the hash tables */
	/* For connections that we accept, cert_file set; verify: clients must
	 * show a certificate that ca signed. NULL: TLS is not accepted. */
	const struct sip_tls *tls;
	/* "192.0.2.1, [2001:db8::1]:5353"; NULL: those of the system */
	const char *name_servers;
	sip_message_h *trace_h; /* may be NULL */
	sip_full_h *full_h;     /* may be NULL */
	void *arg;
	char *reason; /* SIP_REASON_BYTES, why a file is refused; or NULL */
};

/** Set up libre once a process (descriptors, loop); before anything else. */
int sip_loop_init(void);
/** Run until sip_loop_stop(). */
int sip_loop_run(void);
void sip_loop_stop(void);
void sip_loop_close(void);

/**
 * @param params  reason, if not NULL, gets a sentence on failure
 * @return 0; -EINVAL; -EADDRINUSE; -ENOMEM; -errno
 */
int sip_ua_new(struct sip_ua **ret, const struct sip_ua_params *params);

/** The port that all transports are bound to. */
uint16_t sip_ua_port(const struct sip_ua *ua);

/** Release, never within a handler; accounts and calls must be gone.
 * @return NULL */
struct sip_ua *sip_ua_free(struct sip_ua *ua);

#endif
