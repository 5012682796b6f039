/**
 * The events of a call, on their way to its handler.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_CALL_EVENT_H
#define OFFHOOK_SIP_CALL_CALL_EVENT_H

#include <re.h>

#include "sip/call.h"
#include "sip/message/text.h"
#include "sip/transport/deferred.h"

struct call_event {
	struct le le;
	enum sip_call_event event;
	int64_t mono_ns;
	bool local;
	uint16_t code;
	char reason[REASON_BYTES];
	const char *method; /* static */
	char *target;
	char *replaces;
	char digit;
	unsigned digit_ms;
	enum sip_call_end end;
	int64_t bye_ok_ns;
	struct media_negotiated *media; /* a reference; NULL: nothing new */
};

/** The events of one call; embedded in it. */
struct call_events {
	struct sip_call *call;
	struct deferred_queue *deferred;
	const char *warning; /* of the call: what a refusal said, or "" */
	sip_call_h *handler; /* NULL: nobody has adopted the call yet */
	void *arg;
	struct list queue;         /* of struct call_event */
	struct call_event *closed; /* allocated with the call: must not fail */
	bool over;                 /* only `closed` may follow */
	struct deferred due;
};

/**
 * @param events    zeros before
 * @param call      the handler is called with it
 * @param deferred  of the transport
 * @param warning   borrowed as long as the events
 * @return 0; -ENOMEM
 */
int call_event_init(struct call_events *events, struct sip_call *call,
		    struct deferred_queue *deferred, const char *warning);
/** Nothing is reported any more: release what is queued. */
void call_event_release(struct call_events *events);
/** Report to this handler from now on, and what is queued. */
void call_event_adopt(struct call_events *events, sip_call_h *handler,
		      void *arg);
/** Drop what is queued, and report nothing more. */
void call_event_mute(struct call_events *events);

/** Queue an event. The handler is called from a timer: never within a function
 * of sip/call.h, nor below a function of libre that still uses what the handler
 * may release. */
void call_event_append(struct call_events *events, struct call_event *event);
/**
 * Make and queue an event.
 * @param mono_ns  when it happened
 * @return borrowed, to be filled in at once; NULL: the call is over, too many
 *         events are queued, or there is no memory
 */
struct call_event *call_event(struct call_events *events,
			      enum sip_call_event event, bool local,
			      int64_t mono_ns);
/** Call the handler at once, from within: only for SIP_CALL_NEW_KEY. */
void call_event_now(struct call_events *events, enum sip_call_event event,
		    int64_t mono_ns);
/** Code and reason phrase of a response. @param event  NULL: nothing to do */
void call_event_reason(struct call_event *event, const struct sip_msg *msg);

#endif
