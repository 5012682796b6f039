#include "sip/ua/out_of_dialog.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "sip/account.h"
#include "sip/body/multipart.h"
#include "sip/dialog/contact.h"
#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/dialog/peer.h"
#include "sip/message/digest.h"
#include "sip/message/headers.h"
#include "sip/message/message.h"
#include "sip/message/text.h"
#include "sip/transport/transport.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/native_ua.h"
#include "sip/ua/ua_internal.h"

/* A request outside of dialogs. The account's list and the transaction hold a
 * reference each. */
struct outside {
	struct le le;
	struct sip_account *
		account; /* NULL: the account was released, the response is ignored */
	struct dialog *dialog; /* Call-ID, tags and CSeq of one request */
	struct digest *digest;
	struct client_request *req;
	uint32_t challenges; /* see digest_challenge() */
	const char *method;  /* static */
	char *type;
	char *body;
	int64_t sent_ns;
	sip_request_h *handler;
	void *arg;
};

static void outside_destructor(void *arg)
{
	struct outside *o = arg;

	list_unlink(&o->le);
	mem_deref(o->dialog);
	mem_deref(o->digest);
	mem_deref(o->type);
	mem_deref(o->body);
}

static int sent_handler(enum sip_transp tp, const struct sa *src,
			const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct outside *o = arg;
	(void)dst;

	if (!o->account)
		return ECANCELED;
	if (!o->sent_ns)
		o->sent_ns = clock_mono_ns();
	if (strcmp(o->method, "MESSAGE") == 0)
		return 0; /* carries no Contact (RFC 3428 section 4) */
	return contact_write(mb, o->account->origin, src, tp);
}

static int outside_send(struct outside *o);

static void outside_done(struct outside *o, int err, const struct sip_msg *msg)
{
	char reason[REASON_BYTES];
	struct sip_request_info info = {
		.account = o->account,
		.mono_ns = transport_event_ns(o->account->ua->transport),
		.code = msg ? msg->scode : 0,
		.reason = reason,
	};

	if (msg)
		msg_line(reason, sizeof(reason), msg);
	else
		originator_failure(reason, sizeof(reason), o->account->origin,
				   err);
	if (msg && o->sent_ns)
		info.took_ns = info.mono_ns - o->sent_ns;
	list_unlink(&o->le);
	o->handler(&info, o->arg);
}

static void response_handler(int err, const struct sip_msg *msg, void *arg)
{
	struct outside *o = arg;

	if (!err && msg->scode < 200)
		return;
	if (o->account && !err && digest_asked(msg) &&
	    digest_challenge(o->digest, &o->challenges, msg) == 0 &&
	    outside_send(o) == 0)
		return;
	if (o->account)
		outside_done(o, err, err ? NULL : msg);
	mem_deref(o);
}

static int outside_send(struct outside *o)
{
	const struct dialog_request_params request = {
		.method = o->method,
		.headers = strcmp(o->method, "OPTIONS") == 0
				   ? "Accept: " MULTIPART_ACCEPT "\r\n"
				   : NULL,
		.type = o->type,
		.body = o->body,
		.sendh = sent_handler,
		.resph = response_handler,
		.arg = o,
	};

	o->req = NULL;
	return dialog_send(&o->req, o->account->origin, o->dialog, o->digest,
			   &request);
}

static int outside_fill(struct outside *o, const char *uri, const char *type,
			const char *body)
{
	struct sip_account *account = o->account;
	char *target = NULL;
	int err;

	err = uri && uri[0] ? peer_uri(&target, account->origin, uri)
			    : text_print(&target, "sip:%s",
					 originator_domain(account->origin));
	if (!err)
		err = dialog_new(&o->dialog, account->origin, target, target);
	if (!err)
		err = originator_digest(&o->digest, account->origin);
	if (!err && type)
		err = text_print(&o->type, "%s", type);
	if (!err && type)
		err = text_print(&o->body, "%s", body);
	mem_deref(target);
	return err;
}

int native_account_request(struct sip_account *account, const char *method,
			   const char *uri, const char *type, const char *body,
			   sip_request_h *handler, void *arg)
{
	bool message = strcmp(method, "MESSAGE") == 0;
	struct outside *o;
	int err;

	if ((!message && strcmp(method, "OPTIONS") != 0) ||
	    (type && (!body || !header_text_valid(type))))
		return -EINVAL;
	o = mem_zalloc(sizeof(*o), outside_destructor);
	if (!o)
		return -ENOMEM;
	o->account = account;
	o->method = message ? "MESSAGE" : "OPTIONS";
	o->handler = handler;
	o->arg = arg;
	err = outside_fill(o, uri, type, body);
	if (!err)
		err = outside_send(o);
	if (err) {
		mem_deref(o);
		return err;
	}
	list_append(&account->outside, &o->le, o);
	return 0;
}

/* The transactions end by themselves; nobody is told. */
void out_of_dialog_stop(struct sip_account *account)
{
	struct le *le = list_head(&account->outside);

	while (le) {
		struct outside *o = le->data;

		le = le->next;
		list_unlink(&o->le);
		o->account = NULL;
	}
}
