#include "sip/ua/register.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "sip/call/extensions.h"
#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/message/digest.h"
#include "sip/message/message.h"
#include "sip/message/text.h"
#include "sip/transport/transport.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/keepalive.h"
#include "sip/ua/native_ua.h"
#include "sip/ua/ua_internal.h"

/* Wait before a lost binding is registered again (RFC 5626 4.5, for a user
 * agent with one flow). */
#define RECOVER_BASE_S 30
#define RECOVER_MAX_S  1800

/* A sip_resp_h. @param arg  the account, with a reference that ends here */
static void register_response(int err, const struct sip_msg *msg, void *arg);
/* Send REGISTER, with credentials for the challenges seen. @return 0; -errno */
static int register_send(struct sip_account *account);
/* Timer handler: send a refresh, or register again after a failure. */
static void register_refresh(void *arg);

void register_sent(struct sip_account *account, int64_t mono_ns)
{
	if (account->first_sent_ns == 0)
		account->first_sent_ns = mono_ns;
}

static void request_drop(struct sip_account *account)
{
	if (!account->req)
		return;
	account->req = mem_deref(account->req);
	mem_deref(account); /* the reference of the transaction */
}

void register_stop(struct sip_account *account)
{
	account->state = REGISTER_IDLE;
	account->keepalive = mem_deref(account->keepalive);
	originator_flow_ended(account->origin);
	mono_timer_cancel(&account->tmr);
	request_drop(account);
}

/* Wait 50 to 100 % of the interval at random, so that thousands of accounts
 * do not register at once. */
static void recover_later(struct sip_account *account)
{
	unsigned doublings = account->recoveries < 6 ? account->recoveries : 6;
	uint32_t wait_s = (uint32_t)RECOVER_BASE_S << doublings;

	if (wait_s > RECOVER_MAX_S)
		wait_s = RECOVER_MAX_S;
	account->state = REGISTER_LOST;
	account->recoveries++;
	account->busy = 0;
	mono_timer_start(&account->tmr,
			 wait_s * 500 + random_u32() % (wait_s * 500),
			 register_refresh, account);
}

static void register_failed(struct sip_account *account, int64_t mono_ns,
			    uint16_t code, const char *reason)
{
	bool removing = account->state == REGISTER_REMOVING;
	bool lost = account->state == REGISTER_DONE;

	account->state = lost ? REGISTER_LOST : REGISTER_IDLE;
	mono_timer_cancel(&account->tmr);
	account->expires_s = 0;
	if (!removing && (lost || account->recoveries))
		recover_later(account);
	account_event_add(account,
			  removing ? SIP_ACCOUNT_UNREGISTERED
				   : SIP_ACCOUNT_REGISTER_FAIL,
			  mono_ns, code, reason);
}

static void unsent(struct sip_account *account, int err)
{
	char reason[REASON_BYTES];

	originator_failure(reason, sizeof(reason), account->origin, -err);
	register_failed(account, clock_mono_ns(), 0, reason);
}

static void register_resume(void *arg)
{
	struct sip_account *account = arg;
	int err;

	account->challenges = 0;
	err = register_send(account);
	if (err)
		unsent(account, err);
}

static void register_refresh(void *arg)
{
	struct sip_account *account = arg;

	if (account->state == REGISTER_LOST)
		account->state = REGISTER_TRYING;
	if (account->state == REGISTER_DONE)
		account->busy = 0;
	account->expires_s = account->regexpire_s;
	account->raised = false;
	account->first_sent_ns = 0;
	account->began_ns = clock_mono_ns();
	register_resume(account);
}

void register_flow_lost(struct sip_account *account, const char *reason)
{
	if (account->state != REGISTER_DONE)
		return;
	request_drop(account);
	register_failed(account, clock_mono_ns(), 0, reason);
}

static int send_handler(enum sip_transp tp, const struct sa *src,
			const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct sip_account *account = arg;
	(void)dst;

	return mbuf_printf(mb,
			   "Contact: <sip:%s@%J%s>;+sip.instance="
			   "\"<urn:uuid:%s>\";reg-id=1\r\n",
			   originator_contact_user(account->origin), src,
			   sip_transp_param(tp), account->instance);
}

static int register_send(struct sip_account *account)
{
	char lines[80];
	const struct dialog_request_params request = {
		.method = "REGISTER",
		.headers = lines,
		.sendh = send_handler,
		.resph = register_response,
		.arg = account,
	};
	int err;

	str_print(lines, sizeof(lines),
		  "Expires: %u\r\nSupported: path, outbound\r\n",
		  account->state == REGISTER_REMOVING ? 0 : account->expires_s);
	mem_ref(account);
	err = dialog_send(&account->req, account->origin, account->dialog,
			  account->digest, &request);
	if (err)
		mem_deref(account);
	return err;
}

/* One Call-ID for all REGISTERs of the account (10.2). */
static int dialog_make(struct sip_account *account)
{
	struct dialog *dialog = NULL;
	char *target;
	int err;

	if (account->dialog)
		return 0;
	err = text_print(&target, "sip:%s", originator_domain(account->origin));
	if (err)
		return err;
	err = dialog_new(&dialog, account->origin, target,
			 originator_aor(account->origin));
	mem_deref(target);
	if (!dialog)
		return err;
	account->dialog = dialog;
	hash_append(account->ua->registers,
		    hash_joaat_str(dialog_callid(dialog)), &account->he,
		    account);
	return 0;
}

int native_account_register(struct sip_account *account)
{
	int err;

	if (account->state == REGISTER_TRYING ||
	    account->state == REGISTER_LOST || account->state == REGISTER_DONE)
		return -EALREADY;
	err = dialog_make(account);
	if (err)
		return err;
	register_stop(account);
	account->state = REGISTER_TRYING;
	account->expires_s = account->regexpire_s;
	account->raised = false;
	account->busy = 0;
	account->recoveries = 0;
	account->first_sent_ns = 0;
	account->began_ns = clock_mono_ns();
	account->challenges = 0;
	account_event_add(account, SIP_ACCOUNT_REGISTERING, account->began_ns,
			  0, "");
	err = register_send(account);
	if (err == -ENOMEM || err == -EBADMSG) {
		account->state = REGISTER_IDLE;
		return err;
	}
	if (err)
		unsent(account, err);
	return 0;
}

static void unregister_handler(void *arg)
{
	struct sip_account *account = arg;
	char reason[REASON_BYTES];

	mem_ref(account);
	request_drop(account);
	str_print(reason, sizeof(reason), "no answer from %s within %u s",
		  originator_target(account->origin),
		  DIALOG_END_WAIT_MS / 1000);
	register_failed(account, clock_mono_ns(), 0, reason);
	mem_deref(account);
}

int native_account_unregister(struct sip_account *account)
{
	if (account->state == REGISTER_REMOVING)
		return -EALREADY;
	account->began_ns = clock_mono_ns();
	account->first_sent_ns = 0;
	if (account->state == REGISTER_IDLE) {
		account->expires_s = 0;
		account_event_add(account, SIP_ACCOUNT_UNREGISTERED,
				  account->began_ns, 0, "there was no binding");
		return 0;
	}
	register_stop(account);
	account->state = REGISTER_REMOVING;
	account->recoveries = 0;
	mono_timer_start(&account->tmr, DIALOG_END_WAIT_MS, unregister_handler,
			 account);
	register_resume(account);
	return 0;
}

/* ---- the responses ---- */

#define REFRESH_PERCENT 90 /* of what the registrar granted */

/* A 503 or 500 with Retry-After is followed by another REGISTER. */
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
	    pl_strcmp(&addr.uri.user,
		      originator_contact_user(binding->account->origin)))
		return false;
	if (!msg_param_decode(&addr.params, "expires", &expires)) {
		binding->expires_s = pl_u32(&expires);
		binding->found = true;
	}
	return true;
}

/* The granted time (10.2.4): expires of our Contact, else Expires, else what
 * we asked for. */
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

/* Use what the registrar offers: Service-Route (RFC 3608), keep-alives of
 * the flow (RFC 5626 section 6). */
static void offers_take(struct sip_account *account, const struct sip_msg *msg)
{
	const struct sip_hdr *timer = sip_msg_hdr(msg, SIP_HDR_FLOW_TIMER);
	bool outbound = extensions_has(msg, SIP_HDR_REQUIRE, "outbound");

	originator_registered(account->origin, msg, outbound);
	if (outbound)
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

/* @return 0: REGISTER follows after Retry-After; -errno with the reason in
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

/* @return 0: REGISTER was sent again; -errno with the reason in dst */
static int register_again(struct sip_account *account,
			  const struct sip_msg *msg, char *dst, size_t size)
{
	const struct sip_hdr *hdr;
	uint32_t minimum;
	int err;

	if (digest_asked(msg)) {
		err = digest_challenge(account->digest, &account->challenges,
				       msg);
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

static void register_response(int err, const struct sip_msg *msg, void *arg)
{
	struct sip_account *account = arg;
	char reason[REASON_BYTES];

	if (!err && msg->scode < 200)
		return;
	if (err) {
		originator_failure(reason, sizeof(reason), account->origin,
				   err);
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
