#include "agent/supervisor/lease.h"

#include "agent/supervisor/lease_internal.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the end ---- */

static void on_over(void *arg)
{
	struct lease *l = arg;

	l->env->over_h(l, l->env->arg);
}

/* From a fresh turn of the loop: the owner releases the lease there. */
static void over_soon(struct lease *l)
{
	event_loop_arm(l->env->loop, &l->over, 0);
}

static void stop_timers(struct lease *l)
{
	event_loop_disarm(l->env->loop, &l->renew_timer);
	event_loop_disarm(l->env->loop, &l->expiry);
	event_loop_disarm(l->env->loop, &l->barrier_timer);
	event_loop_disarm(l->env->loop, &l->duration);
}

void lease_check_over(struct lease *l)
{
	if (l->uploaded && !l->process && l->state != LEASE_CONFIRMING &&
	    l->state != LEASE_FETCHING) {
		stop_timers(l);
		http_client_cancel(&l->renew);
		over_soon(l);
	}
}

void lease_drop(struct lease *l)
{
	stop_timers(l);
	http_client_cancel(&l->start);
	http_client_cancel(&l->renew);
	http_client_cancel(&l->barrier);
	l->state = LEASE_FLUSHING;
	l->upload = upload_free(l->upload);
	l->spool = spool_remove(l->spool);
	l->artifacts = artifacts_remove(l->artifacts);
	l->report.spool = NULL;
	l->uploaded = true;
	if (l->process)
		lease_cancel(l, NULL);
	lease_check_over(l);
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
	lease_check_over(l);
}

static void on_upload_cancel(void *arg)
{
	lease_cancel(arg, NULL);
}

void lease_finish(struct lease *l, const char *outcome, const char *reason)
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
	err = report_records_finish(&l->report, outcome, reason);
	if (err)
		log_error("lease=%s: the spool cannot be written: %s", l->id,
			  strerror(-err));
	upload_flush(l->upload);
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
		lease_end_unstarted(l, "stopped", "");
		return;
	}
	if (!l->process || l->cancelled)
		return;
	l->cancelled = true;
	log_info("run=%s role=%s lease=%s: cancelled", l->session_id, l->role,
		 l->id);
	http_client_cancel(&l->barrier);
	event_loop_disarm(l->env->loop, &l->barrier_timer);
	message = json_pack("{s:s}", "type", "cancel");
	if (message && !l->finished)
		engine_process_send(l->process, message);
	json_decref(message);
	engine_process_kill_after(l->process,
				  (int64_t)l->env->conf->cancel_s * 1000);
}

void lease_artifact_lost(const char *name, const char *why, void *arg)
{
	struct lease *l = arg;

	if (l->spool && report_records_lost(&l->report, name, why))
		log_error("lease=%s: the spool cannot be written", l->id);
	if (l->upload)
		upload_poke(l->upload);
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
	lease_engine_init(l);
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
				       .lost_h = lease_artifact_lost,
				       .end_h = on_upload_end,
				       .arg = l};

	l->report.spool = l->spool;
	return upload_new(&l->upload, &params);
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
		err = lease_start(l);
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
		lease_finish(
			l, "error",
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
	event_loop_disarm(l->env->loop, &l->over);
	http_client_cancel(&l->start);
	http_client_cancel(&l->renew);
	http_client_cancel(&l->barrier);
	upload_free(l->upload);
	engine_process_free(l->process);
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
