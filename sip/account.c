#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "sip/internal.h"

#define REGEXPIRE_DEFAULT_S 3600
#define HOSTS_PATH          "/etc/hosts"

static void account_destructor(void *arg)
{
	struct sip_account *account = arg;

	list_unlink(&account->le);
	hash_unlink(&account->he);
	tmr_cancel(&account->tmr);
	tmr_cancel(&account->tmr_events);
	list_flush(&account->events);
	mem_deref(account->dialog);
	mem_deref(account->username);
	mem_deref(account->user);
	mem_deref(account->domain);
	mem_deref(account->from);
	mem_deref(account->aor);
	mem_deref(account->contact_user);
	mem_deref(account->next_hop);
	mem_deref(account->target_text);
	mem_deref(account->outbound_proxy);
	mem_deref(account->digest);
	mem_deref(account->auth_username);
	if (account->password)
		explicit_bzero(account->password, strlen(account->password));
	mem_deref(account->password);
	headers_release(&account->headers);
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

/* A name of /etc/hosts: libre asks name servers only, and a lookup through
 * the C library would block the loop. */
static bool hosts_lookup(char *dst, size_t size, const char *name, int af)
{
	bool found = false;
	char line[512];
	struct sa sa;
	FILE *file;

	if (sa_set_str(&sa, name, 0) == 0)
		return false;
	file = fopen(HOSTS_PATH, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		char *rest = NULL;
		char *addr, *word;

		line[strcspn(line, "#\n")] = '\0';
		addr = strtok_r(line, " \t", &rest);
		if (!addr || sa_set_str(&sa, addr, 0) || sa_af(&sa) != af)
			continue;
		while (!found && (word = strtok_r(NULL, " \t", &rest)))
			found = strcasecmp(word, name) == 0 &&
				str_copy(dst, size, addr) == 0;
	}
	if (file)
		fclose(file);
	return found;
}

static bool is_ipv6(const char *host)
{
	struct sa sa;

	return !sa_set_str(&sa, host, 0) && sa_af(&sa) == AF_INET6;
}

/* Brackets may stand around an IPv6 literal, or not. */
static int host_plain(char *dst, size_t size, const char *host)
{
	size_t len = strlen(host);

	if (len > 2 && host[0] == '[' && host[len - 1] == ']')
		return str_print(dst, size, "%.*s", (int)len - 2, host + 1);
	return str_copy(dst, size, host);
}

static int target_set(struct sip_account *account, const struct sip_host *t)
{
	const char *transport =
		t->transport == SIP_TRANSPORT_TCP ? "tcp" : "udp";
	char name[256], host[256], port[8] = "";
	const char *format;
	int err;

	if (t->transport == SIP_TRANSPORT_TLS)
		return -EPROTONOSUPPORT;
	if (host_plain(name, sizeof(name), t->host) < 0)
		return -EINVAL;
	if (t->port)
		str_print(port, sizeof(port), ":%u", t->port);
	if (!hosts_lookup(host, sizeof(host), name, sa_af(&account->ua->laddr)))
		(void)str_copy(host, sizeof(host), name);
	format = is_ipv6(host) ? "sip:[%s]%s;transport=%s"
			       : "sip:%s%s;transport=%s";
	err = text_print(&account->next_hop, format, host, port, transport);
	if (!err && !account->domain)
		err = text_print(&account->domain,
				 is_ipv6(name) ? "[%s]%s" : "%s%s", name,
				 t->port == SIP_PORT ? "" : port);
	if (!err)
		err = text_print(
			&account->target_text,
			is_ipv6(name) ? "[%s]:%u over %s" : "%s:%u over %s",
			name, t->port ? t->port : SIP_PORT,
			t->transport == SIP_TRANSPORT_TCP ? "TCP" : "UDP");
	return err;
}

static int proxy_set(struct sip_account *account, const char *proxy,
		     enum sip_transport transport)
{
	const char *prefix = strncasecmp(proxy, "sip:", 4) == 0 ? "" : "sip:";
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
	err = text_print(
		&account->outbound_proxy, "%s%s%s", text,
		transport == SIP_TRANSPORT_TCP &&
				msg_param_decode(&uri.params, "transport", &pl)
			? ";transport=tcp"
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
		err = mbuf_strdup(mb, &account->from, mbuf_get_left(mb));
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
		if (host_plain(host, sizeof(host), p->domain) < 0)
			return -EINVAL;
		err = text_print(&account->domain,
				 is_ipv6(host) ? "[%s]" : "%s", host);
	}
	if (!err)
		err = target_set(account, &p->target);
	if (!err && p->outbound_proxy && p->outbound_proxy[0])
		err = proxy_set(account, p->outbound_proxy,
				p->target.transport);
	if (!err)
		err = text_print(&account->username, "%s", p->username);
	if (!err)
		err = text_user(&account->user, p->username);
	if (!err)
		err = text_print(&account->aor, "sip:%s@%s", account->user,
				 account->domain);
	if (!err)
		err = from_set(account, p->display_name);
	if (!err)
		err = text_print(&account->contact_user, "%s-%08x%x",
				 account->user, rand_u32(),
				 ua->contact_count++);
	return err;
}

static int account_fill(struct sip_account *account,
			const struct sip_account_params *p)
{
	int err = names_set(account, p);

	if (!err)
		err = text_print(&account->auth_username, "%s",
				 p->auth_username ? p->auth_username
						  : p->username);
	if (!err && p->password)
		err = text_print(&account->password, "%s", p->password);
	if (!err)
		err = headers_copy(&account->headers, p->headers,
				   p->header_count);
	if (!err)
		err = digest_new(&account->digest, account->auth_username,
				 account->password);
	return err;
}

int sip_account_new(struct sip_account **ret, struct sip_ua *ua,
		    const struct sip_account_params *params)
{
	struct sip_account *account;
	int err;

	if (!texts_valid(params))
		return -EINVAL;
	account = mem_zalloc(sizeof(*account), account_destructor);
	if (!account)
		return -ENOMEM;
	account->ua = ua;
	account->regexpire_s =
		params->regexpire_s ? params->regexpire_s : REGEXPIRE_DEFAULT_S;
	account->account_h = params->account_h;
	account->incoming_h = params->incoming_h;
	account->arg = params->arg;
	account->accepts = params->incoming_h != NULL;
	err = account_fill(account, params);
	if (params->direct)
		account->next_hop = mem_deref(account->next_hop);
	if (err) {
		mem_deref(account);
		return err;
	}
	list_append(&ua->accounts, &account->le, account);
	*ret = account;
	return 0;
}

void sip_account_accept_calls(struct sip_account *account, bool accept)
{
	account->accepts = accept;
}

void sip_account_call_options(struct sip_account *account,
			      const struct sip_call_options *options)
{
	account->call_options = *options;
}

const char *sip_account_username(const struct sip_account *account)
{
	return account->username;
}

/* Calls of the account may live on; they keep it in memory. */
struct sip_account *sip_account_free(struct sip_account *account)
{
	if (!account)
		return NULL;
	account->account_h = NULL;
	account->incoming_h = NULL;
	account->accepts = false;
	register_stop(account);
	outside_stop(account);
	list_unlink(&account->le);
	return mem_deref(account);
}

void failure_reason(char *dst, size_t size, const struct sip_account *account,
		    int err)
{
	failure_at(dst, size, account->target_text, err);
}

void failure_at(char *dst, size_t size, const char *where, int err)
{
	switch (err) {
	case ETIMEDOUT:
		str_print(dst, size, "no answer from %s within %u s", where,
			  64 * SIP_T1 / 1000);
		break;
	case ECONNREFUSED:
		str_print(dst, size, "connection refused by %s", where);
		break;
	case ECONNRESET:
	case EPIPE:
		str_print(dst, size, "connection closed by %s", where);
		break;
	case EDESTADDRREQ:
	case ENODATA:
	case EINVAL:
		str_print(dst, size, "no address was found for %s", where);
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
