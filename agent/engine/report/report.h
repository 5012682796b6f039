/**
 * What an engine reports to the supervisor: events, samples, SIP messages, the live
 * line, progress, artifacts, the outcome of the job. Wall clock times are
 * CLOCK_MONOTONIC plus an offset that is taken once a job.
 * Thread: the loop's, all of it.
 */
#ifndef OFFHOOK_AGENT_ENGINE_REPORT_REPORT_H
#define OFFHOOK_AGENT_ENGINE_REPORT_REPORT_H

#include "agent/engine/report/outbox.h"
#include "base/state.h"
#include "control/wire/event.h"
#include "control/wire/frame.h"
#include "control/wire/measure.h"
#include "control/wire/share.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct audio_second;
struct report;
struct stream_second;

/** The job has an outcome: begin its orderly end. Called once, from within
 * report_end_job(). */
typedef void(report_ended_h)(void *arg);

/**
 * Make a report; it sends nothing before report_start().
 * @param channel  to the supervisor, borrowed for the report's life
 * @return 0; -ENOMEM
 */
int report_new(struct report **ret, struct wire_channel *channel,
	       report_ended_h *ended_h, void *arg);
/** Free it. @param r  NULL is allowed @return NULL */
struct report *report_free(struct report *r);

/* All borrowed for the report's life. */
struct report_params {
	const char *role;
	const char *run;                /* its id, for the log */
	uint32_t interval_s;            /* of the statistics */
	const char *artifact_dir;       /* "": artifacts are not wanted */
	const struct wire_share *share; /* the engine's, of the agent's job */
	const struct wire_share *shard; /* the agent's, of the role's job */
};

/**
 * Begin the report of a job: take the offset of the wall clock.
 * @return 0; -ENOMEM
 */
int report_start(struct report *r, const struct report_params *params);
/** Whether report_start() succeeded. */
bool report_started(const struct report *r);

/* ---- the outcome ---- */

/**
 * Give the job its outcome. Only the first call counts.
 * @param outcome  static: completed, failed, error, stopped
 * @param fmt      the reason, for the user; invalid UTF-8 is replaced
 */
void report_end_job(struct report *r, const char *outcome, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** Whether the job has an outcome: nothing new is begun then. */
bool report_ended(const struct report *r);
/** @return NULL: the job has no outcome yet */
const char *report_outcome(const struct report *r);
/** Send `finish`: the outcome and its reason.
 * @return as wire_channel_send() */
int report_finish(struct report *r);

/* ---- events and samples ---- */

/** Report that an account or a call has entered a state.
 * @param mono_ns  when
 * @param call     NULL: a state of the account
 * @param text     NULL: none */
void report_state(struct report *r, int64_t mono_ns, enum ua_state state,
		  const char *account, const char *call, const char *text);
/** @param event  taken over; NULL (out of memory) is counted as dropped */
void report_event(struct report *r, json_t *event);
/** An event about the engine itself: where several share the job it says which one, and
 * of how many, and likewise of the shard. @param event  as of report_event() */
void report_engine_event(struct report *r, json_t *event);
/** An event "flaw": the engine's own measurement is impaired. Count 0: none. */
void report_flaw(struct report *r, const char *name, uint64_t count,
		 const char *text);
/**
 * Begin an item of the outbox, which the caller writes; one at a time.
 * @return a writer to the report's own buffer
 */
struct writer report_begin(struct report *r);
/** Queue the item. Its text stays in the writer's buffer until report_begin(). */
void report_end(struct report *r, enum outbox_kind kind,
		const struct writer *w);
/** Count an item that could not be written as dropped. */
void report_dropped(struct report *r, enum outbox_kind kind);
/** Both clocks' times of an event. @param mono_ns  monotonic */
struct wire_time report_time(const struct report *r, int64_t mono_ns);
/** Wall clock minus CLOCK_MONOTONIC, ns. */
int64_t report_wall_offset_ns(const struct report *r);
/** Add a sample of a measure. @param mono_ns  when it was taken */
void report_sample(struct report *r, bool outgoing, enum measure m,
		   int64_t mono_ns, double value);
/** Calls of a direction in the second that ends. */
struct report_calls_params {
	bool known; /* an action is active for them, or there are some */
	double up;
	double per_s; /* begun */
};
/** Once a second: samples of calls_active and calls_per_sec. Of an engine that shares
 * its job they go to the supervisor as figures of the second, which adds up those of
 * all engines. @param calls  taken, placed */
void report_calls_second(struct report *r, int64_t mono_ns,
			 const struct report_calls_params calls[static 2]);
/** Add one second of a stream to the samples and to the live line. */
void report_stream_second(struct report *r, bool outgoing,
			  const struct stream_second *second);
/** Add one second of decoded audio to the samples. */
void report_audio_second(struct report *r, bool outgoing,
			 const struct audio_second *second);

/* ---- messages ---- */

/** Send a message. @param message  taken over; NULL: out of memory */
void report_send(struct report *r, json_t *message);
/** Send the live line. @param calls_active  both directions; 0: none is sent */
void report_live(struct report *r, unsigned calls_active);
/** Send the progress of the job, 0..1, if it rose. */
void report_progress(struct report *r, double progress);
/** Once a second: close the intervals that ended, send batches. */
void report_tick(struct report *r, int64_t now_ns);
/** Close all intervals, and report dropped items as flaws. */
void report_close(struct report *r);
/** Send queued items. @return as outbox_flush() */
int report_flush(struct report *r);

/* ---- artifacts ---- */

/**
 * Path for a file that the run keeps (docs/internals/wire.md, "artifact"): a
 * recording, figures. The writer bounds its size. A file that was not handed over
 * by report_artifact() when the engine ends is deleted.
 * @param name  wire_artifact_name_valid(), unique within the job; begins with
 *              the name of its call, if it is of one: "caller-1-in.wav"
 * @return 0; -ENOTSUP artifacts are not wanted; -EINVAL name; -ENAMETOOLONG
 */
int report_artifact_path(const struct report *r, const char *name, char *dst,
			 size_t size);
/**
 * Hand over a file that was written and closed, before `finish`. It is no longer
 * at its path afterwards.
 * @return 0; -ENOTSUP; -EINVAL; -ENOMEM; as wire_channel_send()
 */
int report_artifact(struct report *r, const char *name);

#endif
