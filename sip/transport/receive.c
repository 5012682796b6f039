#include "sip/transport/receive.h"

#include "sip/message/decode.h"
#include "sip/message/start_line.h"
#include "sip/transport/trace.h"
#include "sip/transport/transport_internal.h"

void receive_message(struct transport *t, const struct arrival *arrival)
{
	struct mbuf *mb = mbuf_alloc(arrival->len);
	bool other_version = false;
	struct sip_msg *msg;

	trace_received(t, arrival);
	if (!mb)
		return;
	if (start_line_copy(mb, arrival->data, arrival->len, &other_version) ==
	    0) {
		if (decode_message(&msg, mb) == 0) {
			msg->src = *arrival->src;
			msg->dst = *arrival->dst;
			msg->tp = arrival->tp;
			msg->sock = mem_ref(arrival->conn);
			t->received_ns = arrival->mono_ns;
			t->deferred.handling = true;
			t->handlers.message_h(msg, other_version,
					      t->handlers.arg);
			t->deferred.handling = false;
			mem_deref(msg);
		}
	}
	mem_deref(mb);
	deferred_run(&t->deferred);
}
