#include <string.h>

#include "base/str.h"
#include "sip/internal.h"

#define HASH_MIN        16
#define HASH_MAX        65536
#define PORT_TRIES      64
#define DNS_SERVERS_MAX 8

static void ua_destructor(void *arg)
{
	struct sip_ua *ua = arg;

	mem_deref(ua->lsnr_request);
	mem_deref(ua->lsnr_response);
	mem_deref(ua->sip);
	mem_deref(ua->dnsc);
	mem_deref(ua->calls);
	mem_deref(ua->registers);
	mem_deref(ua->software);
}

/* UDP and TCP on the same port, since one Contact stands for both. */
static int transports_add(struct sip_ua *ua)
{
	struct sa laddr = ua->laddr;
	int err;

	err = sip_transp_add(ua->sip, SIP_TRANSP_UDP, &laddr);
	if (err)
		return neg(err);
	err = sip_transp_laddr(ua->sip, &laddr, SIP_TRANSP_UDP, &ua->laddr);
	if (!err)
		err = sip_transp_add(ua->sip, SIP_TRANSP_TCP, &laddr);
	if (err) {
		sip_transp_flush(ua->sip);
		return neg(err);
	}
	ua->laddr = laddr;
	return 0;
}

static int transports_bind(struct sip_ua *ua)
{
	bool any_port = sa_port(&ua->laddr) == 0;
	int err = -EADDRINUSE;

	for (unsigned i = 0; i < PORT_TRIES && err == -EADDRINUSE; i++) {
		err = transports_add(ua);
		if (!any_port)
			break;
	}
	return err;
}

static int resolver_new(struct dnsc **ret)
{
	struct sa servers[DNS_SERVERS_MAX];
	uint32_t count = DNS_SERVERS_MAX;

	/* Without a name server only literals and /etc/hosts work. */
	if (dns_srv_get(NULL, 0, servers, &count) || count == 0)
		return 0;
	return neg(dnsc_alloc(ret, NULL, servers, count));
}

static int stack_new(struct sip_ua *ua)
{
	uint32_t size =
		ua->calls_max < HASH_MAX / 2 ? 2 * ua->calls_max : HASH_MAX;
	int err;

	size = hash_valid_size(size < HASH_MIN ? HASH_MIN : size);
	err = neg(hash_alloc(&ua->calls, size));
	if (!err)
		err = neg(hash_alloc(&ua->registers, size));
	if (!err)
		err = resolver_new(&ua->dnsc);
	if (!err)
		err = neg(sip_alloc(&ua->sip, ua->dnsc, size, size, size,
				    ua->software, NULL, ua));
	if (!err)
		err = neg(sip_listen(&ua->lsnr_request, ua->sip, true,
				     dispatch_request, ua));
	if (!err)
		err = neg(sip_listen(&ua->lsnr_response, ua->sip, false,
				     dispatch_response, ua));
	if (!err)
		err = transports_bind(ua);
	return err;
}

int sip_ua_new(struct sip_ua **ret, const struct sip_ua_params *params)
{
	struct sip_ua *ua;
	int err;

	if (!params->bind_addr ||
	    (params->software && !header_text_valid(params->software)))
		return -EINVAL;
	ua = mem_zalloc(sizeof(*ua), ua_destructor);
	if (!ua)
		return -ENOMEM;
	list_init(&ua->accounts);
	ua->calls_max = params->calls_max ? params->calls_max : 1;
	ua->trace_h = params->trace_h;
	ua->arg = params->arg;
	err = neg(sa_set_str(&ua->laddr, params->bind_addr, params->port));
	if (!err && sa_is_any(&ua->laddr))
		err = -EINVAL;
	if (!err && params->software)
		err = text_print(&ua->software, "%s", params->software);
	if (!err)
		err = stack_new(ua);
	if (err) {
		mem_deref(ua);
		return err;
	}
	sip_set_trace_handler(ua->sip, trace_handler);
	*ret = ua;
	return 0;
}

uint16_t sip_ua_port(const struct sip_ua *ua)
{
	return sa_port(&ua->laddr);
}

static bool abandon_handler(struct le *le, void *arg)
{
	(void)arg;
	uas_stop_timers(le->data);
	return false;
}

struct sip_ua *sip_ua_free(struct sip_ua *ua)
{
	if (!ua)
		return NULL;
	/* What released calls and accounts left running: BYE, 2xx. */
	sip_close(ua->sip, true);
	hash_apply(ua->calls, abandon_handler, NULL);
	sip_transp_flush(ua->sip);
	return mem_deref(ua);
}
