#include "sip/account.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "sip/call/call_control.h"
#include "sip/dialog/originator.h"
#include "sip/digest_server.h"
#include "sip/event/notifier.h"
#include "sip/message/digest.h"
#include "sip/message/headers.h"
#include "sip/message/text.h"
#include "sip/transport/deferred.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/digest_server_internal.h"
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
	mem_deref(account->keepalive);
	mem_deref(account->digest);
	mem_deref(account->origin);
	mem_deref(account->event_user.served);
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

static int account_fill(struct sip_account *account,
			const struct sip_account_params *p)
{
	const struct originator_params origin = {
		.account = p,
		.layer = account->ua->sip,
		.tls_contexts = &account->ua->tls,
		.owner = account,
		.registered = p->registered ? p->registered->origin : NULL,
		.serial = account->ua->contact_count++,
	};
	int err = originator_new(&account->origin, &origin);

	account->call_user.origin = account->origin;
	account->event_user.origin = account->origin;
	if (!err)
		err = text_print(&account->username, "%s", p->username);
	if (!err)
		err = originator_digest(&account->digest, account->origin);
	return err;
}

static void incoming_handler(struct sip_call *call, void *arg)
{
	struct sip_account *account = arg;

	account->incoming_h(account, call, account->arg);
}

static bool verify_handler(const struct sip_msg *msg, void *arg)
{
	return digest_server_request(arg, msg);
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
	account->call_user = (struct call_user){
		.object = account->object,
		.table = ua->calls,
		.incoming_h = incoming_handler,
		.verify_h = verify_handler,
		.arg = account,
	};
	account->event_user = (struct event_user){
		.account = account,
		.table = ua->events,
		.arg = params->arg,
	};
	account->ua = ua;
	account->regexpire_s =
		params->regexpire_s ? params->regexpire_s : REGEXPIRE_DEFAULT_S;
	account->account_h = params->account_h;
	account->incoming_h = params->incoming_h;
	account->arg = params->arg;
	account->accepts = params->incoming_h != NULL;
	err = account_fill(account, params);
	if (err) {
		mem_deref(account);
		return err;
	}
	uuid_make(account->instance);
	list_append(&ua->accounts, &account->le, account);
	hash_append(ua->contacts,
		    hash_joaat_str(originator_contact_user(account->origin)),
		    &account->he_contact, account);
	hash_append(ua->users, hash_joaat_str(originator_user(account->origin)),
		    &account->he_user, account);
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
	originator_set_headers(account->origin, list);
	return 0;
}

void native_account_call_options(struct sip_account *account,
				 const struct sip_call_options *options)
{
	account->call_user.incoming_options = *options;
}

int native_account_dial(struct sip_call **ret, struct sip_account *account,
			const struct sip_call_params *params)
{
	return call_dial(ret, &account->call_user, params);
}

const char *native_account_username(const struct sip_account *account)
{
	return account->username;
}

/* Calls of the account may still run; they keep it in memory. */
struct sip_account *native_account_free(struct sip_account *account)
{
	if (!account)
		return NULL;
	account->account_h = NULL;
	account->incoming_h = NULL;
	account->accepts = false;
	register_stop(account);
	out_of_dialog_stop(account);
	notifier_end(&account->event_user);
	(void)sip_account_verify(account, NULL);
	list_unlink(&account->le);
	return mem_deref(account);
}
