#include "agent/engine/job/steps.h"

#include "agent/engine/job/job_internal.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define GO_DELAY_MS_MAX 3600000u

enum steps_phase {
	STEPS_WAITING, /* for the go of the step */
	STEPS_DELAYED, /* go received, its delay runs */
	/* the delay is over, but prompts are still being encoded, or the names of the STUN
	 * and TURN servers of the first action are still being resolved */
	STEPS_PREPARING,
	STEPS_RUNNING,
};

struct steps {
	enum steps_phase phase;
	size_t step;     /* the one that waits or runs */
	size_t action;   /* within it */
	bool unresolved; /* the action waits for the address of a server */
	struct actions actions;
	struct mono_timer tmr; /* the delay of a go; a wait action */
	struct mono_timer
		tmr_done; /* begins the next action without recursion */
};

static const struct wire_step *step_now(const struct steps *s)
{
	return &s->actions.job->steps[s->step];
}

static bool wait_calls_over(const struct steps *s, const struct wire_action *a)
{
	return a->wait_calls &&
	       (s->actions.enough || s->actions.calls_ended >= a->wait_calls);
}

static void action_is_done(void *arg);

static void wait_over(void *arg)
{
	action_is_done(arg);
}

void action_wait_start(struct actions *actions,
		       const struct wire_action *action)
{
	struct steps *s = actions->steps;

	mono_timer_start(&s->tmr,
			 wait_calls_over(s, action) ? 0 : action->wait_ms,
			 wait_over, s);
}

/* Whether the step begins with calls: those of all shards begin together. */
static bool step_calls(const struct steps *s)
{
	const struct wire_step *step = step_now(s);

	return step->action_count > 0 &&
	       wire_action_originates(step->actions[0].type);
}

/* The supervisor tells the controller when the calls of a shard began. */
static void step_began(struct steps *s)
{
	if (!step_calls(s))
		return;
	report_send(s->actions.report,
		    json_pack("{s:s, s:I, s:I}", "type", "began", "step",
			      (json_int_t)s->step, "began_ns",
			      (json_int_t)clock_mono_ns()));
}

static void step_ready(struct steps *s)
{
	report_send(s->actions.report, json_pack("{s:s, s:I}", "type", "ready",
						 "step", (json_int_t)s->step));
	log_info("run=%s role=%s step %zu is ready", s->actions.job->session_id,
		 s->actions.job->role, s->step);
	s->phase = STEPS_WAITING;
	s->step++;
	s->action = 0;
}

static void action_start(struct steps *s)
{
#define ACTION_START(type, name) [WIRE_ACTION_##type] = action_##name##_start,
	static void (*const starts[])(struct actions *,
				      const struct wire_action *) = {
		WIRE_ACTIONS(ACTION_START)};
	const struct wire_step *step = step_now(s);
	const struct wire_action *a;

	if (s->action == step->action_count) {
		step_ready(s);
		return;
	}
	a = &step->actions[s->action];
	/* until steps_prepared(): what began before goes on */
	s->unresolved = !nat_servers_known(s->actions.accounts, a);
	if (!s->unresolved)
		starts[a->type](&s->actions, a);
}

/* Whether the step can begin. */
static bool step_prepared(const struct steps *s)
{
	const struct wire_step *step = step_now(s);

	return media_engine_prepared(s->actions.media) &&
	       (step->action_count == 0 ||
		nat_servers_known(s->actions.accounts, &step->actions[0]));
}

static void go_due(void *arg)
{
	struct steps *s = arg;

	if (s->step == s->actions.job->step_count) {
		report_end_job(s->actions.report, "completed", "%s", "");
		return;
	}
	if (!step_prepared(s)) {
		s->phase = STEPS_PREPARING; /* until steps_prepared() */
		return;
	}
	if (prompt_preparation_failed(&s->actions))
		return;
	s->phase = STEPS_RUNNING;
	s->action = 0;
	step_began(s);
	action_start(s);
}

void steps_prepared(struct steps *s)
{
	if (report_ended(s->actions.report))
		return;
	if (s->phase == STEPS_PREPARING)
		go_due(s);
	else if (s->phase == STEPS_RUNNING && s->unresolved)
		action_start(s);
}

int steps_go(struct steps *s, uint64_t step, uint64_t in_ms, int64_t at_ns)
{
	if (at_ns)
		in_ms = clock_ms_until(at_ns, clock_mono_ns());
	if (s->phase != STEPS_WAITING || step != s->step ||
	    in_ms > GO_DELAY_MS_MAX)
		return -EPROTO;
	s->phase = STEPS_DELAYED;
	s->actions.go_at_ns = at_ns;
	/* The delay makes roles begin a step together; the end needs none. */
	mono_timer_start(&s->tmr,
			 step == s->actions.job->step_count ? 0 : in_ms, go_due,
			 s);
	return 0;
}

static void done_later(void *arg)
{
	struct steps *s = arg;

	if (report_ended(s->actions.report))
		return;
	s->action++;
	action_start(s);
}

static void action_is_done(void *arg)
{
	struct steps *s = arg;

	if (!report_ended(s->actions.report) && s->phase == STEPS_RUNNING)
		mono_timer_start(&s->tmr_done, 0, done_later, s);
}

/* A wait action may wait for calls that have ended now, or do not come. */
static void wait_check(struct steps *s)
{
	const struct wire_action *a;

	if (s->phase != STEPS_RUNNING || s->action >= step_now(s)->action_count)
		return;
	a = &step_now(s)->actions[s->action];
	if (a->type == WIRE_ACTION_WAIT && wait_calls_over(s, a))
		mono_timer_start(&s->tmr, 0, wait_over, s);
}

void steps_enough(struct steps *s)
{
	s->actions.enough = true;
	action_call_enough(&s->actions);
	wait_check(s);
}

void steps_where(const struct steps *s, char *dst, size_t size)
{
	if (s->phase != STEPS_RUNNING && s->step == s->actions.job->step_count)
		snprintf(dst, size, "the end of the last step");
	else if (s->phase != STEPS_RUNNING ||
		 s->action >= step_now(s)->action_count)
		snprintf(dst, size, "the start of step %zu", s->step);
	else
		snprintf(
			dst, size, "step %zu, action %u (%s)", s->step,
			step_now(s)->actions[s->action].index,
			wire_action_name(step_now(s)->actions[s->action].type));
}

double steps_progress(const struct steps *s)
{
	double done = (double)s->step;

	if (s->phase == STEPS_RUNNING && step_now(s)->action_count)
		done += ((double)s->action +
			 action_call_progress(&s->actions, clock_mono_ns())) /
			(double)step_now(s)->action_count;
	done /= (double)s->actions.job->step_count;
	return done > 1 ? 1 : done;
}

void steps_busy(const struct steps *s, bool busy[static 2])
{
	busy[0] = s->actions.answering != NULL;
	busy[1] = s->actions.calling.action != NULL;
}

uint64_t steps_starts_missed(const struct steps *s)
{
	return s->actions.starts.missed;
}

void steps_starts_flaw(const struct steps *s)
{
	const struct call_starts *starts = &s->actions.starts;
	char text[192];

	if (!call_starts_saturated(starts))
		return;
	(void)str_print(text, sizeof(text),
			"generator saturated: calls did not start when they "
			"were due, %u calls lingered and held RTP ports, the "
			"engine's loop was %lld ms late",
			starts->lingered_max,
			(long long)(starts->late_max_ns / NS_PER_MS));
	report_flaw(s->actions.report, "starts_missed", starts->missed, text);
}

/* ---- handlers of the accounts and the calls ---- */

static void call_is_closed(bool outgoing, void *arg)
{
	struct steps *s = arg;

	if (outgoing) {
		action_call_closed(&s->actions);
	} else {
		s->actions.calls_ended++;
		wait_check(s);
	}
}

static void call_has_ended(bool generated, void *arg)
{
	struct steps *s = arg;

	if (generated)
		action_call_ended(&s->actions);
	action_ended(&s->actions);
}

int steps_new(struct steps **ret, const struct steps_params *params)
{
	static const struct accounts_handlers of_accounts = {
		.account_h = action_register_event,
		.incoming_h = action_answer_incoming,
		.mwi_h = action_subscribe_mwi,
	};
	static const struct calls_handlers of_calls = {
		.closed_h = call_is_closed,
		.ended_h = call_has_ended,
	};
	struct steps *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->actions.job = params->job;
	s->actions.settings = params->settings;
	s->actions.report = params->report;
	s->actions.accounts = params->accounts;
	s->actions.calls = params->calls;
	s->actions.media = params->media;
	s->actions.done_h = action_is_done;
	s->actions.steps = s;
	s->actions.ended_h = params->ended_h;
	s->actions.removed_h = params->removed_h;
	s->actions.arg = params->arg;
	accounts_handle(params->accounts, &of_accounts, &s->actions);
	calls_handle(params->calls, &of_calls, s);
	*ret = s;
	return 0;
}

struct steps *steps_free(struct steps *s)
{
	if (!s)
		return NULL;
	steps_stop(s);
	mono_timer_cancel(&s->actions.registering.tmr);
	action_subscribe_free(&s->actions);
	action_sipp_free(&s->actions);
	free(s);
	return NULL;
}

int steps_prepare(struct steps *s)
{
	return prompt_preparation_start(&s->actions);
}

/* ---- the end of the job ---- */

void steps_stop(struct steps *s)
{
	mono_timer_cancel(&s->tmr);
	mono_timer_cancel(&s->tmr_done);
	action_call_stop(&s->actions);
}

void steps_end(struct steps *s)
{
	steps_stop(s);
	action_subscribe_end(&s->actions);
	action_answer_stop(&s->actions);
	action_sipp_stop(&s->actions);
}

bool steps_ended(const struct steps *s)
{
	return !s->actions.calling.action && !s->actions.answering &&
	       action_sipp_ended(&s->actions) &&
	       action_subscribe_ended(&s->actions);
}

void steps_unregister(struct steps *s)
{
	action_register_remove(&s->actions, NULL);
}

unsigned steps_bindings(const struct steps *s)
{
	return accounts_in_state(s->actions.accounts, ACCOUNT_LEAVING) +
	       accounts_in_state(s->actions.accounts, ACCOUNT_REMOVING);
}
