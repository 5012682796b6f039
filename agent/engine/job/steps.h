/**
 * The steps of a job and the actions that they are made of.
 * Thread: the loop's.
 *
 * steps.c      which step and action is under way, when it is ready
 * prompt_preparation.c  prompts, loaded and encoded before they are played
 * action_answer.c  incoming calls while an answer action is active; action_notify.c what
 *              it tells subscribers, whom it lets call
 * action_call.c    the call generator of a call action
 * action_stream.c  streams without signalling
 * action_options.c     the message and options actions
 * action_subscribe.c   the subscribe and publish actions
 */
#ifndef OFFHOOK_AGENT_ENGINE_JOB_STEPS_H
#define OFFHOOK_AGENT_ENGINE_JOB_STEPS_H

#include "agent/engine/account/account.h"
#include "agent/engine/libre.h"
#include "control/wire/job.h"
#include "sip/events.h"
#include "sip/ua.h"

struct call;
struct engine;

/* ---- steps.c ---- */

enum steps_phase {
	STEPS_WAITING,   /* for the go of step `next` */
	STEPS_DELAYED,   /* go received, its delay runs */
	STEPS_PREPARING, /* it is over, prompts are still being encoded */
	STEPS_RUNNING,
};

struct steps {
	enum steps_phase phase;
	size_t step;                /* the one that waits or runs */
	size_t action;              /* within it */
	struct mono_timer tmr;      /* the delay of a go; a wait action */
	struct mono_timer tmr_done; /* breaks the recursion action by action */
};

/** More prompts are ready, perhaps all. */
void steps_prepared(struct engine *e);
/** @return 0; -EPROTO out of turn */
int steps_go(struct engine *e, uint64_t step, uint64_t in_ms);
/** The action under way is ready. */
void steps_done(struct engine *e);
/** A call that was taken has ended: a wait action may have waited for it. */
void steps_call_ended(struct engine *e);
void steps_stop(struct engine *e);
/** "step 1, action 0 (call)" or "the go of step 1". */
void steps_where(const struct engine *e, char *dst, size_t size);
double steps_progress(const struct engine *e);

/* ---- prompt_preparation.c ---- */

/** Load and encode what the job's calls play; steps_prepared() follows.
 * @return 0; -ENOENT: a file has no place, and the job ends */
int prompt_preparation_start(struct engine *e);
/** Whether a file could not be loaded: the job ends, and says which and why. */
bool prompt_preparation_failed(struct engine *e);

/* ---- action_answer.c ---- */

void action_answer_start(struct engine *e, const struct wire_action *action);
/** No call is taken any more. */
void action_answer_stop(struct engine *e);
/** sip_incoming_h of every account. */
void action_answer_incoming(struct sip_account *account, struct sip_call *call,
			    void *arg);

/* ---- action_notify.c ---- */

struct action_notify_state {
	struct sip_event_state state; /* points to what follows */
	struct sip_presence presence;
	struct sip_mwi mwi;
};

/** What an action says of presence and messages, for the user agent. */
void action_notify_state(struct action_notify_state *dst,
			 const struct wire_action *a);
/** Those that answer with this action: subscriptions are taken, callers are
 * challenged, as it says. @return 0; -errno: the job was ended */
int action_notify_start(struct engine *e, const struct wire_action *action);
void action_notify_stop(struct account *a);
/** A notify action; steps_done() when every watcher has answered. */
void action_notify_notify(struct engine *e, const struct wire_action *action);

/* ---- action_call.c ---- */

struct action_call {
	const struct wire_action *action; /* NULL: no generator runs */
	struct account **accounts;        /* to call from, in turn */
	size_t account_count;
	uint32_t placed;
	uint32_t ended;
	uint32_t active; /* SIP calls placed and not closed */
	int64_t begin_ns;
	int64_t next_ns;  /* when the next one is due */
	int64_t timer_ns; /* when tmr is */
	struct mono_timer tmr;
};

/** Fill e->calling.accounts. @return 0; -errno: the job was ended */
int action_call_gather(struct engine *e, const struct wire_action *action);
void action_call_start(struct engine *e, const struct wire_action *action);
/** Place no more; calls that are up stay. */
void action_call_stop(struct engine *e);
/** The SIP call is closed: another one may be placed. */
void action_call_closed(struct engine *e);
/** A call of the generator is fully accounted for. */
void action_call_ended(struct engine *e);
/** 0..1 of the action under way. */
double action_call_progress(const struct engine *e, int64_t now_ns);

/* ---- action_stream.c ---- */

/** Begin a stream, number n of its action; it is a call that is up at once.
 * @return 0; -errno: the job was ended */
int action_stream_place(struct engine *e, const struct wire_action *action,
			unsigned n);
void action_stream_end(struct call *c);

/* ---- action_options.c ---- */

struct action_options {
	const struct wire_action *action; /* NULL: none is under way */
	size_t asked;
	size_t answered;
};

/** One request an account, ENGINE_REGISTERS_MAX at a time; steps_done(). */
void action_options_start(struct engine *e, const struct wire_action *action);

/* ---- action_subscribe.c ---- */

struct action_subscribe {
	const struct wire_action *action; /* NULL: none is under way */
	size_t asked;
	size_t settled;
	struct list list; /* what lasts: subscriptions, publications */
	struct mono_timer tmr;
};

/** sip_mwi_h of every account. */
void action_subscribe_mwi(struct sip_account *sip,
			  const struct sip_subscription_info *info,
			  void *account);
/** One subscription or publication an account, or the end of it;
 * ENGINE_REGISTERS_MAX at a time; steps_done(). */
void action_subscribe_start(struct engine *e, const struct wire_action *action);
/** End them all; engine_end_check() when they have. */
void action_subscribe_end(struct engine *e);
bool action_subscribe_ended(const struct engine *e);
void action_subscribe_free(struct engine *e);

#endif
