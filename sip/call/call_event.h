/**
 * The events of a call, on their way to its handler.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_CALL_EVENT_H
#define OFFHOOK_SIP_CALL_CALL_EVENT_H

#include <re.h>

#include "sip/call.h"
#include "sip/message/text.h"

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
	struct media_negotiated *media; /* owned; NULL: nothing new of it */
};

/** An event that is queued later. @return NULL: no memory */
struct call_event *call_event_new(void);
/** Queue an event. The handler is called from a timer: never within a function
 * of sip/call.h, nor below a function of libre that still uses what the handler
 * may release. */
void call_event_append(struct sip_call *call, struct call_event *event);
/**
 * Make and queue an event.
 * @param mono_ns  when it happened
 * @return borrowed, to be filled in at once; NULL: the call is over, too many
 *         events are queued, or there is no memory
 */
struct call_event *call_event(struct sip_call *call, enum sip_call_event event,
			      bool local, int64_t mono_ns);
/**
 * Add what offer and answer settled to an event that has none yet.
 * @param media  copied; without memory the event stays without
 */
void call_event_media(struct call_event *event,
		      const struct media_negotiated *media);
/** Code and reason phrase of a response. @param event  NULL: nothing to do */
void call_event_reason(struct call_event *event, const struct sip_msg *msg);

#endif
