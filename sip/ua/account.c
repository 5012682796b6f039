#include "sip/account.h"

#include <errno.h>
#include <string.h>

#include "base/random.h"
#include "base/str.h"
#include "sip/digest_server.h"
#include "sip/events.h"
#include "sip/message/digest.h"
#include "sip/message/headers.h"
#include "sip/message/text.h"
#include "sip/transaction/transaction_layer.h"
#include "sip/transport/deferred.h"
#include "sip/transport/resolve.h"
#include "sip/transport/tls.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/native_ua.h"
#include "sip/ua/out_of_dialog.h"
#include "sip/ua/register.h"
#include "sip/ua/ua_internal.h"
#include "sip/ua/ua_ops.h"

#define REGEXPIRE_DEFAULT_S 3600

static void account_destructor(void *arg)
{
	struct sip_account *account = arg;

	list_unlink(&account->le);
	hash_unlink(&account->he);
	hash_unlink(&account->he_contact);
	hash_unlink(&account->he_user);
	mono_timer_cancel(&account->tmr);
	deferred_cancel(&account->due);
	list_flush(&account->events);
	mem_deref(account->dialog);
	mem_deref(account->username);
	mem_deref(account->user);
	mem_deref(account->aor);
	mem_deref(account->target_text);
	mem_deref(account->keepalive);
	mem_deref(account->registered);
	mem_deref(account->digest);
	mem_deref(account->auth_username);
	if (account->password)
		explicit_bzero(account->password, strlen(account->password));
	mem_deref(account->password);
	originator_release(&account->origin);
	mem_deref(account->served);
	mem_deref(account->verifier);
}

static bool texts_valid(const struct sip_account_params *p)
{
	const char *const texts[] = {
		p->username,     p->auth_username, p->password,      p->domain,
		p->display_name, p->target.host,   p->outbound_proxy};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i] && !header_text_valid(texts[i]))
			return false;
	}
	return p->username && p->username[0] && p->target.host &&
	       p->target.host[0] && !strpbrk(p->target.host, " <>@;\"") &&
	       (!p->domain || !strpbrk(p->domain, " <>@;\""));
}

static enum sip_transp transp_of(enum sip_transport transport)
{
	return transport == SIP_TRANSPORT_UDP   ? SIP_TRANSP_UDP
	       : transport == SIP_TRANSPORT_TCP ? SIP_TRANSP_TCP
						: SIP_TRANSP_TLS;
}

static int host_add(struct sip_account *account, const struct sip_host *h)
{
	struct resolve_host *host =
		&account->origin.hosts[account->origin.host_count];
	char *name;
	int err;

	if (account->origin.host_count == HOSTS_MAX || !h->host ||
	    !h->host[0] || strpbrk(h->host, " <>@;\"") ||
	    !header_text_valid(h->host))
		return -EINVAL;
	err = text_print(&name, "%s", h->host);
	if (err)
		return err;
	*host = (struct resolve_host){
		.host = name,
		.port = h->port,
		.tp = transp_of(h->transport),
	};
	account->origin.host_count++;
	return 0;
}

static int target_set(struct sip_account *account,
		      const struct sip_account_params *p)
{
	const struct sip_host *t = &p->target;
	enum sip_transp tp = transp_of(t->transport);
	char name[256], port[8] = "";
	int err;

	if (resolve_plain(name, sizeof(name), t->host))
		return -EINVAL;
	err = host_add(account, t);
	for (size_t i = 0; !err && i < p->more_count; i++)
		err = host_add(account, &p->more[i]);
	if (t->port)
		str_print(port, sizeof(port), ":%u", t->port);
	if (!err)
		err = text_print(&account->origin.next_hop,
				 resolve_is_ipv6(name) ? "sip:[%s]%s%s"
						       : "sip:%s%s%s",
				 name, port, sip_transp_param(tp));
	if (!err && !account->origin.domain)
		err = text_print(&account->origin.domain,
				 resolve_is_ipv6(name) ? "[%s]%s" : "%s%s",
				 name,
				 t->port == sip_transp_port(tp, 0) ? "" : port);
	if (!err)
		err = text_print(&account->target_text,
				 resolve_is_ipv6(name) ? "[%s]:%u over %s"
						       : "%s:%u over %s",
				 name, sip_transp_port(tp, t->port),
				 sip_transp_name(tp));
	return err;
}

static int tls_set(struct sip_account *account,
		   const struct sip_account_params *p)
{
	static const struct sip_tls careful = {.verify = true};
	const struct sip_tls *tls = p->tls ? p->tls : &careful;
	char reason[SIP_REASON_BYTES];
	int err;

	err = tls_context_get(&account->origin.user.tls, &account->ua->tls, tls,
			      false, p->reason ? p->reason : reason,
			      sizeof(reason));
	if (!err && tls->server_name)
		err = text_print(&account->origin.user.tls_name, "%s",
				 tls->server_name);
	return err;
}

static int proxy_set(struct sip_account *account, const char *proxy,
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
	err = text_print(&account->origin.outbound_proxy, "%s%s%s", text,
			 msg_param_decode(&uri.params, "transport", &pl)
				 ? sip_transp_param(transp_of(transport))
				 : "",
			 msg_param_exists(&uri.params, "lr", &pl) ? ";lr" : "");
	mem_deref(text);
	return err;
}

/* "Display \"Name\"" <sip:user@domain> */
static int from_set(struct sip_account *account, const char *name)
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
	err |= mbuf_printf(mb, "<%s>", account->aor);
	mb->pos = 0;
	if (!err)
		err = mbuf_strdup(mb, &account->origin.from, mbuf_get_left(mb));
	mem_deref(mb);
	return err ? -ENOMEM : 0;
}

static int names_set(struct sip_account *account,
		     const struct sip_account_params *p)
{
	struct sip_ua *ua = account->ua;
	char host[256];
	int err = 0;

	if (p->domain) {
		if (resolve_plain(host, sizeof(host), p->domain))
			return -EINVAL;
		err = text_print(&account->origin.domain,
				 resolve_is_ipv6(host) ? "[%s]" : "%s", host);
	}
	if (!err)
		err = target_set(account, p);
	if (!err && p->outbound_proxy && p->outbound_proxy[0])
		err = proxy_set(account, p->outbound_proxy,
				p->target.transport);
	if (!err)
		err = text_print(&account->username, "%s", p->username);
	if (!err)
		err = text_user(&account->user, p->username);
	if (!err)
		err = text_print(&account->aor, "sip:%s@%s", account->user,
				 account->origin.domain);
	if (!err)
		err = from_set(account, p->display_name);
	if (!err)
		err = text_print(&account->origin.contact_user, "%s-%08x%x",
				 account->user, random_u32(),
				 ua->contact_count++);
	return err;
}

static int account_fill(struct sip_account *account,
			const struct sip_account_params *p)
{
	int err = names_set(account, p);

	if (!err)
		err = tls_set(account, p);
	if (!err)
		err = text_print(&account->auth_username, "%s",
				 p->auth_username ? p->auth_username
						  : p->username);
	if (!err && p->password)
		err = text_print(&account->password, "%s", p->password);
	if (!err)
		err = headers_new(&account->origin.user.headers, p->headers,
				  p->header_count);
	if (!err)
		err = account_digest(&account->digest, account);
	return err;
}

int native_account_new(struct sip_account **ret, struct sip_ua *ua,
		       const struct sip_account_params *params)
{
	struct sip_account *account;
	int err;

	if (!texts_valid(params))
		return -EINVAL;
	account = mem_zalloc(sizeof(*account), account_destructor);
	if (!account)
		return -ENOMEM;
	account->object.ops = &native_ops;
	account->ua = ua;
	account->regexpire_s =
		params->regexpire_s ? params->regexpire_s : REGEXPIRE_DEFAULT_S;
	account->account_h = params->account_h;
	account->incoming_h = params->incoming_h;
	account->arg = params->arg;
	account->accepts = params->incoming_h != NULL;
	account->origin.user.layer = ua->sip;
	account->origin.user.owner = account;
	account->registered = mem_ref(params->registered);
	if (account->registered)
		account->origin.registered = &account->registered->origin;
	err = account_fill(account, params);
	if (params->direct)
		account->origin.next_hop = mem_deref(account->origin.next_hop);
	if (err) {
		mem_deref(account);
		return err;
	}
	uuid_make(account->instance);
	list_append(&ua->accounts, &account->le, account);
	hash_append(ua->contacts, hash_joaat_str(account->origin.contact_user),
		    &account->he_contact, account);
	hash_append(ua->users, hash_joaat_str(account->user), &account->he_user,
		    account);
	*ret = account;
	return 0;
}

void native_account_accept_calls(struct sip_account *account, bool accept)
{
	account->accepts = accept;
}

int native_account_headers(struct sip_account *account,
			   const struct sip_custom_header *headers,
			   size_t count)
{
	struct header_list *list;
	int err = headers_new(&list, headers, count);

	if (err)
		return err;
	mem_deref(account->origin.user.headers);
	account->origin.user.headers = list;
	return 0;
}

void native_account_call_options(struct sip_account *account,
				 const struct sip_call_options *options)
{
	account->call_options = *options;
}

const char *native_account_username(const struct sip_account *account)
{
	return account->username;
}

/* Calls of the account may live on; they keep it in memory. */
struct sip_account *native_account_free(struct sip_account *account)
{
	if (!account)
		return NULL;
	account->account_h = NULL;
	account->incoming_h = NULL;
	account->accepts = false;
	register_stop(account);
	out_of_dialog_stop(account);
	sip_account_serve_end(account);
	(void)sip_account_verify(account, NULL);
	list_unlink(&account->le);
	return mem_deref(account);
}
