/* The answer action: take calls, challenge callers, notify subscribers. The notify
 * action. */
#include "agent/engine/job/job_internal.h"

#include "sip/digest_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(WIRE_CREDENTIALS_MAX <= SIP_USERS_MAX,
	       "all credentials of an action can be challenged");

/* A notify action is done when every subscriber has answered. */
static void told(struct actions *actions)
{
	for (struct account *a = accounts_first(actions->accounts); a;
	     a = account_next(a)) {
		if (account_answers(a) && user_agents_native(a) &&
		    sip_account_notifies(account_sip(a)))
			return;
	}
	actions->notifying = false;
	action_done(actions);
}

static void watcher_event(struct sip_account *sip, enum sip_watcher_event event,
			  const struct sip_watcher_info *info, void *arg)
{
	static const enum ua_state states[] = {
		[SIP_WATCHER_NEW] = UA_WATCHER_NEW,
		[SIP_WATCHER_NOTIFIED] = UA_WATCHER_NOTIFIED,
		[SIP_WATCHER_GONE] = UA_WATCHER_GONE,
	};
	struct actions *actions = arg;
	char text[512];

	if (info->code)
		snprintf(text, sizeof(text), "%s: %.256s, %u %.128s",
			 sip_package_name(info->package), info->uri, info->code,
			 info->reason);
	else
		snprintf(text, sizeof(text), "%s: %.256s%s%.128s",
			 sip_package_name(info->package), info->uri,
			 info->reason[0] ? ", " : "", info->reason);
	report_state(actions->report, info->mono_ns, states[event],
		     sip_account_username(sip), NULL, text);
	if (event != SIP_WATCHER_NEW && actions->notifying)
		told(actions);
}

void action_answer_state(struct action_answer_state *dst,
			 const struct wire_action *a)
{
	const struct wire_presence *p = &a->presence;
	const struct wire_mwi *m = &a->mwi;

	*dst = (struct action_answer_state){
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

static int serve(struct actions *actions, struct account *a,
		 const struct wire_action *action)
{
	struct action_answer_state s;

	if (!action->presence.given && !action->mwi.given)
		return 0;
	action_answer_state(&s, action);
	return sip_account_serve(account_sip(a), &s.state, watcher_event,
				 actions);
}

/* ---- challenges ---- */

static void verify_event(struct sip_account *sip, enum sip_verdict verdict,
			 const struct sip_digest_info *info, void *arg)
{
	struct actions *actions = arg;
	bool good = verdict == SIP_VERIFIED;
	char text[512];

	snprintf(text, sizeof(text), "%s of %.256s%s%s", info->method,
		 info->username, good ? "" : ": ", info->reason);
	report_state(actions->report, info->mono_ns,
		     good ? UA_CALLER_VERIFIED : UA_CALLER_REFUSED,
		     sip_account_username(sip), NULL, text);
}

static int verifier_new(struct sip_digest_server **ret, struct actions *actions,
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
		.arg = actions,
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

static int notify_start(struct actions *actions,
			const struct wire_action *action)
{
	struct sip_digest_server *verifier = NULL;
	int err = 0;

	if (action->challenge.code)
		err = verifier_new(&verifier, actions, &action->challenge);
	for (struct account *a = accounts_first(actions->accounts); a;
	     a = account_next(a)) {
		if (err)
			break;
		if (account_answers(a) != action || !user_agents_native(a))
			continue;
		err = sip_account_verify(account_sip(a), verifier);
		if (!err)
			err = serve(actions, a, action);
	}
	sip_digest_server_free(verifier);
	if (err)
		report_end_job(
			actions->report, "error",
			"role %s: presence or challenge cannot be set up: %s",
			actions->job->role, strerror(-err));
	return err;
}

static void notify_stop(struct account *a)
{
	if (!user_agents_native(a))
		return;
	(void)sip_account_verify(account_sip(a), NULL);
	sip_account_serve_end(account_sip(a));
}

void action_notify_start(struct actions *actions,
			 const struct wire_action *action)
{
	int err = 0;

	actions->notifying = true;
	for (struct account *a = accounts_first(actions->accounts); a;
	     a = account_next(a)) {
		if (account_answers(a) && user_agents_native(a) && !err)
			err = serve(actions, a, action);
	}
	if (err)
		report_end_job(actions->report, "error",
			       "role %s: the state cannot be notified: %s",
			       actions->job->role, strerror(-err));
	else
		told(actions);
}

/* ---- calls ---- */

static void refer_incoming(struct sip_account *sip,
			   struct sip_referral *referral,
			   const struct sip_refer_info *info, void *arg)
{
	struct account *a = arg;

	(void)sip;
	calls_referred(actions_of(a)->calls, a, referral, info);
}

void action_answer_start(struct actions *actions,
			 const struct wire_action *action)
{
	const struct sip_call_options options = calls_options(action);
	bool any = accounts_in_state(actions->accounts, ACCOUNT_REGISTERED) > 0;

	if (action->client == WIRE_CLIENT_SIPP) {
		actions->calls_ended = 0;
		action_sipp_start(actions, action);
		return;
	}
	if (!any && accounts_make(actions->accounts, action))
		return; /* the job was ended */
	actions->answering = action;
	actions->calls_taken = 0;
	actions->calls_ended = 0;
	for (struct account *a = accounts_first(actions->accounts); a;
	     a = account_next(a)) {
		if (account_state(a) != ACCOUNT_REGISTERED &&
		    account_action(a) != action)
			continue;
		account_set_answers(a, action);
		sip_account_call_options(account_sip(a), &options);
		sip_account_accept_calls(account_sip(a), true);
		if (action->accept_refer)
			(void)sip_account_refer(account_sip(a), refer_incoming);
	}
	if (notify_start(actions, action))
		return; /* the job was ended */
	action_done(actions);
}

void action_answer_stop(struct actions *actions)
{
	actions->answering = NULL;
	for (struct account *a = accounts_first(actions->accounts); a;
	     a = account_next(a)) {
		account_set_answers(a, NULL);
		sip_account_accept_calls(account_sip(a), false);
		if (user_agents_native(a))
			(void)sip_account_refer(account_sip(a), NULL);
		notify_stop(a);
	}
}

void action_answer_incoming(struct sip_account *account, struct sip_call *call,
			    void *arg)
{
	struct account *a = arg;
	struct actions *actions = account_owner(a);
	const struct wire_action *action = account_answers(a);

	(void)account;
	if (!report_ended(actions->report) &&
	    calls_take_replacing(actions->calls, call))
		return;
	if (!action || report_ended(actions->report)) {
		sip_call_reject(call, 480, "Temporarily Unavailable");
		return;
	}
	if ((action->max_total_calls &&
	     actions->calls_taken >= action->max_total_calls) ||
	    (action->max_concurrent_calls &&
	     calls_up(actions->calls, false) >= action->max_concurrent_calls) ||
	    !calls_have_room(actions->calls)) {
		sip_call_reject(call, 486, "Busy Here");
		return;
	}
	actions->calls_taken++;
	calls_take(actions->calls, action, a, call);
}
