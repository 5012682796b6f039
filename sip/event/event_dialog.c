#include "sip/event/event_dialog.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "sip/body/mwi.h"
#include "sip/body/presence.h"
#include "sip/dialog/originator.h"
#include "sip/event/event_table.h"
#include "sip/event/event_user.h"
#include "sip/transaction/server_transaction.h"

static const struct {
	const char *name;
	const char *type;
} packages[SIP_PACKAGES] = {
	[SIP_PACKAGE_PRESENCE] = {"presence", SIP_PRESENCE_TYPE},
	[SIP_PACKAGE_MWI] = {"message-summary", SIP_MWI_TYPE},
};

const char *sip_package_name(enum sip_package package)
{
	return packages[package].name;
}

const char *event_type(enum sip_package package)
{
	return packages[package].type;
}

int event_dialog_init(struct event_dialog *d, struct event_user *user,
		      struct dialog *dialog)
{
	int err = 0;

	if (!d->digest)
		err = originator_digest(&d->digest, user->origin);
	if (err)
		return err;
	hash_unlink(&d->he);
	mem_deref(d->dialog);
	d->dialog = dialog;
	if (!d->origin) {
		d->user = user;
		d->origin = originator_ref(user->origin);
	}
	event_table_add(user->table, d, &d->he, dialog_callid(dialog));
	return 0;
}

int event_dialog_accept(struct event_dialog *d, struct event_user *user,
			const struct sip_msg *msg)
{
	struct dialog *dialog;
	int err = dialog_accept(&dialog, msg);

	if (err)
		return err;
	err = event_dialog_init(d, user, dialog);
	if (err)
		mem_deref(dialog);
	return err;
}

void event_dialog_release(struct event_dialog *d)
{
	hash_unlink(&d->he);
	mem_deref(d->req);
	mem_deref(d->dialog);
	mem_deref(d->digest);
	originator_unref(d->origin);
}

static bool match_handler(struct le *le, void *arg)
{
	const struct event_dialog *d = le->data;
	const struct sip_msg *msg = arg;

	return !pl_strcmp(&msg->callid, dialog_callid(d->dialog)) &&
	       !pl_strcmp(&msg->to.tag, dialog_local_tag(d->dialog));
}

struct event_dialog *event_dialog_find(const struct event_table *table,
				       const struct sip_msg *msg)
{
	return event_table_find(table, &msg->callid, match_handler,
				(void *)(uintptr_t)msg);
}

int event_dialog_send(struct event_dialog *d,
		      const struct dialog_request_params *request)
{
	d->req = mem_deref(d->req);
	return dialog_send(&d->req, d->origin, d->dialog, d->digest, request);
}

bool event_dialog_refreshed(struct event_dialog *d, const struct sip_msg *msg,
			    bool over)
{
	struct transaction_layer *sip = originator_layer(d->origin);

	if (over || !dialog_match(d->dialog, msg))
		(void)server_transaction_reply(NULL, sip, msg, 481,
					       "Subscription Does Not Exist");
	else if (!dialog_in_order(d->dialog, msg))
		(void)server_transaction_reply(NULL, sip, msg, 500,
					       "Server Internal Error");
	else
		return true;
	return false;
}

int event_read(enum sip_package *ret, struct pl *ret_id,
	       const struct sip_msg *msg)
{
	const struct sip_hdr *hdr = sip_msg_hdr(msg, SIP_HDR_EVENT);
	struct pl name;

	if (!hdr || re_regex(hdr->val.p, hdr->val.l, "[^; \t]+", &name))
		return -ENOENT;
	*ret_id = pl_null;
	(void)msg_param_decode(&hdr->val, "id", ret_id);
	for (int i = 0; i < SIP_PACKAGES; i++) {
		if (pl_strcmp(&name, packages[i].name))
			continue;
		*ret = (enum sip_package)i;
		return 0;
	}
	return -EPROTONOSUPPORT;
}

_Static_assert(EVENT_BODY_BYTES >= SIP_MWI_BODY_BYTES, "of either package");

int event_body(char *dst, size_t size, enum sip_package package,
	       const struct sip_presence *presence, const struct sip_mwi *mwi,
	       const char *aor)
{
	struct sip_mwi named;

	if (package == SIP_PACKAGE_PRESENCE)
		return presence_print(dst, size, presence, aor);
	named = *mwi;
	if (!named.account[0])
		(void)str_copy(named.account, sizeof(named.account), aor);
	return mwi_print(dst, size, &named);
}

uint32_t event_seconds(const struct sip_msg *msg, enum sip_hdrid id,
		       uint32_t otherwise)
{
	const struct sip_hdr *hdr = sip_msg_hdr(msg, id);
	struct pl number;

	if (!hdr || re_regex(hdr->val.p, hdr->val.l, "[0-9]+", &number))
		return otherwise;
	/* the largest value is 2^32 - 1 (RFC 3261 20.19) */
	return number.l > 9 ? UINT32_MAX : pl_u32(&number);
}
