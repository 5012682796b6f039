/* The engine of a lease: its process, its job, its reports. */
#include "agent/supervisor/job_division.h"
#include "agent/supervisor/lease_internal.h"
#include "agent/supervisor/terminal.h"
#include "base/log.h"
#include "base/str.h"
#include "control/wire/batch.h"
#include "control/wire/text.h"

#include <errno.h>
#include <string.h>

/* An engine ends a job at its max_duration; after this it is taken for hung. */
#define DURATION_SLACK_S 60
/* Time to exit after `finish`. */
#define EXIT_MS 10000

/* ---- what it reports ---- */

static void keep(struct lease *l, enum record_kind kind, json_t *message,
		 const char *list)
{
	size_t len, items_len = 0;
	const char *text = engine_group_text(l->engines, &len);
	const char *items =
		text ? wire_batch_items(text, len, message, list, &items_len)
		     : NULL;
	char reason[160];
	int err = l->spool && !l->finished
			  ? report_records_items(&l->report, kind,
						 json_object_get(message, list),
						 items, items_len)
			  : 0;

	if (l->report.disk_full && !l->disk_full) {
		l->disk_full = true;
		log_error("run=%s role=%s lease=%s: the disk of state_dir is "
			  "full: results are dropped until there is room",
			  l->session_id, l->role, l->id);
	}
	if (err) {
		str_print(reason, sizeof(reason),
			  "the agent's spool cannot be written: %s",
			  err == -ENOBUFS ? "events and SIP messages that the "
					    "controller has not taken fill it"
					  : strerror(-err));
		if (!l->cancelled) /* later reports are refused, too */
			log_error("lease=%s: %s", l->id, reason);
		lease_cancel(l, reason);
	}
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
		lease_artifact_lost(name,
				    err == -EDQUOT
					    ? "there is no room for it in the "
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
	lease_finish(l, known ? outcome : "error",
		     known ? text_of(message, "reason")
			   : "the engine finished without a known outcome");
	engine_group_kill_after(l->engines, EXIT_MS);
}

static void on_message(json_t *message, void *arg)
{
	struct lease *l = arg;
	const char *type = text_of(message, "type");

	if (l->env->verbose)
		terminal_show(l->role, message);
	if (strcmp(type, "prepared") == 0)
		lease_engine_prepared(l);
	else if (strcmp(type, "ready") == 0)
		lease_step_ready(l, message);
	else if (strcmp(type, "began") == 0)
		lease_step_began(l, message);
	else if (strcmp(type, "progress") == 0)
		l->progress =
			json_number_value(json_object_get(message, "progress"));
	else if (strcmp(type, "stats") == 0)
		keep(l, RECORD_STATS, message, "series");
	else if (strcmp(type, "events") == 0)
		keep(l, RECORD_EVENTS, message, "events");
	else if (strcmp(type, "sip") == 0)
		keep(l, RECORD_SIP, message, "messages");
	else if (strcmp(type, "artifact") == 0)
		on_artifact_message(l, message);
	else if (strcmp(type, "finish") == 0)
		on_finish_message(l, message);
}

static void on_process_end(const char *how, void *arg)
{
	struct lease *l = arg;
	char reason[256];

	l->engines = engine_group_free(l->engines);
	l->state = LEASE_FLUSHING;
	http_client_cancel(&l->barrier);
	event_loop_disarm(l->env->loop, &l->barrier_timer);
	event_loop_disarm(l->env->loop, &l->duration);
	str_print(reason, sizeof(reason), "the engine process died: %s", how);
	lease_finish(l, "error", reason);
	l->env->idle_h(l, l->env->arg);
	lease_check_over(l);
}

/* ---- its start and its longest duration ---- */

static void on_duration(void *arg)
{
	lease_cancel(arg, "the engine did not end the job at its longest "
			  "duration");
}

void lease_engine_init(struct lease *l)
{
	l->duration.due_h = on_duration;
	l->duration.arg = l;
}

/* Add a setting, if it is not empty. */
static int setting_add(json_t *engine, const char *name, const char *text)
{
	return text[0] ? json_object_set_new(engine, name, json_string(text))
		       : 0;
}

static json_t *saturation_limits(const struct agent_conf *c)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "send_lateness_ms",
			 (json_int_t)c->saturation_send_lateness,
			 "loop_lateness_ms",
			 (json_int_t)c->saturation_loop_lateness, "share_pct",
			 (json_int_t)c->saturation_share, "steal_pct",
			 (json_int_t)c->saturation_steal, "throttled",
			 (json_int_t)c->saturation_throttled, "clock_step_ms",
			 (json_int_t)c->saturation_clock_step);
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
	     setting_add(engine, "srtp_library", c->srtp_library) ||
	     setting_add(engine, "sandbox", c->sandbox) ||
	     setting_add(engine, "tls_certificate", c->sip_tls_certificate) ||
	     setting_add(engine, "tls_key", c->sip_tls_key) ||
	     setting_add(engine, "tls_certificates", c->sip_tls_certificates) ||
	     setting_add(engine, "name_servers", c->name_servers) ||
	     json_object_set_new(engine, "saturation", saturation_limits(c)) ||
	     (l->env->calibration &&
	      json_object_set(engine, "calibration", l->env->calibration)))) {
		json_decref(engine);
		return NULL;
	}
	return json_pack("{s:s,s:O,s:o}", "type", "job", "spec", l->spec,
			 "engine", engine);
}

static int begin_job(struct lease *l)
{
	json_t *job = job_message(l);
	int err = job ? engine_group_job(l->engines, job) : -ENOMEM;

	json_decref(job);
	/* the spec has passwords: only the engine keeps it */
	json_decref(l->spec);
	l->spec = NULL;
	return err ? err : lease_begin(l);
}

/* Over how many engines the job is divided, and what they need to know of it. */
static void divide(struct engine_group_params *ret, const struct lease *l)
{
	const struct agent_conf *c = l->env->conf;

	if (c->sip_port) /* it exists once */
		return;
	ret->engines = job_division(l->spec, job_division_most(c->engines),
				    &ret->interval_s);
	if (ret->engines > 1)
		log_info("run=%s role=%s lease=%s: divided over %u engines",
			 l->session_id, l->role, l->id, ret->engines);
}

void lease_engine_start(struct lease *l)
{
	struct engine_group_params params = {
		.engines = 1,
		.role = l->role,
		.cancel_ms = (int64_t)l->env->conf->cancel_s * 1000,
		.handlers = {.message_h = on_message,
			     .end_h = on_process_end,
			     .arg = l},
	};
	char reason[160];
	int err;

	divide(&params, l);
	err = engine_group_new(&l->engines, l->env->engines, &params);

	if (err == 0) {
		l->state = LEASE_RUNNING;
		event_loop_arm(l->env->loop, &l->duration,
			       ((int64_t)l->max_duration_s + DURATION_SLACK_S) *
				       1000);
		err = begin_job(l);
		if (err)
			engine_group_kill(l->engines);
	} else {
		l->state = LEASE_FLUSHING;
		l->env->idle_h(l, l->env->arg);
	}
	if (err) {
		str_print(reason, sizeof(reason),
			  "the engine process cannot be started: %s",
			  err == -EAGAIN ? "raise the agent's TasksMax or its "
					   "memory"
					 : strerror(-err));
		lease_finish(l, "error", reason);
	}
}
