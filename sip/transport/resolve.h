/**
 * From hosts to addresses (RFC 3263): literals, /etc/hosts, then the name
 * servers: NAPTR and SRV where no port is given, A or AAAA.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_RESOLVE_H
#define OFFHOOK_SIP_TRANSPORT_RESOLVE_H

#include <re.h>

struct resolve;

/* Hosts of a target. */
#define HOSTS_MAX 16

#define DESTINATIONS_MAX 16

/** A host as it was configured, or as it stands in a URI. */
struct resolve_host {
	const char *host;   /* borrowed; literal (brackets allowed) or name */
	uint16_t port;      /* 0: by SRV, else the transport's */
	enum sip_transp tp; /* SIP_TRANSP_NONE: by NAPTR or SRV, else UDP */
	bool secure;        /* sips: TLS only */
};

struct destination {
	enum sip_transp tp;
	struct sa addr;
	char *name; /* the host, as TLS shall verify it */
};

/** In the order they are to be tried. */
struct destinations {
	struct destination list[DESTINATIONS_MAX];
	size_t count;
	bool truncated; /* there were more */
};

void destinations_release(struct destinations *d);

/** err: 0, or why there is no address at all */
typedef void(resolve_h)(int err, void *arg);

struct resolve_params {
	struct dnsc *dnsc; /* borrowed; NULL: literals and /etc/hosts only */
	int af;            /* AF_INET or AF_INET6: of the addresses wanted */
	const struct resolve_host *hosts; /* copied */
	size_t host_count;
	uint32_t key; /* decides the choice by weight (RFC 2782): the same
		       * key, the same order */
	resolve_h *handler;
	void *arg;
};

/**
 * Find the addresses of hosts, in the order of the hosts.
 * @param ret  NULL if all is known at once: then the handler is not called;
 *             else a reference: releasing it ends the search
 * @param out  filled on return, or when the handler is called; borrowed
 * @return 0; -ENODATA no host has an address; -ENOMEM; -EINVAL
 */
int resolve_start(struct resolve **ret, struct destinations *out,
		  const struct resolve_params *params);

/** "UDP", "TCP", "TLS" of an upper or lower case name. @return NONE: no */
enum sip_transp resolve_transport(const struct pl *name);

/** Brackets around an IPv6 literal are taken off. @return 0; -EINVAL */
int resolve_plain(char *dst, size_t size, const char *host);

bool resolve_is_ipv6(const char *host);

#endif
