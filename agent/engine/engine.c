#include "agent/engine/engine.h"

#include "agent/engine/internal.h"
#include "base/log.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TICK_MS 1000

static void channel_handler(int flags, void *arg);
static void end_begin(void *arg);
static void end_write(struct engine *e);

/* ---- set-up ---- */

int engine_address(struct media_addr *ret, const char *text, uint16_t port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&ret->ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ret->ss;

	*ret = (struct media_addr){.len = 0};
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		ret->len = sizeof(*in);
		return 0;
	}
	if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		ret->len = sizeof(*in6);
		return 0;
	}
	return -EINVAL;
}

static int port_read(json_t *object, const char *name, uint16_t *ret)
{
	json_t *value = json_object_get(object, name);

	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    json_integer_value(value) > 65535)
		return -EINVAL;
	*ret = (uint16_t)json_integer_value(value);
	return 0;
}

static int text_read(json_t *object, const char *name, char *dst, size_t size)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? str_copy(dst, size, text) : 0;
}

static int settings_read(struct engine *e, json_t *object)
{
	struct engine_settings *s = &e->settings;
	const char *values =
		json_string_value(json_object_get(object, "codec_values"));
	const char *reason;

	if (values && emodel_declare(&s->declarations, values, &reason))
		return -EINVAL;
	if (text_read(object, "bind", s->bind, sizeof(s->bind)) ||
	    engine_address(&e->bind, s->bind, 0) ||
	    port_read(object, "sip_port", &s->sip_port) ||
	    port_read(object, "rtp_min", &s->rtp_min) ||
	    port_read(object, "rtp_max", &s->rtp_max) ||
	    s->rtp_max <= s->rtp_min ||
	    text_read(object, "prompt_dir", s->prompt_dir,
		      sizeof(s->prompt_dir)) ||
	    text_read(object, "prompt_cache", s->prompt_cache,
		      sizeof(s->prompt_cache)) ||
	    text_read(object, "artifact_dir", s->artifact_dir,
		      sizeof(s->artifact_dir)) ||
	    text_read(object, "default_prompt", s->default_prompt,
		      sizeof(s->default_prompt)) ||
	    text_read(object, "media_scheduling", s->media_scheduling,
		      sizeof(s->media_scheduling)) ||
	    text_read(object, "tls_certificate", s->tls_certificate,
		      sizeof(s->tls_certificate)) ||
	    text_read(object, "tls_key", s->tls_key, sizeof(s->tls_key)) ||
	    text_read(object, "tls_certificates", s->tls_certificates,
		      sizeof(s->tls_certificates)) ||
	    text_read(object, "name_servers", s->name_servers,
		      sizeof(s->name_servers)))
		return -EINVAL;
	return 0;
}

int engine_prompt_path(const struct engine *e, const char *name,
		       const char *sha256, char *dst, size_t size)
{
	const char *folder =
		sha256 ? e->settings.prompt_cache : e->settings.prompt_dir;

	if (!folder[0])
		return -ENOENT;
	return str_print(dst, size, "%s/%s", folder, sha256 ? sha256 : name) < 0
		       ? -ENAMETOOLONG
		       : 0;
}

int engine_prompt(const struct engine *e, const struct wire_action *action,
		  char *dst, size_t size)
{
	dst[0] = '\0';
	if (!action->prompt)
		return str_copy(dst, size, e->settings.default_prompt);
	return engine_prompt_path(e, action->prompt, action->prompt_sha256, dst,
				  size);
}

int engine_expected(const struct engine *e, const struct wire_action *action,
		    char *dst, size_t size)
{
	dst[0] = '\0';
	if (!action->expect_prompt)
		return 0;
	return engine_prompt_path(e, action->expect_prompt,
				  action->expect_prompt_sha256, dst, size);
}

static void media_record(const struct media_record *record, void *arg)
{
	(void)arg;
	call_media_record(media_session_user(record->session), record);
}

static void media_handler(int flags, void *arg)
{
	struct engine *e = arg;

	(void)flags;
	media_engine_poll(e->media, media_record, e);
	steps_prepared(e);
}

static void tick(void *arg)
{
	struct engine *e = arg;

	tmr_start(&e->tmr_tick, TICK_MS, tick, e);
	if (e->peer_gone)
		return;
	report_tick(e, clock_mono_ns());
	if (wire_channel_flush(e->channel) > 0)
		fd_listen(wire_channel_fd(e->channel), FD_READ | FD_WRITE,
			  channel_handler, e);
}

static void max_duration_over(void *arg)
{
	struct engine *e = arg;
	char where[64];

	steps_where(e, where, sizeof(where));
	engine_end(
		e, "failed",
		"role %s: the job did not end within max_duration (%u s); it waited in %s",
		e->job->role, e->job->max_duration_s, where);
}

static void sip_full(const char *reason, void *arg)
{
	const struct engine *e = arg;

	log_warning("run=%s role=%s %s", e->job->session_id, e->job->role,
		    reason);
}

static int sip_start(struct engine *e)
{
	const struct engine_settings *s = &e->settings;
	const struct sip_tls tls = {
		.cert_file = s->tls_certificate,
		.key_file = s->tls_key[0] ? s->tls_key : NULL,
	};
	char reason[SIP_REASON_BYTES] = "";
	const struct sip_ua_params ua = {
		.bind_addr = s->bind,
		.port = s->sip_port,
		.software = "offhook/" OFFHOOK_VERSION,
		.calls_max = e->sessions_max,
		.tls = s->tls_certificate[0] ? &tls : NULL,
		.name_servers = s->name_servers[0] ? s->name_servers : NULL,
		.trace_h = report_sip,
		.full_h = sip_full,
		.arg = e,
		.reason = reason,
	};
	int err = sip_ua_new(&e->ua, &ua);

	if (err)
		engine_end(e, "error",
			   "role %s: SIP cannot be set up on %s port %u: %s",
			   e->job->role, s->bind, s->sip_port,
			   reason[0] ? reason : strerror(-err));
	return err;
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
	const struct media_engine_params media = {
		.port_min = e->settings.rtp_min,
		.port_max = e->settings.rtp_max,
		.sessions_max = e->sessions_max,
		.realtime = strcmp(e->settings.media_scheduling, "normal") != 0,
		.declarations = &e->settings.declarations,
		.tap = clients_want(e, WIRE_CLIENT_BARESIP)
			       ? e->bind
			       : (struct media_addr){.len = 0},
		.reason = reason,
	};
	int err = clients_start(e);

	if (err)
		return err;
	err = media_engine_new(&e->media, &media);
	if (err) {
		engine_end(e, "error", "role %s: %s: %s", e->job->role,
			   reason[0] ? "client baresip is measured by a tap"
				     : "the media engine",
			   reason[0] ? reason : strerror(-err));
		return err;
	}
	scheduling_warn(e);
	err = fd_listen(media_engine_fd(e->media), FD_READ, media_handler, e);
	if (err) {
		engine_end(e, "error", "role %s: the event loop: %s",
			   e->job->role, strerror(err));
		return -err;
	}
	return sip_start(e);
}

static void job_start(struct engine *e, json_t *message)
{
	char reason[WIRE_REASON_BYTES];
	int err;

	e->phase = ENGINE_WORKING;
	err = wire_job_decode(&e->job, json_object_get(message, "spec"),
			      reason);
	if (err) {
		engine_end(e, "error", "the job cannot be carried out: %s",
			   reason);
		return;
	}
	err = settings_read(e, json_object_get(message, "engine"));
	if (!err)
		err = collect_new(&e->collect, e->job->role,
				  e->job->interval_s);
	if (err) {
		engine_end(e, "error", "role %s: the engine's settings: %s",
			   e->job->role, strerror(-err));
		return;
	}
	e->wall_offset_ns = clock_wall_offset_ns();
	e->tick_ns = clock_mono_ns();
	e->sessions_max = sessions_wanted(e->job);
	if (stacks_start(e) || call_nat_servers(e))
		return;
	preparing_start(e);
	log_info("run=%s role=%s the job begins, seed %llu", e->job->session_id,
		 e->job->role, (unsigned long long)e->draw.state);
	tmr_start(&e->tmr_tick, TICK_MS, tick, e);
	tmr_start(&e->tmr_max, (uint64_t)e->job->max_duration_s * 1000,
		  max_duration_over, e);
}

/* ---- messages ---- */

static void go(struct engine *e, json_t *message)
{
	json_t *step = json_object_get(message, "step");
	json_t *in_ms = json_object_get(message, "in_ms");
	json_int_t delay = json_integer_value(in_ms);

	if (!json_is_integer(step) || json_integer_value(step) < 0 ||
	    delay < 0 ||
	    steps_go(e, (uint64_t)json_integer_value(step), (uint64_t)delay))
		engine_end(e, "error",
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
	else if (strcmp(type, "go") == 0 && engine_working(e))
		go(e, message);
	else if (strcmp(type, "cancel") == 0)
		engine_end(e, "stopped", "%s", "the run was cancelled");
	/* Anything else: a newer supervisor's, ignored (protocol rule). */
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
		engine_end(e, "stopped", "%s", "the supervisor is gone");
}

static void channel_write(struct engine *e)
{
	int left = wire_channel_flush(e->channel);

	if (left < 0) {
		peer_lost(e);
		return;
	}
	if (left == 0 && e->phase == ENGINE_WRITING) {
		e->exit_code = 0;
		sip_loop_stop();
		return;
	}
	fd_listen(wire_channel_fd(e->channel),
		  FD_READ | (left > 0 ? FD_WRITE : 0), channel_handler, e);
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
		/* Nothing that follows can be trusted to begin a line. */
		fd_close(wire_channel_fd(e->channel));
		engine_end(e, "error", "a message of the supervisor: %s",
			   strerror(-r));
	}
}

static void channel_handler(int flags, void *arg)
{
	struct engine *e = arg;

	if (flags & FD_WRITE)
		channel_write(e);
	if (!e->peer_gone && (flags & (FD_READ | FD_EXCEPT)))
		channel_read(e);
}

static void signal_handler(int flags, void *arg)
{
	struct signalfd_siginfo info;
	struct engine *e = arg;

	(void)flags;
	if (read(e->signal_fd, &info, sizeof(info)) == sizeof(info))
		engine_end(e, "stopped", "%s", "the engine was terminated");
}

/* ---- the orderly end ---- */

void engine_end(struct engine *e, const char *outcome, const char *fmt, ...)
{
	va_list args;

	if (e->outcome)
		return;
	e->outcome = outcome;
	va_start(args, fmt);
	vsnprintf(e->reason, sizeof(e->reason), fmt, args);
	str_utf8_repair(e->reason); /* a peer's words, perhaps cut */
	va_end(args);
	log_info("run=%s the job ends: %s%s%s",
		 e->job ? e->job->session_id : "-", outcome,
		 e->reason[0] ? ": " : "", e->reason);
	e->phase = ENGINE_ENDING_CALLS;
	/* Called from handlers of what is taken down now: not at once. */
	tmr_start(&e->tmr_end, 0, end_begin, e);
}

static void end_accounts(struct engine *e);

static void media_overdue(void *arg)
{
	struct engine *e = arg;

	log_error("media did not stop within %d ms", ENGINE_MEDIA_END_MS);
	while (e->calls.head)
		call_abandon(e->calls.head->data);
	end_accounts(e);
}

static void calls_overdue(void *arg)
{
	struct engine *e = arg;
	struct le *le;

	log_error("calls did not end within %d ms", ENGINE_CALLS_END_MS);
	LIST_FOREACH(&e->calls, le)
	{
		call_overdue(le->data);
	}
	tmr_start(&e->tmr_end, ENGINE_MEDIA_END_MS, media_overdue, e);
}

static void calls_hangup(void *arg)
{
	struct engine *e = arg;
	struct le *le;

	LIST_FOREACH(&e->calls, le)
	{
		call_hangup(le->data);
	}
	tmr_start(&e->tmr_end, ENGINE_CALLS_END_MS, calls_overdue, e);
	engine_end_check(e);
}

static void end_begin(void *arg)
{
	struct engine *e = arg;

	tmr_cancel(&e->tmr_max);
	if (!e->ua) {
		end_write(e);
		return;
	}
	steps_stop(e);
	calling_stop(e);
	watching_end(e);
	answering_stop(e);
	/* All roles are done: a BYE of the other side may be on its way. */
	if (strcmp(e->outcome, "completed") == 0 && e->calls.head)
		tmr_start(&e->tmr_end, ENGINE_REMOTE_END_MS, calls_hangup, e);
	else
		calls_hangup(e);
}

static void accounts_overdue(void *arg)
{
	struct engine *e = arg;

	log_error("run=%s %u bindings were not removed in time",
		  e->job->session_id,
		  accounts_in_state(e, ACCOUNT_LEAVING) +
			  accounts_in_state(e, ACCOUNT_REMOVING));
	end_write(e);
}

static void accounts_wait(struct engine *e)
{
	int64_t now_ns = clock_mono_ns();
	uint64_t left_ms = call_ms_until(e->accounts_end_ns, now_ns);

	tmr_start(&e->tmr_end,
		  left_ms < ENGINE_ACCOUNTS_END_MS ? left_ms
						   : ENGINE_ACCOUNTS_END_MS,
		  accounts_overdue, e);
}

void engine_account_removed(struct engine *e, bool answered)
{
	engine_end_check(e);
	/* It goes on: the bound is one of standing still. */
	if (answered && e->phase == ENGINE_ENDING_ACCOUNTS)
		accounts_wait(e);
}

static void end_accounts(struct engine *e)
{
	e->phase = ENGINE_ENDING_ACCOUNTS;
	e->accounts_end_ns =
		strcmp(e->outcome, "stopped") == 0
			? clock_mono_ns() + ENGINE_ACCOUNTS_STOP_MS * NS_PER_MS
			: INT64_MAX;
	accounts_wait(e);
	accounts_unregister(e, NULL);
	engine_end_check(e);
}

void engine_end_check(struct engine *e)
{
	if (e->phase == ENGINE_ENDING_CALLS && e->ua && !e->calls.head &&
	    !e->calling.action && !e->answering && watching_ended(e))
		end_accounts(e);
	else if (e->phase == ENGINE_ENDING_ACCOUNTS && !accounts_leaving(e))
		end_write(e);
}

static void write_overdue(void *arg)
{
	(void)arg;
	log_error("the last results could not be written");
	sip_loop_stop();
}

static void end_write(struct engine *e)
{
	e->phase = ENGINE_WRITING;
	tmr_cancel(&e->tmr_tick);
	if (e->peer_gone) {
		sip_loop_stop();
		return;
	}
	if (e->collect)
		report_rest(e);
	report_send(e, json_pack("{s:s, s:s, s:s}", "type", "finish", "outcome",
				 e->outcome, "reason", e->reason));
	tmr_start(&e->tmr_end, ENGINE_WRITE_MS, write_overdue, e);
	channel_write(e);
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
	signal(SIGINT,
	       SIG_IGN); /* the terminal's: whoever started us cancels */
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
	if (getrandom(&e->draw.state, sizeof(e->draw.state), 0) !=
	    sizeof(e->draw.state))
		return -EIO;
	err = outbox_new(&e->outbox);
	if (!err)
		err = signals_take(e);
	if (!err)
		err = -fd_listen(fd, FD_READ, channel_handler, e);
	return err;
}

static void engine_release(struct engine *e)
{
	tmr_cancel(&e->tmr_tick);
	tmr_cancel(&e->tmr_max);
	tmr_cancel(&e->tmr_end);
	steps_stop(e);
	calling_stop(e);
	if (e->media)
		fd_close(media_engine_fd(e->media));
	/* An abandoned call still stands in both stacks: the end of the process
	 * is what releases them then. */
	if (!e->abandoned) {
		watching_free(e);
		accounts_free(e);
		if (e->ua)
			sip_ua_free(e->ua);
		clients_free(e);
		if (e->media)
			media_engine_free(e->media);
	}
	collect_free(e->collect);
	outbox_free(e->outbox);
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
