#include "sip/ua.h"

#include <errno.h>
#include <string.h>

#include "sip/call/call_control.h"
#include "sip/call/call_table.h"
#include "sip/error.h"
#include "sip/event/event_table.h"
#include "sip/message/headers.h"
#include "sip/transaction/client_transaction.h"
#include "sip/transaction/server_transaction.h"
#include "sip/transaction/transaction_layer.h"
#include "sip/transport/tls.h"
#include "sip/transport/transport.h"
#include "sip/ua/dispatch.h"
#include "sip/ua/keepalive.h"
#include "sip/ua/native_ua.h"
#include "sip/ua/ua_internal.h"
#include "sip/ua/ua_ops.h"

#define HASH_MIN          16
#define HASH_MAX          65536
#define ACCOUNT_HASH_SIZE 4096
#define DNS_SERVERS_MAX   8

static void ua_destructor(void *arg)
{
	struct sip_ua *ua = arg;

	mem_deref(ua->transport);
	list_flush(&ua->tls);
	mem_deref(ua->sip);
	mem_deref(ua->contacts);
	mem_deref(ua->users);
	mem_deref(ua->events);
	mem_deref(ua->calls);
	mem_deref(ua->registers);
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
		/* without a name server only IP addresses and /etc/hosts
		 * work */
		return 0;
	}
	return neg(dnsc_alloc(ret, NULL, servers, count));
}

static void message_handler(const struct sip_msg *msg, bool other_version,
			    void *arg)
{
	if (other_version)
		dispatch_other_version(arg, msg);
	else
		dispatch_message(arg, msg);
}

static void unreachable_handler(const struct sa *dst, int err, void *arg)
{
	const struct sip_ua *ua = arg;

	client_transaction_unreachable(ua->sip, dst, err);
}

static void stun_handler(const struct sa *src, const uint8_t *data, size_t len,
			 void *arg)
{
	(void)keepalive_stun(arg, src, data, len);
}

static void trace_handler(const struct sip_trace *trace, void *arg)
{
	struct sip_ua *ua = arg;

	if (ua->trace_h)
		ua->trace_h(trace, ua->arg);
	if (trace->sent)
		dispatch_sent(ua, trace);
}

static void full_handler(const char *reason, void *arg)
{
	const struct sip_ua *ua = arg;

	if (ua->full_h)
		ua->full_h(reason, ua->arg);
}

static int tables_new(struct sip_ua *ua, uint32_t size, uint32_t calls_max)
{
	int err = call_table_new(&ua->calls, size, calls_max);

	if (!err)
		err = neg(hash_alloc(&ua->registers, size));
	if (!err)
		err = neg(hash_alloc(&ua->contacts, ACCOUNT_HASH_SIZE));
	if (!err)
		err = neg(hash_alloc(&ua->users, ACCOUNT_HASH_SIZE));
	if (!err)
		err = event_table_new(&ua->events, size);
	return err;
}

static int layers_new(struct sip_ua *ua, const struct sip_ua_params *params,
		      uint32_t size)
{
	struct transport_params transport = {
		.handlers =
			{
				.message_h = message_handler,
				.unreachable_h = unreachable_handler,
				.stun_h = stun_handler,
				.trace_h = trace_handler,
				.full_h = full_handler,
				.arg = ua,
			},
	};
	int err = neg(
		sa_set_str(&transport.laddr, params->bind_addr, params->port));

	if (!err && sa_is_any(&transport.laddr))
		err = -EINVAL;
	if (!err)
		err = resolver_new(&transport.dnsc, params->name_servers);
	if (!err)
		err = transport_new(&ua->transport, &transport);
	mem_deref(transport.dnsc);
	if (!err)
		err = transaction_layer_new(&ua->sip, ua->transport,
					    params->software, size);
	return err;
}

static int tls_accept(struct sip_ua *ua, const struct sip_ua_params *params)
{
	struct tls_context *context;
	char reason[SIP_REASON_BYTES];
	int err = tls_context_get(&context, &ua->tls, params->tls, true,
				  params->reason ? params->reason : reason,
				  sizeof(reason));

	if (err)
		return err;
	transport_accept_tls(ua->transport, context);
	mem_deref(context);
	return 0;
}

static int stack_new(struct sip_ua *ua, const struct sip_ua_params *params)
{
	uint32_t calls_max = params->calls_max ? params->calls_max : 1;
	uint32_t size = calls_max < HASH_MAX / 2 ? 2 * calls_max : HASH_MAX;
	int err;

	size = hash_valid_size(size < HASH_MIN ? HASH_MIN : size);
	err = tables_new(ua, size, calls_max);
	if (!err)
		err = layers_new(ua, params, size);
	if (!err && params->tls)
		err = tls_accept(ua, params);
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
	ua->trace_h = params->trace_h;
	ua->full_h = params->full_h;
	ua->arg = params->arg;
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
	return sa_port(transport_laddr(ua->transport));
}

int native_ua_receive_drops(const struct sip_ua *ua, uint64_t *ret)
{
	return transport_receive_drops(ua->transport, ret);
}

struct sip_ua *native_ua_free(struct sip_ua *ua)
{
	if (!ua)
		return NULL;
	/* transactions that released calls and accounts left running */
	client_transaction_close_all(ua->sip);
	server_transaction_close_all(ua->sip);
	call_abandon_all(ua->calls);
	transport_flush(ua->transport);
	return mem_deref(ua);
}
