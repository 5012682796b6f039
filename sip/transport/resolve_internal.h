/**
 * What the files of the search for addresses share: resolve.c (what is asked,
 * in which order) and resolve_records.c (what the answers lead to).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_RESOLVE_INTERNAL_H
#define OFFHOOK_SIP_TRANSPORT_RESOLVE_INTERNAL_H

#include <re.h>

#include "sip/transport/resolve.h"

#define HOST_BYTES   256
#define SERVICES_MAX 16 /* NAPTR records and SRV records, each */

/* What is still to be asked, first to last. */
enum step_kind {
	STEP_HOST,  /* as it was given */
	STEP_NAPTR, /* which transports (RFC 3263 4.1) */
	STEP_SRV,   /* which hosts (4.2) */
	STEP_ADDR,
};

struct step {
	struct le le;
	enum step_kind kind;
	char host[HOST_BYTES]; /* name to ask for */
	char name[HOST_BYTES]; /* what TLS verifies */
	uint16_t port;
	enum sip_transp tp;
	bool secure;
	bool fallback; /* SRV: without records ask for the address of name */
	size_t base;   /* destinations before this host */
};

struct resolve {
	struct sip_ua *ua;
	struct list steps;
	struct step *step; /* the one that is asked */
	struct dns_query *query;
	struct destinations *out;
	uint32_t random;
	unsigned queries;
	bool sync;
	resolve_h *handler;
	void *arg;
};

/* ---- resolve.c ---- */

/** Another address, if it is of our family and new; a full list is marked. */
void resolve_destination_add(struct resolve *r, enum sip_transp tp,
			     const struct sa *addr, const char *name);
/**
 * A step like this one. Those of one record go before those of the next, all
 * before what is left.
 * @param after  in/out: where the last one went; NULL at first
 * @return borrowed; NULL: no memory
 */
struct step *resolve_step_add(struct resolve *r, struct le **after,
			      const struct step *from);
/** "_sip._udp" and so on (RFC 3263 4.1). */
const char *resolve_srv_prefix(enum sip_transp tp);

/* ---- resolve_records.c: the answers to r->step ---- */

/** RFC 3263 4.1. Without a record: SRV of each transport. */
void resolve_naptr_take(struct resolve *r, const struct list *answers);
/** RFC 2782. */
void resolve_srv_take(struct resolve *r, const struct list *answers);
/** A and AAAA. */
void resolve_addr_take(struct resolve *r, const struct list *answers);

#endif
