#include "agent/supervisor/lease.h"

#include "agent/link/prompt_files.h"
#include "agent/supervisor/lease_internal.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RENEW_REQUEST_S 15
/* The controller answers a barrier within 20 s. */
#define BARRIER_S 40
/* Least time between two requests at a barrier. */
#define BARRIER_GAP_MS 1000
/* A go_in_ms above this is taken for an error. */
#define GO_IN_MAX_MS    60000
#define START_REQUEST_S 30
/* Delay of a step of several engines, until each has the message. */
#define GO_TOGETHER_MS 20
/* Likewise of the first step, until each process has started and set up its job. */
#define GO_FIRST_MS 500
/* An answer whose time is known worse tells no start of calls. */
#define CLOCK_ERROR_US_MAX 60000000
/* Long enough for a prompt of 64 MiB over 1 Mbit/s. */
#define PROMPT_S 600

/* ---- the end ---- */

static void on_over(void *arg)
{
	struct lease *l = arg;

	l->env->over_h(l, l->env->arg);
}

/* Call over_h in a later turn of the loop, as the owner frees the lease there. */
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
	if (l->uploaded && !l->engines && l->state != LEASE_CONFIRMING &&
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
	l->dropped = true;
	if (l->engines)
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
	if (l->dropped && l->engines)
		lease_cancel(l, NULL);
	lease_check_over(l);
}

/* What the controller said in an answer. A command that it repeats, or that is of a newer one, changes
 * nothing. */
static void obey(const char *command, void *arg)
{
	struct lease *l = arg;
	json_t *message;

	if (strcmp(command, "cancel") == 0)
		lease_cancel(l, NULL);
	if (strcmp(command, "enough") != 0 || !l->engines || l->enough ||
	    l->cancelled || l->finished)
		return;
	l->enough = true;
	log_info("run=%s role=%s lease=%s: no more calls are needed",
		 l->session_id, l->role, l->id);
	message = json_pack("{s:s}", "type", "enough");
	if (message)
		engine_group_send(l->engines, message);
	json_decref(message);
}

void lease_finish(struct lease *l, const char *outcome, const char *reason)
{
	int err;

	if (l->finished)
		return;
	l->finished = true;
	report_records_untold(&l->report, l->error, sizeof(l->error));
	if (l->error[0]) {
		outcome = "error";
		reason = l->error;
	}
	l->completed = strcmp(outcome, "completed") == 0;
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

static void lease_end_unstarted(struct lease *l, const char *outcome,
				const char *reason)
{
	http_client_cancel(&l->start);
	l->state = LEASE_FLUSHING;
	lease_finish(l, outcome, reason);
	l->env->idle_h(l, l->env->arg);
}

void lease_cancel(struct lease *l, const char *reason)
{
	json_t *message;

	if (reason && !l->error[0] && !l->finished)
		str_print(l->error, sizeof(l->error), "%s", reason);
	if (l->state == LEASE_CONFIRMING) {
		lease_drop(l); /* only offered: there are no results */
		return;
	}
	if (l->state == LEASE_FETCHING) {
		lease_end_unstarted(l, "stopped", "");
		return;
	}
	if (!l->engines || l->cancelled)
		return;
	l->cancelled = true;
	log_info("run=%s role=%s lease=%s: cancelled", l->session_id, l->role,
		 l->id);
	http_client_cancel(&l->barrier);
	event_loop_disarm(l->env->loop, &l->barrier_timer);
	message = json_pack("{s:s}", "type", "cancel");
	if (message && !l->finished)
		engine_group_send(l->engines, message);
	json_decref(message);
	engine_group_kill_after(l->engines,
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

static void ask_barrier(struct lease *l);

/* ---- renewals ---- */

static uint32_t renew_period_s(const struct lease *l)
{
	uint32_t s = l->env->renew_s;

	if (s > l->env->lease_s / 2)
		s = l->env->lease_s / 2;
	return s > 0 ? s : 1;
}

/* Count lease_s from the request's sending, which is before the controller's
 * count. */
static void extend(struct lease *l, int64_t sent_ns)
{
	int64_t left =
		sent_ns + (int64_t)l->env->lease_s * NS_PER_S - clock_mono_ns();

	event_loop_arm(l->env->loop, &l->expiry,
		       left > 0 ? left / NS_PER_MS : 0);
}

static void lose(struct lease *l, const char *text)
{
	if (l->lost)
		return;
	l->lost = true;
	log_warning("run=%s role=%s lease=%s: lost (%s)", l->session_id,
		    l->role, l->id, text);
	event_loop_disarm(l->env->loop, &l->renew_timer);
	event_loop_disarm(l->env->loop, &l->expiry);
	http_client_cancel(&l->renew);
	http_client_cancel(&l->barrier);
	/* End the calls, but upload the results: the controller accepts them
	 * for a while after the end of a lease. If it does not want them it
	 * answers 410, and they are removed. */
	lease_cancel(l, NULL);
}

/* @return true: the controller does not know this agent or lease any more */
static bool is_disowned(struct lease *l,
			const struct http_client_answer *answer)
{
	switch (answer->status) {
	case 401:
		l->env->unauthorized_h(l->env->arg);
		return true;
	case 403:
	case 404:
	case 410:
		lose(l, answer->text);
		return true;
	default:
		return false;
	}
}

static void clock_read(struct lease *l, const struct http_client_answer *answer)
{
	const json_t *time = json_object_get(answer->body, "server_time");
	const json_int_t error_us = json_integer_value(
		json_object_get(answer->body, "server_time_error_us"));

	if (json_is_integer(time) && error_us >= 0 &&
	    error_us <= CLOCK_ERROR_US_MAX)
		controller_clock_read(&l->clock, answer->sent_ns,
				      answer->done_ns, json_integer_value(time),
				      error_us);
}

static void on_renewed(const struct http_client_answer *answer, void *arg)
{
	struct lease *l = arg;
	const char *command;
	json_t *lease_s;

	if (is_disowned(l, answer))
		return;
	if (answer->status != 200) {
		log_warning("lease=%s: not renewed (%s)", l->id, answer->text);
		return;
	}
	lease_s = json_object_get(answer->body, "lease_s");
	if (json_is_integer(lease_s) && json_integer_value(lease_s) > 0 &&
	    json_integer_value(lease_s) <= 86400)
		l->env->lease_s = (uint32_t)json_integer_value(lease_s);
	clock_read(l, answer);
	extend(l, answer->sent_ns);
	command = json_string_value(json_object_get(answer->body, "command"));
	if (command)
		obey(command, l);
	if (l->barrier_waiting && !l->cancelled && !l->barrier_timer.armed)
		ask_barrier(l);
}

/* What a shard tells besides: when it began its calls, by the controller's clock. With each
 * answer the time may be known better. */
static int add_began(const struct lease *l, json_t *body)
{
	const struct controller_clock *c = &l->clock;
	const json_int_t t_us = (l->began_ns + c->offset_ns) / NS_PER_US;
	const json_int_t error_us =
		controller_clock_error_ns(c, l->began_ns) / NS_PER_US + 1;

	if (!body || !l->sharded || !l->began_ns || !c->known)
		return 0;
	return json_object_set_new(
		       body, "began",
		       json_pack("{s:I, s:I}", "t", t_us, "error_us", error_us))
		       ? -ENOMEM
		       : 0;
}

/* Replace a renewal that waits for its backoff by a new one. */
static void renew_now(struct lease *l)
{
	char path[128];
	json_t *body;
	struct http_client_request request = {.method = "PUT",
					      .path = path,
					      .timeout_s = RENEW_REQUEST_S,
					      .answer_h = on_renewed,
					      .arg = l};

	if (l->lost || l->uploaded)
		return;
	event_loop_arm(l->env->loop, &l->renew_timer,
		       (int64_t)renew_period_s(l) * 1000);
	http_client_cancel(&l->renew);
	str_print(path, sizeof(path), "/leases/%s", l->id);
	body = json_pack("{s:s,s:f}", "state",
			 l->engines ? "running" : "finishing", "progress",
			 l->progress);
	request.body = body;
	if (!body || add_began(l, body) ||
	    http_client_send(&l->renew, l->env->http, &request) != 0)
		log_error("lease=%s: no memory for a renewal", l->id);
	json_decref(body);
}

static void on_renew_due(void *arg)
{
	renew_now(arg);
}

static void on_expiry(void *arg)
{
	struct lease *l = arg;
	char reason[160];

	if (!l->engines && l->state != LEASE_FETCHING)
		return;
	str_print(reason, sizeof(reason),
		  "the agent could not renew its lease for %u s, so it %s "
		  "the calls",
		  l->env->lease_s, l->engines ? "ended" : "did not begin");
	log_error("run=%s role=%s lease=%s: %s", l->session_id, l->role, l->id,
		  reason);
	lease_cancel(l, reason);
}

static void on_barrier_due(void *arg)
{
	struct lease *l = arg;

	if (l->barrier_waiting && !l->renew)
		renew_now(l);
}

static void lease_renewal_init(struct lease *l)
{
	l->renew_timer.due_h = on_renew_due;
	l->renew_timer.arg = l;
	l->expiry.due_h = on_expiry;
	l->expiry.arg = l;
	l->barrier_timer.due_h = on_barrier_due;
	l->barrier_timer.arg = l;
}

static void lease_renewal_begin(struct lease *l, int64_t sent_ns)
{
	extend(l, sent_ns);
	event_loop_arm(l->env->loop, &l->renew_timer,
		       (int64_t)renew_period_s(l) * 1000);
}

/* ---- barriers ---- */

int lease_go(struct lease *l, int64_t step, int64_t in_ms)
{
	json_t *go = json_pack("{s:s,s:I,s:I}", "type", "go", "step",
			       (json_int_t)step, "in_ms", (json_int_t)in_ms);
	int64_t lead_ms = step == 0 ? GO_FIRST_MS : GO_TOGETHER_MS;
	int64_t at_ns = clock_mono_ns() + (in_ms + lead_ms) * NS_PER_MS;
	int err = go ? 0 : -ENOMEM;

	/* several begin at one time, when all of them have the message; so do
	 * those of all shards */
	if (!err && (l->sharded || l->barrier_first ||
		     engine_group_count(l->engines) > 1))
		err = json_object_set_new(go, "at_ns", json_integer(at_ns))
			      ? -ENOMEM
			      : 0;
	if (!err)
		err = engine_group_send(l->engines, go);

	json_decref(go);
	if (err == 0)
		l->step = step;
	return err;
}

static void pass_barrier(struct lease *l,
			 const struct http_client_answer *answer)
{
	json_t *go_in = json_object_get(answer->body, "go_in_ms");
	double in_ms = json_number_value(go_in);

	l->barrier_waiting = false;
	if (!json_is_number(go_in) || in_ms < 0 || in_ms > GO_IN_MAX_MS)
		in_ms = 0;
	if (lease_go(l, l->step + 1, (int64_t)in_ms) != 0)
		lease_cancel(l, "the engine does not take messages any more");
}

static void on_barrier(const struct http_client_answer *answer, void *arg)
{
	struct lease *l = arg;
	char reason[256];
	int64_t gap;

	if (is_disowned(l, answer))
		return;
	switch (answer->status) {
	case 200:
		pass_barrier(l, answer);
		return;
	case 204:
		/* renew first: a cancel may be waiting */
		gap = BARRIER_GAP_MS -
		      (answer->done_ns - answer->sent_ns) / NS_PER_MS;
		if (gap > 0)
			event_loop_arm(l->env->loop, &l->barrier_timer, gap);
		else
			renew_now(l);
		return;
	default:
		str_print(reason, sizeof(reason),
			  "the controller refused to pass step %jd: %s",
			  (intmax_t)l->step, answer->text);
		lease_cancel(l, reason);
	}
}

static void ask_barrier(struct lease *l)
{
	char path[160];
	json_t *body;
	struct http_client_request request = {.method = "POST",
					      .path = path,
					      .timeout_s = BARRIER_S,
					      .answer_h = on_barrier,
					      .arg = l};

	if (l->barrier || l->lost || l->cancelled || !l->engines)
		return;
	/* with a barrier before the first step, that one has number 0 */
	str_print(path, sizeof(path), "/leases/%s/barriers/%jd", l->id,
		  (intmax_t)(l->step + l->barrier_first));
	body = json_pack("{s:b}", "ready", 1);
	request.body = body;
	if (!body || add_began(l, body) ||
	    http_client_send(&l->barrier, l->env->http, &request) != 0)
		lease_cancel(l, "out of memory");
	json_decref(body);
}

int lease_begin(struct lease *l)
{
	if (!l->barrier_first)
		return lease_go(l, 0, 0);
	l->step = -1;
	return 0;
}

void lease_engine_prepared(struct lease *l)
{
	if (!l->barrier_first || l->step >= 0 || l->barrier_waiting)
		return;
	l->barrier_waiting = true;
	ask_barrier(l);
}

void lease_step_began(struct lease *l, const json_t *message)
{
	if (l->began_ns)
		return; /* an earlier step */
	l->began_ns = json_integer_value(json_object_get(message, "began_ns"));
	if (l->sharded)
		renew_now(l);
}

void lease_step_ready(struct lease *l, const json_t *message)
{
	const json_t *step = json_object_get(message, "step");

	if (!json_is_integer(step) || json_integer_value(step) != l->step ||
	    l->barrier_waiting) {
		log_warning("lease=%s: the engine is ready with a step it is "
			    "not in",
			    l->id);
		return;
	}
	l->barrier_waiting = true;
	ask_barrier(l);
}

/* ---- from the offer to the engine: confirm the start, fetch prompts ---- */

static void fetch_prompts(struct lease *l);

static void on_prompt(const struct http_client_answer *answer, void *arg)
{
	struct lease *l = arg;
	char reason[256];
	int err = 0;

	if (answer->status == 401) {
		l->env->unauthorized_h(l->env->arg);
		return;
	}
	if (answer->status == 200)
		err = prompt_files_keep(l->env->prompt_cache, l->fetched,
					answer->data ? answer->data : "",
					answer->len);
	if (answer->status == 200 && err == 0) {
		fetch_prompts(l);
		return;
	}
	str_print(reason, sizeof(reason),
		  "role %s: a prompt cannot be fetched from the controller: %s",
		  l->role,
		  err == -EBADMSG ? "its content has another hash"
		  : err           ? strerror(-err)
				  : answer->text);
	lease_end_unstarted(l, "error", reason);
}

/* Fetch the prompts one by one, then start the engine. */
static void fetch_prompts(struct lease *l)
{
	char path[128];
	struct http_client_request request = {.method = "GET",
					      .path = path,
					      .raw_bytes = PROMPT_FILE_BYTES,
					      .timeout_s = PROMPT_S,
					      .answer_h = on_prompt,
					      .arg = l};

	l->fetched = prompt_files_missing(l->spec, l->env->prompt_cache);
	if (!l->fetched) {
		lease_engine_start(l);
		return;
	}
	str_print(path, sizeof(path), "/appimages/%s", l->fetched);
	if (http_client_send(&l->start, l->env->http, &request))
		lease_end_unstarted(l, "error", "out of memory");
}

static void on_started(const struct http_client_answer *answer, void *arg)
{
	struct lease *l = arg;

	if (answer->status == 401) {
		l->env->unauthorized_h(l->env->arg);
		return;
	}
	if (answer->status < 200 || answer->status >= 300) {
		log_warning(
			"run=%s role=%s lease=%s: the controller refused its start (%s)",
			l->session_id, l->role, l->id, answer->text);
		lease_drop(l);
		l->env->idle_h(l, l->env->arg);
		return;
	}
	log_info("run=%s role=%s lease=%s: started", l->session_id, l->role,
		 l->id);
	l->confirmed = true;
	clock_read(l, answer);
	lease_renewal_begin(l, answer->sent_ns);
	l->state = LEASE_FETCHING;
	fetch_prompts(l);
}

static int lease_start(struct lease *l)
{
	char path[128];
	json_t *body =
		l->epoch ? json_pack("{s:I}", "epoch", (json_int_t)l->epoch)
			 : json_object();
	struct http_client_request request = {.method = "POST",
					      .path = path,
					      .body = body,
					      .timeout_s = START_REQUEST_S,
					      .answer_h = on_started,
					      .arg = l};
	int err;

	/* lease_s counts from here: after that nothing would be left of it */
	if (l->env->lease_s < START_REQUEST_S)
		request.timeout_s = (int)l->env->lease_s;
	str_print(path, sizeof(path), "/leases/%s/start", l->id);
	err = body ? http_client_send(&l->start, l->env->http, &request)
		   : -ENOMEM;
	json_decref(body);
	return err;
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
				       .command_h = obey,
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
	l->epoch = json_integer_value(json_object_get(names, "epoch"));
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
	l->sharded = json_object_get(spec, "share") != NULL;
	l->barrier_first = json_is_true(json_object_get(spec, "barrier_first"));
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
	engine_group_free(l->engines);
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

enum lease_result lease_result(const struct lease *l)
{
	if (!l->confirmed)
		return LEASE_UNCONFIRMED;
	if (!l->uploaded || l->dropped)
		return LEASE_UNDELIVERED;
	return l->completed ? LEASE_COMPLETED : LEASE_UNSUCCESSFUL;
}

const char *lease_session(const struct lease *l)
{
	return l->session_id;
}

const char *lease_id(const struct lease *l)
{
	return l->id;
}

bool lease_is_busy(const struct lease *l)
{
	return l->state == LEASE_CONFIRMING || l->state == LEASE_FETCHING ||
	       l->engines;
}
