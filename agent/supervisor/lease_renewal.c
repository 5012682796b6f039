#include "agent/supervisor/lease_internal.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define REQUEST_S 15
/* The controller answers a barrier within 20 s. */
#define BARRIER_S 40
/* Between two askings at a barrier, should the answers come at once. */
#define BARRIER_GAP_MS 1000
/* An answer of a go further off than that is a mistake. */
#define GO_IN_MAX_MS 60000

static void ask_barrier(struct lease *l);

/* ---- renewals ---- */

static uint32_t renew_period_s(const struct lease *l)
{
	uint32_t s = l->env->renew_s;

	if (s > l->env->lease_s / 2)
		s = l->env->lease_s / 2;
	return s > 0 ? s : 1;
}

/* From the moment the request left: the controller's count began later. */
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
	/* The calls end. Results are offered still: the controller takes
	 * them for a while after a lease has ended, and says 410 to those
	 * it does not want, which removes them here too. */
	lease_cancel(l, NULL);
}

/* @return true if the controller knows this agent or lease no more */
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
	extend(l, answer->sent_ns);
	command = json_string_value(json_object_get(answer->body, "command"));
	if (command && strcmp(command, "cancel") == 0)
		lease_cancel(l, NULL);
	else if (l->barrier_waiting && !l->barrier_timer.armed)
		ask_barrier(l);
}

/* A try that waits for its backoff is given up for a fresh one. */
static void renew_now(struct lease *l)
{
	char path[128];
	json_t *body;
	struct http_client_request request = {.method = "PUT",
					      .path = path,
					      .timeout_s = REQUEST_S,
					      .answer_h = on_renewed,
					      .arg = l};

	if (l->lost || l->uploaded)
		return;
	event_loop_arm(l->env->loop, &l->renew_timer,
		       (int64_t)renew_period_s(l) * 1000);
	http_client_cancel(&l->renew);
	str_print(path, sizeof(path), "/leases/%s", l->id);
	body = json_pack("{s:s,s:f}", "state",
			 l->process ? "running" : "finishing", "progress",
			 l->progress);
	request.body = body;
	if (!body || http_client_send(&l->renew, l->env->http, &request) != 0)
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

	if (!l->process)
		return;
	str_print(reason, sizeof(reason),
		  "the agent could not renew its lease for %u s, so it ended "
		  "the calls",
		  l->env->lease_s);
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

void lease_renewal_init(struct lease *l)
{
	l->renew_timer.due_h = on_renew_due;
	l->renew_timer.arg = l;
	l->expiry.due_h = on_expiry;
	l->expiry.arg = l;
	l->barrier_timer.due_h = on_barrier_due;
	l->barrier_timer.arg = l;
}

void lease_renewal_begin(struct lease *l, int64_t sent_ns)
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
	int err = go ? engine_process_send(l->process, go) : -ENOMEM;

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

	if (l->barrier || l->lost || l->cancelled || !l->process)
		return;
	str_print(path, sizeof(path), "/leases/%s/barriers/%jd", l->id,
		  (intmax_t)l->step);
	body = json_pack("{s:b}", "ready", 1);
	request.body = body;
	if (!body || http_client_send(&l->barrier, l->env->http, &request) != 0)
		lease_cancel(l, "out of memory");
	json_decref(body);
}

void lease_step_ready(struct lease *l, json_t *step)
{
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
