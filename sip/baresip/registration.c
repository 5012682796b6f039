/* How the registration of an account goes. */
#include "sip/baresip/internal.h"

#include <string.h>

#define REGISTER_MS 32000 /* RFC 3261 timer F */

static void register_overdue(void *arg)
{
	struct baresip_account *a = arg;
	struct sip_account_info info = {
		.mono_ns = clock_mono_ns(),
		.reason = "no answer within 32 s",
	};

	if (a->registration == BARESIP_REGISTERING) {
		a->registration = BARESIP_UNREGISTERED;
		baresip_account_tell(a, SIP_ACCOUNT_REGISTER_FAIL, &info);
	} else if (a->registration == BARESIP_REMOVING) {
		a->registration = BARESIP_UNREGISTERED;
		info.reason = "the removal was not answered";
		baresip_account_tell(a, SIP_ACCOUNT_UNREGISTERED, &info);
	}
}

static void register_begun(void *arg)
{
	struct baresip_account *a = arg;
	struct sip_account_info info = {.mono_ns = clock_mono_ns()};

	mono_timer_start(&a->tmr_register, REGISTER_MS, register_overdue, a);
	baresip_account_tell(a, SIP_ACCOUNT_REGISTERING, &info);
}

int baresip_account_register(struct sip_account *account)
{
	struct baresip_account *a = (struct baresip_account *)account;
	int err;

	/* it registers by itself when it starts, and never later */
	if (a->process)
		return -EALREADY;
	a->registration = BARESIP_REGISTERING;
	a->register_sent_ns = 0;
	a->register_code = 0;
	a->challenged = false;
	err = baresip_account_start(a);
	if (err) {
		a->registration = BARESIP_UNREGISTERED;
		return err;
	}
	mono_timer_start(&a->tmr_register, 0, register_begun, a);
	return 0;
}

int baresip_account_unregister(struct sip_account *account)
{
	struct baresip_account *a = (struct baresip_account *)account;
	int err;

	if (!a->process || a->registration == BARESIP_UNREGISTERED)
		return -ENOTCONN;
	a->registration = BARESIP_REMOVING;
	err = baresip_process_command(a->process, "uadel", a->aor, "uadel");
	if (!err)
		mono_timer_start(&a->tmr_register, BARESIP_END_MS,
				 register_overdue, a);
	return err;
}

static uint32_t expires_of(const struct sip_msg *msg)
{
	const struct sip_hdr *contact = sip_msg_hdr(msg, SIP_HDR_CONTACT);
	struct pl value;

	if (contact && re_regex(contact->val.p, contact->val.l,
				"expires=[0-9]+", &value) == 0)
		return pl_u32(&value);
	return pl_isset(&msg->expires) ? pl_u32(&msg->expires) : 0;
}

static void register_settled(struct baresip_account *a, bool ok,
			     const char *why)
{
	struct sip_account_info info = {
		.mono_ns = a->register_answer_ns ? a->register_answer_ns
						 : clock_mono_ns(),
		.code = a->register_code,
		.reason = a->register_code ? a->register_reason : why,
		.expires_s = a->register_expires_s,
	};

	if (a->register_sent_ns)
		info.took_ns = info.mono_ns - a->register_sent_ns;
	a->register_sent_ns = 0;
	if (a->registration != BARESIP_REGISTERING &&
	    (ok || a->registration != BARESIP_REGISTERED))
		return; /* a refresh */
	mono_timer_cancel(&a->tmr_register);
	if (a->registration == BARESIP_REGISTERING || ok)
		a->registration =
			ok ? BARESIP_REGISTERED : BARESIP_UNREGISTERED;
	baresip_account_tell(
		a, ok ? SIP_ACCOUNT_REGISTER_OK : SIP_ACCOUNT_REGISTER_FAIL,
		&info);
}

static bool is_stale(const struct sip_msg *msg)
{
	const struct sip_hdr *h = sip_msg_hdr(
		msg, msg->scode == 401 ? SIP_HDR_WWW_AUTHENTICATE
				       : SIP_HDR_PROXY_AUTHENTICATE);

	return h && re_regex(h->val.p, h->val.l, "stale[ ]*=[ ]*true", NULL,
			     NULL) == 0;
}

/* From its messages: it registers before its events can be heard. */
void baresip_account_registers(struct baresip_account *a,
			       const struct sip_msg *msg, bool sent)
{
	int64_t now_ns = clock_mono_ns();
	struct sip_account_info info = {.mono_ns = now_ns};

	if (sent) {
		if (!a->register_sent_ns)
			a->register_sent_ns = now_ns;
		return;
	}
	if (msg->scode < 200)
		return;
	a->register_answer_ns = now_ns;
	a->register_code = msg->scode;
	a->register_expires_s = expires_of(msg);
	(void)pl_strcpy(&msg->reason, a->register_reason,
			sizeof(a->register_reason));
	/* a challenge is answered, one after that is a refusal */
	if ((msg->scode == 401 || msg->scode == 407) &&
	    (!a->challenged || is_stale(msg))) {
		a->challenged = true;
		return;
	}
	a->challenged = false;
	if (a->registration != BARESIP_REMOVING) {
		register_settled(a, msg->scode < 300, a->register_reason);
		return;
	}
	mono_timer_cancel(&a->tmr_register);
	a->registration = BARESIP_UNREGISTERED;
	info.code = msg->scode;
	info.reason = a->register_reason;
	baresip_account_tell(a, SIP_ACCOUNT_UNREGISTERED, &info);
}

void baresip_account_register_failed(struct baresip_account *a, const char *why)
{
	/* without an answer: those with one were seen */
	if (!a->register_code)
		register_settled(a, false, why);
}
