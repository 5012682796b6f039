#include "sip/dialog/originator.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/random.h"
#include "base/str.h"
#include "sip/dialog/originator_internal.h"
#include "sip/dialog/route_set.h"
#include "sip/message/digest.h"
#include "sip/message/headers.h"
#include "sip/message/text.h"
#include "sip/transaction/transaction_layer.h"
#include "sip/transport/tls.h"
#include "sip/transport/transport.h"

static void originator_destructor(void *arg)
{
	struct originator *origin = arg;

	mem_deref(origin->transactions.headers);
	mem_deref(origin->transactions.tls);
	mem_deref(origin->transactions.tls_name);
	mem_deref(origin->user);
	mem_deref(origin->aor);
	mem_deref(origin->from);
	mem_deref(origin->domain);
	mem_deref(origin->contact_user);
	mem_deref(origin->next_hop);
	for (size_t i = 0; i < origin->host_count; i++)
		mem_deref((void *)(uintptr_t)origin->hosts[i].host);
	mem_deref(origin->target_text);
	mem_deref(origin->outbound_proxy);
	mem_deref(origin->auth_username);
	if (origin->password)
		explicit_bzero(origin->password, strlen(origin->password));
	mem_deref(origin->password);
	mem_deref(origin->service_routes);
	mem_deref(origin->service_route);
	originator_unref(origin->registered);
}

/* ---- the settings of the account ---- */

static enum sip_transp transp_of(enum sip_transport transport)
{
	return transport == SIP_TRANSPORT_UDP   ? SIP_TRANSP_UDP
	       : transport == SIP_TRANSPORT_TCP ? SIP_TRANSP_TCP
						: SIP_TRANSP_TLS;
}

static int host_add(struct originator *o, const struct sip_host *h)
{
	struct resolve_host *host = &o->hosts[o->host_count];
	char *name;
	int err;

	if (o->host_count == HOSTS_MAX || !h->host || !h->host[0] ||
	    strpbrk(h->host, " <>@;\"") || !header_text_valid(h->host))
		return -EINVAL;
	err = text_print(&name, "%s", h->host);
	if (err)
		return err;
	*host = (struct resolve_host){
		.host = name,
		.port = h->port,
		.tp = transp_of(h->transport),
	};
	o->host_count++;
	return 0;
}

static int target_set(struct originator *o, const struct sip_account_params *p)
{
	const struct sip_host *t = &p->target;
	enum sip_transp tp = transp_of(t->transport);
	char name[256], port[8] = "";
	int err;

	if (resolve_plain(name, sizeof(name), t->host))
		return -EINVAL;
	err = host_add(o, t);
	for (size_t i = 0; !err && i < p->more_count; i++)
		err = host_add(o, &p->more[i]);
	if (t->port)
		str_print(port, sizeof(port), ":%u", t->port);
	if (!err)
		err = text_print(&o->next_hop,
				 resolve_is_ipv6(name) ? "sip:[%s]%s%s"
						       : "sip:%s%s%s",
				 name, port, sip_transp_param(tp));
	if (!err && !o->domain)
		err = text_print(
			&o->domain, resolve_is_ipv6(name) ? "[%s]%s" : "%s%s",
			name, t->port == sip_transp_port(tp, 0) ? "" : port);
	if (!err)
		err = text_print(&o->target_text,
				 resolve_is_ipv6(name) ? "[%s]:%u over %s"
						       : "%s:%u over %s",
				 name, sip_transp_port(tp, t->port),
				 sip_transp_name(tp));
	return err;
}

static int tls_set(struct originator *o, const struct sip_account_params *p,
		   struct list *contexts)
{
	static const struct sip_tls careful = {.verify = true};
	const struct sip_tls *tls = p->tls ? p->tls : &careful;
	char reason[SIP_REASON_BYTES];
	int err;

	err = tls_context_get(&o->transactions.tls, contexts, tls, false,
			      p->reason ? p->reason : reason, sizeof(reason));
	if (!err && tls->server_name)
		err = text_print(&o->transactions.tls_name, "%s",
				 tls->server_name);
	return err;
}

static int proxy_set(struct originator *o, const char *proxy,
		     enum sip_transport transport)
{
	bool has_scheme = strncasecmp(proxy, "sip:", 4) == 0 ||
			  strncasecmp(proxy, "sips:", 5) == 0;
	const char *prefix = has_scheme ? "" : "sip:";
	struct uri uri;
	struct pl pl;
	char *text;
	int err;

	err = text_print(&text, "%s%s", prefix, proxy);
	if (err)
		return err;
	pl_set_str(&pl, text);
	if (strpbrk(text, "<> \"") || uri_decode(&uri, &pl) ||
	    !pl_isset(&uri.host)) {
		mem_deref(text);
		return -EINVAL;
	}
	err = text_print(&o->outbound_proxy, "%s%s%s", text,
			 msg_param_decode(&uri.params, "transport", &pl)
				 ? sip_transp_param(transp_of(transport))
				 : "",
			 msg_param_exists(&uri.params, "lr", &pl) ? ";lr" : "");
	mem_deref(text);
	return err;
}

/* "Display \"Name\"" <sip:user@domain> */
static int from_set(struct originator *o, const char *name)
{
	struct mbuf *mb = mbuf_alloc(128);
	int err = 0;

	if (!mb)
		return -ENOMEM;
	if (name) {
		err = mbuf_write_u8(mb, '"');
		for (; *name; name++) {
			if (*name == '"' || *name == '\\')
				err |= mbuf_write_u8(mb, '\\');
			err |= mbuf_write_u8(mb, (uint8_t)*name);
		}
		err |= mbuf_write_str(mb, "\" ");
	}
	err |= mbuf_printf(mb, "<%s>", o->aor);
	mb->pos = 0;
	if (!err)
		err = mbuf_strdup(mb, &o->from, mbuf_get_left(mb));
	mem_deref(mb);
	return err ? -ENOMEM : 0;
}

static int names_set(struct originator *o, const struct sip_account_params *p,
		     unsigned serial)
{
	char host[256];
	int err = 0;

	if (p->domain) {
		if (resolve_plain(host, sizeof(host), p->domain))
			return -EINVAL;
		err = text_print(&o->domain,
				 resolve_is_ipv6(host) ? "[%s]" : "%s", host);
	}
	if (!err)
		err = target_set(o, p);
	if (!err && p->outbound_proxy && p->outbound_proxy[0])
		err = proxy_set(o, p->outbound_proxy, p->target.transport);
	if (!err)
		err = text_user(&o->user, p->username);
	if (!err)
		err = text_print(&o->aor, "sip:%s@%s", o->user, o->domain);
	if (!err)
		err = from_set(o, p->display_name);
	if (!err)
		err = text_print(&o->contact_user, "%s-%08x%x", o->user,
				 random_u32(), serial);
	return err;
}

static int credentials_set(struct originator *o,
			   const struct sip_account_params *p)
{
	int err = text_print(&o->auth_username, "%s",
			     p->auth_username ? p->auth_username : p->username);

	if (!err && p->password)
		err = text_print(&o->password, "%s", p->password);
	return err;
}

int originator_new(struct originator **ret,
		   const struct originator_params *params)
{
	const struct sip_account_params *p = params->account;
	struct originator *o = mem_zalloc(sizeof(*o), originator_destructor);
	int err;

	if (!o)
		return -ENOMEM;
	o->transactions.layer = params->layer;
	o->transactions.owner = params->owner;
	if (params->registered)
		o->registered = originator_ref(params->registered);
	err = names_set(o, p, params->serial);
	if (!err)
		err = tls_set(o, p, params->tls_contexts);
	if (!err)
		err = credentials_set(o, p);
	if (!err)
		err = headers_new(&o->transactions.headers, p->headers,
				  p->header_count);
	if (err) {
		mem_deref(o);
		return err;
	}
	if (p->direct)
		o->next_hop = mem_deref(o->next_hop);
	*ret = o;
	return 0;
}

void originator_set_headers(struct originator *origin, struct header_list *list)
{
	mem_deref(origin->transactions.headers);
	origin->transactions.headers = list;
}

/* ---- accessors ---- */

const char *originator_user(const struct originator *origin)
{
	return origin->user;
}

const char *originator_aor(const struct originator *origin)
{
	return origin->aor;
}

const char *originator_domain(const struct originator *origin)
{
	return origin->domain;
}

const char *originator_contact_user(const struct originator *origin)
{
	return origin->contact_user;
}

const char *originator_target(const struct originator *origin)
{
	return origin->target_text;
}

struct transaction_layer *originator_layer(const struct originator *origin)
{
	return origin->transactions.layer;
}

struct tls_context *originator_tls(const struct originator *origin)
{
	return origin->transactions.tls;
}

int64_t originator_received_ns(const struct originator *origin)
{
	return transport_received_ns(
		transaction_layer_transport(origin->transactions.layer));
}

/* ---- its registration ---- */

const struct originator *originator_registration(
	const struct originator *origin)
{
	return origin->registered ? origin->registered : origin;
}

void originator_registered(struct originator *origin, const struct sip_msg *msg,
			   bool outbound)
{
	origin->outbound = outbound;
	(void)route_set_read(&origin->service_routes, &origin->service_route,
			     msg, SIP_HDR_SERVICE_ROUTE, true);
}

void originator_flow_ended(struct originator *origin)
{
	origin->outbound = false;
}

/* ---- for requests ---- */

const struct originator *originator_ref(const struct originator *origin)
{
	mem_ref(origin->transactions.owner);
	return origin;
}

const struct originator *originator_unref(const struct originator *origin)
{
	if (origin)
		mem_deref(origin->transactions.owner);
	return NULL;
}

int originator_digest(struct digest **ret, const struct originator *origin)
{
	return digest_new(ret, origin->auth_username, origin->password);
}

void originator_failure(char *dst, size_t size, const struct originator *origin,
			int err)
{
	originator_failure_at(dst, size, origin, origin->target_text, err);
}

void originator_failure_at(char *dst, size_t size,
			   const struct originator *origin, const char *where,
			   int err)
{
	const char *failure =
		transaction_layer_failure(origin->transactions.layer);

	if (failure[0]) {
		str_print(dst, size, "%s", failure);
		return;
	}
	switch (err) {
	case EDESTADDRREQ:
	case ENODATA:
	case EINVAL:
		str_print(dst, size, "no address was found for %s", where);
		break;
	case ETIMEDOUT:
		str_print(dst, size,
			  "no address was found for %s: the name servers did "
			  "not answer",
			  where);
		break;
	case EPROTONOSUPPORT:
	case EAFNOSUPPORT:
		str_print(dst, size, "no transport of ours leads to %s", where);
		break;
	default:
		str_print(dst, size, "cannot reach %s: %s", where,
			  strerror(err));
		break;
	}
}
