#include "sip/event/referral.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "sip/dialog/contact.h"
#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/event/event_dialog.h"
#include "sip/event/event_table.h"
#include "sip/event/event_user.h"
#include "sip/event/refer_request.h"
#include "sip/message/digest.h"
#include "sip/message/headers.h"
#include "sip/message/text.h"
#include "sip/transaction/server_transaction.h"

/* Referrals of a user agent at a time; more REFERs get 503. */
#define REFERRALS_MAX 256

#define EXPIRES_S 180 /* Expires of the implicit subscription */

/* The dialog of the REFER is used by its implicit subscription only. */
struct sip_referral {
	struct event_dialog d;
	uint32_t seq; /* CSeq of the REFER, for the Event id */
	bool silent;  /* no NOTIFY is wanted, or no more */
	bool over;    /* a final status was told */
	uint16_t code;
	char reason[REASON_BYTES];
};

static int notify(struct sip_referral *r);

static void destructor(void *arg)
{
	struct sip_referral *r = arg;

	if (r->d.user)
		event_table_referral_ended(r->d.user->table);
	event_dialog_release(&r->d);
}

static int sent_handler(enum sip_transp tp, const struct sa *src,
			const struct sa *dst, struct mbuf *mb, void *arg)
{
	const struct sip_referral *r = arg;
	(void)dst;

	return contact_write(mb, r->d.origin, src, tp);
}

static void response_handler(int err, const struct sip_msg *msg, void *arg)
{
	struct sip_referral *r = arg;

	if (!err && msg->scode < 200)
		return;
	if (!err && digest_asked(msg) &&
	    digest_challenge(r->d.digest, &r->d.challenges, msg) == 0 &&
	    notify(r) == 0)
		return;
	/* RFC 6665 4.2.2: a NOTIFY that is refused ends the subscription */
	if (err || msg->scode >= 300)
		r->silent = true;
}

static int notify(struct sip_referral *r)
{
	char headers[REFER_HEADERS_BYTES], body[REFER_BODY_BYTES];
	const struct dialog_request_params request = {
		.method = "NOTIFY",
		.headers = headers,
		.type = REFER_TYPE,
		.body = body,
		.sendh = sent_handler,
		.resph = response_handler,
		.arg = r,
	};

	refer_request_status(headers, body, r->seq, r->code, r->reason);
	return event_dialog_send(&r->d, &request);
}

int sip_referral_progress(struct sip_referral *r, uint16_t code,
			  const char *reason)
{
	if (r->over)
		return -EALREADY;
	if (code < 100 || code > 699 || !header_text_valid(reason))
		return -EINVAL;
	r->over = code >= 200;
	r->code = code;
	str_print(r->reason, sizeof(r->reason), "%s", reason);
	if (r->silent)
		return 0;
	r->d.challenges = 0;
	return notify(r);
}

struct sip_referral *sip_referral_free(struct sip_referral *r)
{
	return mem_deref(r);
}

static int referral_new(struct sip_referral **ret, struct event_user *user,
			const struct sip_msg *msg)
{
	struct sip_referral *r = mem_zalloc(sizeof(*r), destructor);
	int err;

	if (!r)
		return -ENOMEM;
	r->d.notifier = true;
	r->d.refers = true;
	r->seq = msg->cseq.num;
	r->silent = refer_request_is_silent(msg);
	err = event_dialog_accept(&r->d, user, msg);
	if (err) {
		mem_deref(r);
		return err;
	}
	event_table_referral_begun(user->table);
	*ret = r;
	return 0;
}

static void accepted(struct sip_referral *r, const struct sip_msg *msg,
		     uint16_t code, const char *phrase)
{
	struct contact_params contact;

	contact_answer(&contact, r->d.origin, msg);
	(void)server_transaction_replyf(NULL, NULL,
					originator_layer(r->d.origin), msg,
					true, code, phrase,
					"%H%sExpires: %u\r\n"
					"Content-Length: 0\r\n\r\n",
					contact_print, &contact,
					r->silent ? "Refer-Sub: false\r\n" : "",
					r->silent ? 0 : EXPIRES_S);
}

void referral_declined(struct transaction_layer *layer,
		       const struct sip_msg *msg)
{
	char *target = NULL;
	char *replaces = NULL;
	bool good = refer_request_target(&target, &replaces, msg) == 0;

	(void)server_transaction_reply(NULL, layer, msg, good ? 603 : 400,
				       good ? "Decline" : "Bad Refer-To");
	mem_deref(target);
	mem_deref(replaces);
}

void referral_received(struct event_user *user, const struct sip_msg *msg)
{
	struct transaction_layer *layer = originator_layer(user->origin);
	struct sip_refer_info info = {
		.mono_ns = originator_received_ns(user->origin)};
	struct sip_referral *r = NULL;
	char *target = NULL;
	char *replaces = NULL;
	int err;

	if (event_table_referrals(user->table) >= REFERRALS_MAX) {
		(void)server_transaction_reply(NULL, layer, msg, 503,
					       "Service Unavailable");
		return;
	}
	err = refer_request_target(&target, &replaces, msg);
	if (err)
		(void)server_transaction_reply(NULL, layer, msg, 400,
					       "Bad Refer-To");
	else if ((err = referral_new(&r, user, msg)))
		(void)server_transaction_reply(
			NULL, layer, msg, err == -EBADMSG ? 400 : 500,
			err == -EBADMSG ? "Bad Contact"
					: "Server Internal Error");
	if (!err) {
		accepted(r, msg, 202, "Accepted");
		/* An immediate NOTIFY is due (RFC 3515 2.4.4). */
		(void)sip_referral_progress(r, 100, "Trying");
		info.target = target;
		info.replaces = replaces;
		user->refer_h(user->account, r, &info, user->arg);
	}
	mem_deref(target);
	mem_deref(replaces);
}

/* The subscription may be refreshed and ended (RFC 3515 2.4.6 and 2.4.7). */
void referral_refreshed(struct event_dialog *d, const struct sip_msg *msg)
{
	struct sip_referral *r = (struct sip_referral *)d;

	if (!event_dialog_refreshed(d, msg, r->over))
		return;
	dialog_refresh(d->dialog, msg);
	if (event_seconds(msg, SIP_HDR_EXPIRES, EXPIRES_S) == 0)
		r->silent = true;
	accepted(r, msg, 200, "OK");
}
