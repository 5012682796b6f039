#include "control/server/agentapi/common.h"

#include "base/log.h"
#include "conf/controller_conf.h"
#include "control/server/store/lease_clock.h"
#include "control/server/store/store.h"
#include "control/server/store/store_lease_agent.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* The only version of the protocol so far. */
#define PROTOCOL 1

#define CAPACITY_MAX 10000
#define NAME_BYTES   100
#define TOKEN_BYTES  256

static bool speaks(const json_t *protocols)
{
	const json_t *version;
	size_t i;

	json_array_foreach(protocols, i, version)
	{
		if (json_is_integer(version) &&
		    json_integer_value(version) == PROTOCOL)
			return true;
	}
	return false;
}

/* The name is shown in messages and listings. */
static bool name_valid(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || *name == 0x7f)
			return false;
	return true;
}

/* @return false: the reply is a 422 */
static bool read_further(struct request *req, struct reply *rep,
			 struct agent_new *agent)
{
	const json_t *tokens =
		json_object_get(request_body(req), "further_tokens");
	const json_t *token;
	bool good = !tokens || json_is_array(tokens);
	size_t i;

	json_array_foreach(tokens, i, token)
	{
		good &= json_is_string(token) &&
			json_string_length(token) <= TOKEN_BYTES;
	}
	agent->further_tokens = tokens;
	if (good && json_array_size(tokens) <= STORE_FURTHER_POOLS_MAX)
		return true;
	reply_problem(rep, 422, "further_tokens must be an array of texts");
	reply_pointer(rep, "/further_tokens",
		      "must be an array of at most %d texts",
		      STORE_FURTHER_POOLS_MAX);
	return false;
}

static void answer(struct request *req, struct reply *rep, int64_t id,
		   const char *secret)
{
	const struct controller_conf *conf = request_conf(req);
	char text[32];

	(void)snprintf(text, sizeof(text), "%lld", (long long)id);
	reply_json(rep, 201,
		   json_pack("{s:s, s:s, s:i, s:I, s:I, s:I, s:I}", "agent_id",
			     text, "secret", secret, "protocol", PROTOCOL,
			     "poll_s", (json_int_t)conf->poll_s, "renew_s",
			     (json_int_t)conf->renew_s, "lease_s",
			     (json_int_t)conf->lease_s, "server_time",
			     (json_int_t)store_now_ms() * 1000));
}

static void enrol(struct request *req, struct reply *rep,
		  const struct agent_new *agent)
{
	char secret[SECRET_TOKEN_BYTES];
	int64_t id;
	int err;

	err = store_agent_enrol(request_store(req), agent, secret, &id);
	switch (err) {
	case 0:
		log_info("agent %s enrolled from %s", agent->name,
			 request_remote_addr(req));
		answer(req, rep, id, secret);
		break;
	case -EACCES:
		reply_problem(rep, 403, "%s",
			      json_array_size(agent->further_tokens)
				      ? "one of the join tokens is not valid"
				      : "the join token is not valid");
		break;
	case -EEXIST:
		reply_problem(rep, 409,
			      "the pool has an agent of the name %s already: "
			      "give this one another name, or delete that one",
			      agent->name);
		break;
	default:
		agent_refuse(rep, -EIO);
		break;
	}
	sodium_memzero(secret, sizeof(secret));
}

void agent_register(struct request *req, struct reply *rep)
{
	json_t *features = json_object_get(request_body(req), "features");
	struct agent_new agent = {.protocol = PROTOCOL,
				  .address = request_remote_addr(req),
				  .now = lease_clock_ms()};

	agent.token = agent_text(req, rep, "token", TOKEN_BYTES, true);
	if (agent.token)
		agent.name = agent_text(req, rep, "name", NAME_BYTES, true);
	if (agent.name)
		agent.version = agent_text(req, rep, "version", 64, true);
	if (!agent.version || !agent_integer(req, rep, "capacity", 1,
					     CAPACITY_MAX, 1, &agent.capacity))
		return;
	if (!name_valid(agent.name)) {
		reply_problem(rep, 422, "name holds control characters");
		reply_pointer(rep, "/name", "holds control characters");
		return;
	}
	if (features && !json_is_array(features)) {
		reply_problem(rep, 422, "features must be an array");
		reply_pointer(rep, "/features", "must be an array");
		return;
	}
	if (!speaks(json_object_get(request_body(req), "protocols"))) {
		reply_problem(rep, 426,
			      "this controller speaks version %d of the agent "
			      "protocol only",
			      PROTOCOL);
		return;
	}
	if (!read_further(req, rep, &agent))
		return;
	if (!request_is_certified(req, rep, agent.name))
		return;
	agent.features = features;
	if (!agent_calibration(req, rep, &agent.calibration))
		return;
	enrol(req, rep, &agent);
	json_decref(agent.calibration);
}
