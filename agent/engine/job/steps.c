#include "agent/engine/engine_internal.h"

#include "base/log.h"

#include <errno.h>
#include <stdio.h>

#define GO_DELAY_MS_MAX 3600000u

static const char *type_name(enum wire_action_type type)
{
	switch (type) {
	case WIRE_ACTION_REGISTER:
		return "register";
	case WIRE_ACTION_ANSWER:
		return "answer";
	case WIRE_ACTION_CALL:
		return "call";
	case WIRE_ACTION_UNREGISTER:
		return "unregister";
	case WIRE_ACTION_WAIT:
		return "wait";
	case WIRE_ACTION_MESSAGE:
		return "message";
	case WIRE_ACTION_OPTIONS:
		return "options";
	case WIRE_ACTION_SUBSCRIBE:
		return "subscribe";
	case WIRE_ACTION_PUBLISH:
		return "publish";
	case WIRE_ACTION_NOTIFY:
		return "notify";
	case WIRE_ACTION_STREAM:
		return "stream";
	}
	return "?";
}

static const struct wire_step *step_now(const struct engine *e)
{
	return &e->job->steps[e->steps.step];
}

static bool wait_calls_over(const struct engine *e, const struct wire_action *a)
{
	return a->wait_calls && e->calls_ended >= a->wait_calls;
}

static void wait_over(void *arg)
{
	steps_done(arg);
}

static void step_ready(struct engine *e)
{
	struct steps *s = &e->steps;

	report_send(e->report, json_pack("{s:s, s:I}", "type", "ready", "step",
					 (json_int_t)s->step));
	log_info("run=%s role=%s step %zu is ready", e->job->session_id,
		 e->job->role, s->step);
	s->phase = STEPS_WAITING;
	s->step++;
	s->action = 0;
}

static void action_start(struct engine *e)
{
	const struct wire_step *step = step_now(e);
	const struct wire_action *a;

	if (e->steps.action == step->action_count) {
		step_ready(e);
		return;
	}
	a = &step->actions[e->steps.action];
	switch (a->type) {
	case WIRE_ACTION_REGISTER:
		accounts_register(e, a);
		break;
	case WIRE_ACTION_ANSWER:
		action_answer_start(e, a);
		break;
	case WIRE_ACTION_CALL:
	case WIRE_ACTION_STREAM:
		action_call_start(e, a);
		break;
	case WIRE_ACTION_UNREGISTER:
		accounts_unregister(e, a);
		break;
	case WIRE_ACTION_WAIT:
		mono_timer_start(&e->steps.tmr,
				 wait_calls_over(e, a) ? 0 : a->wait_ms,
				 wait_over, e);
		break;
	case WIRE_ACTION_MESSAGE:
	case WIRE_ACTION_OPTIONS:
		action_options_start(e, a);
		break;
	case WIRE_ACTION_SUBSCRIBE:
	case WIRE_ACTION_PUBLISH:
		action_subscribe_start(e, a);
		break;
	case WIRE_ACTION_NOTIFY:
		action_notify_notify(e, a);
		break;
	}
}

static void go_due(void *arg)
{
	struct engine *e = arg;
	struct steps *s = &e->steps;

	if (s->step == e->job->step_count) {
		report_end_job(e->report, "completed", "%s", "");
		return;
	}
	if (!media_engine_prepared(e->media)) {
		s->phase = STEPS_PREPARING; /* steps_prepared() goes on */
		return;
	}
	if (prompt_preparation_failed(e))
		return;
	s->phase = STEPS_RUNNING;
	s->action = 0;
	action_start(e);
}

void steps_prepared(struct engine *e)
{
	if (e->steps.phase == STEPS_PREPARING && !report_ended(e->report) &&
	    media_engine_prepared(e->media))
		go_due(e);
}

int steps_go(struct engine *e, uint64_t step, uint64_t in_ms)
{
	struct steps *s = &e->steps;

	if (s->phase != STEPS_WAITING || step != s->step ||
	    in_ms > GO_DELAY_MS_MAX)
		return -EPROTO;
	s->phase = STEPS_DELAYED;
	/* Roles begin a step together; they need not end the job together. */
	mono_timer_start(&s->tmr, step == e->job->step_count ? 0 : in_ms,
			 go_due, e);
	return 0;
}

static void done_later(void *arg)
{
	struct engine *e = arg;

	if (report_ended(e->report))
		return;
	e->steps.action++;
	action_start(e);
}

void steps_done(struct engine *e)
{
	if (!report_ended(e->report) && e->steps.phase == STEPS_RUNNING)
		mono_timer_start(&e->steps.tmr_done, 0, done_later, e);
}

void steps_call_ended(struct engine *e)
{
	const struct steps *s = &e->steps;
	const struct wire_action *a;

	if (s->phase != STEPS_RUNNING || s->action >= step_now(e)->action_count)
		return;
	a = &step_now(e)->actions[s->action];
	if (a->type == WIRE_ACTION_WAIT && wait_calls_over(e, a))
		mono_timer_start(&e->steps.tmr, 0, wait_over, e);
}

void steps_stop(struct engine *e)
{
	mono_timer_cancel(&e->steps.tmr);
	mono_timer_cancel(&e->steps.tmr_done);
}

void steps_where(const struct engine *e, char *dst, size_t size)
{
	const struct steps *s = &e->steps;

	if (s->phase != STEPS_RUNNING && s->step == e->job->step_count)
		snprintf(dst, size, "the end of the last step");
	else if (s->phase != STEPS_RUNNING ||
		 s->action >= step_now(e)->action_count)
		snprintf(dst, size, "the start of step %zu", s->step);
	else
		snprintf(dst, size, "step %zu, action %u (%s)", s->step,
			 step_now(e)->actions[s->action].index,
			 type_name(step_now(e)->actions[s->action].type));
}

double steps_progress(const struct engine *e)
{
	const struct steps *s = &e->steps;
	double done = (double)s->step;

	if (s->phase == STEPS_RUNNING && step_now(e)->action_count)
		done += ((double)s->action +
			 action_call_progress(e, clock_mono_ns())) /
			(double)step_now(e)->action_count;
	done /= (double)e->job->step_count;
	return done > 1 ? 1 : done;
}
