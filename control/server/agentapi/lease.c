#include "control/server/agentapi/common.h"

#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/request/controller.h"
#include "control/server/run/run.h"
#include "control/server/store/lease_clock.h"
#include "control/server/store/store.h"

#include <errno.h>
#include <string.h>

/* A request waits at a barrier for this long; then the agent repeats it. */
#define BARRIER_MS 20000

/* A longer reason is cut: refusing it would lose the outcome. */
#define REASON_BYTES 900

/* @param body  taken over; NULL: out of memory */
static json_t *with_time(json_t *body)
{
	json_t *time = json_pack("{s:I, s:I}", "server_time",
				 (json_int_t)lease_clock_ms() * 1000,
				 "server_time_error_us",
				 (json_int_t)lease_clock_error_us());

	if (!body || !time || json_object_update(body, time)) {
		json_decref(body);
		body = NULL;
	}
	json_decref(time);
	return body;
}

void agent_lease_start(struct request *req, struct reply *rep)
{
	const struct lease_times times = agent_times(req);
	const char *lease = agent_lease(req, rep);
	const json_t *epoch = json_object_get(request_body(req), "epoch");
	int err;

	if (!lease || !agent_json_body(req, rep))
		return;
	if (epoch && !json_is_integer(epoch)) {
		reply_problem(rep, 422, "epoch must be a whole number");
		reply_pointer(rep, "/epoch", "must be a whole number");
		return;
	}
	err = lease_start(request_store(req), request_agent_id(req), lease,
			  json_integer_value(epoch), &times);
	if (err) {
		agent_refuse(rep, err);
		return;
	}
	reply_json(
		rep, 200,
		with_time(json_pack("{s:I}", "lease_s",
				    (json_int_t)request_conf(req)->lease_s)));
}

/* Read when a shard began its calls. @return false: rep is a 422 */
static bool read_began(const struct request *req, struct reply *rep,
		       struct lease_began *ret)
{
	const json_t *began = json_object_get(request_body(req), "began");
	const json_t *t = json_object_get(began, "t");
	const json_t *error = json_object_get(began, "error_us");

	if (!began)
		return true;
	if (!json_is_integer(t) || json_integer_value(t) <= 0 ||
	    !json_is_integer(error) || json_integer_value(error) < 0) {
		reply_problem(rep, 422,
			      "began must be {t, error_us}, in microseconds");
		reply_pointer(rep, "/began",
			      "must be {t, error_us}, in microseconds");
		return false;
	}
	ret->t_us = json_integer_value(t);
	ret->error_us = json_integer_value(error);
	return true;
}

void agent_lease_renew(struct request *req, struct reply *rep)
{
	const struct lease_times times = agent_times(req);
	const char *lease = agent_lease(req, rep);
	const json_t *value = json_object_get(request_body(req), "progress");
	double progress = json_number_value(value);
	struct lease_began began = {.t_us = 0};
	const char *command;
	int err;

	if (!lease || !agent_json_body(req, rep))
		return;
	if (value &&
	    (!json_is_number(value) || !(progress >= 0) || progress > 1)) {
		reply_problem(rep, 422, "progress must be from 0 to 1");
		reply_pointer(rep, "/progress", "must be from 0 to 1");
		return;
	}
	if (!read_began(req, rep, &began))
		return;
	err = lease_renew(request_store(req), request_agent_id(req), lease,
			  progress, &began, &times, &command);
	if (err) {
		agent_refuse(rep, err);
		return;
	}
	reply_json(rep, 200,
		   with_time(json_pack("{s:I, s:s}", "lease_s",
				       (json_int_t)request_conf(req)->lease_s,
				       "command", command)));
}

void agent_lease_barrier(struct request *req, struct reply *rep)
{
	const struct lease_times times = agent_times(req);
	const char *lease = agent_lease(req, rep);
	struct lease_ready ready = {.step = 0};
	uint64_t step;
	int64_t go_in_ms;
	bool last;
	int err;

	if (!lease)
		return;
	if (str_to_u64(request_param(req, 1), 1000, &step)) {
		reply_problem(rep, 404, "there is no such step");
		return;
	}
	if (!json_is_true(json_object_get(request_body(req), "ready"))) {
		reply_problem(rep, 422, "ready must be true");
		reply_pointer(rep, "/ready", "must be true");
		return;
	}
	if (!read_began(req, rep, &ready.began))
		return;
	ready.step = (int64_t)step;
	err = lease_ready(request_store(req), request_agent_id(req), lease,
			  &ready, &times, &go_in_ms, &last);
	if (err == -ERANGE) {
		reply_problem(rep, 422,
			      "step %s has not begun: the barrier of the step "
			      "before is not passed",
			      request_param(req, 1));
	} else if (err == -ECANCELED ||
		   (err == -EAGAIN && request_waited(req))) {
		reply_empty(rep, 204); /* a renewal tells which */
	} else if (err == -EAGAIN) {
		reply_park(rep, PARKED_FOR_STEP, BARRIER_MS);
	} else if (err) {
		agent_refuse(rep, err);
	} else {
		if (last)
			controller_wake_parked(request_controller(req),
					       PARKED_BIT(PARKED_FOR_STEP));
		reply_json(
			rep, 200,
			json_pack("{s:I}", "go_in_ms", (json_int_t)go_in_ms));
	}
}

static bool outcome_valid(const char *outcome)
{
	return strcmp(outcome, "completed") == 0 ||
	       strcmp(outcome, "failed") == 0 ||
	       strcmp(outcome, "error") == 0 || strcmp(outcome, "stopped") == 0;
}

/* Cut a reason at the end of a UTF-8 character. */
static void copy_reason(char text[static REASON_BYTES], const char *reason)
{
	size_t len = strlen(reason);

	if (len >= REASON_BYTES) {
		len = REASON_BYTES - 1;
		while (len && ((unsigned char)reason[len] & 0xc0) == 0x80)
			len--;
	}
	memcpy(text, reason, len);
	text[len] = '\0';
}

/* There is room for another job. */
static void ended(struct request *req)
{
	bool waits = true;
	int err = lease_waits(request_store(req), &waits);

	if (err || waits)
		run_engine_poke(request_controller(req));
	else
		run_engine_look(request_controller(req));
}

void agent_lease_finish(struct request *req, struct reply *rep)
{
	const struct lease_times times = agent_times(req);
	const char *lease = agent_lease(req, rep);
	struct lease_end end = {.outcome = NULL};
	char reason[REASON_BYTES];
	json_t *missing = NULL;
	const char *text;
	int err;

	if (!lease)
		return;
	end.outcome = agent_text(req, rep, "outcome", 20, true);
	if (!end.outcome)
		return;
	if (!outcome_valid(end.outcome)) {
		reply_problem(rep, 422,
			      "outcome must be completed, failed, error or "
			      "stopped");
		reply_pointer(rep, "/outcome",
			      "must be completed, failed, error or stopped");
		return;
	}
	text = agent_text(req, rep, "reason", SIZE_MAX, false);
	if (!text || !agent_integer_required(req, rep, "last_seq", 0, INT32_MAX,
					     &end.last_seq))
		return;
	copy_reason(reason, text);
	end.reason = reason;
	err = lease_finish(request_store(req), request_agent_id(req), lease,
			   &end, &times, &missing);
	if (err == -EBUSY && missing) {
		reply_problem(rep, 409, "uploads are missing");
		reply_member(rep, "missing", missing);
	} else if (err) {
		agent_refuse(rep, err);
	} else {
		ended(req);
		reply_json(rep, 200, NULL);
	}
	json_decref(missing);
}
