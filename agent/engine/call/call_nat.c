#include "agent/engine/call/call_media.h"
#include "agent/engine/engine_internal.h"

#include "base/log.h"
#include "base/sockaddr.h"
#include "base/str.h"
#include "media/nat/ice.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

#define STUN_SERVER_PORT  3478 /* RFC 8489 section 13 */
#define TURNS_SERVER_PORT 5349 /* RFC 8656 section 16 */
#define ADDR_BYTES        (INET6_ADDRSTRLEN + 8)
#define REASON_BYTES      1024

/* ---- the servers ---- */

static int server_resolve(struct nat_server *ret, const struct engine *e,
			  const char *text, bool tls)
{
	struct addrinfo hints = {
		.ai_family = e->bind.ss.ss_family,
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

static const struct nat_server *server_find(const struct engine *e,
					    const char *text, bool tls)
{
	for (size_t i = 0; text && i < e->nat_server_count; i++) {
		if (strcmp(e->nat_servers[i].text, text) == 0 &&
		    e->nat_servers[i].tls == tls)
			return &e->nat_servers[i];
	}
	return NULL;
}

static int server_add(struct engine *e, const char *text, bool tls)
{
	if (!text || server_find(e, text, tls))
		return 0;
	if (e->nat_server_count == ENGINE_NAT_SERVERS_MAX) {
		report_end_job(
			e->report, "error",
			"role %s: the job names more than %d STUN and TURN "
			"servers",
			e->job->role, ENGINE_NAT_SERVERS_MAX);
		return -ENOSPC;
	}
	if (server_resolve(&e->nat_servers[e->nat_server_count], e, text,
			   tls)) {
		report_end_job(e->report, "error",
			       "role %s: the STUN or TURN server %s does not "
			       "resolve to an IPv%c address, as ours is one",
			       e->job->role, text,
			       e->bind.ss.ss_family == AF_INET6 ? '6' : '4');
		return -ENOENT;
	}
	e->nat_server_count++;
	return 0;
}

int call_nat_servers(struct engine *e)
{
	int err = 0;

	for (size_t i = 0; !err && i < e->job->step_count; i++) {
		const struct wire_step *step = &e->job->steps[i];

		for (size_t k = 0; !err && k < step->action_count; k++) {
			const struct wire_action *a = &step->actions[k];

			if (a->nat == WIRE_NAT_NONE)
				continue;
			err = server_add(e, a->stun_server, false);
			if (!err)
				err = server_add(e, a->turn_server,
						 a->turn_transport == WIRE_TLS);
		}
	}
	return err;
}

void call_nat_of(struct media_nat_params *ret, const struct engine *e,
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
	const struct nat_server *stun = server_find(e, a->stun_server, false);
	const struct nat_server *turn =
		server_find(e, a->turn_server, a->turn_transport == WIRE_TLS);

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

bool call_nat_asks(const struct wire_action *action)
{
	return action->client == WIRE_CLIENT_NATIVE &&
	       action->nat != WIRE_NAT_NONE &&
	       (action->stun_server || action->turn_server);
}

/* What went wrong, and with which server. */
static void gathering_failed(struct call *c, const struct media_record *record)
{
	const struct wire_action *a = c->action;
	const char *stun = a->nat == WIRE_NAT_TURN ? NULL : a->stun_server;
	const char *turn = a->nat == WIRE_NAT_STUN ? NULL : a->turn_server;
	char text[REASON_BYTES];

	(void)str_print(text, sizeof(text), "%s (%s%s%s%s%s)",
			record->u.gathered, stun ? "stun_server " : "",
			stun ? stun : "", stun && turn ? ", " : "",
			turn ? "turn_server " : "", turn ? turn : "");
	report_event(c->engine->report,
		     wire_event_assert(
			     report_time(c->engine->report, record->mono_ns),
			     c->name, "media_nat",
			     a->nat == WIRE_NAT_ICE    ? "ice"
			     : a->nat == WIRE_NAT_TURN ? "turn"
						       : "stun",
			     text));
	/* ICE may find another way */
	if (a->nat != WIRE_NAT_ICE)
		call_give_up(c, text);
	else
		call_ready(c);
}

void call_nat_gathered(struct call *c, const struct media_record *record)
{
	if (c->closed)
		return;
	if (record->u.gathered)
		gathering_failed(c, record);
	else
		call_ready(c);
}

/* ---- the path ---- */

/* "192.0.2.1:5000", "[2001:db8::1]:5000" */
static void addr_text(char dst[static ADDR_BYTES], const struct media_addr *a)
{
	bool v6 = a->ss.ss_family == AF_INET6;
	char host[INET6_ADDRSTRLEN] = "";
	uint16_t port = 0;

	(void)sockaddr_host(host, &port, &a->ss);
	(void)str_print(dst, ADDR_BYTES, v6 ? "[%s]:%u" : "%s:%u", host, port);
}

static json_t *path_encode(const struct media_path *path)
{
	char local[MEDIA_ICE_COMPONENTS][ADDR_BYTES];
	char remote[MEDIA_ICE_COMPONENTS][ADDR_BYTES];
	static const char *const modes[] = {
		[MEDIA_NAT_NONE] = "",
		[MEDIA_NAT_STUN] = "stun",
		[MEDIA_NAT_TURN] = "turn",
		[MEDIA_NAT_ICE] = "ice",
	};
	bool ice = path->mode == MEDIA_NAT_ICE;
	struct wire_path w = {
		.mode = modes[path->mode],
		.reason = path->reason,
		.controlling = path->controlling,
		.lite = path->lite,
		.pair_count = path->component_count,
	};

	for (unsigned i = 0; i < path->component_count; i++) {
		addr_text(local[i], &path->local[i].addr);
		addr_text(remote[i], &path->remote[i].addr);
		w.pairs[i] = (struct wire_path_pair){
			.local_type = ice_type_name(path->local[i].type),
			.local = local[i],
			.remote_type = ice ? ice_type_name(path->remote[i].type)
					   : NULL,
			.remote = remote[i],
		};
	}
	return wire_path_encode(&w);
}

void call_nat_path(struct call *c, const struct media_record *record)
{
	const struct media_path *path = record->u.path;
	struct engine *e = c->engine;
	json_t *encoded = path_encode(path);

	if (!encoded) {
		log_error("call=%s out of memory: its path is not reported",
			  c->name);
		return;
	}
	json_decref(c->path);
	c->path = encoded;
	report_event(e->report,
		     wire_event_path(report_time(e->report, record->mono_ns),
				     c->name, c->path));
	if (!path->reason || c->closed)
		return;
	report_event(e->report,
		     wire_event_assert(
			     report_time(e->report, record->mono_ns), c->name,
			     "media_nat",
			     json_string_value(json_object_get(c->path, "by")),
			     path->reason));
	call_give_up(c, path->reason);
}
