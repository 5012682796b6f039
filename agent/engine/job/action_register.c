#include "agent/engine/job/job_internal.h"

#include <stdio.h>
#include <string.h>

static void register_refused(struct account *a,
			     const struct sip_account_info *info)
{
	struct actions *actions = account_owner(a);
	char where[WIRE_REASON_BYTES / 2];

	account_where(a, where, sizeof(where));
	if (info->code)
		report_end_job(actions->report, "failed",
			       "role %s: registration of %s was refused: %u %s",
			       actions->job->role, where, info->code,
			       info->reason);
	else
		report_end_job(actions->report, "failed",
			       "role %s: registration of %s failed: %s",
			       actions->job->role, where, info->reason);
}

/* This engine's part of the requests that may be under way at a time. */
static uint32_t requests_max(const struct actions *actions)
{
	return wire_share_count(&actions->settings->share, ACTION_REQUESTS_MAX);
}

/* The next account in the list that waits. */
static struct account *next_waiting(struct actions *actions)
{
	struct action_register *r = &actions->registering;

	for (; r->next; r->next = account_next(r->next)) {
		if (account_state(r->next) == ACCOUNT_WAITING)
			return r->next;
	}
	return NULL;
}

/* @return false: the job was ended */
static bool register_one(struct account *a)
{
	int err;

	account_set_state(a, ACCOUNT_TRYING);
	err = sip_account_register(account_sip(a));
	if (err) {
		const struct sip_account_info info = {.reason = strerror(-err)};

		account_set_state(a, ACCOUNT_IDLE);
		register_refused(a, &info);
	}
	return !err;
}

/* Whether the registration that is due is late and those after it are delayed as well: the
 * rate is a ceiling at any time. A turn of the loop that is a little late delays none, as
 * the rate would never be reached otherwise. */
static bool delays_others(const struct action_register *r, int64_t now_ns)
{
	return now_ns - r->next_ns > (r->held_up ? 0 : STARTS_BUNCH_NS);
}

/* Start the registrations that are due, up to the number that may run at a time. */
static void register_more(void *arg)
{
	struct actions *actions = arg;
	struct action_register *r = &actions->registering;
	int64_t now_ns = clock_mono_ns();
	struct account *a;

	if (report_ended(actions->report))
		return;
	while ((a = next_waiting(actions))) {
		if (accounts_in_state(actions->accounts, ACCOUNT_TRYING) >=
		    requests_max(actions)) {
			r->held_up = true;
			return;
		}
		if (r->interval_ns && delays_others(r, now_ns))
			r->next_ns = now_ns;
		r->held_up = false;
		if (r->interval_ns && now_ns < r->next_ns) {
			mono_timer_start(&r->tmr,
					 clock_ms_until(r->next_ns, now_ns) + 1,
					 register_more, actions);
			return;
		}
		r->next_ns += r->interval_ns;
		if (!register_one(a))
			return;
	}
	if (accounts_in_state(actions->accounts, ACCOUNT_TRYING) == 0)
		action_done(actions);
}

void action_register_start(struct actions *actions,
			   const struct wire_action *action)
{
	const struct wire_share *share = &actions->settings->share;
	struct action_register *r = &actions->registering;
	struct account *last = accounts_last(actions->accounts);
	int64_t account_ns =
		action->calls_per_second > 0
			? (int64_t)((double)NS_PER_S / action->calls_per_second)
			: 0;

	for (size_t i = share->index; i < action->credential_count;
	     i += share->of) {
		struct account *a;
		int err;

		a = accounts_add(actions->accounts, action,
				 &action->credentials[i], (unsigned)i, &err);
		if (!a)
			return;
		account_set_state(a, ACCOUNT_WAITING);
	}
	r->next = last ? account_next(last) : accounts_first(actions->accounts);
	r->interval_ns = account_ns * share->of;
	r->next_ns = clock_mono_ns() + account_ns * share->index;
	r->held_up = false;
	register_more(actions);
}

static void report_register(struct account *a, bool ok,
			    const struct sip_account_info *info)
{
	const struct wire_event_register r = {
		.account = account_name(a),
		.ok = ok,
		.code = info->code,
		.reason = info->reason,
		.ms = (double)info->took_ns / (double)NS_PER_MS,
		.expires_s = info->expires_s,
	};
	struct actions *actions = account_owner(a);
	char text[192];

	snprintf(text, sizeof(text), "%u %s", info->code, info->reason);
	report_state(actions->report, info->mono_ns,
		     ok ? UA_REGISTER_OK : UA_REGISTER_FAIL, account_name(a),
		     NULL, info->code ? text : info->reason);
	report_event(actions->report,
		     wire_event_register(
			     report_time(actions->report, info->mono_ns), &r));
	if (ok)
		report_sample(actions->report, true, MEASURE_sip_register_time,
			      info->mono_ns, r.ms);
}

static void account_registered(struct account *a)
{
	struct actions *actions = account_owner(a);
	bool first = account_state(a) == ACCOUNT_TRYING;

	/* The removal may already be under way. */
	if (account_state(a) == ACCOUNT_TRYING)
		account_set_state(a, ACCOUNT_REGISTERED);
	if (first && !report_ended(actions->report))
		register_more(actions);
}

static void account_refused(struct account *a,
			    const struct sip_account_info *info)
{
	bool first = account_state(a) == ACCOUNT_TRYING;

	if (first) {
		account_set_state(a, ACCOUNT_IDLE);
		register_refused(a, info);
		action_ended(actions_of(a));
	}
	/* A failed refresh is only an event: the user agent tries again, and
	 * the judge sees the event. */
}

/* Set the headers of the unregister action, with the account's.
 * @return 0; -errno */
static int headers_of_removal(struct account *a)
{
	const struct wire_action *action =
		actions_of(a)->registering.unregister;
	struct custom_headers headers;
	int err;

	if (!action || !action->header_count)
		return 0;
	err = custom_headers_make(&headers, a, account_index(a));
	if (err)
		return err;
	err = custom_headers_append(&headers, a, action, account_index(a));
	if (!err)
		err = sip_account_headers(account_sip(a), headers.list,
					  headers.count);
	custom_headers_free(&headers);
	return err;
}

/* Start removals, up to the number that may run at a time. */
static void remove_more(struct actions *actions)
{
	struct action_register *r = &actions->registering;

	for (; r->removed &&
	       accounts_in_state(actions->accounts, ACCOUNT_REMOVING) <
		       requests_max(actions);
	     r->removed = account_next(r->removed)) {
		struct account *a = r->removed;

		if (account_state(a) != ACCOUNT_LEAVING)
			continue;
		report_state(actions->report, clock_mono_ns(), UA_UNREGISTERING,
			     account_name(a), NULL, NULL);
		account_set_state(a, headers_of_removal(a) ||
						     sip_account_unregister(
							     account_sip(a))
					     ? ACCOUNT_IDLE
					     : ACCOUNT_REMOVING);
	}
}

static void account_removed(struct account *a,
			    const struct sip_account_info *info)
{
	struct actions *actions = account_owner(a);

	account_set_state(a, ACCOUNT_IDLE);
	remove_more(actions);
	if (report_ended(actions->report))
		actions->removed_h(info->code != 0, actions->arg);
	else if (!action_register_leaving(actions))
		action_done(actions);
}

/* The account's user agent has failed: no further calls are possible, and results
 * of earlier ones are not valid. */
static void account_lost(struct account *a, const struct sip_account_info *info)
{
	struct actions *actions = account_owner(a);
	char where[WIRE_REASON_BYTES / 2];

	account_where(a, where, sizeof(where));
	account_set_state(a, ACCOUNT_IDLE);
	report_end_job(actions->report, "error", "role %s: account %s: %s",
		       actions->job->role, where, info->reason);
	action_ended(actions);
}

void action_register_event(struct sip_account *sip,
			   enum sip_account_event event,
			   const struct sip_account_info *info, void *arg)
{
	struct account *a = arg;

	(void)sip;
	switch (event) {
	case SIP_ACCOUNT_REGISTERING:
		report_state(actions_of(a)->report, info->mono_ns,
			     UA_REGISTERING, account_name(a), NULL, NULL);
		break;
	case SIP_ACCOUNT_REGISTER_OK:
		report_register(a, true, info);
		account_registered(a);
		break;
	case SIP_ACCOUNT_REGISTER_FAIL:
		report_register(a, false, info);
		account_refused(a, info);
		break;
	case SIP_ACCOUNT_UNREGISTERED:
		account_removed(a, info);
		break;
	case SIP_ACCOUNT_LOST:
		account_lost(a, info);
		break;
	}
}

void action_register_remove(struct actions *actions,
			    const struct wire_action *action)
{
	mono_timer_cancel(&actions->registering.tmr);
	for (struct account *a = accounts_first(actions->accounts); a;
	     a = account_next(a)) {
		if (account_state(a) == ACCOUNT_WAITING)
			account_set_state(a, ACCOUNT_IDLE);
		if (account_state(a) == ACCOUNT_REGISTERED ||
		    account_state(a) == ACCOUNT_TRYING)
			account_set_state(a, ACCOUNT_LEAVING);
	}
	actions->registering.unregister = action;
	actions->registering.removed = accounts_first(actions->accounts);
	remove_more(actions);
	if (!report_ended(actions->report) && !action_register_leaving(actions))
		action_done(actions);
}

void action_unregister_start(struct actions *actions,
			     const struct wire_action *action)
{
	action_register_remove(actions, action);
}

bool action_register_leaving(const struct actions *actions)
{
	return accounts_in_state(actions->accounts, ACCOUNT_LEAVING) ||
	       accounts_in_state(actions->accounts, ACCOUNT_REMOVING);
}
