/**
 * Finds the addresses of hosts (RFC 3263): literals, /etc/hosts, then the name
 * servers: NAPTR and SRV where no port is given, A or AAAA.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_RESOLVE_H
#define OFFHOOK_SIP_TRANSPORT_RESOLVE_H

#include <re.h>

struct resolve;

/* Hosts of a target, and addresses of all of them. */
#define HOSTS_MAX 16

#define DESTINATIONS_MAX 16

/** A host as configured, or of a URI. */
struct resolve_host {
	const char *host;   /* borrowed; literal (brackets allowed) or name */
	uint16_t port;      /* 0: by SRV, else the transport's */
	enum sip_transp tp; /* SIP_TRANSP_NONE: by NAPTR or SRV, else UDP */
	bool secure;        /* sips: TLS only, also with another tp */
};

struct destination {
	enum sip_transp tp;
	struct sa addr;
	char *name; /* the host's name, for TLS to verify */
};

/** Addresses in the order in which they are tried. */
struct destinations {
	struct destination *list; /* NULL: none */
	size_t count;             /* at most DESTINATIONS_MAX */
	bool truncated;           /* there were more */
};

/** Release the list and the names in it, and make it empty. */
void destinations_release(struct destinations *d);

/** The search has ended.
 * @param err  0; ENODATA no host has an address; ETIMEDOUT none was found, and
 *             a name server did not answer; another errno of libre */
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
 * @param ret  NULL: all addresses are known now, and the handler is not called;
 *             else the caller's: releasing it ends the search
 * @param out  filled on return, or when the handler is called; borrowed
 * @return 0; -ENODATA no host has an address; -ENOMEM; -EINVAL
 */
int resolve_start(struct resolve **ret, struct destinations *out,
		  const struct resolve_params *params);

/** The transport of a name, in upper or lower case.
 * @return SIP_TRANSP_NONE: another name */
enum sip_transp resolve_transport(const struct pl *name);

/** Copy a host without the brackets of an IPv6 literal. @return 0; -EINVAL */
int resolve_plain(char *dst, size_t size, const char *host);

/** Whether the host is an IPv6 literal, with or without brackets. */
bool resolve_is_ipv6(const char *host);

#endif
