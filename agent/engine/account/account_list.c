#include "agent/engine/account/accounts_internal.h"

#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNREGISTERED_USER "offhook"

const char *account_name(const struct account *a)
{
	return a->credential ? a->credential->username : UNREGISTERED_USER;
}

static bool text_is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool account_is_same(const struct account *a, const struct account *b)
{
	static const struct wire_credential none;
	const struct wire_credential *one =
		a->credential ? a->credential : &none;
	const struct wire_credential *other =
		b->credential ? b->credential : &none;

	return strcmp(account_name(a), account_name(b)) == 0 &&
	       text_is_same(one->domain, other->domain) &&
	       text_is_same(one->auth_username, other->auth_username);
}

static const char *transport_name(enum wire_transport t)
{
	return t == WIRE_UDP ? "UDP" : t == WIRE_TCP ? "TCP" : "TLS";
}

static enum sip_transport sip_transport_of(enum wire_transport t)
{
	return t == WIRE_UDP   ? SIP_TRANSPORT_UDP
	       : t == WIRE_TCP ? SIP_TRANSPORT_TCP
			       : SIP_TRANSPORT_TLS;
}

void account_where(const struct account *a, char *dst, size_t size)
{
	const struct wire_host *h = a->origin->hosts;
	char port[8] = "";

	if (a->origin->host_count == 0) {
		snprintf(dst, size, "%s", account_name(a));
		return;
	}
	if (h->port)
		snprintf(port, sizeof(port), ":%u", h->port);
	snprintf(dst, size, "%s at %s%s over %s", account_name(a), h->host,
		 port, transport_name(h->transport));
}

static struct sip_host host_of(const struct wire_host *h)
{
	return (struct sip_host){
		.host = h->host,
		.port = h->port,
		.transport = sip_transport_of(h->transport),
	};
}

struct certificate {
	char cert[ENGINE_PATH_BYTES + 80];
	char key[ENGINE_PATH_BYTES + 80]; /* "": in the same file */
};

/* Find our certificate: the one that the target names, else the agent's. */
static int certificate_find(struct certificate *ret,
			    const struct engine_settings *s, const char *name,
			    char reason[SIP_REASON_BYTES])
{
	memset(ret, 0, sizeof(*ret));
	if (!name) {
		(void)str_copy(ret->cert, sizeof(ret->cert),
			       s->tls_certificate);
		(void)str_copy(ret->key, sizeof(ret->key), s->tls_key);
		return 0;
	}
	str_print(ret->cert, sizeof(ret->cert), "%s/%s.pem",
		  s->tls_certificates, name);
	str_print(ret->key, sizeof(ret->key), "%s/%s.key", s->tls_certificates,
		  name);
	if (access(ret->key, F_OK) != 0)
		ret->key[0] = '\0';
	if (s->tls_certificates[0] && access(ret->cert, R_OK) == 0)
		return 0;
	str_print(reason, SIP_REASON_BYTES,
		  "the target wants the certificate %.64s, and this agent has "
		  "no file %.64s.pem in its sip_tls_certificates",
		  name, name);
	return -EINVAL;
}

static int account_sip_new(struct account *a, const struct account *lender,
			   char reason[SIP_REASON_BYTES])
{
	struct certificate own;
	const struct wire_action *action = a->origin;
	const struct wire_action *way = lender ? lender->origin : action;
	const struct wire_credential *c = a->credential;
	struct sip_host more[WIRE_HOSTS_MAX];
	struct sip_tls tls = {
		.verify = way->tls.verify,
		.ca = way->tls.ca,
		.server_name = way->tls.server_name,
	};
	struct custom_headers headers;
	struct sip_account_media media;
	struct sip_account_params params = {
		.username = account_name(a),
		.auth_username = c ? c->auth_username : NULL,
		.password = c ? c->password : NULL,
		.domain = c && c->domain ? c->domain : way->domain,
		.display_name = c ? c->display_name : NULL,
		.outbound_proxy = way->outbound_proxy,
		.registered = lender ? lender->sip : NULL,
		.tls = &tls,
		.regexpire_s = action->regexpire_s,
		.media = &media,
		.account_h = a->accounts->handlers.account_h,
		.incoming_h = a->accounts->handlers.incoming_h,
		.arg = a,
		.reason = reason,
	};
	int err;

	a->media = user_agents_media_of(a->accounts, action);
	user_agents_media(&media, a->media);
	nat_servers_params(&media.nat, a->accounts, a->media);
	if (way->host_count) {
		params.target = host_of(&way->hosts[0]);
		/* Hosts to try after a failure (RFC 3263 4.3). */
		for (size_t i = 1; i < way->host_count; i++)
			more[params.more_count++] = host_of(&way->hosts[i]);
		params.more = more;
	} else {
		/* An account that takes calls has no target: requests go to their URI. */
		params.target.host = a->accounts->settings->bind;
		params.direct = true;
	}
	err = certificate_find(&own, a->accounts->settings,
			       way->tls.certificate, reason);
	if (err)
		return err;
	tls.cert_file = own.cert[0] ? own.cert : NULL;
	tls.key_file = own.key[0] ? own.key : NULL;
	err = custom_headers_make(&headers, a, a->index);
	if (err)
		return err;
	params.headers = headers.list;
	params.header_count = headers.count;
	err = sip_account_new(&a->sip, user_agents_ua(a->accounts, action),
			      &params);
	custom_headers_free(&headers);
	if (err)
		return err;
	sip_account_accept_calls(a->sip, false);
	if (user_agents_native(a))
		(void)sip_account_mwi(a->sip, a->accounts->handlers.mwi_h);
	return 0;
}

static struct account *account_make(struct accounts *accounts,
				    const struct wire_action *action,
				    const struct wire_credential *credential,
				    unsigned index,
				    const struct account *lender, int *ret_err)
{
	struct account *a = calloc(1, sizeof(*a));
	char where[WIRE_REASON_BYTES];
	char reason[SIP_REASON_BYTES] = "";

	*ret_err = -ENOMEM;
	if (!a)
		return NULL;
	a->accounts = accounts;
	a->origin = action;
	a->credential = credential;
	a->index = index;
	*ret_err = account_sip_new(a, lender, reason);
	if (*ret_err) {
		account_where(a, where, sizeof(where));
		report_end_job(accounts->report, "error",
			       "role %s: account %s: %s", accounts->job->role,
			       where, reason[0] ? reason : strerror(-*ret_err));
		free(a);
		return NULL;
	}
	list_append(&accounts->list, &a->le, a);
	accounts->counts[a->state]++;
	return a;
}

struct account *accounts_add(struct accounts *accounts,
			     const struct wire_action *action,
			     const struct wire_credential *credential,
			     unsigned index, int *ret_err)
{
	return account_make(accounts, action, credential, index, NULL, ret_err);
}

struct account *accounts_lend(const struct account *lender, bool registration,
			      const struct wire_action *action, unsigned index,
			      int *ret_err)
{
	return account_make(lender->accounts, action, lender->credential, index,
			    registration ? lender : NULL, ret_err);
}

int accounts_make(struct accounts *accounts, const struct wire_action *action)
{
	int err = 0;

	if (action->credential_count == 0)
		accounts_add(accounts, action, NULL, 0, &err);
	for (size_t i = 0; !err && i < action->credential_count; i++)
		accounts_add(accounts, action, &action->credentials[i],
			     (unsigned)i, &err);
	return err;
}

unsigned accounts_in_state(const struct accounts *accounts,
			   enum account_state state)
{
	return accounts->counts[state];
}

void account_set_state(struct account *a, enum account_state state)
{
	a->accounts->counts[a->state]--;
	a->state = state;
	a->accounts->counts[state]++;
}

int accounts_new(struct accounts **ret, const struct accounts_params *params)
{
	struct accounts *accounts = calloc(1, sizeof(*accounts));

	if (!accounts)
		return -ENOMEM;
	accounts->job = params->job;
	accounts->settings = params->settings;
	accounts->report = params->report;
	accounts->calls_max = params->calls_max;
	*ret = accounts;
	return 0;
}

struct accounts *accounts_free(struct accounts *accounts)
{
	if (!accounts)
		return NULL;
	while (accounts->list.head) {
		struct account *a = accounts->list.head->data;

		list_unlink(&a->le);
		sip_account_free(a->sip);
		free(a);
	}
	nat_servers_release(accounts);
	user_agents_free(accounts);
	client_sounds_free(&accounts->sounds);
	free(accounts);
	return NULL;
}

void accounts_handle(struct accounts *accounts,
		     const struct accounts_handlers *handlers, void *owner)
{
	accounts->handlers = *handlers;
	accounts->owner = owner;
}

static struct account *account_at(const struct le *le)
{
	return le ? le->data : NULL;
}

struct account *accounts_first(const struct accounts *accounts)
{
	return account_at(accounts->list.head);
}

struct account *accounts_last(const struct accounts *accounts)
{
	return account_at(accounts->list.tail);
}

struct account *account_next(const struct account *a)
{
	return account_at(a->le.next);
}

void *account_owner(const struct account *a)
{
	return a->accounts->owner;
}

struct sip_account *account_sip(const struct account *a)
{
	return a->sip;
}

unsigned account_index(const struct account *a)
{
	return a->index;
}

const struct wire_action *account_action(const struct account *a)
{
	return a->origin;
}

enum account_state account_state(const struct account *a)
{
	return a->state;
}

const struct wire_action *account_answers(const struct account *a)
{
	return a->answers;
}

void account_set_answers(struct account *a, const struct wire_action *action)
{
	a->answers = action;
}
