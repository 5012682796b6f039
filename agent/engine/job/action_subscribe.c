/* The subscribe and publish actions of the role's accounts. */
#include "agent/engine/job/job_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URI_BYTES 512

/* A subscription or a publication of one account. It lasts until an action or the
 * end of the job ends it. */
struct watch {
	struct le le;
	struct account *account;
	const struct wire_action *action; /* the one that began it */
	struct sip_subscription *subscription;
	struct sip_publication *publication;
	char uri[URI_BYTES]; /* who is watched; "": the account itself */
	bool waited;         /* the action under way waits for it */
	bool ending;         /* we end it */
};

static void ask_next(void *arg);

static const char *type_name(const struct wire_action *a)
{
	return a->type == WIRE_ACTION_PUBLISH ? "publish" : "subscribe";
}

static void watch_free(struct watch *w)
{
	list_unlink(&w->le);
	sip_subscription_free(w->subscription);
	sip_publication_free(w->publication);
	free(w);
}

/* The action has done what it does for this account, or has failed. */
static void settled(struct actions *actions, const struct account *account,
		    const char *uri, const char *refusal)
{
	struct action_subscribe *k = &actions->watching;

	if (!k->action)
		return;
	if (refusal)
		report_event(
			actions->report,
			wire_event_assert(
				report_time(actions->report, clock_mono_ns()),
				account_name(account), type_name(k->action),
				uri[0] ? uri : account_name(account), refusal));
	k->settled++;
	/* Later, as this may be called within a handler of the user agent. */
	mono_timer_start(&k->tmr, 0, ask_next, actions);
}

static void watch_settled(struct watch *w, const char *refusal)
{
	if (!w->waited)
		return;
	w->waited = false;
	settled(actions_of(w->account), w->account, w->uri, refusal);
}

static void watch_state(const struct watch *w, int64_t mono_ns,
			enum ua_state state, const char *text)
{
	report_state(actions_of(w->account)->report, mono_ns, state,
		     account_name(w->account), NULL, text);
}

static void watch_over(struct watch *w)
{
	struct actions *actions = account_owner(w->account);

	watch_free(w);
	action_ended(actions);
}

/* ---- subscriptions ---- */

static enum sip_package package_of(const struct wire_action *a)
{
	return a->package == WIRE_MESSAGE_SUMMARY ? SIP_PACKAGE_MWI
						  : SIP_PACKAGE_PRESENCE;
}

/* "presence: 200 OK" */
static void event_text(char *dst, size_t size, const struct wire_action *a,
		       uint16_t code, const char *reason)
{
	const char *name = sip_package_name(package_of(a));

	if (code)
		snprintf(dst, size, "%s: %u %s", name, code, reason);
	else
		snprintf(dst, size, "%s: %s", name, reason);
}

static void notify_text(char *dst, size_t size,
			const struct sip_subscription_info *info)
{
	char summary[SIP_MWI_BODY_BYTES];
	const struct sip_presence *p = info->presence;

	if (p)
		snprintf(dst, size, "%s: %s%s%s%s", info->state,
			 !p->has_basic ? "nothing"
			 : p->open     ? "open"
				       : "closed",
			 p->note[0] ? " \"" : "", p->note,
			 p->note[0] ? "\"" : "");
	else if (info->mwi) {
		mwi_text(summary, sizeof(summary), info->mwi);
		snprintf(dst, size, "%s: %s", info->state, summary);
	} else {
		snprintf(dst, size, "%s", info->state);
	}
}

void action_subscribe_mwi(struct sip_account *sip,
			  const struct sip_subscription_info *info, void *arg)
{
	const struct account *a = arg;
	char text[SIP_MWI_BODY_BYTES + 64];

	(void)sip;
	notify_text(text, sizeof(text), info);
	report_state(actions_of(a)->report, info->mono_ns, UA_MWI_NOTIFY,
		     account_name(a), NULL, text);
}

static void subscription_event(struct sip_subscription *s,
			       enum sip_subscription_event event,
			       const struct sip_subscription_info *info,
			       void *arg)
{
	struct watch *w = arg;
	bool mwi = w->action->package == WIRE_MESSAGE_SUMMARY;
	char text[SIP_MWI_BODY_BYTES + 64];

	(void)s;
	if (event == SIP_NOTIFIED)
		notify_text(text, sizeof(text), info);
	else
		event_text(text, sizeof(text), w->action, info->code,
			   info->reason);
	switch (event) {
	case SIP_SUBSCRIBED:
		watch_state(w, info->mono_ns, UA_SUBSCRIBE_OK, text);
		break;
	case SIP_NOTIFIED:
		watch_state(w, info->mono_ns,
			    mwi ? UA_MWI_NOTIFY : UA_PRESENCE_NOTIFY, text);
		if (!w->ending)
			watch_settled(w, NULL);
		break;
	case SIP_SUBSCRIBE_FAIL:
		watch_state(w, info->mono_ns, UA_SUBSCRIBE_FAIL, text);
		watch_settled(w, text);
		watch_over(w);
		break;
	case SIP_UNSUBSCRIBED:
		watch_state(w, info->mono_ns, UA_SUBSCRIBE_CLOSED, text);
		watch_settled(w, w->ending ? NULL : text);
		watch_over(w);
		break;
	}
}

static int subscribe(struct watch *w)
{
	const struct wire_action *a = w->action;
	const struct sip_subscribe_params params = {
		.package = package_of(a),
		.uri = w->uri[0] ? w->uri : NULL,
		.expires_s = a->expires_s,
		.handler = subscription_event,
		.arg = w,
	};

	return sip_subscribe(&w->subscription, account_sip(w->account),
			     &params);
}

/* ---- publications ---- */

static void publication_event(struct sip_publication *p,
			      enum sip_publication_event event,
			      const struct sip_publication_info *info,
			      void *arg)
{
	struct watch *w = arg;
	char text[256];

	(void)p;
	event_text(text, sizeof(text), w->action, info->code, info->reason);
	switch (event) {
	case SIP_PUBLISHED:
		watch_state(w, info->mono_ns, UA_PUBLISH_OK, text);
		watch_settled(w, NULL);
		break;
	case SIP_PUBLISH_FAIL:
		watch_state(w, info->mono_ns, UA_PUBLISH_FAIL, text);
		watch_settled(w, text);
		break;
	case SIP_UNPUBLISHED:
		watch_state(w, info->mono_ns, UA_PUBLISH_CLOSED, text);
		watch_settled(w, info->code >= 200 && info->code < 300 ? NULL
								       : text);
		watch_over(w);
		break;
	}
}

static int publish(struct watch *w, const struct wire_action *a)
{
	struct action_answer_state s;

	action_answer_state(&s, a);
	return w->publication ? sip_publication_modify(w->publication, &s.state)
			      : sip_publish(&w->publication,
					    account_sip(w->account), &s.state,
					    a->expires_s, publication_event, w);
}

/* ---- the actions ---- */

/* The subscription or publication that an earlier action began for an account. */
static struct watch *watch_find(const struct actions *actions,
				const struct wire_action *a,
				const struct account *account, const char *uri)
{
	struct le *le;

	LIST_FOREACH(&actions->watching.list, le)
	{
		struct watch *w = le->data;

		if (!w->ending && w->action->type == a->type &&
		    w->action->package == a->package &&
		    strcmp(w->uri, uri) == 0 &&
		    account_is_same(w->account, account))
			return w;
	}
	return NULL;
}

static void watch_end(struct watch *w)
{
	w->ending = true;
	if (w->subscription)
		sip_unsubscribe(w->subscription);
	else
		sip_unpublish(w->publication);
}

static int watch_new(struct actions *actions, const struct wire_action *a,
		     struct account *account, const char *uri)
{
	struct watch *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->account = account;
	w->action = a;
	w->waited = true;
	snprintf(w->uri, sizeof(w->uri), "%s", uri);
	list_append(&actions->watching.list, &w->le, w);
	err = a->type == WIRE_ACTION_PUBLISH ? publish(w, a) : subscribe(w);
	if (err)
		watch_free(w);
	return err;
}

/* @return 0: settled() follows; -errno */
static int ask_one(struct actions *actions, size_t i,
		   char uri[static URI_BYTES])
{
	const struct wire_action *a = actions->watching.action;
	struct account *account = actions->calling.accounts[i];
	struct watch *w;

	uri[0] = '\0';
	if (a->dial_destination &&
	    wire_expand_dial(uri, URI_BYTES, a->dial_destination, actions->job,
			     (unsigned)i, account_name(account)) < 0)
		return -EINVAL;
	w = watch_find(actions, a, account, uri);
	if (w && a->expires_s == 0) {
		w->waited = true;
		watch_end(w);
		return 0;
	}
	if (w && a->type == WIRE_ACTION_PUBLISH) {
		w->waited = true;
		return publish(w, a);
	}
	if (w || (a->type == WIRE_ACTION_PUBLISH && a->expires_s == 0))
		return -EALREADY;
	return watch_new(actions, a, account, uri);
}

static void ask_next(void *arg)
{
	struct actions *actions = arg;
	struct action_subscribe *k = &actions->watching;
	size_t count = actions->calling.account_count;

	if (report_ended(actions->report) || !k->action)
		return;
	while (k->asked < count &&
	       k->asked - k->settled < ACTION_REQUESTS_MAX) {
		char uri[URI_BYTES];
		size_t i = k->asked++;
		int err = ask_one(actions, i, uri);

		if (err)
			settled(actions, actions->calling.accounts[i], uri,
				err == -EALREADY
					? "there is one already, or none to end"
					: strerror(-err));
	}
	if (k->settled < count)
		return;
	k->action = NULL;
	mono_timer_cancel(&k->tmr);
	action_call_stop(actions);
	action_done(actions);
}

void action_subscribe_start(struct actions *actions,
			    const struct wire_action *action)
{
	struct action_subscribe *k = &actions->watching;

	action_call_stop(actions);
	if (action_call_gather(actions, action))
		return; /* the job was ended */
	k->action = action;
	k->asked = 0;
	k->settled = 0;
	ask_next(actions);
}

void action_publish_start(struct actions *actions,
			  const struct wire_action *action)
{
	action_subscribe_start(actions, action);
}

void action_subscribe_end(struct actions *actions)
{
	struct le *le = list_head(&actions->watching.list);

	mono_timer_cancel(&actions->watching.tmr);
	actions->watching.action = NULL;
	while (le) {
		struct watch *w = le->data;

		le = le->next;
		w->waited = false;
		if (!w->ending)
			watch_end(w);
	}
}

bool action_subscribe_ended(const struct actions *actions)
{
	return !actions->watching.list.head;
}

void action_subscribe_free(struct actions *actions)
{
	mono_timer_cancel(&actions->watching.tmr);
	while (actions->watching.list.head)
		watch_free(actions->watching.list.head->data);
}
