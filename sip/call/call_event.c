#include "sip/call/call_event.h"

#include <errno.h>

#include <string.h>

#include "sip/message/message.h"

/* Events that are queued for a handler that is not set yet; more are
 * dropped. */
#define CALL_EVENTS_MAX 64

static void event_destructor(void *arg)
{
	struct call_event *event = arg;

	list_unlink(&event->le);
	mem_deref(event->media);
	mem_deref(event->target);
	mem_deref(event->replaces);
}

/* An event that is queued later. @return NULL: no memory */
static struct call_event *call_event_new(void)
{
	return mem_zalloc(sizeof(struct call_event), event_destructor);
}

static void event_report(struct call_events *events, struct call_event *event)
{
	const struct sip_call_info info = {
		.mono_ns = event->mono_ns,
		.local = event->local,
		.code = event->code,
		.reason = event->reason,
		.warning = events->warning,
		.method = event->method,
		.target = event->target,
		.replaces = event->replaces,
		.digit = event->digit,
		.digit_ms = event->digit_ms,
		.end = event->end,
		.bye_ok_ns = event->bye_ok_ns,
		.media = event->media,
	};

	events->handler(events->call, event->event, &info, events->arg);
}

/* The only place that calls the handler. */
static void events_deliver(void *arg)
{
	struct call_events *events = arg;
	struct sip_call *call = mem_ref(events->call);
	struct call_event *event;

	while (events->handler &&
	       (event = list_ledata(list_head(&events->queue)))) {
		list_unlink(&event->le);
		event_report(events, event);
		mem_deref(event);
	}
	mem_deref(call);
}

void call_event_append(struct call_events *events, struct call_event *event)
{
	list_append(&events->queue, &event->le, event);
	if (events->handler)
		deferred_start(events->deferred, &events->due, events_deliver,
			       events);
}

struct call_event *call_event(struct call_events *events,
			      enum sip_call_event what, bool local,
			      int64_t mono_ns)
{
	struct call_event *event;

	if (events->over || list_count(&events->queue) >= CALL_EVENTS_MAX)
		return NULL;
	event = call_event_new();
	if (!event)
		return NULL;
	event->event = what;
	event->local = local;
	event->mono_ns = mono_ns;
	call_event_append(events, event);
	return event;
}

void call_event_now(struct call_events *events, enum sip_call_event what,
		    int64_t mono_ns)
{
	const struct sip_call_info info = {.mono_ns = mono_ns, .reason = ""};

	if (events->handler && !events->over)
		events->handler(events->call, what, &info, events->arg);
}

void call_event_reason(struct call_event *event, const struct sip_msg *msg)
{
	if (!event)
		return;
	event->code = msg->scode;
	msg_line(event->reason, sizeof(event->reason), msg);
}

int call_event_init(struct call_events *events, struct sip_call *call,
		    struct deferred_queue *deferred, const char *warning)
{
	events->call = call;
	events->deferred = deferred;
	events->warning = warning;
	events->closed = call_event_new();
	return events->closed ? 0 : -ENOMEM;
}

void call_event_release(struct call_events *events)
{
	deferred_cancel(&events->due);
	list_flush(&events->queue);
	events->closed = mem_deref(events->closed);
}

void call_event_adopt(struct call_events *events, sip_call_h *handler,
		      void *arg)
{
	events->handler = handler;
	events->arg = arg;
	if (list_head(&events->queue))
		deferred_start(events->deferred, &events->due, events_deliver,
			       events);
}

void call_event_mute(struct call_events *events)
{
	events->handler = NULL;
	deferred_cancel(&events->due);
	list_flush(&events->queue);
}
