#include "control/server/agentapi/common.h"

#include "control/server/store/store_ingest.h"

#include <errno.h>

static void upload(struct request *req, struct reply *rep,
		   enum ingest_kind kind, const char *member)
{
	const struct lease_times times = agent_times(req);
	struct ingest u = {.agent_id = request_agent_id(req), .kind = kind};
	char reason[WIRE_REASON_BYTES];
	struct ingest_result result;
	json_int_t count;
	int err;

	u.lease_id = agent_lease(req, rep);
	if (!u.lease_id)
		return;
	if (!agent_integer_required(req, rep, "seq", 1, INT32_MAX, &u.seq))
		return;
	u.items = json_object_get(request_body(req), member);
	if (request_body_text(req).at)
		json_text_member(request_body_text(req), member, &u.text);
	if (ingest_check(kind, u.items, reason)) {
		reply_problem(rep, 422, "%s", reason);
		return;
	}
	err = store_ingest(request_store(req), &u, &times, &result);
	if (err == -EINVAL) {
		reply_problem(rep, 422, "/series: a point of another role");
		return;
	}
	if (err) {
		agent_refuse(rep, err);
		return;
	}
	count = (json_int_t)json_array_size(u.items);
	reply_json(rep, 200,
		   json_pack("{s:I, s:I, s:I, s:s}", "accepted",
			     result.duplicate ? 0 : count, "duplicates",
			     result.duplicate ? count : 0, "next_seq",
			     (json_int_t)result.next_seq, "command",
			     result.command));
}

void agent_lease_stats(struct request *req, struct reply *rep)
{
	upload(req, rep, INGEST_STATS, "series");
}

void agent_lease_events(struct request *req, struct reply *rep)
{
	upload(req, rep, INGEST_EVENTS, "events");
}

void agent_lease_sip(struct request *req, struct reply *rep)
{
	upload(req, rep, INGEST_SIP, "messages");
}
