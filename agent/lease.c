#include "agent/lease.h"

#include "agent/lease_internal.h"
#include "agent/prompts.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_S 30
/* A prompt of 64 MiB over a link of 1 Mbit/s. */
#define PROMPT_S 600
/* An engine ends a job at its max_duration; this much later it hangs. */
#define DURATION_SLACK_S 60
/* An engine that has finished has little left to do. */
#define EXIT_MS 10000

/* ---- the end ---- */

static void on_over(void *arg)
{
	struct lease *l = arg;

	l->env->over_h(l, l->env->arg);
}

/* From a fresh turn of the loop: the owner releases the lease there. */
static void over_soon(struct lease *l)
{
	loop_arm(l->env->loop, &l->over, 0);
}

static void stop_timers(struct lease *l)
{
	loop_disarm(l->env->loop, &l->renew_timer);
	loop_disarm(l->env->loop, &l->expiry);
	loop_disarm(l->env->loop, &l->barrier_timer);
	loop_disarm(l->env->loop, &l->duration);
}

static void check_over(struct lease *l)
{
	if (l->uploaded && !l->process && l->state != LEASE_CONFIRMING &&
	    l->state != LEASE_FETCHING) {
		stop_timers(l);
		http_cancel(&l->renew);
		over_soon(l);
	}
}

void lease_drop(struct lease *l)
{
	stop_timers(l);
	http_cancel(&l->start);
	http_cancel(&l->renew);
	http_cancel(&l->barrier);
	l->state = LEASE_FLUSHING;
	l->upload = upload_free(l->upload);
	l->spool = spool_remove(l->spool);
	l->artifacts = artifacts_remove(l->artifacts);
	l->report.spool = NULL;
	l->uploaded = true;
	if (l->process)
		lease_cancel(l, NULL);
	check_over(l);
}

static void on_upload_end(enum upload_end end, void *arg)
{
	struct lease *l = arg;

	if (end == UPLOAD_UNAUTHORIZED) {
		l->env->unauthorized_h(l->env->arg);
		return;
	}
	if (end == UPLOAD_ACCEPTED)
		log_info("run=%s role=%s lease=%s: results are delivered",
			 l->session_id, l->role, l->id);
	l->uploaded = true;
	l->dropped = end != UPLOAD_ACCEPTED;
	if (l->dropped && l->process)
		lease_cancel(l, NULL);
	check_over(l);
}

static void on_upload_cancel(void *arg)
{
	lease_cancel(arg, NULL);
}

/* Keep the outcome and bring everything to the controller. */
static void finish(struct lease *l, const char *outcome, const char *reason)
{
	int err;

	if (l->finished)
		return;
	l->finished = true;
	if (l->error[0]) {
		outcome = "error";
		reason = l->error;
	}
	log_info("run=%s role=%s lease=%s: %s%s%s", l->session_id, l->role,
		 l->id, outcome, reason[0] ? ": " : "", reason);
	if (!l->spool)
		return; /* dropped */
	err = report_finish(&l->report, outcome, reason);
	if (err)
		log_error("lease=%s: the spool cannot be written: %s", l->id,
			  strerror(-err));
	upload_poke(l->upload);
}

/* ---- the engine ---- */

/* The job is ours and has no engine. */
static void end_unstarted(struct lease *l, const char *outcome,
			  const char *reason)
{
	http_cancel(&l->start);
	l->state = LEASE_FLUSHING;
	finish(l, outcome, reason);
	l->env->idle_h(l, l->env->arg);
}

void lease_cancel(struct lease *l, const char *reason)
{
	json_t *message;

	if (reason && !l->error[0] && !l->finished)
		str_print(l->error, sizeof(l->error), "%s", reason);
	if (l->state == LEASE_CONFIRMING) {
		lease_drop(l); /* an offer only: no call was made */
		return;
	}
	if (l->state == LEASE_FETCHING) {
		end_unstarted(l, "stopped", "");
		return;
	}
	if (!l->process || l->cancelled)
		return;
	l->cancelled = true;
	log_info("run=%s role=%s lease=%s: cancelled", l->session_id, l->role,
		 l->id);
	http_cancel(&l->barrier);
	loop_disarm(l->env->loop, &l->barrier_timer);
	message = json_pack("{s:s}", "type", "cancel");
	if (message && !l->finished)
		process_send(l->process, message);
	json_decref(message);
	process_kill_after(l->process, (int64_t)l->env->conf->cancel_s * 1000);
}

static void on_duration(void *arg)
{
	lease_cancel(arg, "the engine did not end the job at its longest "
			  "duration");
}

static void keep(struct lease *l, enum record_kind kind, json_t *items)
{
	char reason[160];
	int err = l->spool && !l->finished
			  ? report_items(&l->report, kind, items)
			  : 0;

	if (err) {
		str_print(reason, sizeof(reason),
			  "the agent's spool cannot be written: %s",
			  err == -ENOBUFS ? "events and SIP messages that the "
					    "controller has not taken fill it"
					  : strerror(-err));
		if (!l->cancelled) /* what still comes is refused alike */
			log_error("lease=%s: %s", l->id, reason);
		lease_cancel(l, reason);
	}
	if (l->upload)
		upload_poke(l->upload);
}

static void on_lost(const char *name, const char *why, void *arg)
{
	struct lease *l = arg;

	if (l->spool && report_lost(&l->report, name, why))
		log_error("lease=%s: the spool cannot be written", l->id);
	if (l->upload)
		upload_poke(l->upload);
}

static void on_artifact_message(struct lease *l, json_t *message)
{
	const char *name = text_of(message, "name");
	int err = l->artifacts ? artifacts_take(l->artifacts, name) : 0;

	if (err) {
		log_warning("run=%s role=%s lease=%s: artifact %.100s: %s",
			    l->session_id, l->role, l->id, name,
			    strerror(-err));
		on_lost(name,
			err == -EDQUOT ? "there is no room for it in the "
					 "spool of the agent"
				       : strerror(-err),
			l);
	} else if (l->upload) {
		upload_poke(l->upload);
	}
}

static void on_finish_message(struct lease *l, json_t *message)
{
	static const char *const outcomes[] = {"completed", "failed", "error",
					       "stopped"};
	const char *outcome = text_of(message, "outcome");
	bool known = false;

	for (size_t i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++)
		known |= strcmp(outcome, outcomes[i]) == 0;
	finish(l, known ? outcome : "error",
	       known ? text_of(message, "reason")
		     : "the engine finished without a known outcome");
	process_kill_after(l->process, EXIT_MS);
}

static void on_message(json_t *message, void *arg)
{
	struct lease *l = arg;
	const char *type = text_of(message, "type");

	if (strcmp(type, "ready") == 0)
		lease_step_ready(l, json_object_get(message, "step"));
	else if (strcmp(type, "progress") == 0)
		l->progress =
			json_number_value(json_object_get(message, "progress"));
	else if (strcmp(type, "stats") == 0)
		keep(l, RECORD_STATS, json_object_get(message, "series"));
	else if (strcmp(type, "events") == 0)
		keep(l, RECORD_EVENTS, json_object_get(message, "events"));
	else if (strcmp(type, "sip") == 0)
		keep(l, RECORD_SIP, json_object_get(message, "messages"));
	else if (strcmp(type, "artifact") == 0)
		on_artifact_message(l, message);
	else if (strcmp(type, "finish") == 0)
		on_finish_message(l, message);
}

static void on_process_end(const char *how, void *arg)
{
	struct lease *l = arg;
	char reason[256];

	l->process = process_free(l->process);
	l->state = LEASE_FLUSHING;
	http_cancel(&l->barrier);
	loop_disarm(l->env->loop, &l->barrier_timer);
	loop_disarm(l->env->loop, &l->duration);
	str_print(reason, sizeof(reason), "the engine process died: %s", how);
	finish(l, "error", reason);
	l->env->idle_h(l, l->env->arg);
	check_over(l);
}

/* What is empty is left out. */
static int setting_add(json_t *engine, const char *name, const char *text)
{
	return text[0] ? json_object_set_new(engine, name, json_string(text))
		       : 0;
}

static json_t *job_message(const struct lease *l)
{
	const struct agent_conf *c = l->env->conf;
	json_t *engine =
		json_pack("{s:s,s:i,s:i,s:i,s:s,s:s}", "bind", c->bind,
			  "sip_port", c->sip_port, "rtp_min", c->rtp_min,
			  "rtp_max", c->rtp_max, "prompt_dir", c->prompt_dir,
			  "prompt_cache", l->env->prompt_cache);

	if (engine &&
	    (setting_add(engine, "artifact_dir", artifacts_dir(l->artifacts)) ||
	     setting_add(engine, "default_prompt", c->default_prompt) ||
	     setting_add(engine, "codec_values", c->codec_values) ||
	     setting_add(engine, "media_scheduling", c->media_scheduling) ||
	     setting_add(engine, "tls_certificate", c->sip_tls_certificate) ||
	     setting_add(engine, "tls_key", c->sip_tls_key) ||
	     setting_add(engine, "tls_certificates", c->sip_tls_certificates) ||
	     setting_add(engine, "name_servers", c->name_servers))) {
		json_decref(engine);
		return NULL;
	}
	return json_pack("{s:s,s:O,s:o}", "type", "job", "spec", l->spec,
			 "engine", engine);
}

static int begin_job(struct lease *l)
{
	json_t *job = job_message(l);
	int err = job ? process_send(l->process, job) : -ENOMEM;

	json_decref(job);
	/* the spec has passwords: it lives in the engine from here on */
	json_decref(l->spec);
	l->spec = NULL;
	return err ? err : lease_go(l, 0, 0);
}

static void start_engine(struct lease *l)
{
	struct process_params params = {.program = l->env->engine_program,
					.message_h = on_message,
					.end_h = on_process_end,
					.arg = l};
	char reason[160];
	int err = process_start(&l->process, l->env->loop, &params);

	if (err == 0) {
		l->state = LEASE_RUNNING;
		loop_arm(l->env->loop, &l->duration,
			 ((int64_t)l->max_duration_s + DURATION_SLACK_S) *
				 1000);
		err = begin_job(l);
		if (err)
			process_kill(l->process);
	} else {
		l->state = LEASE_FLUSHING;
		l->env->idle_h(l, l->env->arg);
	}
	if (err) {
		str_print(reason, sizeof(reason),
			  "the engine process cannot be started: %s",
			  strerror(-err));
		finish(l, "error", reason);
	}
}

static void fetch_prompts(struct lease *l);

static void on_prompt(const struct http_answer *answer, void *arg)
{
	struct lease *l = arg;
	char reason[256];
	int err = 0;

	if (answer->status == 401) {
		l->env->unauthorized_h(l->env->arg);
		return;
	}
	if (answer->status == 200)
		err = prompts_keep(l->env->prompt_cache, l->fetched,
				   answer->data ? answer->data : "",
				   answer->len);
	if (answer->status == 200 && err == 0) {
		fetch_prompts(l);
		return;
	}
	str_print(reason, sizeof(reason),
		  "role %s: a prompt cannot be fetched from the controller: %s",
		  l->role,
		  err == -EBADMSG ? "what came is not what its hash says"
		  : err           ? strerror(-err)
				  : answer->text);
	end_unstarted(l, "error", reason);
}

/* One after the other; the engine starts when all are there. */
static void fetch_prompts(struct lease *l)
{
	char path[128];
	struct http_request request = {.method = "GET",
				       .path = path,
				       .raw_bytes = PROMPT_FILE_BYTES,
				       .timeout_s = PROMPT_S,
				       .answer_h = on_prompt,
				       .arg = l};

	l->fetched = prompts_missing(l->spec, l->env->prompt_cache);
	if (!l->fetched) {
		start_engine(l);
		return;
	}
	str_print(path, sizeof(path), "/appimages/%s", l->fetched);
	if (http_send(&l->start, l->env->http, &request))
		end_unstarted(l, "error", "out of memory");
}

static void on_started(const struct http_answer *answer, void *arg)
{
	struct lease *l = arg;

	if (answer->status == 401) {
		l->env->unauthorized_h(l->env->arg);
		return;
	}
	if (answer->status < 200 || answer->status >= 300) {
		log_warning("run=%s role=%s lease=%s: not ours to start (%s)",
			    l->session_id, l->role, l->id, answer->text);
		lease_drop(l);
		l->env->idle_h(l, l->env->arg);
		return;
	}
	log_info("run=%s role=%s lease=%s: started", l->session_id, l->role,
		 l->id);
	lease_renewal_begin(l, answer->sent_ns);
	l->state = LEASE_FETCHING;
	fetch_prompts(l);
}

/* ---- making one ---- */

static struct lease *lease_alloc(struct lease_env *env)
{
	struct lease *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->env = env;
	l->over.due_h = on_over;
	l->over.arg = l;
	l->duration.due_h = on_duration;
	l->duration.arg = l;
	lease_renewal_init(l);
	return l;
}

static int lease_open_upload(struct lease *l)
{
	struct upload_params params = {.loop = l->env->loop,
				       .http = l->env->http,
				       .spool = l->spool,
				       .artifacts = l->artifacts,
				       .lease_id = l->id,
				       .cancel_h = on_upload_cancel,
				       .lost_h = on_lost,
				       .end_h = on_upload_end,
				       .arg = l};

	l->report.spool = l->spool;
	return upload_new(&l->upload, &params);
}

static int request_start(struct lease *l)
{
	char path[128];
	json_t *body = json_object();
	struct http_request request = {.method = "POST",
				       .path = path,
				       .body = body,
				       .timeout_s = REQUEST_S,
				       .answer_h = on_started,
				       .arg = l};
	int err;

	str_print(path, sizeof(path), "/leases/%s/start", l->id);
	err = body ? http_send(&l->start, l->env->http, &request) : -ENOMEM;
	json_decref(body);
	return err;
}

static int set_names(struct lease *l, const char *id, json_t *names)
{
	int err = spool_name_valid(id) ? str_copy(l->id, sizeof(l->id), id)
				       : -EINVAL;

	if (err)
		return err;
	str_print(l->session_id, sizeof(l->session_id), "%s",
		  text_of(names, "session_id"));
	str_print(l->role, sizeof(l->role), "%s", text_of(names, "role"));
	return 0;
}

static int begin_spool(struct lease *l)
{
	json_t *meta = json_pack("{s:s,s:s}", "session_id", l->session_id,
				 "role", l->role);
	char *text = meta ? json_dumps(meta, JSON_COMPACT) : NULL;
	int err = text ? spool_create(&l->spool, l->env->spool_dir, l->id,
				      l->env->space, text)
		       : -ENOMEM;

	free(text);
	json_decref(meta);
	return err;
}

static int open_artifacts(struct lease *l)
{
	return artifacts_open(&l->artifacts, l->env->artifact_dir, l->id,
			      l->env->space);
}

int lease_new(struct lease **ret, struct lease_env *env, json_t *job)
{
	json_t *spec = json_object_get(job, "spec");
	json_t *duration = json_object_get(spec, "max_duration_s");
	struct lease *l;
	int err;

	if (!json_is_object(spec))
		return -EINVAL;
	l = lease_alloc(env);
	if (!l)
		return -ENOMEM;
	l->spec = json_incref(spec);
	l->step_count = json_array_size(json_object_get(spec, "steps"));
	l->max_duration_s =
		json_is_integer(duration) && json_integer_value(duration) > 0 &&
				json_integer_value(duration) < INT32_MAX
			? (uint32_t)json_integer_value(duration)
			: 86400;
	err = set_names(l, text_of(job, "lease_id"), job);
	if (err == 0)
		err = begin_spool(l);
	if (err == 0)
		err = open_artifacts(l);
	if (err == 0)
		err = lease_open_upload(l);
	if (err == 0)
		err = request_start(l);
	if (err) {
		l->spool = spool_remove(l->spool);
		l->artifacts = artifacts_remove(l->artifacts);
		lease_free(l);
		return err;
	}
	*ret = l;
	return 0;
}

int lease_recover(struct lease **ret, struct lease_env *env, const char *id)
{
	struct lease *l = lease_alloc(env);
	json_t *meta = NULL;
	int err;

	if (!l)
		return -ENOMEM;
	err = spool_open(&l->spool, env->spool_dir, id, env->space);
	if (err == 0) {
		meta = json_loads(spool_meta(l->spool), 0, NULL);
		err = set_names(l, id, meta);
		json_decref(meta);
	}
	if (err == 0)
		err = open_artifacts(l);
	if (err == 0)
		err = lease_open_upload(l);
	if (err) {
		lease_free(l);
		return err;
	}
	l->state = LEASE_FLUSHING;
	if (spool_finish(l->spool))
		l->finished = true;
	else
		finish(l, "error",
		       "the agent was restarted while the job was running");
	upload_poke(l->upload);
	lease_renewal_begin(l, clock_mono_ns());
	*ret = l;
	return 0;
}

struct lease *lease_free(struct lease *l)
{
	if (!l)
		return NULL;
	stop_timers(l);
	loop_disarm(l->env->loop, &l->over);
	http_cancel(&l->start);
	http_cancel(&l->renew);
	http_cancel(&l->barrier);
	upload_free(l->upload);
	process_free(l->process);
	if (l->uploaded) {
		spool_remove(l->spool);
		artifacts_remove(l->artifacts);
	} else {
		spool_free(l->spool);
		artifacts_free(l->artifacts);
	}
	json_decref(l->spec);
	free(l);
	return NULL;
}

const char *lease_id(const struct lease *l)
{
	return l->id;
}

bool lease_is_busy(const struct lease *l)
{
	return l->state == LEASE_CONFIRMING || l->state == LEASE_FETCHING ||
	       l->process;
}
