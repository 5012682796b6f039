#include "sip/transport/resolve_internal.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

static void srv_step_add(struct resolve *r, struct le **after,
			 const struct step *base, enum sip_transp tp,
			 bool fallback)
{
	struct step step = *base;

	step.kind = STEP_SRV;
	step.tp = tp;
	step.fallback = fallback;
	if (str_print(step.host, sizeof(step.host), "%s.%s",
		      resolve_srv_prefix(tp), base->name) >= 0)
		(void)resolve_step_add(r, after, &step);
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
		(void)resolve_step_add(r, &after, &addr);
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

void resolve_naptr_take(struct resolve *r, const struct list *answers)
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
			(void)resolve_step_add(r, &after, &step);
	}
}

static uint32_t random_next(struct resolve *r)
{
	/* xorshift32: the key decides, so that the requests of a dialog take
	 * the same way */
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

void resolve_srv_take(struct resolve *r, const struct list *answers)
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
			(void)resolve_step_add(r, &after, &step);
	}
	if (count == 0 && r->step->fallback) {
		struct step step = *r->step;

		step.kind = STEP_ADDR;
		step.port = sip_transp_port(step.tp, 0);
		step.fallback = false;
		if (str_copy(step.host, sizeof(step.host), step.name) >= 0)
			(void)resolve_step_add(r, &after, &step);
	}
}

void resolve_addr_take(struct resolve *r, const struct list *answers)
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
		resolve_destination_add(r, r->step->tp, &sa, r->step->name);
	}
}
