#include "sip/call/call_internal.h"

#include <string.h>

#include "sip/call/native_call.h"
#include "sip/message/message.h"
#include "sip/sdp/sdp_crypto.h"
#include "sip/transport/transport.h"

/* Events a call keeps for a handler that has not come yet. */
#define CALL_EVENTS_MAX 64

static void media_destructor(void *arg)
{
	sdp_negotiated_wipe(arg);
}

void call_event_media(struct call_event *event,
		      const struct media_negotiated *media)
{
	event->media = mem_alloc(sizeof(*event->media), media_destructor);
	if (event->media)
		*event->media = *media;
}

static void event_destructor(void *arg)
{
	struct call_event *event = arg;

	list_unlink(&event->le);
	mem_deref(event->media);
	mem_deref(event->target);
	mem_deref(event->replaces);
}

struct call_event *call_event_new(void)
{
	return mem_zalloc(sizeof(struct call_event), event_destructor);
}

static void event_report(struct sip_call *call, struct call_event *event)
{
	const struct sip_call_info info = {
		.mono_ns = event->mono_ns,
		.local = event->local,
		.code = event->code,
		.reason = event->reason,
		.warning = call->end.warning,
		.method = event->method,
		.target = event->target,
		.replaces = event->replaces,
		.digit = event->digit,
		.digit_ms = event->digit_ms,
		.end = event->end,
		.bye_ok_ns = event->bye_ok_ns,
		.media = event->media,
	};

	call->events.handler(call, event->event, &info, call->events.arg);
}

/* Handlers run from here alone. */
static void events_deliver(void *arg)
{
	struct sip_call *call = arg;
	struct call_event *event;

	mem_ref(call);
	while (call->events.handler &&
	       (event = list_ledata(list_head(&call->events.queue)))) {
		list_unlink(&event->le);
		event_report(call, event);
		mem_deref(event);
	}
	mem_deref(call);
}

void call_event_append(struct sip_call *call, struct call_event *event)
{
	list_append(&call->events.queue, &event->le, event);
	if (call->events.handler)
		deferred_start(transport_deferred(call->transport),
			       &call->events.due, events_deliver, call);
}

struct call_event *call_event(struct sip_call *call, enum sip_call_event what,
			      bool local, int64_t mono_ns)
{
	struct call_event *event;

	if (call->state == CALL_DONE ||
	    list_count(&call->events.queue) >= CALL_EVENTS_MAX)
		return NULL;
	event = call_event_new();
	if (!event)
		return NULL;
	event->event = what;
	event->local = local;
	event->mono_ns = mono_ns;
	call_event_append(call, event);
	return event;
}

void call_event_reason(struct call_event *event, const struct sip_msg *msg)
{
	if (!event)
		return;
	event->code = msg->scode;
	msg_line(event->reason, sizeof(event->reason), msg);
}

int native_call_adopt(struct sip_call *call, sip_call_h *handler, void *arg)
{
	call->events.handler = handler;
	call->events.arg = arg;
	if (list_head(&call->events.queue))
		deferred_start(transport_deferred(call->transport),
			       &call->events.due, events_deliver, call);
	return 0;
}
