#include "sip/lookup.h"

#include "sip/error.h"
#include "sip/transport/resolve.h"
#include "sip/transport/transport.h"
#include "sip/ua/ua_internal.h"

struct sip_lookup {
	struct resolve *resolve;
	struct destinations found;
	sip_lookup_h *handler;
	void *arg;
};

static void lookup_destructor(void *arg)
{
	struct sip_lookup *l = arg;

	mem_deref(l->resolve);
	destinations_release(&l->found);
}

static struct media_addr first_of(const struct destinations *found)
{
	const struct sa *sa = &found->list[0].addr;
	struct media_addr addr = {.len = sa->len};

	memcpy(&addr.ss, &sa->u, sa->len);
	return addr;
}

static void resolved(int err, void *arg)
{
	struct sip_lookup *l = arg;
	struct media_addr addr = {.len = 0};

	if (!err)
		addr = first_of(&l->found);
	l->handler(neg(err), err ? NULL : &addr, l->arg);
}

int sip_lookup_start(struct sip_lookup **ret, struct media_addr *addr,
		     const struct sip_ua *ua, const char *host, uint16_t port,
		     sip_lookup_h *handler, void *arg)
{
	struct sip_lookup *l = mem_zalloc(sizeof(*l), lookup_destructor);
	/* With port and transport only the address is asked for. */
	const struct resolve_host asked = {
		.host = host,
		.port = port,
		.tp = SIP_TRANSP_UDP,
	};
	struct resolve_params params = {
		.dnsc = transport_dnsc(ua->transport),
		.af = sa_af(transport_laddr(ua->transport)),
		.hosts = &asked,
		.host_count = 1,
		.key = 1,
		.handler = resolved,
		.arg = l,
	};
	int err;

	if (!l)
		return -ENOMEM;
	l->handler = handler;
	l->arg = arg;
	err = resolve_start(&l->resolve, &l->found, &params);
	if (!err && !l->resolve)
		*addr = first_of(&l->found);
	if (err || !l->resolve)
		l = mem_deref(l);
	if (!err)
		*ret = l;
	return err;
}

struct sip_lookup *sip_lookup_free(struct sip_lookup *l)
{
	return mem_deref(l);
}
