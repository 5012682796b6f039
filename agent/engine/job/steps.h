/**
 * The steps of a job. A step begins at the supervisor's go; its actions are
 * carried out one after the other.
 * Thread: the loop's, all of it.
 */
#ifndef OFFHOOK_AGENT_ENGINE_JOB_STEPS_H
#define OFFHOOK_AGENT_ENGINE_JOB_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct accounts;
struct calls;
struct engine_settings;
struct media_engine;
struct report;
struct steps;
struct wire_job;

/* All borrowed for the life of the steps. */
struct steps_params {
	const struct wire_job *job;
	const struct engine_settings *settings;
	struct report *report;
	struct accounts *accounts;
	struct calls *calls;
	struct media_engine *media;
	/** A call, an account or a subscription has ended. */
	void (*ended_h)(void *arg);
	/** At the end of the job: a binding was removed.
	 * @param answered  the registrar answered */
	void (*removed_h)(bool answered, void *arg);
	void *arg;
};

/** Make the steps, and set the handlers of the accounts and the calls.
 * @param params  copied @return 0; -ENOMEM */
int steps_new(struct steps **ret, const struct steps_params *params);
/** Free the steps with their subscriptions and publications; call it before
 * accounts_free(). @param s  NULL is allowed @return NULL */
struct steps *steps_free(struct steps *s);

/** Start to load and encode the prompts of the job's calls; call steps_prepared()
 * when the media engine reports progress.
 * @return 0; -ENOENT: a file is missing, and the job was ended */
int steps_prepare(struct steps *s);
/** A prompt is ready, or the address of a STUN or TURN server is known: begin the step
 * or the action that waits, if nothing else is missing. */
void steps_prepared(struct steps *s);
/**
 * Begin a step.
 * @param step   the next one; the number of steps: the job is completed
 * @param in_ms  delay from now
 * @param at_ns  monotonic: when it begins, which engines that share a job were told
 *               alike, instead of in_ms; 0: not told
 * @return 0; -EPROTO out of turn
 */
int steps_go(struct steps *s, uint64_t step, uint64_t in_ms, int64_t at_ns);
/** Place no more calls, and wait for no more; those that are up end as the test says. */
void steps_enough(struct steps *s);
/** Write where the job is: "step 1, action 0 (call)", "the start of step 1". */
void steps_where(const struct steps *s, char *dst, size_t size);
/** How much of the job is done, 0..1. */
double steps_progress(const struct steps *s);
/** Whether an active action takes calls (busy[0]), and one places calls (busy[1]). */
void steps_busy(const struct steps *s, bool busy[static 2]);

/** Calls that did not begin when they were due. */
uint64_t steps_starts_missed(const struct steps *s);
/** Report as a flaw that the engine was too busy to begin calls in time. */
void steps_starts_flaw(const struct steps *s);

/* ---- the end of the job ---- */

/** Stop timers and the call generator. */
void steps_stop(struct steps *s);
/** steps_stop(); take no more calls, end subscriptions and publications. */
void steps_end(struct steps *s);
/** Whether the subscriptions and publications have ended. */
bool steps_ended(const struct steps *s);
/** Remove all bindings. */
void steps_unregister(struct steps *s);
/** Bindings that are still to be removed. */
unsigned steps_bindings(const struct steps *s);

#endif
