#include "control/server/agentapi/common.h"

#include "base/str.h"
#include "control/server/run/run.h"
#include "control/server/store/lease_clock.h"
#include "control/server/store/store.h"
#include "control/wire/calibration.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static bool wrong(struct reply *rep, const char *member, const char *text)
{
	char pointer[80];

	reply_problem(rep, 422, "%s %s", member, text);
	str_print(pointer, sizeof(pointer), "/%s", member);
	reply_pointer(rep, pointer, "%s", text);
	return false;
}

static bool read_integer(struct request *req, struct reply *rep,
			 const char *member, int64_t min, int64_t max,
			 int64_t *ret)
{
	json_t *value = json_object_get(request_body(req), member);
	char text[120];

	if (json_is_integer(value) && json_integer_value(value) >= min &&
	    json_integer_value(value) <= max) {
		*ret = json_integer_value(value);
		return true;
	}
	str_print(text, sizeof(text),
		  "must be a whole number from %" PRId64 " to %" PRId64, min,
		  max);
	return wrong(rep, member, text);
}

bool agent_integer(struct request *req, struct reply *rep, const char *member,
		   int64_t min, int64_t max, int64_t fallback, int64_t *ret)
{
	if (json_object_get(request_body(req), member))
		return read_integer(req, rep, member, min, max, ret);
	*ret = fallback;
	return true;
}

bool agent_integer_required(struct request *req, struct reply *rep,
			    const char *member, int64_t min, int64_t max,
			    int64_t *ret)
{
	return read_integer(req, rep, member, min, max, ret);
}

const char *agent_text(struct request *req, struct reply *rep,
		       const char *member, size_t max_bytes, bool required)
{
	json_t *value = json_object_get(request_body(req), member);
	const char *text = json_string_value(value);
	char problem[80];

	if (!value && !required)
		return "";
	if (text && strlen(text) <= max_bytes && (text[0] || !required))
		return text;
	str_print(problem, sizeof(problem),
		  "must be a text of at most %zu bytes", max_bytes);
	wrong(rep, member, problem);
	return NULL;
}

bool agent_calibration(struct request *req, struct reply *rep, json_t **ret)
{
	const json_t *value = json_object_get(request_body(req), "calibration");
	struct wire_calibration c;
	const char *member = "";
	char place[64];

	*ret = NULL;
	if (!value || json_is_null(value))
		return true;
	if (wire_calibration_decode(&c, value, &member) == 0) {
		*ret = wire_calibration_encode(&c);
		return true;
	}
	str_print(place, sizeof(place), "calibration%s%s", member[0] ? "/" : "",
		  member);
	return wrong(rep, place, "is missing or not valid");
}

bool agent_json_body(const struct request *req, struct reply *rep)
{
	if (!request_body_is_form(req))
		return true;
	reply_problem(rep, 415, "the body must be application/json");
	return false;
}

const char *agent_lease(struct request *req, struct reply *rep)
{
	if (uuid_valid(request_param(req, 0)))
		return request_param(req, 0);
	reply_problem(rep, 404, "there is no such lease");
	return NULL;
}

void agent_refuse(struct reply *rep, int err)
{
	switch (err) {
	case -ENOENT:
		reply_problem(rep, 404, "there is no such lease");
		break;
	case -ESTALE:
		reply_problem(rep, 410,
			      "the lease is over for this agent: drop the job");
		break;
	case -ENOSPC:
		reply_store_error(rep, err, "lease");
		break;
	default:
		reply_problem(rep, 503, "the database is not available");
		reply_header(rep, "Retry-After", "5");
		break;
	}
}

struct lease_times agent_times(struct request *req)
{
	return run_lease_times(request_conf(req), lease_clock_ms());
}
