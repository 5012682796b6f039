#include "sip/dialog/originator.h"

#include "sip/message/headers.h"
#include "sip/transport/tls.h"

const struct originator *originator_registration(
	const struct originator *origin)
{
	return origin->registered ? origin->registered : origin;
}

void originator_release(struct originator *origin)
{
	mem_deref(origin->user.headers);
	mem_deref(origin->user.tls);
	mem_deref(origin->user.tls_name);
	mem_deref(origin->from);
	mem_deref(origin->domain);
	mem_deref(origin->contact_user);
	mem_deref(origin->next_hop);
	for (size_t i = 0; i < origin->host_count; i++)
		mem_deref((void *)(uintptr_t)origin->hosts[i].host);
	mem_deref(origin->outbound_proxy);
	mem_deref(origin->service_routes);
	mem_deref(origin->service_route);
}
