#include "agent/engine/call/call_internal.h"

#include "base/log.h"
#include "base/sockaddr.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

#define ADDR_BYTES (INET6_ADDRSTRLEN + 8)

bool call_nat_asks(const struct wire_action *action)
{
	return action->client == WIRE_CLIENT_NATIVE &&
	       action->nat != WIRE_NAT_NONE &&
	       (action->stun_server || action->turn_server);
}

/* Report what failed, and with which server. */
static bool gathering_failed(struct call *c, const struct media_record *record,
			     char text[static CALL_REASON_BYTES])
{
	const struct wire_action *a = c->action;
	const char *stun = a->nat == WIRE_NAT_TURN ? NULL : a->stun_server;
	const char *turn = a->nat == WIRE_NAT_STUN ? NULL : a->turn_server;

	(void)str_print(text, CALL_REASON_BYTES, "%s (%s%s%s%s%s)",
			record->u.gathered, stun ? "stun_server " : "",
			stun ? stun : "", stun && turn ? ", " : "",
			turn ? "turn_server " : "", turn ? turn : "");
	report_event(c->calls->report,
		     wire_event_assert(
			     report_time(c->calls->report, record->mono_ns),
			     c->name, "media_nat",
			     a->nat == WIRE_NAT_ICE    ? "ice"
			     : a->nat == WIRE_NAT_TURN ? "turn"
						       : "stun",
			     text));
	/* ICE may still find a pair */
	return a->nat == WIRE_NAT_ICE;
}

bool call_nat_gathered(struct call *c, const struct media_record *record,
		       char reason[static CALL_REASON_BYTES])
{
	return !record->u.gathered || gathering_failed(c, record, reason);
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
			.local_type =
				media_candidate_type_name(path->local[i].type),
			.local = local[i],
			.remote_type = ice ? media_candidate_type_name(
						     path->remote[i].type)
					   : NULL,
			.remote = remote[i],
		};
	}
	return wire_path_encode(&w);
}

void call_nat_path(struct call *c, const struct media_record *record)
{
	const struct media_path *path = record->u.path;
	struct calls *calls = c->calls;
	json_t *encoded = path_encode(path);

	if (!encoded) {
		log_error("call=%s out of memory: its path is not reported",
			  c->name);
		return;
	}
	json_decref(c->path);
	c->path = encoded;
	report_event(
		calls->report,
		wire_event_path(report_time(calls->report, record->mono_ns),
				c->name, c->path));
	if (!path->reason || c->closed)
		return;
	report_event(calls->report,
		     wire_event_assert(
			     report_time(calls->report, record->mono_ns),
			     c->name, "media_nat",
			     json_string_value(json_object_get(c->path, "by")),
			     path->reason));
}
