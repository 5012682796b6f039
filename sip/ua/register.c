#include "sip/ua/register.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "sip/account.h"
#include "sip/dialog/dialog.h"
#include "sip/message/digest.h"
#include "sip/message/text.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/native_ua.h"
#include "sip/ua/register_internal.h"
#include "sip/ua/ua_internal.h"

/* A binding that was lost is sought again (RFC 5626 4.5, base time of a user
 * agent with one flow). */
#define RECOVER_BASE_S 30
#define RECOVER_MAX_S  1800

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
	account->origin.outbound = false;
	mono_timer_cancel(&account->tmr);
	request_drop(account);
}

/* Half of it by chance, so that thousands do not come back at once. */
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

void register_failed(struct sip_account *account, int64_t mono_ns,
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

	failure_reason(reason, sizeof(reason), account, -err);
	register_failed(account, clock_mono_ns(), 0, reason);
}

void register_resume(void *arg)
{
	struct sip_account *account = arg;
	int err;

	digest_begin(account->digest);
	err = register_send(account);
	if (err)
		unsent(account, err);
}

void register_refresh(void *arg)
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
			   account->origin.contact_user, src,
			   sip_transp_param(tp), account->instance);
}

int register_send(struct sip_account *account)
{
	char lines[80];
	const struct request request = {
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
	err = dialog_send(&account->req, &account->origin, account->dialog,
			  account->digest, &request);
	if (err)
		mem_deref(account);
	return err;
}

/* One Call-ID for all REGISTERs of the account (10.2). */
static int dialog_make(struct sip_account *account)
{
	char *target;
	int err;

	if (account->dialog)
		return 0;
	err = text_print(&target, "sip:%s", account->origin.domain);
	if (err)
		return err;
	err = dialog_new(&account->dialog, &account->origin, target,
			 account->aor);
	mem_deref(target);
	if (!err)
		hash_append(account->ua->registers,
			    hash_joaat_str(account->dialog->callid),
			    &account->he, account);
	return err;
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
	digest_begin(account->digest);
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
		  account->target_text, END_WAIT_MS / 1000);
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
	mono_timer_start(&account->tmr, END_WAIT_MS, unregister_handler,
			 account);
	register_resume(account);
	return 0;
}
