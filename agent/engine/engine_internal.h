/**
 * One engine: what engine.c (boot, socket, the second's tick), engine_end.c
 * (the orderly end of the job), engine_report.c (figures of the whole engine)
 * and engine_capture.c (the packets of all calls, in a file) share. The
 * sub-folders do not know it: they report through handlers.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_ENGINE_ENGINE_INTERNAL_H
#define OFFHOOK_AGENT_ENGINE_ENGINE_INTERNAL_H

#include "agent/engine/account/accounts.h"
#include "agent/engine/account/libre.h"
#include "agent/engine/call/calls.h"
#include "agent/engine/job/steps.h"
#include "agent/engine/report/report.h"
#include "agent/engine/sandbox.h"
#include "agent/engine/saturation.h"
#include "base/clock.h"
#include "control/wire/frame.h"

/* Bounds of an orderly end. The user agent reports a BYE or the removal of a
 * binding as failed after 5 s: these leave it the time to do so. */
#define ENGINE_REMOTE_END_MS   500 /* wait for the peers' BYEs first */
#define ENGINE_CALLS_END_MS    7000
#define ENGINE_MEDIA_END_MS    3000
#define ENGINE_ACCOUNTS_END_MS 6000 /* without an answer to a removal */
/* For all removals when the run was stopped: the supervisor kills the engine after
 * cancel_s. */
#define ENGINE_ACCOUNTS_STOP_MS 12000
#define ENGINE_WRITE_MS         10000 /* in which the supervisor takes nothing */

enum engine_phase {
	ENGINE_IDLE, /* no job yet */
	ENGINE_WORKING,
	ENGINE_ENDING_CALLS,
	ENGINE_ENDING_ACCOUNTS,
	ENGINE_WRITING, /* the last results, then finish */
};

struct engine {
	struct wire_channel *channel;
	bool peer_gone;
	struct wire_job *job;
	struct wire_share share; /* of this engine, of the agent's job */
	struct engine_settings settings;
	struct sandbox sandbox;
	enum engine_phase phase;
	bool prepared_due; /* the supervisor is told when all is set up */
	bool finish_sent; /* all results are in the channel, and so is finish */

	/* NULL until the job is set up */
	struct report *report;
	struct accounts *accounts;
	struct media_engine *media;
	char capture_path[ENGINE_PATH_BYTES * 2]; /* "": no capture */
	struct calls *calls;
	struct steps *steps;
	struct saturation *saturation;

	struct mono_timer tmr_media; /* media_engine_flush() */
	struct mono_timer tmr_tick;
	struct mono_timer tmr_max; /* max_duration_s */
	struct mono_timer tmr_end; /* bounds of the end; also defers it */
	int64_t accounts_end_ns;   /* bindings are removed until then */
	int signal_fd;
	int exit_code;
};

/* ---- engine.c ---- */

/** Write queued messages to the supervisor, as far as the socket takes them. */
void engine_flush(struct engine *e);

/* ---- engine_end.c ---- */

/** report_ended_h: begin the orderly end, in a later turn of the loop.
 * @param arg  struct engine */
void engine_end_soon(void *arg);
/** A call, an account or a subscription has ended: continue the end of the job.
 * @param arg  struct engine */
void engine_end_check(void *arg);
/** At the end of the job: a binding was removed.
 * @param answered  the registrar answered
 * @param arg       struct engine */
void engine_end_binding(bool answered, void *arg);
/** In ENGINE_WRITING, when the channel may take more: hand it the results that wait and,
 * when it has all of them, `finish`; what does not fit waits for the next call.
 * @return 0; -EPIPE; -errno: logged, the end cannot be written */
int engine_end_results(struct engine *e);

/* ---- engine_report.c ---- */

/** Once a second: report figures of calls, live line, progress and intervals that
 * have ended. @param now_ns  monotonic */
void engine_report_second(struct engine *e, int64_t now_ns);
/** At the end: queue all that is left; flaws and evidence of the engine last. */
void engine_report_rest(struct engine *e);

/* ---- engine_capture.c ---- */

/** What the media engine captures for the actions with rtp_capture. If it cannot
 * be handed over it is reported as artifact_lost and not captured.
 * @param ret  borrows from e */
void engine_capture_begin(struct engine *e, struct media_capture_params *ret);
/** At the end: close the file and hand it over; report what is missing in it as
 * artifact_cut. */
void engine_capture_end(struct engine *e);

#endif
