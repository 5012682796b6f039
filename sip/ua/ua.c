#include "sip/ua.h"

#include <errno.h>
#include <string.h>

#include "sip/call/uas.h"
#include "sip/message/error.h"
#include "sip/message/headers.h"
#include "sip/message/text.h"
#include "sip/transaction/client_transaction.h"
#include "sip/transaction/server_transaction.h"
#include "sip/transport/ceiling.h"
#include "sip/transport/tls.h"
#include "sip/transport/transport.h"
#include "sip/ua/native_ua.h"
#include "sip/ua/ua_internal.h"
#include "sip/ua/ua_ops.h"

#define HASH_MIN          16
#define HASH_MAX          65536
#define ACCOUNT_HASH_SIZE 4096
#define ADDRESS_HASH_SIZE 256
#define PORT_TRIES        64
#define DNS_SERVERS_MAX   8

static void ua_destructor(void *arg)
{
	struct sip_ua *ua = arg;

	mono_timer_cancel(&ua->tmr_due);
	mem_deref(ua->sip);
	list_flush(&ua->tls);
	mem_deref(ua->clients);
	mem_deref(ua->calling);
	mem_deref(ua->contacts);
	mem_deref(ua->users);
	mem_deref(ua->servers);
	mem_deref(ua->merges);
	mem_deref(ua->events);
	mem_deref(ua->dnsc);
	mem_deref(ua->calls);
	mem_deref(ua->registers);
	mem_deref(ua->software);
	sdp_route_close(&ua->route);
}

/* UDP and TCP on the same port, since one Contact stands for both. */
static int transport_bind(struct sip_ua *ua)
{
	bool any_port = sa_port(&ua->laddr) == 0;
	int err = -EADDRINUSE;

	for (unsigned i = 0; i < PORT_TRIES && err == -EADDRINUSE; i++) {
		err = transport_new(&ua->sip, ua, &ua->laddr);
		if (!any_port)
			break;
	}
	if (err)
		return err;
	ua->laddr = ua->sip->laddr;
	(void)re_snprintf(ua->sent_by, sizeof(ua->sent_by), "%J", &ua->laddr);
	return 0;
}

/* "192.0.2.1, [2001:db8::1]:5353" */
static int servers_parse(struct sa *servers, uint32_t *count, const char *text)
{
	*count = 0;
	while (*text) {
		size_t len = strcspn(text, ", ");

		if (len > 0 && *count == DNS_SERVERS_MAX)
			return -EINVAL;
		if (len > 0 && sa_decode(&servers[*count], text, len)) {
			struct pl pl = {.p = text, .l = len};

			if (sa_set(&servers[*count], &pl, DNS_PORT))
				return -EINVAL;
		}
		*count += len > 0;
		text += len + (text[len] != '\0');
	}
	return *count ? 0 : -EINVAL;
}

static int resolver_new(struct dnsc **ret, const char *name_servers)
{
	struct sa servers[DNS_SERVERS_MAX];
	uint32_t count = DNS_SERVERS_MAX;

	if (name_servers) {
		if (servers_parse(servers, &count, name_servers))
			return -EINVAL;
	} else if (dns_srv_get(NULL, 0, servers, &count) || count == 0) {
		/* Without a name server only literals and /etc/hosts work. */
		return 0;
	}
	return neg(dnsc_alloc(ret, NULL, servers, count));
}

static int stack_new(struct sip_ua *ua, const struct sip_ua_params *params)
{
	uint32_t size =
		ua->calls_max < HASH_MAX / 2 ? 2 * ua->calls_max : HASH_MAX;
	char reason[SIP_REASON_BYTES];
	int err;

	size = hash_valid_size(size < HASH_MIN ? HASH_MIN : size);
	err = neg(hash_alloc(&ua->calls, size));
	if (!err)
		err = neg(hash_alloc(&ua->registers, size));
	if (!err)
		err = neg(hash_alloc(&ua->clients, size));
	if (!err)
		err = neg(hash_alloc(&ua->calling, ADDRESS_HASH_SIZE));
	if (!err)
		err = neg(hash_alloc(&ua->contacts, ACCOUNT_HASH_SIZE));
	if (!err)
		err = neg(hash_alloc(&ua->users, ACCOUNT_HASH_SIZE));
	if (!err)
		err = neg(hash_alloc(&ua->servers, size));
	if (!err)
		err = neg(hash_alloc(&ua->merges, size));
	if (!err)
		err = neg(hash_alloc(&ua->events, size));
	if (!err)
		err = resolver_new(&ua->dnsc, params->name_servers);
	if (!err)
		err = transport_bind(ua);
	if (!err && params->tls)
		err = tls_context_get(&ua->sip->server_tls, &ua->tls,
				      params->tls, true,
				      params->reason ? params->reason : reason,
				      sizeof(reason));
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
	ua->object.ops = &native_ops;
	list_init(&ua->accounts);
	ua->calls_max = params->calls_max ? params->calls_max : 1;
	ceilings_init(ua);
	ua->trace_h = params->trace_h;
	ua->full_h = params->full_h;
	ua->arg = params->arg;
	err = neg(sa_set_str(&ua->laddr, params->bind_addr, params->port));
	if (!err && sa_is_any(&ua->laddr))
		err = -EINVAL;
	if (!err && params->software)
		err = text_print(&ua->software, "%s", params->software);
	if (!err)
		err = stack_new(ua, params);
	if (err) {
		mem_deref(ua);
		return err;
	}
	*ret = ua;
	return 0;
}

uint16_t native_ua_port(const struct sip_ua *ua)
{
	return sa_port(&ua->laddr);
}

static bool abandon_handler(struct le *le, void *arg)
{
	(void)arg;
	uas_stop_timers(le->data);
	return false;
}

struct sip_ua *native_ua_free(struct sip_ua *ua)
{
	if (!ua)
		return NULL;
	/* What released calls and accounts left running: BYE, 2xx. */
	client_transaction_close_all(ua);
	server_transaction_close_all(ua);
	hash_apply(ua->calls, abandon_handler, NULL);
	transport_flush(ua->sip);
	return mem_deref(ua);
}
