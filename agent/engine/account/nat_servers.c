/* The STUN and TURN servers of a job: names, addresses, parameters. */
#include "agent/engine/account/accounts_internal.h"

#include "base/log.h"
#include "base/str.h"
#include "sip/lookup.h"

#include <errno.h>
#include <string.h>

#define STUN_SERVER_PORT  3478 /* RFC 8489 section 13 */
#define TURNS_SERVER_PORT 5349 /* RFC 8656 section 16 */

/* End the job: an address was not found. */
static void not_found(const struct nat_server *server, int err)
{
	const struct accounts *accounts = server->accounts;
	const char *role = accounts->job->role;

	if (err == -ETIMEDOUT)
		report_end_job(accounts->report, "error",
			       "role %s: the name of the STUN or TURN server "
			       "%s: the name servers did not answer",
			       role, server->text);
	else if (err == -ENODATA || err == -EINVAL)
		report_end_job(accounts->report, "error",
			       "role %s: the STUN or TURN server %s does not "
			       "resolve to an IPv%c address, as ours is one",
			       role, server->text,
			       accounts->settings->addr.ss.ss_family == AF_INET6
				       ? '6'
				       : '4');
	else
		report_end_job(accounts->report, "error",
			       "role %s: the name of the STUN or TURN server "
			       "%s: %s",
			       role, server->text, strerror(-err));
}

static void lookup_handler(int err, const struct media_addr *addr, void *arg)
{
	struct nat_server *server = arg;
	struct accounts *accounts = server->accounts;

	server->lookup = sip_lookup_free(server->lookup);
	if (err) {
		not_found(server, err);
		return;
	}
	server->addr = *addr;
	accounts->nat_h(accounts->nat_arg);
}

/* @return 0; -errno: the job was ended */
static int server_resolve(struct nat_server *server)
{
	uint16_t port = server->tls ? TURNS_SERVER_PORT : STUN_SERVER_PORT;
	int err = -EINVAL;

	if (!wire_server_parse(server->text, server->host, sizeof(server->host),
			       &port))
		err = sip_lookup_start(&server->lookup, &server->addr,
				       server->accounts->ua, server->host, port,
				       lookup_handler, server);
	if (err)
		not_found(server, err);
	else if (server->lookup)
		log_info("run=%s role=%s the name of the STUN or TURN server "
			 "%s is being resolved",
			 server->accounts->job->session_id,
			 server->accounts->job->role, server->text);
	return err;
}

static bool server_is(const struct nat_server *server, const char *text,
		      bool tls)
{
	return text && strcmp(server->text, text) == 0 && server->tls == tls;
}

static bool server_is_of(const struct nat_server *server,
			 const struct wire_action *a)
{
	return a->nat != WIRE_NAT_NONE &&
	       (server_is(server, a->stun_server, false) ||
		server_is(server, a->turn_server,
			  a->turn_transport == WIRE_TLS));
}

static const struct nat_server *server_find(const struct accounts *accounts,
					    const char *text, bool tls)
{
	for (size_t i = 0; i < accounts->nat_server_count; i++) {
		if (server_is(&accounts->nat_servers[i], text, tls))
			return &accounts->nat_servers[i];
	}
	return NULL;
}

static int server_add(struct accounts *accounts, const char *text, bool tls)
{
	struct nat_server *server;

	if (!text || server_find(accounts, text, tls))
		return 0;
	if (accounts->nat_server_count == NAT_SERVERS_MAX) {
		report_end_job(
			accounts->report, "error",
			"role %s: the job names more than %d STUN and TURN "
			"servers",
			accounts->job->role, NAT_SERVERS_MAX);
		return -ENOSPC;
	}
	server = &accounts->nat_servers[accounts->nat_server_count++];
	*server = (struct nat_server){
		.accounts = accounts,
		.text = text,
		.tls = tls,
	};
	return server_resolve(server);
}

int nat_servers_resolve(struct accounts *accounts, nat_server_h *handler,
			void *arg)
{
	int err = 0;

	accounts->nat_h = handler;
	accounts->nat_arg = arg;
	for (size_t i = 0; !err && i < accounts->job->step_count; i++) {
		const struct wire_step *step = &accounts->job->steps[i];

		for (size_t k = 0; !err && k < step->action_count; k++) {
			const struct wire_action *a = &step->actions[k];

			if (a->nat == WIRE_NAT_NONE)
				continue;
			err = server_add(accounts, a->stun_server, false);
			if (!err)
				err = server_add(accounts, a->turn_server,
						 a->turn_transport == WIRE_TLS);
		}
	}
	return err;
}

bool nat_servers_known(const struct accounts *accounts,
		       const struct wire_action *action)
{
	/* a client with media of its own is told the servers with its account */
	const struct wire_action *a =
		action && action->client == WIRE_CLIENT_BARESIP
			? user_agents_media_of(accounts, action)
			: action;

	for (size_t i = 0; i < accounts->nat_server_count; i++) {
		const struct nat_server *server = &accounts->nat_servers[i];

		if (server->lookup && (!a || server_is_of(server, a)))
			return false;
	}
	return true;
}

void nat_servers_release(struct accounts *accounts)
{
	for (size_t i = 0; i < accounts->nat_server_count; i++)
		accounts->nat_servers[i].lookup =
			sip_lookup_free(accounts->nat_servers[i].lookup);
}

void nat_servers_params(struct media_nat_params *ret,
			const struct accounts *accounts,
			const struct wire_action *a)
{
	static const enum media_nat modes[] = {
		[WIRE_NAT_NONE] = MEDIA_NAT_NONE,
		[WIRE_NAT_STUN] = MEDIA_NAT_STUN,
		[WIRE_NAT_TURN] = MEDIA_NAT_TURN,
		[WIRE_NAT_ICE] = MEDIA_NAT_ICE,
	};
	static const enum media_turn_transport transports[] = {
		[WIRE_UDP] = MEDIA_TURN_UDP,
		[WIRE_TCP] = MEDIA_TURN_TCP,
		[WIRE_TLS] = MEDIA_TURN_TLS,
	};
	const struct nat_server *stun =
		server_find(accounts, a->stun_server, false);
	const struct nat_server *turn = server_find(
		accounts, a->turn_server, a->turn_transport == WIRE_TLS);

	*ret = (struct media_nat_params){
		.mode = modes[a->nat],
		.ice_lite = a->ice_lite,
		.turn_transport = transports[a->turn_transport],
		.turn_verify = a->turn_verify,
		.username = a->turn_username,
		.password = a->turn_password,
	};
	if (stun)
		ret->stun_server = stun->addr;
	if (turn) {
		ret->turn_server = turn->addr;
		ret->turn_name = turn->host;
	}
}
