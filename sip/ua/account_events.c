#include "sip/ua/account_events.h"

#include <errno.h>

#include "sip/dialog/originator.h"
#include "sip/event/event_dialog.h"
#include "sip/event/notifier.h"
#include "sip/event/notify.h"
#include "sip/event/publish.h"
#include "sip/event/subscribe.h"
#include "sip/events.h"
#include "sip/transaction/server_transaction.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/digest_server_internal.h"
#include "sip/ua/register.h"

/* ---- functions of events.h and account.h ---- */

int sip_subscribe(struct sip_subscription **ret, struct sip_account *account,
		  const struct sip_subscribe_params *params)
{
	return account_is_native(account)
		       ? subscription_new(ret, &account->event_user, params)
		       : -EOPNOTSUPP;
}

int sip_publish(struct sip_publication **ret, struct sip_account *account,
		const struct sip_event_state *state, uint32_t expires_s,
		sip_publication_h *handler, void *arg)
{
	return account_is_native(account)
		       ? publication_new(ret, account->origin, state, expires_s,
					 handler, arg)
		       : -EOPNOTSUPP;
}

int sip_account_serve(struct sip_account *account,
		      const struct sip_event_state *state,
		      sip_watcher_h *handler, void *arg)
{
	return account_is_native(account) ? notifier_serve(&account->event_user,
							   state, handler, arg)
					  : -EOPNOTSUPP;
}

unsigned sip_account_notifies(const struct sip_account *account)
{
	return account_is_native(account)
		       ? notifier_notifies(&account->event_user)
		       : 0;
}

void sip_account_serve_end(struct sip_account *account)
{
	if (account_is_native(account))
		notifier_end(&account->event_user);
}

int sip_account_refer(struct sip_account *account, sip_refer_h *handler)
{
	if (!account_is_native(account))
		return -EOPNOTSUPP;
	account->event_user.refer_h = handler;
	return 0;
}

int sip_account_mwi(struct sip_account *account, sip_mwi_h *handler)
{
	if (!account_is_native(account))
		return -EOPNOTSUPP;
	account->mwi_h = handler;
	return 0;
}

/* ---- unsolicited NOTIFY ---- */

/* PBXs report the state of the mailbox to registered users without a
 * subscription, many of them without a Subscription-State. */
bool account_events_unsolicited(struct sip_account *account,
				const struct sip_msg *msg)
{
	struct transaction_layer *layer = originator_layer(account->origin);
	struct notify n = {.unsolicited = true};
	struct sip_subscription_info info = {
		.mono_ns = originator_received_ns(account->origin),
		.reason = n.reason,
		.state = n.state,
	};
	enum sip_package package;
	struct pl id;

	if (!account->mwi_h || account->state == REGISTER_IDLE ||
	    event_read(&package, &id, msg) || package != SIP_PACKAGE_MWI)
		return false;
	if (!digest_server_request(account, msg) ||
	    !notify_read(&n, layer, package, msg))
		return true;
	(void)server_transaction_reply(NULL, layer, msg, 200, "OK");
	if (n.has_body)
		info.mwi = &n.mwi;
	account->mwi_h(account, &info, account->arg);
	return true;
}
