#include "control/server/agentapi/common.h"

#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/run/run.h"
#include "control/server/store/store.h"
#include "control/server/store/store_lease_agent.h"

#include <errno.h>
#include <string.h>

#define FREE_MAX 10000
#define HELD_MAX 10000

/* Name of an agent's process, made by itself. */
#define INSTANCE_BYTES 64

/* Get the time a poll arrived. It is kept in the poll's body while it is
 * parked, under a JSON key whose type a client cannot send. */
static int64_t arrival(struct request *req, int64_t now)
{
	static const char key[] = "\x01 arrived";
	const json_t *kept = json_object_get(request_body(req), key);

	if (json_is_integer(kept) && json_integer_value(kept) <= now)
		return json_integer_value(kept);
	(void)json_object_set_new(request_body(req), key, json_integer(now));
	return now;
}

/* Check an optional member: `good` is whether its value is valid. */
static bool check(struct reply *rep, bool good, const char *member,
		  const char *must)
{
	char pointer[32];

	if (good)
		return true;
	reply_problem(rep, 422, "%s %s", member, must);
	str_print(pointer, sizeof(pointer), "/%s", member);
	reply_pointer(rep, pointer, "%s", must);
	return false;
}

static bool read_lists(const struct request *req, struct reply *rep,
		       struct lease_poll *poll)
{
	json_t *held = json_object_get(request_body(req), "leases");
	json_t *features = json_object_get(request_body(req), "features");
	char too_many[48];

	str_print(too_many, sizeof(too_many), "has more than %d entries",
		  HELD_MAX);
	poll->held = held;
	poll->features = features;
	return check(rep, !held || json_is_array(held), "leases",
		     "must be an array") &&
	       check(rep, json_array_size(held) <= HELD_MAX, "leases",
		     too_many) &&
	       check(rep, !features || json_is_array(features), "features",
		     "must be an array");
}

static bool check_optional(const struct request *req, struct reply *rep)
{
	const json_t *draining = json_object_get(request_body(req), "draining");
	const json_t *cursor = json_object_get(request_body(req), "cursor");
	const json_t *t = json_object_get(request_body(req), "t");
	const json_t *one = json_object_get(request_body(req), "one_run");

	return check(rep, !one || json_is_boolean(one), "one_run",
		     "must be true or false") &&
	       check(rep, !draining || json_is_boolean(draining), "draining",
		     "must be true or false") &&
	       check(rep,
		     !cursor || json_is_string(cursor) || json_is_null(cursor),
		     "cursor", "must be a text or null") &&
	       check(rep, !t || json_is_integer(t), "t",
		     "must be a whole number");
}

/* The answer repeats the intervals: an agent that restarted keeps its identity
 * but not what it learned at enrolment. */
static void answer(struct request *req, struct reply *rep, json_t *jobs)
{
	const struct controller_conf *conf = request_conf(req);

	reply_json(rep, 200,
		   json_pack("{s:s, s:o, s:I, s:I, s:I, s:I}", "cursor", "0",
			     "jobs", jobs, "poll_s", (json_int_t)conf->poll_s,
			     "renew_s", (json_int_t)conf->renew_s, "lease_s",
			     (json_int_t)conf->lease_s, "server_time",
			     (json_int_t)store_now_ms() * 1000));
}

static void wait_on(struct request *req, struct reply *rep)
{
	if (request_waited(req))
		reply_empty(rep, 204);
	else
		reply_park(rep, PARKED_FOR_JOB,
			   request_conf(req)->poll_s * 1000);
}

static bool read_poll(struct request *req, struct reply *rep, int64_t now,
		      struct lease_poll *poll)
{
	const json_t *t = json_object_get(request_body(req), "t");

	if (!request_body(req)) {
		reply_problem(rep, 422, "the body must be a JSON object");
		return false;
	}
	if (!agent_integer_required(req, rep, "free", 0, FREE_MAX,
				    &poll->free) ||
	    !read_lists(req, rep, poll) || !check_optional(req, rep))
		return false;
	poll->instance =
		agent_text(req, rep, "instance", INSTANCE_BYTES, false);
	if (!poll->instance)
		return false;
	poll->draining =
		json_is_true(json_object_get(request_body(req), "draining"));
	poll->one_run =
		json_is_true(json_object_get(request_body(req), "one_run"));
	poll->arrived = arrival(req, now);
	if (json_is_integer(t) && poll->arrived == now) {
		poll->has_offset = true;
		poll->offset_us = json_integer_value(t) - store_now_ms() * 1000;
	}
	return true;
}

static void poll_carry_out(struct request *req, struct reply *rep,
			   const struct lease_poll *poll,
			   const struct lease_times *times)
{
	bool spread, idle = false;
	json_t *jobs;
	int err;

	if (request_woken(req) || request_waited(req))
		(void)lease_poll_idle(request_store(req), poll, &idle);
	if (idle) {
		wait_on(req, rep);
		return;
	}
	err = lease_poll(request_store(req), poll, times, &jobs, &spread);
	if (err == -ESTALE || err == -ENOENT) {
		reply_empty(rep, 204); /* nothing comes by it any more */
		return;
	}
	if (err) {
		agent_refuse(rep, err);
		return;
	}
	if (spread)
		run_engine_poke(request_controller(req));
	if (json_array_size(jobs)) {
		answer(req, rep, jobs);
		return;
	}
	json_decref(jobs);
	wait_on(req, rep);
}

void agent_poll(struct request *req, struct reply *rep)
{
	const struct lease_times times = agent_times(req);
	struct lease_poll poll = {.agent_id = request_agent_id(req)};

	if (!read_poll(req, rep, times.now, &poll) ||
	    !agent_calibration(req, rep, &poll.calibration))
		return;
	poll_carry_out(req, rep, &poll, &times);
	json_decref(poll.calibration);
}

void agent_disconnect(struct request *req, struct reply *rep)
{
	const struct lease_times times = agent_times(req);
	struct lease_leave leave = {.agent_id = request_agent_id(req)};
	char name[STORE_AGENT_NAME_BYTES] = "?";
	bool deleted;
	int err;

	if (!agent_json_body(req, rep))
		return;
	leave.instance =
		agent_text(req, rep, "instance", INSTANCE_BYTES, false);
	if (!leave.instance)
		return;
	leave.gone = json_is_true(json_object_get(request_body(req), "leave"));
	if (leave.gone)
		(void)store_agent_name(request_store(req), leave.agent_id,
				       name);
	err = lease_disconnect(request_store(req), &leave, &times, &deleted);
	if (err) {
		agent_refuse(rep, err);
		return;
	}
	if (deleted)
		log_info("agent %s has left", name);
	run_agent_left(request_controller(req), leave.agent_id);
	reply_empty(rep, 204);
}
