/* The orderly end: end calls, remove bindings, write the rest. */
#include "agent/engine/engine_internal.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void end_begin(void *arg);
static void end_accounts(struct engine *e);
static void end_write(struct engine *e);

void engine_end_soon(void *arg)
{
	struct engine *e = arg;

	e->phase = ENGINE_ENDING_CALLS;
	/* Later: the caller may be a handler of an object that ends now. */
	mono_timer_start(&e->tmr_end, 0, end_begin, e);
}

static void media_overdue(void *arg)
{
	struct engine *e = arg;

	log_error("media did not stop within %d ms", ENGINE_MEDIA_END_MS);
	calls_abandon(e->calls);
	end_accounts(e);
}

static void hangup_overdue(void *arg)
{
	struct engine *e = arg;

	log_error("calls did not end within %d ms", ENGINE_CALLS_END_MS);
	calls_overdue(e->calls);
	mono_timer_start(&e->tmr_end, ENGINE_MEDIA_END_MS, media_overdue, e);
}

static void hangup(void *arg)
{
	struct engine *e = arg;

	calls_hangup(e->calls);
	mono_timer_start(&e->tmr_end, ENGINE_CALLS_END_MS, hangup_overdue, e);
	engine_end_check(e);
}

static void end_begin(void *arg)
{
	struct engine *e = arg;

	mono_timer_cancel(&e->tmr_max);
	if (!e->steps || !user_agents_started(e->accounts)) {
		end_write(e);
		return;
	}
	steps_end(e->steps);
	/* All roles are done: wait for BYEs of the other side. */
	if (strcmp(report_outcome(e->report), "completed") == 0 &&
	    calls_listed(e->calls))
		mono_timer_start(&e->tmr_end, ENGINE_REMOTE_END_MS, hangup, e);
	else
		hangup(e);
}

static void accounts_overdue(void *arg)
{
	struct engine *e = arg;

	log_error("run=%s %u bindings were not removed in time",
		  e->job->session_id, steps_bindings(e->steps));
	end_write(e);
}

static void accounts_wait(struct engine *e)
{
	int64_t now_ns = clock_mono_ns();
	uint64_t left_ms = clock_ms_until(e->accounts_end_ns, now_ns);

	mono_timer_start(&e->tmr_end,
			 left_ms < ENGINE_ACCOUNTS_END_MS
				 ? left_ms
				 : ENGINE_ACCOUNTS_END_MS,
			 accounts_overdue, e);
}

void engine_end_binding(bool answered, void *arg)
{
	struct engine *e = arg;

	engine_end_check(e);
	/* Restart the time limit: it applies to removals without progress. */
	if (answered && e->phase == ENGINE_ENDING_ACCOUNTS)
		accounts_wait(e);
}

static void end_accounts(struct engine *e)
{
	e->phase = ENGINE_ENDING_ACCOUNTS;
	e->accounts_end_ns =
		strcmp(report_outcome(e->report), "stopped") == 0
			? clock_mono_ns() + ENGINE_ACCOUNTS_STOP_MS * NS_PER_MS
			: INT64_MAX;
	accounts_wait(e);
	steps_unregister(e->steps);
	engine_end_check(e);
}

void engine_end_check(void *arg)
{
	struct engine *e = arg;

	if (e->phase == ENGINE_ENDING_CALLS && e->steps &&
	    user_agents_started(e->accounts) && calls_listed(e->calls) == 0 &&
	    steps_ended(e->steps))
		end_accounts(e);
	else if (e->phase == ENGINE_ENDING_ACCOUNTS &&
		 steps_bindings(e->steps) == 0)
		end_write(e);
}

static void write_overdue(void *arg)
{
	(void)arg;
	log_error("the last results could not be written");
	sip_loop_stop();
}

int engine_end_results(struct engine *e)
{
	int err = 0;

	/* Restart the time limit: it applies to a supervisor that takes nothing. */
	mono_timer_start(&e->tmr_end, ENGINE_WRITE_MS, write_overdue, e);
	if (e->finish_sent)
		return 0;
	err = report_flush(e->report);
	if (!err)
		err = report_finish(e->report);
	e->finish_sent = !err;
	if (err == -ENOBUFS)
		return 0;
	if (err && err != -EPIPE)
		log_error("the last results could not be queued: %s",
			  strerror(-err));
	return err;
}

static void end_write(struct engine *e)
{
	e->phase = ENGINE_WRITING;
	mono_timer_cancel(&e->tmr_tick);
	if (e->peer_gone) {
		sip_loop_stop();
		return;
	}
	if (report_started(e->report)) {
		engine_capture_end(e);
		engine_report_rest(e);
	}
	engine_flush(e);
}
