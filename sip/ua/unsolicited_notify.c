#include "sip/ua/unsolicited_notify.h"

#include <errno.h>

#include "sip/event/event_dialog.h"
#include "sip/event/notify.h"
#include "sip/events.h"
#include "sip/transaction/server_transaction.h"
#include "sip/transport/transport.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/digest_server_internal.h"
#include "sip/ua/register.h"
#include "sip/ua/ua_internal.h"

int sip_account_mwi(struct sip_account *account, sip_mwi_h *handler)
{
	if (!account_is_native(account))
		return -EOPNOTSUPP;
	account->mwi_h = handler;
	return 0;
}

/* PBXs tell their registered users of their mailbox without having been asked,
 * many of them without a Subscription-State. */
bool unsolicited_notify_received(struct sip_account *account,
				 const struct sip_msg *msg)
{
	struct sip_ua *ua = account->ua;
	struct notify n = {.unsolicited = true};
	struct sip_subscription_info info = {
		.mono_ns = transport_received_ns(ua->transport),
		.reason = n.reason,
		.state = n.state,
	};
	enum sip_package package;
	struct pl id;

	if (!account->mwi_h || account->state == REGISTER_IDLE ||
	    event_read(&package, &id, msg) || package != SIP_PACKAGE_MWI)
		return false;
	if (!digest_server_request(account, msg) ||
	    !notify_read(&n, ua, package, msg))
		return true;
	(void)server_transaction_reply(NULL, ua->sip, msg, 200, "OK");
	if (n.has_body)
		info.mwi = &n.mwi;
	account->mwi_h(account, &info, account->arg);
	return true;
}
