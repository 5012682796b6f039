#include "sip/transport/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/error.h"
#include "sip/mono_timer.h"

#define HOSTS_PATH  "/etc/hosts"
#define QUERIES_MAX 64 /* a search */

/* libre asks for more than a minute. After QUERY_MS, in which it has asked four
 * times, a question counts as answered without records: some networks drop NAPTR
 * and SRV only. */
#define QUERY_MS   6000
#define RESOLVE_MS 32000 /* a search; RFC 3261 17.1: timers B and F */

#define HOST_BYTES   256
#define SERVICES_MAX 16 /* NAPTR records and SRV records, each */

/* A question of the search. */
enum step_kind {
	STEP_HOST,  /* a host as given */
	STEP_NAPTR, /* its transports (RFC 3263 4.1) */
	STEP_SRV,   /* the hosts of a transport (4.2) */
	STEP_ADDR,
};

struct step {
	struct le le;
	enum step_kind kind;
	char host[HOST_BYTES]; /* name to ask for */
	char name[HOST_BYTES]; /* for TLS to verify */
	uint16_t port;
	enum sip_transp tp;
	bool secure;
	bool fallback; /* SRV: without records ask for the address of name */
	size_t base;   /* number of destinations before this host */
};

struct resolve {
	struct dnsc *dnsc; /* NULL: no name servers */
	int af;            /* of the addresses wanted */
	struct list steps;
	struct step *step; /* under way */
	struct dns_query *query;
	struct mono_timer tmr; /* of the query */
	int64_t until_ns;
	bool unanswered; /* a query was */
	struct destinations *out;
	uint32_t random;
	unsigned queries;
	bool sync;
	resolve_h *handler;
	void *arg;
};

static void resolve_next(struct resolve *r);

void destinations_release(struct destinations *d)
{
	for (size_t i = 0; i < d->count; i++)
		mem_deref(d->list[i].name);
	d->list = mem_deref(d->list);
	d->count = 0;
}

enum sip_transp resolve_transport(const struct pl *name)
{
	if (!pl_strcasecmp(name, "udp"))
		return SIP_TRANSP_UDP;
	if (!pl_strcasecmp(name, "tcp"))
		return SIP_TRANSP_TCP;
	return pl_strcasecmp(name, "tls") ? SIP_TRANSP_NONE : SIP_TRANSP_TLS;
}

int resolve_plain(char *dst, size_t size, const char *host)
{
	size_t len = strlen(host);

	if (len > 2 && host[0] == '[' && host[len - 1] == ']')
		return str_print(dst, size, "%.*s", (int)len - 2, host + 1) < 0
			       ? -EINVAL
			       : 0;
	return str_copy(dst, size, host) < 0 ? -EINVAL : 0;
}

bool resolve_is_ipv6(const char *host)
{
	struct sa sa;

	return !sa_set_str(&sa, host, 0) && sa_af(&sa) == AF_INET6;
}

static void step_destructor(void *arg)
{
	struct step *step = arg;

	list_unlink(&step->le);
}

static void resolve_destructor(void *arg)
{
	struct resolve *r = arg;

	mono_timer_cancel(&r->tmr);
	mem_deref(r->query);
	mem_deref(r->step);
	list_flush(&r->steps);
}

/* Make room for one more destination. Nearly all lists have one. */
static int destination_room(struct destinations *d)
{
	size_t bytes = (d->count + 1) * sizeof(d->list[0]);
	struct destination *list =
		d->list ? mem_realloc(d->list, bytes) : mem_alloc(bytes, NULL);

	if (!list)
		return -ENOMEM;
	d->list = list;
	return 0;
}

/* @param af  addresses of another family are left out */
static void destination_add(struct destinations *d, int af, enum sip_transp tp,
			    const struct sa *addr, const char *name)
{
	char *copy;

	if (sa_af(addr) != af)
		return;
	for (size_t i = 0; i < d->count; i++) {
		if (d->list[i].tp == tp &&
		    sa_cmp(&d->list[i].addr, addr, SA_ALL))
			return;
	}
	if (d->count == DESTINATIONS_MAX || destination_room(d) ||
	    str_dup(&copy, name)) {
		d->truncated = true;
		return;
	}
	d->list[d->count++] = (struct destination){tp, *addr, copy};
}

/* The transport of an address without one, and the port of one without. With sips
 * every hop is secured by TLS (RFC 3261 26.2.2), whatever transport is named. */
static void address_add(struct destinations *d, int af, struct sa *addr,
			const struct resolve_host *host, const char *name)
{
	enum sip_transp tp = host->secure ? SIP_TRANSP_TLS : host->tp;

	if (tp == SIP_TRANSP_NONE)
		tp = SIP_TRANSP_UDP;
	sa_set_port(addr, sip_transp_port(tp, host->port));
	destination_add(d, af, tp, addr, name);
}

/* Look a name up in /etc/hosts. libre asks only name servers, and the C library
 * would block the loop. */
static bool hosts_lookup(struct sa *ret, const char *name, int af)
{
	FILE *file = fopen(HOSTS_PATH, "re");
	bool found = false;
	char line[512];

	while (file && !found && fgets(line, sizeof(line), file)) {
		char *rest = NULL;
		char *addr, *word;

		line[strcspn(line, "#\n")] = '\0';
		addr = strtok_r(line, " \t", &rest);
		if (!addr || sa_set_str(ret, addr, 0) || sa_af(ret) != af)
			continue;
		while (!found && (word = strtok_r(NULL, " \t", &rest)))
			found = strcasecmp(word, name) == 0;
	}
	if (file)
		fclose(file);
	return found;
}

static struct step *step_add(struct resolve *r, struct le **after,
			     const struct step *from)
{
	struct step *step = mem_zalloc(sizeof(*step), step_destructor);

	if (!step)
		return NULL;
	*step = *from;
	memset(&step->le, 0, sizeof(step->le));
	if (*after)
		list_insert_after(&r->steps, *after, &step->le, step);
	else
		list_prepend(&r->steps, &step->le, step);
	*after = &step->le;
	return step;
}

static const char *srv_prefix(enum sip_transp tp)
{
	return tp == SIP_TRANSP_UDP   ? "_sip._udp"
	       : tp == SIP_TRANSP_TCP ? "_sip._tcp"
				      : "_sips._tcp";
}

/* ---- answers to the question r->step ---- */

static void srv_step_add(struct resolve *r, struct le **after,
			 const struct step *base, enum sip_transp tp,
			 bool fallback)
{
	struct step step = *base;

	step.kind = STEP_SRV;
	step.tp = tp;
	step.fallback = fallback;
	if (str_print(step.host, sizeof(step.host), "%s.%s", srv_prefix(tp),
		      base->name) >= 0)
		(void)step_add(r, after, &step);
}

/* No NAPTR: SRV of each transport, the address last (RFC 3263 4.1). */
static void srv_steps_all(struct resolve *r, const struct step *base)
{
	struct le *after = NULL;

	if (base->secure) {
		srv_step_add(r, &after, base, SIP_TRANSP_TLS, true);
		return;
	}
	srv_step_add(r, &after, base, SIP_TRANSP_UDP, false);
	srv_step_add(r, &after, base, SIP_TRANSP_TCP, false);
	if (after) {
		struct step addr = *base;

		addr.kind = STEP_ADDR;
		addr.tp = SIP_TRANSP_UDP;
		addr.port = SIP_PORT;
		addr.fallback = true; /* only if no SRV was found */
		(void)step_add(r, &after, &addr);
	}
}

static int service_transport(const char *services, bool secure,
			     enum sip_transp *ret)
{
	if (strcasecmp(services, "SIPS+D2T") == 0)
		*ret = SIP_TRANSP_TLS;
	else if (!secure && strcasecmp(services, "SIP+D2U") == 0)
		*ret = SIP_TRANSP_UDP;
	else if (!secure && strcasecmp(services, "SIP+D2T") == 0)
		*ret = SIP_TRANSP_TCP;
	else
		return -ENOENT;
	return 0;
}

static int naptr_compare(const struct dnsrr *a, const struct dnsrr *b)
{
	if (a->rdata.naptr.order != b->rdata.naptr.order)
		return a->rdata.naptr.order < b->rdata.naptr.order ? -1 : 1;
	return (int)a->rdata.naptr.pref - (int)b->rdata.naptr.pref;
}

static void naptr_take(struct resolve *r, const struct list *answers)
{
	const struct dnsrr *found[SERVICES_MAX];
	struct le *after = NULL;
	size_t count = 0;
	enum sip_transp tp;
	struct le *le;

	LIST_FOREACH(answers, le)
	{
		const struct dnsrr *rr = le->data;
		size_t i;

		if (rr->type != DNS_TYPE_NAPTR || count == SERVICES_MAX ||
		    service_transport(rr->rdata.naptr.services, r->step->secure,
				      &tp) ||
		    strcasecmp(rr->rdata.naptr.flags, "s") != 0)
			continue;
		for (i = count++; i > 0 && naptr_compare(rr, found[i - 1]) < 0;
		     i--)
			found[i] = found[i - 1];
		found[i] = rr;
	}
	if (count == 0) {
		srv_steps_all(r, r->step);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct step step = *r->step;

		(void)service_transport(found[i]->rdata.naptr.services,
					r->step->secure, &step.tp);
		step.kind = STEP_SRV;
		step.fallback = false;
		if (str_copy(step.host, sizeof(step.host),
			     found[i]->rdata.naptr.replace) >= 0)
			(void)step_add(r, &after, &step);
	}
}

static uint32_t random_next(struct resolve *r)
{
	/* xorshift32 from the key, so that all requests of a dialog have the
	 * same order */
	r->random ^= r->random << 13;
	r->random ^= r->random >> 17;
	r->random ^= r->random << 5;
	return r->random;
}

/* RFC 2782: by priority; within one by chance in proportion to the weight. */
static void srv_sort(struct resolve *r, const struct dnsrr **v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t best = i;
		uint32_t sum = 0;
		uint32_t pick;

		for (size_t k = i; k < count; k++) {
			if (v[k]->rdata.srv.pri < v[best]->rdata.srv.pri)
				best = k;
		}
		for (size_t k = i; k < count; k++) {
			if (v[k]->rdata.srv.pri == v[best]->rdata.srv.pri)
				sum += v[k]->rdata.srv.weight;
		}
		pick = sum ? random_next(r) % sum + 1 : 0;
		for (size_t k = i; k < count && pick > 0; k++) {
			if (v[k]->rdata.srv.pri != v[best]->rdata.srv.pri)
				continue;
			if (v[k]->rdata.srv.weight >= pick) {
				best = k;
				break;
			}
			pick -= v[k]->rdata.srv.weight;
		}
		const struct dnsrr *chosen = v[best];

		memmove(&v[i + 1], &v[i], (best - i) * sizeof(v[0]));
		v[i] = chosen;
	}
}

static void srv_take(struct resolve *r, const struct list *answers)
{
	const struct dnsrr *found[SERVICES_MAX];
	struct le *after = NULL;
	size_t count = 0;
	struct le *le;

	LIST_FOREACH(answers, le)
	{
		const struct dnsrr *rr = le->data;

		if (rr->type == DNS_TYPE_SRV && count < SERVICES_MAX &&
		    strcmp(rr->rdata.srv.target, ".") != 0 &&
		    rr->rdata.srv.target[0])
			found[count++] = rr;
	}
	srv_sort(r, found, count);
	for (size_t i = 0; i < count; i++) {
		struct step step = *r->step;

		step.kind = STEP_ADDR;
		step.port = found[i]->rdata.srv.port;
		step.fallback = false;
		if (str_copy(step.host, sizeof(step.host),
			     found[i]->rdata.srv.target) >= 0)
			(void)step_add(r, &after, &step);
	}
	if (count == 0 && r->step->fallback) {
		struct step step = *r->step;

		step.kind = STEP_ADDR;
		step.port = sip_transp_port(step.tp, 0);
		step.fallback = false;
		if (str_copy(step.host, sizeof(step.host), step.name) >= 0)
			(void)step_add(r, &after, &step);
	}
}

static void addr_take(struct resolve *r, const struct list *answers)
{
	struct le *le;

	LIST_FOREACH(answers, le)
	{
		const struct dnsrr *rr = le->data;
		struct sa sa;

		if (rr->type == DNS_TYPE_A)
			sa_set_in(&sa, rr->rdata.a.addr, r->step->port);
		else if (rr->type == DNS_TYPE_AAAA)
			sa_set_in6(&sa, rr->rdata.aaaa.addr, r->step->port);
		else
			continue;
		destination_add(r->out, r->af, r->step->tp, &sa, r->step->name);
	}
}

/* ---- questions ---- */

static void query_handler(int err, const struct dnshdr *hdr,
			  struct list *answers, struct list *authorities,
			  struct list *additional, void *arg)
{
	struct resolve *r = arg;
	struct list none = LIST_INIT;
	struct list *list = err || !answers ? &none : answers;
	(void)hdr;
	(void)authorities;
	(void)additional;

	mono_timer_cancel(&r->tmr);
	r->query = NULL;
	switch (r->step->kind) {
	case STEP_NAPTR:
		naptr_take(r, list);
		break;
	case STEP_SRV:
		srv_take(r, list);
		break;
	case STEP_ADDR:
	case STEP_HOST:
		addr_take(r, list);
		break;
	}
	r->step = mem_deref(r->step);
	resolve_next(r);
}

static void query_timeout(void *arg)
{
	struct resolve *r = arg;

	r->unanswered = true;
	r->query = mem_deref(r->query);
	query_handler(ETIMEDOUT, NULL, NULL, NULL, NULL, r);
}

static int query_send(struct resolve *r)
{
	uint16_t type = r->af == AF_INET6 ? DNS_TYPE_AAAA : DNS_TYPE_A;
	int64_t left_ms = (r->until_ns - clock_mono_ns()) / NS_PER_MS;
	int err;

	if (r->step->kind == STEP_NAPTR)
		type = DNS_TYPE_NAPTR;
	else if (r->step->kind == STEP_SRV)
		type = DNS_TYPE_SRV;
	if (r->queries++ >= QUERIES_MAX)
		return -ENODATA;
	if (!r->dnsc)
		return -ENODATA;
	if (left_ms <= 0)
		return -ETIMEDOUT;
	err = neg(dnsc_query(&r->query, r->dnsc, r->step->host, type,
			     DNS_CLASS_IN, true, query_handler, r));
	if (!err)
		mono_timer_start(
			&r->tmr,
			(uint64_t)(left_ms < QUERY_MS ? left_ms : QUERY_MS),
			query_timeout, r);
	return err;
}

static int nothing_found(const struct resolve *r)
{
	return r->unanswered ? ETIMEDOUT : ENODATA;
}

/* @return true: answered without a name server */
static bool step_local(struct resolve *r)
{
	const struct step *step = r->step;
	const struct resolve_host host = {
		.port = step->port,
		.tp = step->tp,
		.secure = step->secure,
	};
	struct sa sa;

	if (step->kind != STEP_HOST && step->kind != STEP_ADDR)
		return false;
	if (step->kind == STEP_ADDR && step->fallback &&
	    r->out->count > step->base)
		return true;
	if (sa_set_str(&sa, step->host, 0) &&
	    !hosts_lookup(&sa, step->host, r->af))
		return false;
	address_add(r->out, r->af, &sa, &host, step->name);
	return true;
}

/* Choose the first question: with a port or a transport fewer are needed (RFC 3263
 * 4.1, 4.2). */
static void host_refine(struct resolve *r)
{
	struct step *step = r->step;

	if (step->kind != STEP_HOST)
		return;
	step->base = r->out->count;
	if (step->secure && step->tp != SIP_TRANSP_NONE)
		step->tp = SIP_TRANSP_TLS;
	if (step->port) {
		step->kind = STEP_ADDR;
		step->fallback = false;
		if (step->tp == SIP_TRANSP_NONE)
			step->tp =
				step->secure ? SIP_TRANSP_TLS : SIP_TRANSP_UDP;
	} else if (step->tp == SIP_TRANSP_NONE) {
		step->kind = STEP_NAPTR;
	} else {
		step->kind = STEP_SRV;
		step->fallback = true;
		if (str_print(step->host, sizeof(step->host), "%s.%s",
			      srv_prefix(step->tp), step->name) < 0)
			step->kind = STEP_ADDR;
	}
}

static void resolve_next(struct resolve *r)
{
	while (!r->query) {
		r->step = list_ledata(list_head(&r->steps));
		if (!r->step)
			break;
		list_unlink(&r->step->le);
		if (!step_local(r)) {
			host_refine(r);
			if (query_send(r) == 0)
				return;
			/* Without name servers the answer is empty. */
			query_handler(ENODATA, NULL, NULL, NULL, NULL, r);
			return;
		}
		r->step = mem_deref(r->step);
	}
	if (!r->query && !r->step && !r->sync)
		r->handler(r->out->count ? 0 : nothing_found(r), r->arg);
}

static int hosts_add(struct resolve *r, const struct resolve_host *hosts,
		     size_t host_count)
{
	struct le *after = NULL;

	for (size_t i = 0; i < host_count && i < HOSTS_MAX; i++) {
		struct step step = {
			.kind = STEP_HOST,
			.port = hosts[i].port,
			.tp = hosts[i].tp,
			.secure = hosts[i].secure,
		};

		if (resolve_plain(step.host, sizeof(step.host), hosts[i].host))
			return -EINVAL;
		(void)str_copy(step.name, sizeof(step.name), step.host);
		if (!step_add(r, &after, &step))
			return -ENOMEM;
	}
	return 0;
}

/* Nearly all hosts are addresses: nothing is asked for them.
 * @return false: one is a name, or too long; `out` is empty */
static bool literals_take(struct destinations *out,
			  const struct resolve_params *p)
{
	for (size_t i = 0; i < p->host_count && i < HOSTS_MAX; i++) {
		char host[HOST_BYTES];
		struct sa sa;

		if (resolve_plain(host, sizeof(host), p->hosts[i].host) ||
		    sa_set_str(&sa, host, 0)) {
			destinations_release(out);
			out->truncated = false;
			return false;
		}
		address_add(out, p->af, &sa, &p->hosts[i], host);
	}
	return true;
}

/* Ask for hosts that are names, in the order of all hosts. */
static int search_start(struct resolve **ret, struct destinations *out,
			const struct resolve_params *params)
{
	struct resolve *r = mem_zalloc(sizeof(*r), resolve_destructor);
	int err;

	if (!r)
		return -ENOMEM;
	r->dnsc = params->dnsc;
	r->af = params->af;
	r->out = out;
	r->random = params->key ? params->key : 1;
	r->until_ns = clock_mono_ns() + RESOLVE_MS * NS_PER_MS;
	r->handler = params->handler;
	r->arg = params->arg;
	err = hosts_add(r, params->hosts, params->host_count);
	if (!err) {
		r->sync = true;
		resolve_next(r);
		r->sync = false;
	}
	if (err || !r->query)
		r = mem_deref(r);
	*ret = r;
	return err;
}

int resolve_start(struct resolve **ret, struct destinations *out,
		  const struct resolve_params *params)
{
	struct resolve *search = NULL;
	int err = 0;

	memset(out, 0, sizeof(*out));
	if (!literals_take(out, params))
		err = search_start(&search, out, params);
	if (!err && !search && out->count == 0)
		err = -ENODATA;
	if (err)
		destinations_release(out);
	*ret = search;
	return err;
}
