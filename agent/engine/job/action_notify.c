/* What an answer action tells subscribers, and whom it lets call. */
#include "agent/engine/engine_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A notify action is ready when every watcher has answered. */
static void told(struct engine *e)
{
	struct le *le;

	LIST_FOREACH(&e->accounts, le)
	{
		const struct account *a = le->data;

		if (a->answers && user_agents_native(a) &&
		    sip_account_notifies(a->sip))
			return;
	}
	e->notifying = false;
	steps_done(e);
}

static void watcher_event(struct sip_account *sip, enum sip_watcher_event event,
			  const struct sip_watcher_info *info, void *arg)
{
	static const enum ua_state states[] = {
		[SIP_WATCHER_NEW] = UA_WATCHER_NEW,
		[SIP_WATCHER_NOTIFIED] = UA_WATCHER_NOTIFIED,
		[SIP_WATCHER_GONE] = UA_WATCHER_GONE,
	};
	struct engine *e = arg;
	char text[512];

	if (info->code)
		snprintf(text, sizeof(text), "%s: %.256s, %u %.128s",
			 sip_package_name(info->package), info->uri, info->code,
			 info->reason);
	else
		snprintf(text, sizeof(text), "%s: %.256s%s%.128s",
			 sip_package_name(info->package), info->uri,
			 info->reason[0] ? ", " : "", info->reason);
	report_state(e->report, info->mono_ns, states[event],
		     sip_account_username(sip), NULL, text);
	if (event != SIP_WATCHER_NEW && e->notifying)
		told(e);
}

void action_notify_state(struct action_notify_state *dst,
			 const struct wire_action *a)
{
	const struct wire_presence *p = &a->presence;
	const struct wire_mwi *m = &a->mwi;

	*dst = (struct action_notify_state){
		.presence = {.has_basic = true, .open = p->open},
		.mwi = {.waiting = m->fresh > 0,
			.counts[SIP_MWI_VOICE] = {true, m->fresh, m->old,
						  m->has_urgent,
						  m->urgent_fresh,
						  m->urgent_old}},
	};
	if (p->note)
		snprintf(dst->presence.note, sizeof(dst->presence.note), "%s",
			 p->note);
	dst->state.presence = p->given ? &dst->presence : NULL;
	dst->state.mwi = m->given ? &dst->mwi : NULL;
}

static int serve(struct engine *e, struct account *a,
		 const struct wire_action *action)
{
	struct action_notify_state s;

	if (!action->presence.given && !action->mwi.given)
		return 0;
	action_notify_state(&s, action);
	return sip_account_serve(a->sip, &s.state, watcher_event, e);
}

/* ---- challenges ---- */

static void verify_event(struct sip_account *sip, enum sip_verdict verdict,
			 const struct sip_digest_info *info, void *arg)
{
	struct engine *e = arg;
	bool good = verdict == SIP_VERIFIED;
	char text[512];

	snprintf(text, sizeof(text), "%s of %.256s%s%s", info->method,
		 info->username, good ? "" : ": ", info->reason);
	report_state(e->report, info->mono_ns,
		     good ? UA_CALLER_VERIFIED : UA_CALLER_REFUSED,
		     sip_account_username(sip), NULL, text);
}

static int verifier_new(struct sip_digest_server **ret, struct engine *e,
			const struct wire_challenge *c)
{
	static const enum digest_algorithm algorithms[] = {
		[WIRE_DIGEST_MD5] = DIGEST_MD5,
		[WIRE_DIGEST_SHA256] = DIGEST_SHA256,
		[WIRE_DIGEST_SHA512_256] = DIGEST_SHA512_256,
	};
	struct sip_user *users = calloc(c->credential_count, sizeof(*users));
	struct sip_digest_server_params params = {
		.code = c->code,
		.algorithm = algorithms[c->algorithm],
		.all = c->all,
		.nonce_uses = c->nonce_uses,
		.stale = c->stale,
		.users = users,
		.user_count = c->credential_count,
		.handler = verify_event,
		.arg = e,
	};
	int err;

	if (!users)
		return -ENOMEM;
	for (size_t i = 0; i < c->credential_count; i++) {
		const struct wire_credential *from = &c->credentials[i];

		users[i].username = from->auth_username ? from->auth_username
							: from->username;
		users[i].password = from->password;
	}
	err = sip_digest_server_new(ret, &params);
	free(users);
	return err;
}

int action_notify_start(struct engine *e, const struct wire_action *action)
{
	struct sip_digest_server *verifier = NULL;
	struct le *le;
	int err = 0;

	if (action->challenge.code)
		err = verifier_new(&verifier, e, &action->challenge);
	LIST_FOREACH(&e->accounts, le)
	{
		struct account *a = le->data;

		if (err)
			break;
		if (a->answers != action || !user_agents_native(a))
			continue;
		err = sip_account_verify(a->sip, verifier);
		if (!err)
			err = serve(e, a, action);
	}
	sip_digest_server_free(verifier);
	if (err)
		report_end_job(
			e->report, "error",
			"role %s: presence or challenge cannot be set up: %s",
			e->job->role, strerror(-err));
	return err;
}

void action_notify_stop(struct account *a)
{
	if (!user_agents_native(a))
		return;
	(void)sip_account_verify(a->sip, NULL);
	sip_account_serve_end(a->sip);
}

void action_notify_notify(struct engine *e, const struct wire_action *action)
{
	struct le *le;
	int err = 0;

	e->notifying = true;
	LIST_FOREACH(&e->accounts, le)
	{
		struct account *a = le->data;

		if (a->answers && user_agents_native(a) && !err)
			err = serve(e, a, action);
	}
	if (err)
		report_end_job(e->report, "error",
			       "role %s: the state cannot be notified: %s",
			       e->job->role, strerror(-err));
	else
		told(e);
}
