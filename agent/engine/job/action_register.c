#include "agent/engine/call/call_script.h"
#include "agent/engine/engine_internal.h"

#include <stdio.h>
#include <string.h>

static void register_refused(struct account *a,
			     const struct sip_account_info *info)
{
	struct engine *e = a->engine;
	char where[WIRE_REASON_BYTES / 2];

	account_where(a, where, sizeof(where));
	if (info->code)
		report_end_job(e->report, "failed",
			       "role %s: registration of %s was refused: %u %s",
			       e->job->role, where, info->code, info->reason);
	else
		report_end_job(e->report, "failed",
			       "role %s: registration of %s failed: %s",
			       e->job->role, where, info->reason);
}

/* The next one in the list whose turn has not come. */
static struct account *next_waiting(struct engine *e)
{
	struct action_register *r = &e->registering;

	for (; r->next; r->next = r->next->next) {
		struct account *a = r->next->data;

		if (a->state == ACCOUNT_WAITING)
			return a;
	}
	return NULL;
}

/* @return false: the job was ended */
static bool register_one(struct account *a)
{
	int err;

	account_set_state(a, ACCOUNT_TRYING);
	err = sip_account_register(a->sip);
	if (err) {
		const struct sip_account_info info = {.reason = strerror(-err)};

		account_set_state(a, ACCOUNT_IDLE);
		register_refused(a, &info);
	}
	return !err;
}

/**
 * Start as many registrations as are due and may run at a time. What was held
 * up does not catch up: the rate is a ceiling at every moment.
 */
static void register_more(void *arg)
{
	struct engine *e = arg;
	struct action_register *r = &e->registering;
	int64_t now_ns = clock_mono_ns();
	struct account *a;

	if (report_ended(e->report))
		return;
	while ((a = next_waiting(e))) {
		if (accounts_in_state(e, ACCOUNT_TRYING) >=
		    ENGINE_REGISTERS_MAX) {
			r->held_up = true;
			return;
		}
		if (r->interval_ns && r->held_up && r->next_ns < now_ns)
			r->next_ns = now_ns;
		r->held_up = false;
		if (r->interval_ns && now_ns < r->next_ns) {
			mono_timer_start(&r->tmr,
					 call_ms_until(r->next_ns, now_ns) + 1,
					 register_more, e);
			return;
		}
		r->next_ns += r->interval_ns;
		if (!register_one(a))
			return;
	}
	if (accounts_in_state(e, ACCOUNT_TRYING) == 0)
		steps_done(e);
}

void accounts_register(struct engine *e, const struct wire_action *action)
{
	struct action_register *r = &e->registering;
	struct le *last = list_tail(&e->accounts);

	for (size_t i = 0; i < action->credential_count; i++) {
		struct account *a;
		int err;

		a = account_new(e, action, &action->credentials[i], (unsigned)i,
				&err);
		if (!a)
			return;
		account_set_state(a, ACCOUNT_WAITING);
		a->registers = true;
	}
	r->next = last ? last->next : list_head(&e->accounts);
	r->interval_ns =
		action->calls_per_second > 0
			? (int64_t)((double)NS_PER_S / action->calls_per_second)
			: 0;
	r->next_ns = clock_mono_ns();
	r->held_up = false;
	register_more(e);
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
	struct engine *e = a->engine;
	char text[192];

	snprintf(text, sizeof(text), "%u %s", info->code, info->reason);
	report_state(e->report, info->mono_ns,
		     ok ? UA_REGISTER_OK : UA_REGISTER_FAIL, account_name(a),
		     NULL, info->code ? text : info->reason);
	report_event(
		e->report,
		wire_event_register(report_time(e->report, info->mono_ns), &r));
	if (ok)
		report_sample(e->report, true, MEASURE_sip_register_time,
			      info->mono_ns, r.ms);
}

static void account_registered(struct account *a)
{
	struct engine *e = a->engine;
	bool first = a->state == ACCOUNT_TRYING;

	/* A removal may be under way already. */
	if (a->state == ACCOUNT_TRYING)
		account_set_state(a, ACCOUNT_REGISTERED);
	if (first && !report_ended(e->report))
		register_more(e);
}

static void account_refused(struct account *a,
			    const struct sip_account_info *info)
{
	bool first = a->state == ACCOUNT_TRYING;

	if (first) {
		account_set_state(a, ACCOUNT_IDLE);
		register_refused(a, info);
		engine_end_check(a->engine);
	}
	/* A refresh that failed is an event: the user agent goes on trying and
	 * the judge knows. */
}

/* The headers of the action that removes the binding, with the account's.
 * @return 0; -errno */
static int headers_of_removal(struct account *a)
{
	const struct wire_action *action = a->engine->registering.unregister;
	struct headers headers;
	int err;

	if (!action || !action->header_count)
		return 0;
	err = custom_headers_make(&headers, a, a->index);
	if (err)
		return err;
	err = custom_headers_append(&headers, a, action, a->index);
	if (!err)
		err = sip_account_headers(a->sip, headers.list, headers.count);
	custom_headers_free(&headers);
	return err;
}

/* Ask for as many removals as may run at a time. */
static void remove_more(struct engine *e)
{
	struct action_register *r = &e->registering;

	for (; r->removed &&
	       accounts_in_state(e, ACCOUNT_REMOVING) < ENGINE_REGISTERS_MAX;
	     r->removed = r->removed->next) {
		struct account *a = r->removed->data;

		if (a->state != ACCOUNT_LEAVING)
			continue;
		report_state(e->report, clock_mono_ns(), UA_UNREGISTERING,
			     account_name(a), NULL, NULL);
		account_set_state(a,
				  headers_of_removal(a) ||
						  sip_account_unregister(a->sip)
					  ? ACCOUNT_IDLE
					  : ACCOUNT_REMOVING);
	}
}

static void account_removed(struct account *a,
			    const struct sip_account_info *info)
{
	struct engine *e = a->engine;

	account_set_state(a, ACCOUNT_IDLE);
	remove_more(e);
	if (report_ended(e->report))
		engine_account_removed(e, info->code != 0);
	else if (!accounts_leaving(e))
		steps_done(e);
}

/* Its user agent is gone: no call can be, and none that was is true. */
static void account_lost(struct account *a, const struct sip_account_info *info)
{
	struct engine *e = a->engine;
	char where[WIRE_REASON_BYTES / 2];

	account_where(a, where, sizeof(where));
	account_set_state(a, ACCOUNT_IDLE);
	report_end_job(e->report, "error", "role %s: account %s: %s",
		       e->job->role, where, info->reason);
	engine_end_check(e);
}

void action_register_event(struct sip_account *sip,
			   enum sip_account_event event,
			   const struct sip_account_info *info, void *arg)
{
	struct account *a = arg;

	(void)sip;
	switch (event) {
	case SIP_ACCOUNT_REGISTERING:
		report_state(a->engine->report, info->mono_ns, UA_REGISTERING,
			     account_name(a), NULL, NULL);
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

void accounts_unregister(struct engine *e, const struct wire_action *action)
{
	struct le *le;

	mono_timer_cancel(&e->registering.tmr);
	LIST_FOREACH(&e->accounts, le)
	{
		struct account *a = le->data;

		if (a->state == ACCOUNT_WAITING)
			account_set_state(a, ACCOUNT_IDLE);
		if (a->state == ACCOUNT_REGISTERED ||
		    a->state == ACCOUNT_TRYING)
			account_set_state(a, ACCOUNT_LEAVING);
	}
	e->registering.unregister = action;
	e->registering.removed = list_head(&e->accounts);
	remove_more(e);
	if (!report_ended(e->report) && !accounts_leaving(e))
		steps_done(e);
}

bool accounts_leaving(const struct engine *e)
{
	return accounts_in_state(e, ACCOUNT_LEAVING) ||
	       accounts_in_state(e, ACCOUNT_REMOVING);
}
