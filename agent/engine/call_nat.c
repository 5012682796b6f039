#include "agent/engine/internal.h"

#include "base/log.h"
#include "base/str.h"
#include "media/ice.h"

#include <arpa/inet.h>
#include <errno.h>

#define ADDR_BYTES (INET6_ADDRSTRLEN + 8)

void call_nat_params(const struct call *c, struct media_session_params *params)
{
	params->ice = c->action->nat == WIRE_NAT_ICE;
	params->ice_lite = c->action->ice_lite;
}

/* "192.0.2.1:5000", "[2001:db8::1]:5000" */
static void addr_text(char dst[static ADDR_BYTES], const struct media_addr *a)
{
	const struct sockaddr_in *in = (const void *)&a->ss;
	const struct sockaddr_in6 *in6 = (const void *)&a->ss;
	bool v6 = a->ss.ss_family == AF_INET6;
	char host[INET6_ADDRSTRLEN] = "";

	(void)inet_ntop(a->ss.ss_family,
			v6 ? (const void *)&in6->sin6_addr
			   : (const void *)&in->sin_addr,
			host, sizeof(host));
	(void)str_print(dst, ADDR_BYTES, v6 ? "[%s]:%u" : "%s:%u", host,
			ntohs(v6 ? in6->sin6_port : in->sin_port));
}

static json_t *path_encode(const struct media_path *path)
{
	char local[MEDIA_ICE_COMPONENTS][ADDR_BYTES];
	char remote[MEDIA_ICE_COMPONENTS][ADDR_BYTES];
	struct wire_path w = {
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
			.remote_type = ice_type_name(path->remote[i].type),
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
	report_event(e, wire_event_path(report_time(e, record->mono_ns),
					c->name, c->path));
	if (!path->reason || c->closed)
		return;
	report_event(e,
		     wire_event_assert(report_time(e, record->mono_ns), c->name,
				       "media_nat", "ice", path->reason));
	call_hangup(c);
}
