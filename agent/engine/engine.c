#include "agent/engine/engine.h"

#include "agent/engine/account/client_sounds.h"
#include "agent/engine/engine_internal.h"
#include "base/log.h"
#include "base/str.h"
#include "control/wire/job_decode.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TICK_MS 1000

static void channel_handler(int flags, void *arg);

/* ---- set-up ---- */

static void media_handler(int flags, void *arg)
{
	struct engine *e = arg;

	(void)flags;
	media_engine_poll(e->media, calls_media_record, NULL);
	if (e->steps)
		steps_prepared(e->steps);
}

static void prepared_send(struct engine *e)
{
	e->prepared_due = false;
	report_send(e->report, json_pack("{s:s}", "type", "prepared"));
}

static void nat_server_handler(void *arg)
{
	struct engine *e = arg;

	if (report_ended(e->report))
		return;
	if (e->steps)
		steps_prepared(e->steps);
	if (e->prepared_due && nat_servers_known(e->accounts, NULL))
		prepared_send(e);
}

static void media_flush(void *arg)
{
	struct engine *e = arg;

	media_engine_flush(e->media);
}

static void media_flush_soon(void *arg)
{
	struct engine *e = arg;

	mono_timer_start(&e->tmr_media, MEDIA_FLUSH_MS, media_flush, e);
}

static void tick(void *arg);

/* Engines that share a job tick at whole seconds of the monotonic clock, so that their
 * calls of a second can be added up. */
static void tick_set(struct engine *e)
{
	int64_t past_ms = wire_share_divided(&e->settings.share)
				  ? clock_mono_ns() / NS_PER_MS % TICK_MS
				  : 0;

	mono_timer_start(&e->tmr_tick, (uint64_t)(TICK_MS - past_ms), tick, e);
}

static void tick(void *arg)
{
	struct engine *e = arg;

	tick_set(e);
	if (e->peer_gone)
		return;
	engine_report_second(e, clock_mono_ns());
	if (wire_channel_flush(e->channel) > 0)
		fd_listen(wire_channel_fd(e->channel), FD_READ | FD_WRITE,
			  channel_handler, e);
}

static void max_duration_over(void *arg)
{
	struct engine *e = arg;
	char where[64];

	steps_where(e->steps, where, sizeof(where));
	report_end_job(
		e->report, "failed",
		"role %s: the job did not end within max_duration (%u s); it waited in %s",
		e->job->role, e->job->max_duration_s, where);
}

static void scheduling_warn(const struct engine *e)
{
	struct media_evidence now;

	media_engine_evidence(e->media, &now);
	if (strcmp(e->settings.media_scheduling, "realtime") == 0 &&
	    now.sending != MEDIA_SCHEDULING_REALTIME)
		log_warning("run=%s role=%s media_scheduling: real-time "
			    "priority was refused, RTP is sent by a thread of "
			    "class \"%s\": packets may leave late on a busy "
			    "host; allow it (LimitRTPRIO=2 and "
			    "RestrictRealtime=no in the unit, ulimit -r 2, or "
			    "CAP_SYS_NICE)",
			    e->job->session_id, e->job->role,
			    media_scheduling_name(now.sending));
}

static int stacks_start(struct engine *e)
{
	char reason[MEDIA_REASON_BYTES] = "";
	struct media_engine_params media = {
		.port_min = e->settings.rtp_min,
		.port_max = e->settings.rtp_max,
		.sessions_max =
			calls_sessions_wanted(e->job, &e->settings.share),
		.realtime = strcmp(e->settings.media_scheduling, "normal") != 0,
		.srtp_library = e->settings.srtp_library,
		.declarations = &e->settings.declarations,
		.tap = user_agents_want(e->job, WIRE_CLIENT_BARESIP) ||
				       user_agents_want(e->job,
							WIRE_CLIENT_SIPP)
			       ? e->settings.addr
			       : (struct media_addr){.len = 0},
		.reason = reason,
		.flush_h = media_flush_soon,
		.flush_arg = e,
	};
	int err = user_agents_start_baresip(e->accounts);

	if (err)
		return err;
	engine_capture_begin(e, &media.capture);
	err = media_engine_new(&e->media, &media);
	if (err) {
		report_end_job(e->report, "error", "role %s: %s: %s",
			       e->job->role,
			       reason[0] && err != -ENOTSUP
				       ? "its client is measured by a tap"
				       : "the media engine",
			       reason[0]        ? reason
			       : err == -EAGAIN ? "no thread can be started: "
						  "raise the agent's TasksMax "
						  "or its memory"
						: strerror(-err));
		return err;
	}
	sandbox_calls(&e->sandbox);
	scheduling_warn(e);
	if (media.srtp_library == MEDIA_SRTP_LIBRARY_LIBSRTP2)
		log_info("run=%s role=%s SRTP by libsrtp2", e->job->session_id,
			 e->job->role);
	err = fd_listen(media_engine_fd(e->media), FD_READ, media_handler, e);
	if (err) {
		report_end_job(e->report, "error",
			       "role %s: the event loop: %s", e->job->role,
			       strerror(err));
		return -err;
	}
	return user_agents_start_native(e->accounts);
}

/* @return 0; -errno, and the job was ended */
static int job_prepare(struct engine *e)
{
	struct calls_params calls = {
		.job = e->job,
		.settings = &e->settings,
		.report = e->report,
		.accounts = e->accounts,
		.media = e->media,
		.sessions_max =
			calls_sessions_wanted(e->job, &e->settings.share),
	};
	const char *problem = "out of memory";
	int err = 0;

	if (getrandom(&calls.seed, sizeof(calls.seed), 0) !=
	    sizeof(calls.seed)) {
		problem = "getrandom() failed";
		err = -EIO;
	}
	if (!err)
		err = calls_new(&e->calls, &calls);
	if (!err) {
		const struct steps_params steps = {
			.job = e->job,
			.settings = &e->settings,
			.report = e->report,
			.accounts = e->accounts,
			.calls = e->calls,
			.media = e->media,
			.ended_h = engine_end_check,
			.removed_h = engine_end_binding,
			.arg = e,
		};

		err = steps_new(&e->steps, &steps);
	}
	if (err) {
		report_end_job(e->report, "error", "role %s: %s", e->job->role,
			       problem);
		return err;
	}
	err = steps_prepare(e->steps);
	if (err)
		return err;
	log_info("run=%s role=%s the job begins, seed %llu", e->job->session_id,
		 e->job->role, (unsigned long long)calls.seed);
	return 0;
}

/* The accounts, the media engine, the calls and the steps.
 * @return 0; -errno: the job was ended */
static int rooms_start(struct engine *e)
{
	const struct accounts_params accounts = {
		.job = e->job,
		.settings = &e->settings,
		.report = e->report,
		.calls_max = calls_sessions_wanted(e->job, &e->settings.share),
	};
	int err = accounts_new(&e->accounts, &accounts);

	if (err) {
		report_end_job(e->report, "error", "role %s: out of memory",
			       e->job->role);
		return err;
	}
	err = stacks_start(e);
	if (!err)
		err = nat_servers_resolve(e->accounts, nat_server_handler, e);
	if (!err)
		err = job_prepare(e);
	return err;
}

/* @return 0; -errno, and the job was ended */
static int saturation_prepare(struct engine *e)
{
	const struct saturation_params params = {
		.limits = &e->settings.saturation,
		.report = e->report,
		.interval_s = e->job->interval_s,
	};
	int err = saturation_new(&e->saturation, &params);

	if (err)
		report_end_job(e->report, "error", "role %s: out of memory",
			       e->job->role);
	return err;
}

static void job_start(struct engine *e, json_t *message)
{
	char reason[WIRE_REASON_BYTES];
	int err;

	e->phase = ENGINE_WORKING;
	err = wire_job_decode(&e->job, json_object_get(message, "spec"),
			      reason);
	if (err) {
		report_end_job(e->report, "error",
			       "the job cannot be carried out: %s", reason);
		return;
	}
	err = engine_settings_read(&e->settings,
				   json_object_get(message, "engine"));
	if (!err)
		err = wire_share_decode(&e->share,
					json_object_get(message, "share"),
					WIRE_ENGINES_MAX);
	if (!err) {
		const struct report_params params = {
			.role = e->job->role,
			.run = e->job->session_id,
			.interval_s = e->job->interval_s,
			.artifact_dir = e->settings.artifact_dir,
			.share = &e->share,
			.shard = &e->job->share,
		};

		e->settings.share =
			wire_share_within(&e->job->share, &e->share);
		err = report_start(e->report, &params);
	}
	if (err) {
		report_end_job(e->report, "error",
			       "role %s: the engine's settings: %s",
			       e->job->role, strerror(-err));
		return;
	}
	if (saturation_prepare(e))
		return;
	/* before the first thread, and before anything of a peer is read */
	sandbox_files(&e->sandbox, &e->settings, e->job);
	if (rooms_start(e))
		return;
	saturation_start(e->saturation, media_engine_lateness(e->media));
	tick_set(e);
	mono_timer_start(&e->tmr_max, (uint64_t)e->job->max_duration_s * 1000,
			 max_duration_over, e);
	/* setting up takes its time: the agents wait for each other after it */
	e->prepared_due = json_is_true(json_object_get(
		json_object_get(message, "spec"), "barrier_first"));
	if (e->prepared_due && nat_servers_known(e->accounts, NULL))
		prepared_send(e);
}

/* ---- messages ---- */

static void go(struct engine *e, json_t *message)
{
	json_t *step = json_object_get(message, "step");
	json_t *in_ms = json_object_get(message, "in_ms");
	json_int_t delay = json_integer_value(in_ms);
	json_int_t at_ns =
		json_integer_value(json_object_get(message, "at_ns"));

	if (!json_is_integer(step) || json_integer_value(step) < 0 ||
	    delay < 0 || at_ns < 0 ||
	    steps_go(e->steps, (uint64_t)json_integer_value(step),
		     (uint64_t)delay, at_ns))
		report_end_job(e->report, "error",
			       "role %s: the supervisor sent a go out of turn",
			       e->job->role);
}

static void message_handle(struct engine *e, json_t *message)
{
	const char *type = json_string_value(json_object_get(message, "type"));

	if (!type)
		return;
	if (strcmp(type, "job") == 0 && e->phase == ENGINE_IDLE)
		job_start(e, message);
	else if (strcmp(type, "go") == 0 && e->phase == ENGINE_WORKING)
		go(e, message);
	else if (strcmp(type, "enough") == 0 && e->phase == ENGINE_WORKING &&
		 e->steps)
		steps_enough(e->steps);
	else if (strcmp(type, "cancel") == 0)
		report_end_job(e->report, "stopped", "%s",
			       "the run was cancelled");
	/* Other types are of a newer supervisor: ignored. */
}

static void peer_lost(struct engine *e)
{
	if (e->peer_gone)
		return;
	e->peer_gone = true;
	fd_close(wire_channel_fd(e->channel));
	if (e->phase == ENGINE_WRITING)
		sip_loop_stop();
	else
		report_end_job(e->report, "stopped", "%s",
			       "the supervisor is gone");
}

void engine_flush(struct engine *e)
{
	bool writing = e->phase == ENGINE_WRITING;
	int left = writing ? engine_end_results(e) : 0;

	if (left == 0)
		left = wire_channel_flush(e->channel);
	if (left < 0) {
		peer_lost(e);
		return;
	}
	if (left == 0 && e->finish_sent) {
		e->exit_code = 0;
		sip_loop_stop();
		return;
	}
	/* what did not fit into the channel may do so when it is empty */
	fd_listen(wire_channel_fd(e->channel),
		  FD_READ | (left > 0 || writing ? FD_WRITE : 0),
		  channel_handler, e);
}

static void channel_read(struct engine *e)
{
	json_t *message = NULL;
	int r;

	while ((r = wire_channel_receive(e->channel, &message)) == 1) {
		message_handle(e, message);
		json_decref(message);
	}
	if (r == -EPIPE) {
		peer_lost(e);
	} else if (r < 0) {
		/* After a damaged frame the beginning of the next is unknown. */
		fd_close(wire_channel_fd(e->channel));
		report_end_job(e->report, "error",
			       "a message of the supervisor: %s", strerror(-r));
	}
}

static void channel_handler(int flags, void *arg)
{
	struct engine *e = arg;

	if (flags & FD_WRITE)
		engine_flush(e);
	if (!e->peer_gone && (flags & (FD_READ | FD_EXCEPT)))
		channel_read(e);
}

static void signal_handler(int flags, void *arg)
{
	struct signalfd_siginfo info;
	struct engine *e = arg;

	(void)flags;
	if (read(e->signal_fd, &info, sizeof(info)) == sizeof(info))
		report_end_job(e->report, "stopped", "%s",
			       "the engine was terminated");
}

/* ---- the process ---- */

static int signals_take(struct engine *e)
{
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	/* Before the first thread, so that all of them inherit it. */
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	signal(SIGINT, SIG_IGN); /* Ctrl-C: the parent process sends a cancel */
	signal(SIGPIPE, SIG_IGN);
	e->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (e->signal_fd < 0)
		return -errno;
	err = fd_listen(e->signal_fd, FD_READ, signal_handler, e);
	return err ? -err : 0;
}

static int engine_start(struct engine *e, int fd)
{
	int err = wire_channel_new(&e->channel, fd);

	if (err) {
		close(fd);
		return err;
	}
	err = report_new(&e->report, e->channel, engine_end_soon, e);
	if (!err)
		err = signals_take(e);
	if (!err)
		err = -fd_listen(fd, FD_READ, channel_handler, e);
	return err;
}

static void engine_release(struct engine *e)
{
	mono_timer_cancel(&e->tmr_tick);
	mono_timer_cancel(&e->tmr_max);
	mono_timer_cancel(&e->tmr_end);
	e->saturation = saturation_free(e->saturation);
	if (e->steps)
		steps_stop(e->steps);
	if (e->media)
		fd_close(media_engine_fd(e->media));
	/* A call that was abandoned is still used by SIP and media: leave it to the end of
 * the process. */
	if (!e->calls || !calls_abandoned(e->calls)) {
		steps_free(e->steps);
		accounts_free(e->accounts);
		if (e->media)
			media_engine_free(e->media);
		calls_free(e->calls);
	} else {
		client_sounds_free(user_agents_sounds(e->accounts));
	}
	mono_timer_cancel(
		&e->tmr_media); /* freeing calls may have started it */
	sandbox_release(&e->sandbox);
	report_free(e->report);
	wire_job_free(e->job);
	if (e->channel) {
		if (!e->peer_gone)
			fd_close(wire_channel_fd(e->channel));
		wire_channel_free(e->channel);
	}
	if (e->signal_fd >= 0) {
		fd_close(e->signal_fd);
		close(e->signal_fd);
	}
}

int engine_main(int fd)
{
	struct engine *e = calloc(1, sizeof(*e));
	int exit_code = 1;
	int err;

	if (!e)
		return 1;
	e->signal_fd = -1;
	e->exit_code = 1;
	err = sip_loop_init();
	if (err) {
		log_error("the event loop: %s", strerror(-err));
		close(fd);
		free(e);
		return 1;
	}
	err = engine_start(e, fd);
	if (err)
		log_error("the engine cannot start: %s", strerror(-err));
	else
		err = sip_loop_run();
	if (!err)
		exit_code = e->exit_code;
	engine_release(e);
	sip_loop_close();
	free(e);
	return exit_code;
}
