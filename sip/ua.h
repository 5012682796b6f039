/**
 * A SIP user agent, one per engine process: accounts (account.h) register and
 * have calls (call.h). Everything is reported through handlers, with monotonic
 * times taken at the socket.
 *
 * Thread: all functions and handlers run on the loop thread (sip_loop_run()).
 * Errors: 0 or negative errno.
 */
#ifndef OFFHOOK_SIP_UA_H
#define OFFHOOK_SIP_UA_H

#include "sip/account.h"
#include "sip/call.h"
#include "sip/host.h"
#include "sip/trace.h"

struct sip_ua;

/** A table or queue that peers fill has reached its limit: once for each limit, for
 * the log. The handler must not call functions of this interface.
 * @param reason  which limit, and what happens beyond it */
typedef void(sip_full_h)(const char *reason, void *arg);

struct sip_ua_params {
	const char *bind_addr; /* IPv4 or IPv6 literal, not "any" */
	uint16_t port;         /* 0: any free one; UDP, TCP and TLS */
	const char *software;  /* User-Agent */
	uint32_t calls_max;    /* sizes the hash tables */
	/* For TLS connections that peers open; cert_file is set. verify: clients
	 * must have a certificate signed by ca. NULL: TLS is not accepted. */
	const struct sip_tls *tls;
	/* "192.0.2.1, [2001:db8::1]:5353"; NULL: those of the system */
	const char *name_servers;
	sip_message_h *trace_h; /* may be NULL */
	sip_full_h *full_h;     /* may be NULL */
	void *arg;
	char *reason; /* SIP_REASON_BYTES: why a file was refused; or NULL */
};

/** Set up libre (descriptors, loop), once in a process, before any other function
 * of sip/. @return 0; -errno */
int sip_loop_init(void);
/** Run the loop until sip_loop_stop(). @return 0; -errno */
int sip_loop_run(void);
void sip_loop_stop(void);
void sip_loop_close(void);

/**
 * Make the native user agent and bind its sockets.
 * @param params  copied; reason, if not NULL, is set on failure
 * @return 0; -EINVAL; -EADDRINUSE; -ENOMEM; -errno
 */
int sip_ua_new(struct sip_ua **ret, const struct sip_ua_params *params);

/** The port that all transports are bound to. */
uint16_t sip_ua_port(const struct sip_ua *ua);

/**
 * SIP datagrams that the kernel dropped before they were read.
 * @return 0; -ENOTSUP: the user agent is baresip or SIPp, whose sockets are not ours;
 * -errno: the kernel does not tell (ret unchanged)
 */
int sip_ua_receive_drops(const struct sip_ua *ua, uint64_t *ret);

/** Release it, not within a handler, after its calls and accounts.
 * @return NULL */
struct sip_ua *sip_ua_free(struct sip_ua *ua);

#endif
