#include "agent/engine/job/job_internal.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIAL_BYTES 512

static void place_due(void *arg);

static bool text_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool hosts_same(const struct wire_action *a, const struct wire_action *b)
{
	if (a->host_count == 0 || a->host_count != b->host_count)
		return false;
	for (size_t i = 0; i < a->host_count; i++) {
		if (strcmp(a->hosts[i].host, b->hosts[i].host) != 0 ||
		    a->hosts[i].port != b->hosts[i].port ||
		    a->hosts[i].transport != b->hosts[i].transport)
			return false;
	}
	return true;
}

static bool tls_same(const struct wire_tls *a, const struct wire_tls *b)
{
	return a->verify == b->verify &&
	       text_same(a->server_name, b->server_name) &&
	       text_same(a->ca, b->ca) &&
	       text_same(a->certificate, b->certificate);
}

static bool target_same(const struct wire_action *a,
			const struct wire_action *b)
{
	return hosts_same(a, b) && tls_same(&a->tls, &b->tls) &&
	       text_same(a->domain, b->domain) &&
	       text_same(a->outbound_proxy, b->outbound_proxy);
}

/** Whether the action has the target at which the account has registered. */
static bool way_same(const struct account *a, const struct wire_action *action)
{
	return user_agents_serve(a, action) &&
	       (action->target_inherited ||
		target_same(account_action(a), action));
}

/** Collect the role's registered accounts, or copies with the action's headers and
 * target. */
static int collect_registered(struct actions *actions,
			      const struct wire_action *action,
			      struct account **list, size_t max)
{
	struct account *a = accounts_first(actions->accounts);
	size_t count = 0;

	/* Accounts made below are added at the end of the list. */
	for (; a && count < max; a = account_next(a)) {
		struct account *use = a;
		bool same;
		int err;

		if (account_state(a) != ACCOUNT_REGISTERED)
			continue;
		same = way_same(a, action);
		if (!same || action->header_count > 0)
			use = accounts_lend(
				a, same, action,
				wire_share_number(&actions->settings->share,
						  (uint32_t)count),
				&err);
		if (!use)
			return err;
		list[count++] = use;
	}
	return 0;
}

static int collect_own(struct actions *actions,
		       const struct wire_action *action, struct account **list,
		       size_t max)
{
	size_t count = 0;
	int err = accounts_make(actions->accounts, action);

	if (err)
		return err;
	for (struct account *a = accounts_first(actions->accounts); a;
	     a = account_next(a)) {
		if (account_action(a) == action && count < max)
			list[count++] = a;
	}
	return 0;
}

int action_call_gather(struct actions *actions,
		       const struct wire_action *action)
{
	struct action_call *g = &actions->calling;
	size_t registered =
		accounts_in_state(actions->accounts, ACCOUNT_REGISTERED);
	int err;

	g->registered = registered > 0;
	g->account_count = registered                 ? registered
			   : action->credential_count ? action->credential_count
						      : 1;
	g->accounts = calloc(g->account_count, sizeof(*g->accounts));
	if (!g->accounts) {
		report_end_job(actions->report, "error",
			       "role %s: out of memory", actions->job->role);
		return -ENOMEM;
	}
	err = registered ? collect_registered(actions, action, g->accounts,
					      g->account_count)
			 : collect_own(actions, action, g->accounts,
				       g->account_count);
	return err;
}

static void calling_finish(struct actions *actions)
{
	action_call_stop(actions);
	action_done(actions);
}

/* The number of the next call among all calls of the action. */
static uint32_t next_call(const struct actions *actions)
{
	return wire_share_number(&actions->settings->share,
				 actions->calling.placed);
}

/* The account that places call n. `accounts` has all accounts, or, if they
 * register, only those of this engine: its calls take them in turn. */
static struct account *account_of(const struct actions *actions, uint32_t n)
{
	const struct action_call *g = &actions->calling;

	return g->accounts[(g->registered ? g->placed : n) % g->account_count];
}

/* @return 0; -EADDRINUSE no port is free, nothing was placed; -errno */
static int stream_one(struct actions *actions)
{
	struct action_call *g = &actions->calling;

	return calls_place_stream(actions->calls, g->action,
				  next_call(actions));
}

static int call_one(struct actions *actions)
{
	struct action_call *g = &actions->calling;
	uint32_t n = next_call(actions);
	struct account *a = account_of(actions, n);
	char uri[DIAL_BYTES];
	int len =
		wire_expand_dial(uri, sizeof(uri), g->action->dial_destination,
				 actions->job, n, account_name(a));

	if (len < 0) {
		report_end_job(
			actions->report, "error",
			"role %s: the dial destination of call %u cannot be filled in",
			actions->job->role, n + 1);
		return len;
	}
	return calls_place(actions->calls, g->action, a, uri, n);
}

/* When the call with this number in the schedule is due, monotonic. */
static int64_t due_ns(const struct action_call *g, double number)
{
	return g->begin_ns + call_starts_due_ns(number,
						g->action->calls_per_second,
						g->action->ramp_up_s);
}

/* The next call is due now: the schedule goes on from here, without what was held up. */
static void schedule_move(struct action_call *g, int64_t now_ns)
{
	if (g->next_ns >= now_ns)
		return;
	g->next_ns = now_ns;
	g->next_number = call_starts_number(now_ns - g->begin_ns,
					    g->action->calls_per_second,
					    g->action->ramp_up_s);
}

/* Count as missed the starts that were due while the present one waited, or the loop
 * was late. They are not caught up, which would exceed the rate. */
static void missed_count(struct actions *actions, bool waited, int64_t now_ns)
{
	struct action_call *g = &actions->calling;
	uint32_t step = actions->settings->share.of;
	double number = g->next_number;
	uint64_t missed = 0;

	while (due_ns(g, number += step) <= now_ns)
		missed++;
	if (waited)
		call_starts_over(&actions->starts, missed);
	else
		actions->starts.missed += missed;
	schedule_move(g, now_ns);
}

/* @return false: the call must wait, or the job was ended */
static bool place_one(struct actions *actions, int64_t now_ns)
{
	struct action_call *g = &actions->calling;
	bool waited = actions->starts.waits;
	int err;

	g->active++;
	err = g->action->type == WIRE_ACTION_STREAM ? stream_one(actions)
						    : call_one(actions);
	if (err)
		g->active--;
	if (err == -EADDRINUSE)
		return false;
	g->placed++;
	if (err)
		g->ended++;
	if (waited || now_ns - g->next_ns > STARTS_BUNCH_NS)
		missed_count(actions, waited, now_ns);
	g->next_number += actions->settings->share.of;
	g->next_ns = due_ns(g, g->next_number);
	return !report_ended(actions->report);
}

/** Whether the action allows one more call. */
static bool may_place(const struct actions *actions)
{
	const struct action_call *g = &actions->calling;

	return g->placed < g->total && g->active < g->concurrent;
}

/** Whether the media engine has room for one more call. */
static bool has_room(const struct actions *actions)
{
	return calls_have_room(actions->calls);
}

static void timer_set(struct actions *actions, int64_t at_ns, int64_t now_ns)
{
	struct action_call *g = &actions->calling;

	g->timer_ns = at_ns > now_ns ? at_ns : now_ns;
	mono_timer_start(
		&g->tmr,
		(uint64_t)((g->timer_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS),
		place_due, actions);
}

/* @return true: the call that is due waits for a port or a session */
static bool place_all(struct actions *actions, int64_t now_ns)
{
	struct action_call *g = &actions->calling;

	while (!report_ended(actions->report) && now_ns >= g->next_ns &&
	       may_place(actions)) {
		if (has_room(actions) && place_one(actions, now_ns))
			continue;
		return !report_ended(actions->report) &&
		       call_starts_wait(actions, g->action, now_ns);
	}
	return false;
}

/**
 * Place the calls that are due, then wait for the next one. A generator that was
 * held up by max_concurrent_calls does not catch up: calls_per_second, reduced
 * during ramp_up, is a ceiling at any time.
 */
static void place_due(void *arg)
{
	struct actions *actions = arg;
	struct action_call *g = &actions->calling;
	int64_t now_ns = clock_mono_ns();
	bool waits;

	if (report_ended(actions->report) || !g->action)
		return;
	call_starts_late(&actions->starts, now_ns - g->timer_ns, now_ns);
	waits = place_all(actions, now_ns);
	if (report_ended(actions->report))
		return;
	if (g->ended == g->total)
		calling_finish(actions);
	else if (waits)
		timer_set(actions, now_ns + STARTS_RETRY_MS * NS_PER_MS,
			  now_ns);
	else if (may_place(actions))
		timer_set(actions, g->next_ns, now_ns);
	else if (g->placed < g->total)
		timer_set(actions, now_ns + STARTS_WATCH_MS * NS_PER_MS,
			  now_ns);
	/* action_call_closed() or action_call_ended() continues; until then the timer only
 * notices a late loop */
}

/* Engines that share a job begin at the time that their supervisor has told all of them;
 * one that is too late for it, when it is ready. */
static int64_t begin_ns(const struct actions *actions)
{
	int64_t now_ns = clock_mono_ns();

	return actions->go_at_ns && actions->go_at_ns <= now_ns &&
			       now_ns - actions->go_at_ns <= STARTS_BUNCH_NS
		       ? actions->go_at_ns
		       : now_ns;
}

void action_call_start(struct actions *actions,
		       const struct wire_action *action)
{
	const struct wire_share *share = &actions->settings->share;
	struct action_call *g = &actions->calling;

	if (actions->enough) {
		action_done(actions);
		return;
	}
	if (action->client == WIRE_CLIENT_SIPP) {
		action_sipp_start(actions, action);
		return;
	}
	*g = (struct action_call){
		.action = action,
		.total = wire_share_count(share, action->max_total_calls),
		.concurrent =
			wire_share_count(share, action->max_concurrent_calls),
		.next_number = share->index,
	};
	actions->starts.waits = false;
	if (action->type != WIRE_ACTION_STREAM &&
	    action_call_gather(actions, action))
		return; /* the job was ended */
	g->begin_ns = g->timer_ns = begin_ns(actions);
	g->next_ns = due_ns(g, g->next_number);
	place_due(actions);
}

void action_stream_start(struct actions *actions,
			 const struct wire_action *action)
{
	action_call_start(actions, action);
}

void action_call_enough(struct actions *actions)
{
	struct action_call *g = &actions->calling;

	if (!g->action)
		return;
	g->total = g->placed;
	actions->starts.waits = false;
	if (g->ended == g->total)
		calling_finish(actions);
}

void action_call_stop(struct actions *actions)
{
	struct action_call *g = &actions->calling;

	mono_timer_cancel(&g->tmr);
	free(g->accounts);
	*g = (struct action_call){.action = NULL};
}

/** Continue after a call has ended. What a held-up generator missed is not caught
 * up. */
static void calling_go_on(struct actions *actions, bool held_up)
{
	struct action_call *g = &actions->calling;
	int64_t now_ns = clock_mono_ns();

	/* the timer that this replaces may be overdue, as the loop reads
	 * sockets first */
	if (mono_timer_running(&g->tmr) && now_ns > g->timer_ns)
		call_starts_late(&actions->starts, now_ns - g->timer_ns,
				 now_ns);
	/* Not held up: the timer runs until the next call is due. */
	if (!held_up && !actions->starts.waits && mono_timer_running(&g->tmr) &&
	    g->ended < g->total)
		return;
	if (held_up && !actions->starts.waits)
		schedule_move(g, now_ns);
	timer_set(actions, now_ns, now_ns);
}

void action_call_closed(struct actions *actions)
{
	struct action_call *g = &actions->calling;
	bool held_up;

	if (!g->action)
		return;
	held_up = !may_place(actions);
	g->active--;
	calling_go_on(actions, held_up);
}

void action_call_ended(struct actions *actions)
{
	struct action_call *g = &actions->calling;

	if (!g->action)
		return;
	g->ended++;
	calling_go_on(actions, false);
}

double action_call_progress(const struct actions *actions, int64_t now_ns)
{
	const struct action_call *g = &actions->calling;

	if (!g->action || g->total == 0)
		return 0;
	return (g->ended + calls_lasted(actions->calls, g->action, now_ns)) /
	       (double)g->total;
}
