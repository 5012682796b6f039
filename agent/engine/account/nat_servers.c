/* The STUN and TURN servers of a job: names, addresses, parameters. */
#include "agent/engine/account/accounts_internal.h"

#include "base/str.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

#define STUN_SERVER_PORT  3478 /* RFC 8489 section 13 */
#define TURNS_SERVER_PORT 5349 /* RFC 8656 section 16 */

static int server_resolve(struct nat_server *ret,
			  const struct accounts *accounts, const char *text,
			  bool tls)
{
	struct addrinfo hints = {
		.ai_family = accounts->settings->addr.ss.ss_family,
		.ai_socktype = SOCK_DGRAM,
	};
	struct addrinfo *found;
	uint16_t number = tls ? TURNS_SERVER_PORT : STUN_SERVER_PORT;
	char port[8];

	if (wire_server_parse(text, ret->host, sizeof(ret->host), &number))
		return -EINVAL;
	(void)str_print(port, sizeof(port), "%u", number);
	if (getaddrinfo(ret->host, port, &hints, &found))
		return -ENOENT;
	memcpy(&ret->addr.ss, found->ai_addr, found->ai_addrlen);
	ret->addr.len = found->ai_addrlen;
	ret->text = text;
	ret->tls = tls;
	freeaddrinfo(found);
	return 0;
}

static const struct nat_server *server_find(const struct accounts *accounts,
					    const char *text, bool tls)
{
	for (size_t i = 0; text && i < accounts->nat_server_count; i++) {
		if (strcmp(accounts->nat_servers[i].text, text) == 0 &&
		    accounts->nat_servers[i].tls == tls)
			return &accounts->nat_servers[i];
	}
	return NULL;
}

static int server_add(struct accounts *accounts, const char *text, bool tls)
{
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
	if (server_resolve(&accounts->nat_servers[accounts->nat_server_count],
			   accounts, text, tls)) {
		report_end_job(accounts->report, "error",
			       "role %s: the STUN or TURN server %s does not "
			       "resolve to an IPv%c address, as ours is one",
			       accounts->job->role, text,
			       accounts->settings->addr.ss.ss_family == AF_INET6
				       ? '6'
				       : '4');
		return -ENOENT;
	}
	accounts->nat_server_count++;
	return 0;
}

int nat_servers_resolve(struct accounts *accounts)
{
	int err = 0;

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
