#include "sip/transport/trace.h"

#include <string.h>

#include "base/clock.h"
#include "sip/transport/transport_internal.h"

static void addr_set(struct media_addr *addr, const struct sa *sa)
{
	addr->len = sa->len;
	memcpy(&addr->ss, &sa->u, sa->len);
}

static enum sip_transport transport_of(enum sip_transp tp)
{
	if (tp == SIP_TRANSP_UDP)
		return SIP_TRANSPORT_UDP;
	return tp == SIP_TRANSP_TCP ? SIP_TRANSPORT_TCP : SIP_TRANSPORT_TLS;
}

void trace_sent(struct transport *t, enum sip_transp tp, const struct sa *src,
		const struct sa *dst, const uint8_t *data, size_t len)
{
	struct sip_trace sent = {
		.mono_ns = clock_mono_ns(),
		.sent = true,
		.transport = transport_of(tp),
		.data = (const char *)data,
		.len = len,
	};

	t->sent_ns = sent.mono_ns;
	addr_set(&sent.local, src);
	addr_set(&sent.peer, dst);
	t->handlers.trace_h(&sent, t->handlers.arg);
}

void trace_received(struct transport *t, const struct arrival *arrival)
{
	struct sip_trace received = {
		.mono_ns = arrival->mono_ns,
		.transport = transport_of(arrival->tp),
		.data = (const char *)arrival->data,
		.len = arrival->len,
	};

	addr_set(&received.local, arrival->dst);
	addr_set(&received.peer, arrival->src);
	t->handlers.trace_h(&received, t->handlers.arg);
}
