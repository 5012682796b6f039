#include "sip/ua/register_internal.h"

#include <errno.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/account.h"
#include "sip/call/extensions.h"
#include "sip/dialog/dialog.h"
#include "sip/message/digest.h"
#include "sip/message/message.h"
#include "sip/message/text.h"
#include "sip/transport/transport.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/keepalive.h"
#include "sip/ua/ua_internal.h"

#define REFRESH_PERCENT 90 /* of what the registrar granted */

/* A registrar that is busy (503, 500 with Retry-After) is asked again. */
#define BUSY_TRIES_MAX    3
#define RETRY_AFTER_MAX_S 120

struct binding {
	const struct sip_account *account;
	bool found;
	uint32_t expires_s;
};

static bool contact_handler(const struct sip_hdr *hdr,
			    const struct sip_msg *msg, void *arg)
{
	struct binding *binding = arg;
	struct sip_addr addr;
	struct pl expires;
	(void)msg;

	if (sip_addr_decode(&addr, &hdr->val) ||
	    pl_strcmp(&addr.uri.user, binding->account->origin.contact_user))
		return false;
	if (!msg_param_decode(&addr.params, "expires", &expires)) {
		binding->expires_s = pl_u32(&expires);
		binding->found = true;
	}
	return true;
}

/* How long it holds (10.2.4): of our Contact, else Expires, else as asked. */
static uint32_t granted_s(const struct sip_account *account,
			  const struct sip_msg *msg)
{
	struct binding binding = {.account = account};

	sip_msg_hdr_apply(msg, true, SIP_HDR_CONTACT, contact_handler,
			  &binding);
	if (binding.found)
		return binding.expires_s;
	if (pl_isset(&msg->expires))
		return pl_u32(&msg->expires);
	return account->expires_s;
}

/* What the registrar offers for the flow, and for what we send (RFC 5626 6,
 * RFC 3608). */
static void offers_take(struct sip_account *account, const struct sip_msg *msg)
{
	const struct sip_hdr *timer = sip_msg_hdr(msg, SIP_HDR_FLOW_TIMER);

	(void)routes_read(&account->origin.service_routes,
			  &account->origin.service_route, msg,
			  SIP_HDR_SERVICE_ROUTE, true);
	account->origin.outbound =
		extensions_has(msg, SIP_HDR_REQUIRE, "outbound");
	if (account->origin.outbound)
		(void)keepalive_start(
			&account->keepalive, account, msg,
			timer && timer->val.l < 6 ? pl_u32(&timer->val) : 0);
	else
		account->keepalive = mem_deref(account->keepalive);
}

static void register_done(struct sip_account *account,
			  const struct sip_msg *msg)
{
	int64_t now = transport_received_ns(account->ua->transport);
	bool refresh = account->state == REGISTER_DONE;
	char phrase[64];
	uint64_t wait_ms;

	msg_line(phrase, sizeof(phrase), msg);
	if (account->state == REGISTER_REMOVING) {
		account->state = REGISTER_IDLE;
		account->expires_s = 0;
		mono_timer_cancel(&account->tmr);
		account_event_add(account, SIP_ACCOUNT_UNREGISTERED, now,
				  msg->scode, phrase);
		return;
	}
	account->expires_s = granted_s(account, msg);
	if (account->expires_s == 0) {
		register_failed(account, now, msg->scode,
				"the registrar granted no time (expires=0)");
		return;
	}
	offers_take(account, msg);
	account->state = REGISTER_DONE;
	account->recoveries = 0;
	account->busy = 0;
	wait_ms = (uint64_t)account->expires_s * 10 * REFRESH_PERCENT;
	mono_timer_start(&account->tmr, wait_ms, register_refresh, account);
	if (!refresh)
		account_event_add(account, SIP_ACCOUNT_REGISTER_OK, now,
				  msg->scode, phrase);
}

/* Retry-After (20.33): "120 (comment);duration=60". @return 0: there is none */
static uint32_t retry_after_s(const struct sip_msg *msg)
{
	const struct sip_hdr *hdr = sip_msg_hdr(msg, SIP_HDR_RETRY_AFTER);
	struct pl seconds;

	if (!hdr || re_regex(hdr->val.p, hdr->val.l, "[0-9]+", &seconds) ||
	    seconds.l > 9)
		return 0;
	return pl_u32(&seconds);
}

/* @return 0: asked again when the registrar said; else the reason stands in
 * dst */
static int register_wait(struct sip_account *account, const struct sip_msg *msg,
			 char *dst, size_t size)
{
	uint32_t wait_s = retry_after_s(msg);
	char phrase[64];

	msg_line(phrase, sizeof(phrase), msg);
	str_print(dst, size, "%s", phrase);
	if ((msg->scode != 503 && msg->scode != 500) || wait_s == 0 ||
	    account->state == REGISTER_REMOVING)
		return -EACCES;
	if (wait_s > RETRY_AFTER_MAX_S) {
		str_print(dst, size,
			  "%s, Retry-After: %u s is more than the %u s that "
			  "are waited for",
			  phrase, wait_s, RETRY_AFTER_MAX_S);
		return -EACCES;
	}
	if (account->busy >= BUSY_TRIES_MAX) {
		str_print(dst, size, "%s, also after %u waits", phrase,
			  account->busy);
		return -EACCES;
	}
	account->busy++;
	mono_timer_start(&account->tmr, (uint64_t)wait_s * 1000,
			 register_resume, account);
	return 0;
}

/* @return 0: sent again; else the reason stands in dst */
static int register_again(struct sip_account *account,
			  const struct sip_msg *msg, char *dst, size_t size)
{
	const struct sip_hdr *hdr;
	uint32_t minimum;
	int err;

	if (digest_asked(msg)) {
		err = digest_challenge(account->digest, msg);
		digest_reason(dst, size, err, msg);
	} else if (msg->scode == 423 && !account->raised) {
		hdr = sip_msg_hdr(msg, SIP_HDR_MIN_EXPIRES);
		minimum = hdr ? pl_u32(&hdr->val) : 0;
		account->raised = true;
		err = minimum > account->expires_s ? 0 : -EINVAL;
		if (!err)
			account->expires_s = minimum;
		msg_line(dst, size, msg);
	} else {
		return register_wait(account, msg, dst, size);
	}
	return err ? err : register_send(account);
}

void register_response(int err, const struct sip_msg *msg, void *arg)
{
	struct sip_account *account = arg;
	char reason[REASON_BYTES];

	if (!err && msg->scode < 200)
		return;
	if (err) {
		failure_reason(reason, sizeof(reason), account, err);
		register_failed(account, clock_mono_ns(), 0, reason);
	} else if (msg->scode < 300) {
		register_done(account, msg);
	} else if (register_again(account, msg, reason, sizeof(reason))) {
		register_failed(account,
				transport_received_ns(account->ua->transport),
				msg->scode, reason);
	}
	mem_deref(account);
}
