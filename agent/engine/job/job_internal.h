/**
 * The actions of a job and their states, for the files of this folder.
 * Thread: the loop's, all of it.
 *
 * steps.c               which step and action is under way
 * action_answer.c       answer and notify actions
 * action_call.c         the call generator: call and stream actions
 * action_options.c      message and options actions
 * action_register.c     register and unregister actions
 * action_sipp.c         call and answer actions with client sipp
 * action_subscribe.c    subscribe and publish actions
 * call_starts.c         when calls are due, and which are missed
 * prompt_preparation.c  prompts, loaded and encoded before they are played
 */
#ifndef OFFHOOK_AGENT_ENGINE_JOB_JOB_INTERNAL_H
#define OFFHOOK_AGENT_ENGINE_JOB_JOB_INTERNAL_H

#include "agent/engine/account/accounts.h"
#include "agent/engine/account/libre.h"
#include "agent/engine/call/calls.h"
#include "agent/engine/job/call_starts.h"
#include "base/clock.h"
#include "sip/events.h"
#include "sip/ua.h"

#define ACTION_REQUESTS_MAX 100u /* requests under way at a time */

struct action_answer_state {
	struct sip_event_state state; /* points to the next two */
	struct sip_presence presence;
	struct sip_mwi mwi;
};

struct action_call {
	const struct wire_action *action; /* NULL: no generator runs */
	struct account **accounts;        /* to call from, in turn */
	size_t account_count;
	bool registered; /* the accounts are */
	/* this engine's parts of max_total_calls and max_concurrent_calls */
	uint32_t total;
	uint32_t concurrent;
	uint32_t placed;
	uint32_t ended;
	uint32_t active; /* SIP calls placed and not closed */
	int64_t begin_ns;
	/* of the next one: its number in the schedule, moved on by delays, and when
	 * it is due */
	double next_number;
	int64_t next_ns;
	int64_t timer_ns; /* when tmr is */
	struct mono_timer tmr;
};

struct action_options {
	const struct wire_action *action; /* NULL: none is under way */
	size_t asked;
	size_t answered;
};

struct action_subscribe {
	const struct wire_action *action; /* NULL: none is under way */
	size_t asked;
	size_t settled;
	struct list list; /* subscriptions and publications */
	struct mono_timer tmr;
};

struct action_register {
	struct account *next; /* to be registered; or NULL */
	int64_t interval_ns;  /* calls_per_second; 0: no rate */
	int64_t next_ns;      /* when the next one is due */
	bool held_up;         /* too many registrations are under way */
	struct mono_timer tmr;
	struct account *removed;              /* next to be removed; or NULL */
	const struct wire_action *unregister; /* NULL: the end of the job */
};

struct actions {
	/* constant after steps_new() */
	const struct wire_job *job;
	const struct engine_settings *settings;
	struct report *report;
	struct accounts *accounts;
	struct calls *calls;
	struct media_engine *media;
	void (*done_h)(void *steps); /* the action under way is done */
	void *steps;
	void (*ended_h)(void *arg); /* as of struct steps_params */
	void (*removed_h)(bool answered, void *arg);
	void *arg;

	const struct wire_action
		*answering;   /* NULL: no answer action is active */
	uint32_t calls_taken; /* by the active answer action */
	uint32_t calls_ended; /* of calls_taken */
	bool notifying;       /* a notify action is under way */
	bool enough;          /* no more calls are placed */
	struct action_call calling;
	struct call_starts starts; /* of all generators of the job */
	struct action_options asking;
	struct action_subscribe watching;
	struct action_register registering;
	int64_t go_at_ns; /* when the step began, as the supervisor told; 0: not told */
	struct list sipps; /* runs of client sipp */
};

/** The action under way is done: begin the next one. */
static inline void action_done(struct actions *actions)
{
	actions->done_h(actions->steps);
}

/** A call, an account or a subscription has ended: the end of the job may depend on
 * it. */
static inline void action_ended(struct actions *actions)
{
	actions->ended_h(actions->arg);
}

/** The actions of the account's role. */
static inline struct actions *actions_of(const struct account *a)
{
	return account_owner(a);
}

/* ---- one function for each action of WIRE_ACTIONS ---- */

/*
 * void action_NAME_start(struct actions *actions,
 *			  const struct wire_action *action);
 *
 * Start the action; action_done() follows when it is done, perhaps at once. If
 * it fails the job is ended and says why. The next action starts then:
 *
 * answer              at once; calls are taken until action_answer_stop()
 * call, stream        when every call is over
 * message, options    when every account has its response
 * notify              when every subscriber has answered
 * subscribe, publish  when every account has its response
 * register            when every account is registered
 * unregister          when every binding is gone or timed out
 * wait                when its time or number of calls is over
 */
#define ACTION_DECLARE(type, name)                          \
	void action_##name##_start(struct actions *actions, \
				   const struct wire_action *action);
WIRE_ACTIONS(ACTION_DECLARE)
#undef ACTION_DECLARE

/* ---- action_answer.c ---- */

/** Refuse further calls. */
void action_answer_stop(struct actions *actions);
/** sip_incoming_h of every account. */
void action_answer_incoming(struct sip_account *account, struct sip_call *call,
			    void *arg);

/** Make the presence and message-waiting state of an action, for the user agent. */
void action_answer_state(struct action_answer_state *dst,
			 const struct wire_action *a);

/* ---- action_call.c ---- */

/** Fill actions->calling.accounts. @return 0; -errno, and the job was ended */
int action_call_gather(struct actions *actions,
		       const struct wire_action *action);
/** Place no more calls; the action is done when those that are up have ended. */
void action_call_enough(struct actions *actions);
/** Place no more calls; calls that are up stay. */
void action_call_stop(struct actions *actions);
/** A SIP call of the generator is closed: another one may be placed. */
void action_call_closed(struct actions *actions);
/** A call of the generator was reported; action_done() after the last one. */
void action_call_ended(struct actions *actions);
/** Progress of the action under way, 0..1. */
double action_call_progress(const struct actions *actions, int64_t now_ns);

/* ---- action_sipp.c ---- */

/** Start SIPp for a call or answer action. action_done() follows: for a call action
 * when SIPp has ended, for an answer action when SIPp has bound its SIP port. */
void action_sipp_start(struct actions *actions,
		       const struct wire_action *action);
/** Let all SIPps end; action_ended() when one has. */
void action_sipp_stop(struct actions *actions);
/** Whether all SIPps have ended. */
bool action_sipp_ended(const struct actions *actions);
/** Kill and free them. */
void action_sipp_free(struct actions *actions);

/* ---- action_subscribe.c ---- */

/** sip_mwi_h of every account. */
void action_subscribe_mwi(struct sip_account *sip,
			  const struct sip_subscription_info *info,
			  void *account);
/** End all subscriptions and publications; action_ended() when they have ended. */
void action_subscribe_end(struct actions *actions);
/** Whether all subscriptions and publications have ended. */
bool action_subscribe_ended(const struct actions *actions);
/** Free them without telling the peers. */
void action_subscribe_free(struct actions *actions);

/* ---- action_register.c ---- */

/** sip_account_h of every account. */
void action_register_event(struct sip_account *sip,
			   enum sip_account_event event,
			   const struct sip_account_info *info, void *arg);
/** Remove the bindings; action_done() when all are removed or timed out.
 * @param action  with headers for REGISTER; NULL: at the end of the job */
void action_register_remove(struct actions *actions,
			    const struct wire_action *action);
/** Whether bindings are still to be removed. */
bool action_register_leaving(const struct actions *actions);

/* ---- prompt_preparation.c ---- */

/** Start to load and encode the prompts of the job's calls; steps_prepared()
 * follows. @return 0; -ENOENT: a file is missing, and the job was ended */
int prompt_preparation_start(struct actions *actions);
/** Whether a file could not be loaded; if so, end the job with its name and the
 * reason. */
bool prompt_preparation_failed(struct actions *actions);

#endif
