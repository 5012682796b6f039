#include "sip/unsolicited.h"

#include <errno.h>

#include "sip/account_internal.h"
#include "sip/event_dialog.h"
#include "sip/events.h"
#include "sip/notify.h"
#include "sip/register.h"
#include "sip/server.h"
#include "sip/ua_internal.h"
#include "sip/verify_internal.h"

int sip_account_mwi(struct sip_account *account, sip_mwi_h *handler)
{
	if (!account_is_native(account))
		return -EOPNOTSUPP;
	account->mwi_h = handler;
	return 0;
}

/* PBXs tell their registered users of their mailbox without having been asked,
 * many of them without a Subscription-State. */
bool unsolicited_notified(struct sip_account *account,
			  const struct sip_msg *msg)
{
	struct sip_ua *ua = account->ua;
	struct notify n = {.unsolicited = true};
	struct sip_subscription_info info = {
		.mono_ns = ua->received_ns,
		.reason = n.reason,
		.state = n.state,
	};
	enum sip_package package;
	struct pl id;

	if (!account->mwi_h || account->state == REGISTER_IDLE ||
	    event_read(&package, &id, msg) || package != SIP_PACKAGE_MWI)
		return false;
	if (!verify_request(account, msg) || !notify_read(&n, ua, package, msg))
		return true;
	(void)server_reply(NULL, ua->sip, msg, 200, "OK");
	if (n.has_body)
		info.mwi = &n.mwi;
	account->mwi_h(account, &info, account->arg);
	return true;
}
