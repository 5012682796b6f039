#include "agent/supervisor/health.h"
#include "agent/supervisor/supervisor_internal.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROTOCOL     1
#define REGISTER_S   30
#define DISCONNECT_S 5
/* A poll that is not answered poll_s and this long is repeated. */
#define POLL_SLACK_S 20
/* Least time between polls, against a busy loop of empty answers. */
#define POLL_GAP_MS 1000

/* ---- members of answers ---- */

static void take_seconds(json_t *body, const char *name, uint32_t max,
			 uint32_t *value)
{
	json_t *s = json_object_get(body, name);

	if (json_is_integer(s) && json_integer_value(s) > 0 &&
	    json_integer_value(s) <= max)
		*value = (uint32_t)json_integer_value(s);
}

static void take_intervals(struct supervisor *s, json_t *body)
{
	take_seconds(body, "poll_s", 50, &s->poll_s);
	take_seconds(body, "renew_s", 86400, &s->env.renew_s);
	take_seconds(body, "lease_s", 86400, &s->env.lease_s);
}

/* Copy an id, which may be a JSON text or a number. */
static int take_id(char *dst, size_t size, json_t *id)
{
	if (json_is_integer(id))
		return str_print(dst, size, "%jd",
				 (intmax_t)json_integer_value(id)) < 0
			       ? -EINVAL
			       : 0;
	if (!json_is_string(id) || !json_string_value(id)[0])
		return -EINVAL;
	return str_copy(dst, size, json_string_value(id));
}

/* ---- enrolment ---- */

static void on_enrolled(const struct http_client_answer *answer, void *arg)
{
	struct supervisor *s = arg;
	const char *secret =
		json_string_value(json_object_get(answer->body, "secret"));
	struct identity identity = s->identity; /* with key_pin */
	int err;

	if (answer->status != 201 && answer->status != 200) {
		log_error("the controller refused to enrol this agent: %s%s",
			  answer->text,
			  answer->status == 403 ? " (the join token is wrong)"
			  : answer->status == 409
				  ? " (the name is taken in the pool: set "
				    "another one, or delete the old agent)"
			  : answer->status == 426
				  ? " (no common protocol: update the agent)"
				  : "");
		supervisor_refuse(s);
		return;
	}
	err = take_id(identity.agent_id, sizeof(identity.agent_id),
		      json_object_get(answer->body, "agent_id"));
	if (err || !secret ||
	    str_copy(identity.secret, sizeof(identity.secret), secret) != 0) {
		log_error("the controller enrolled this agent without "
			  "credentials");
		supervisor_fail(s, -EPROTO);
		return;
	}
	s->identity = identity;
	explicit_bzero(&identity, sizeof(identity));
	err = identity_save(&s->identity, s->conf->state_dir);
	if (err) {
		log_error("%s/credentials cannot be written: %s",
			  s->conf->state_dir, strerror(-err));
		supervisor_fail(s, err);
		return;
	}
	s->enrolled = true;
	take_intervals(s, answer->body);
	log_info("enrolled as agent %s", s->identity.agent_id);
	link_begin(s);
}

/* @return new array; NULL: none are configured, or no memory */
static json_t *further_tokens(const struct supervisor *s)
{
	char text[CONF_TEXT_BYTES], *next = text, *token;
	json_t *array;

	if (!s->conf->further_join_tokens[0])
		return NULL;
	array = json_array();
	(void)str_copy(text, sizeof(text), s->conf->further_join_tokens);
	while ((token = strsep(&next, ", ")) != NULL)
		if (token[0])
			json_array_append_new(array, json_string(token));
	explicit_bzero(text, sizeof(text));
	return array;
}

static json_t *register_body(const struct supervisor *s)
{
	char host[64] = "agent";
	const char *name = s->conf->name;

	if (!name[0]) {
		if (gethostname(host, sizeof(host)) != 0)
			str_print(host, sizeof(host), "agent");
		host[sizeof(host) - 1] = '\0';
		name = host;
	}
	return json_pack("{s:s,s:s,s:s,s:[i],s:O,s:i,s:o*,s:O*}", "token",
			 s->join_token, "name", name, "version",
			 OFFHOOK_VERSION, "protocols", PROTOCOL, "features",
			 s->features, "capacity", (int)s->conf->capacity,
			 "further_tokens", further_tokens(s), "calibration",
			 s->calibration);
}

static void enrol(struct supervisor *s)
{
	struct http_client_request request = {.method = "POST",
					      .path = "/register",
					      .timeout_s = REGISTER_S,
					      .anonymous = true,
					      .answer_h = on_enrolled,
					      .arg = s};
	json_t *body;

	if (s->enrol)
		return;
	if (!s->join_token) {
		log_error("this agent is not enrolled at %s and has no join "
			  "token: set join_token or join_token_file, or give "
			  "--join-token",
			  s->conf->controller);
		supervisor_refuse(s);
		return;
	}
	body = register_body(s);
	request.body = body;
	service_notify_status("enrolling");
	if (!body || http_client_send(&s->enrol, s->http, &request) != 0)
		supervisor_fail(s, -ENOMEM);
	json_decref(body);
}

/* In a later turn of the loop, as a lease that ends here may be the caller. */
static void on_unauthorized(void *arg)
{
	struct supervisor *s = arg;

	log_error("the controller does not know agent %s (401): it was "
		  "deleted, or its credentials were replaced",
		  s->identity.agent_id);
	http_client_cancel(&s->poll);
	s->enrolled = false;
	/* the controller has dropped its leases, too */
	supervisor_drop_leases(s);
	if (s->stop != STOP_NO)
		link_leave(s);
	else
		enrol(s);
}

void link_unauthorized(void *arg)
{
	struct supervisor *s = arg;

	if (s->enrolled && !s->unauthorized.armed)
		event_loop_arm(s->loop, &s->unauthorized, 0);
}

/* ---- polls ---- */

static void poll_now(struct supervisor *s);

static void on_polled(const struct http_client_answer *answer, void *arg)
{
	struct supervisor *s = arg;
	json_t *jobs = json_object_get(answer->body, "jobs");
	json_t *cursor = json_object_get(answer->body, "cursor"), *job;
	int64_t took_ms = (answer->done_ns - answer->sent_ns) / NS_PER_MS;
	size_t i;

	if (answer->status == 401) {
		link_unauthorized(s);
		return;
	}
	if (answer->status != 200 && answer->status != 204) {
		log_error("the controller refused a poll: %s", answer->text);
		supervisor_refuse(s);
		return;
	}
	health_note(s->conf->state_dir);
	if (cursor) {
		json_decref(s->cursor);
		s->cursor = json_incref(cursor);
	}
	take_intervals(s, answer->body);
	json_array_foreach(jobs, i, job) supervisor_offer(s, job);
	if (json_array_size(jobs) == 0 && took_ms < POLL_GAP_MS)
		event_loop_arm(s->loop, &s->poll_timer, POLL_GAP_MS - took_ms);
	else
		poll_now(s);
}

static json_t *poll_body(const struct supervisor *s)
{
	json_t *leases = json_array();
	json_t *body;

	for (size_t i = 0; leases && i < s->lease_count; i++)
		json_array_append_new(leases,
				      json_string(lease_id(s->leases[i])));
	body = json_pack("{s:i,s:O?,s:o,s:b,s:O,s:s,s:O*}", "free",
			 (int)supervisor_free_slots(s), "cursor", s->cursor,
			 "leases", leases, "draining", supervisor_draining(s),
			 "features", s->features, "instance", s->instance,
			 "calibration", s->calibration);
	if (body && s->acquire.on)
		json_object_set_new(body, "one_run", json_true());
	/* t: the controller computes the offset of our clock */
	if (body)
		json_object_set_new(body, "t",
				    json_integer(clock_wall_ns() / NS_PER_US));
	return body;
}

static void poll_now(struct supervisor *s)
{
	struct http_client_request request = {.method = "POST",
					      .path = "/poll",
					      .timeout_s = (int)s->poll_s +
							   POLL_SLACK_S,
					      .answer_h = on_polled,
					      .arg = s};
	json_t *body;

	if (!s->enrolled || s->poll || s->stop == STOP_LEAVING)
		return;
	event_loop_disarm(s->loop, &s->poll_timer);
	s->polled_without_room = supervisor_free_slots(s) == 0;
	s->polled_draining = supervisor_draining(s);
	body = poll_body(s);
	request.body = body;
	if (!body || http_client_send(&s->poll, s->http, &request) != 0)
		event_loop_arm(s->loop, &s->poll_timer, POLL_GAP_MS);
	json_decref(body);
}

static void on_poll_due(void *arg)
{
	poll_now(arg);
}

void link_changed(struct supervisor *s)
{
	bool room = supervisor_free_slots(s) > 0;

	/* Do not cancel a poll that may bring a job: the job would be lost
	 * until it is offered again. */
	if (!s->poll || (room != s->polled_without_room &&
			 supervisor_draining(s) == s->polled_draining))
		return;
	http_client_cancel(&s->poll);
	poll_now(s);
}

void link_begin(struct supervisor *s)
{
	if (!s->enrolled) {
		enrol(s);
		return;
	}
	if (http_client_authorize(s->http, s->identity.agent_id,
				  s->identity.secret) != 0) {
		supervisor_fail(s, -ENOMEM);
		return;
	}
	service_notify_status("connected");
	poll_now(s);
}

/* ---- disconnect ---- */

/* The fingerprint stays with them if it is known from nowhere else: it is of use to
 * enrol again. */
static void forget_identity(const struct supervisor *s)
{
	if (!s->identity.key_pin[0] || s->conf->controller_fingerprint[0])
		identity_forget(s->conf->state_dir);
}

static void on_disconnected(const struct http_client_answer *answer, void *arg)
{
	struct supervisor *s = arg;

	if (answer->status < 200 || answer->status >= 300)
		log_warning("disconnect from the controller failed: %s",
			    answer->text);
	else if (s->gone)
		forget_identity(s);
	event_loop_stop(s->loop);
}

void link_leave(struct supervisor *s)
{
	json_t *body;
	struct http_client_request request = {.method = "POST",
					      .path = "/disconnect",
					      .timeout_s = DISCONNECT_S,
					      .once = true,
					      .answer_h = on_disconnected,
					      .arg = s};

	if (s->stop == STOP_LEAVING)
		return;
	s->stop = STOP_LEAVING;
	http_client_cancel(&s->enrol);
	http_client_cancel(&s->poll);
	if (!s->enrolled) {
		event_loop_stop(s->loop);
		return;
	}
	/* One that is started for a single run leaves the list of agents, if it
	 * has delivered all and can enrol again. */
	s->gone = s->acquire.on && s->join_token && !s->result &&
		  s->lease_count == 0 &&
		  supervisor_acquired(s) != ACQUIRED_UNDELIVERED;
	body = json_pack("{s:s,s:s,s:b}", "reason", "stopped", "instance",
			 s->instance, "leave", s->gone);
	request.body = body;
	if (!body || http_client_send(&s->disconnect, s->http, &request) != 0)
		event_loop_stop(s->loop);
	json_decref(body);
}

void link_init(struct supervisor *s)
{
	uuid_make(s->instance);
	s->poll_s = 50;
	s->env.renew_s = 20;
	s->env.lease_s = 60;
	s->poll_timer.due_h = on_poll_due;
	s->poll_timer.arg = s;
	s->unauthorized.due_h = on_unauthorized;
	s->unauthorized.arg = s;
}

void link_release(struct supervisor *s)
{
	http_client_cancel(&s->enrol);
	http_client_cancel(&s->poll);
	http_client_cancel(&s->disconnect);
	event_loop_disarm(s->loop, &s->poll_timer);
	event_loop_disarm(s->loop, &s->unauthorized);
	json_decref(s->cursor);
	explicit_bzero(&s->identity, sizeof(s->identity));
}
