/**
 * The address of a host that is no SIP peer, a STUN server for example: a literal,
 * a name of /etc/hosts, or A or AAAA of the name servers that the native user agent
 * asks.
 * Thread: the loop's; never blocks.
 */
#ifndef OFFHOOK_SIP_LOOKUP_H
#define OFFHOOK_SIP_LOOKUP_H

#include "media/params.h"

struct sip_lookup;
struct sip_ua;

/** The lookup has ended; called once, never within sip_lookup_start().
 * @param err   0; -ENODATA the host has no address of the user agent's family;
 *              -ETIMEDOUT no name server answered; another -errno
 * @param addr  NULL if err is set */
typedef void(sip_lookup_h)(int err, const struct media_addr *addr, void *arg);

/**
 * Find the address of a host.
 * @param ret   NULL: the address is known without a name server, and the handler
 *              is not called; else to be released by sip_lookup_free()
 * @param addr  set where *ret is NULL
 * @param ua    the native user agent, which lives longer than the lookup
 * @param host  borrowed for the call; literal (brackets allowed) or name
 * @param port  > 0
 * @return 0; -ENODATA as above; -EINVAL the name is too long; -ENOMEM
 */
int sip_lookup_start(struct sip_lookup **ret, struct media_addr *addr,
		     const struct sip_ua *ua, const char *host, uint16_t port,
		     sip_lookup_h *handler, void *arg);

/** Give it up, or release it; also within its handler. @param l  NULL is allowed
 * @return NULL */
struct sip_lookup *sip_lookup_free(struct sip_lookup *l);

#endif
