#include "control/server/http/agent_certificate.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/server/http/client_trust.h"
#include "control/server/http/exchange.h"
#include "control/server/request/request.h"
#include "control/server/store/store_lease_agent.h"

#include <errno.h>
#include <string.h>

static bool is_asked(const struct exchange *x)
{
	return x->params->agent_trust &&
	       (x->route->right == RIGHT_AGENT ||
		strncmp(x->route->path, "/agent/", 7) == 0);
}

static gnutls_session_t session_of(const struct exchange *x)
{
	return MHD_get_connection_info(x->connection,
				       MHD_CONNECTION_INFO_GNUTLS_SESSION)
		->tls_session;
}

/* @param agent  its name; NULL: it is not known
 * @param code   for programs, docs/internals/wire.md */
static void refuse(struct exchange *x, struct reply *rep, const char *agent,
		   const char *code, const char *reason)
{
	json_t *value = json_string(code);
	unsigned omitted = 0;

	reply_problem(rep, 403, "%s", reason);
	reply_member(rep, "certificate", value);
	json_decref(value);
	/* the next try must be able to show another one */
	x->last = true;
	/* Who has a certificate is known; of others only some are logged. */
	if (!agent && !client_trust_may_log(x->params->agent_trust,
					    clock_mono_ns(), &omitted))
		return;
	log_warning("agent %s at %s was refused: %s",
		    agent ? agent : "(unknown)", x->client.address, reason);
	if (omitted)
		log_warning("%u refusals of client certificates before were "
			    "not logged",
			    omitted);
}

bool agent_certificate_check(struct exchange *x, struct reply *rep)
{
	if (!is_asked(x))
		return true;
	switch (client_trust_verify(x->params->agent_trust, session_of(x))) {
	case CLIENT_CERTIFICATE_VALID:
		return true;
	case CLIENT_CERTIFICATE_MISSING:
		refuse(x, rep, NULL, "missing",
		       "this controller asks agents for a client certificate, "
		       "and none was sent");
		break;
	case CLIENT_CERTIFICATE_EXPIRED:
		refuse(x, rep, NULL, "expired",
		       "the client certificate of the agent has expired");
		break;
	case CLIENT_CERTIFICATE_EARLY:
		refuse(x, rep, NULL, "early",
		       "the client certificate of the agent is not valid yet");
		break;
	case CLIENT_CERTIFICATE_UNTRUSTED:
		refuse(x, rep, NULL, "untrusted",
		       "no authority of agent_ca_file has signed the client "
		       "certificate of the agent, or it is not one for "
		       "clients");
		break;
	}
	return false;
}

static bool check_name(struct exchange *x, struct reply *rep, const char *name)
{
	if (client_trust_is_named(session_of(x), name))
		return true;
	refuse(x, rep, name, "other-name",
	       "the client certificate is that of another name than the "
	       "agent's");
	return false;
}

bool agent_certificate_check_name(struct request *req, struct reply *rep,
				  const char *name)
{
	struct exchange *x = req->http;

	return !is_asked(x) || check_name(x, rep, name);
}

bool agent_certificate_check_owner(struct exchange *x, struct reply *rep)
{
	char name[STORE_AGENT_NAME_BYTES];
	int err;

	if (x->request.agent_id == 0 || !is_asked(x))
		return true;
	err = store_agent_name(x->request.store, x->request.agent_id, name);
	if (err == -EMSGSIZE) /* no certificate has so long a name */
		name[0] = '\0';
	else if (err) {
		reply_database_error(rep, err);
		return false;
	}
	return check_name(x, rep, name);
}
