#include "sip/transport/deferred.h"

#include "sip/ua/ua_internal.h"

static void timer_handler(void *arg)
{
	deferred_run(arg);
}

void deferred_start(struct sip_ua *ua, struct deferred *later,
		    void (*handler)(void *arg), void *arg)
{
	later->handler = handler;
	later->arg = arg;
	if (later->le.list)
		return;
	list_append(&ua->due, &later->le, later);
	/* The handling of a message ends with deferred_run(). */
	if (!ua->handling && !mono_timer_running(&ua->tmr_due))
		mono_timer_start(&ua->tmr_due, 0, timer_handler, ua);
}

void deferred_cancel(struct deferred *later)
{
	list_unlink(&later->le);
}

void deferred_run(struct sip_ua *ua)
{
	struct deferred *later;

	for (uint32_t left = list_count(&ua->due);
	     left > 0 && (later = list_ledata(list_head(&ua->due))); left--) {
		list_unlink(&later->le);
		later->handler(later->arg);
	}
	if (list_head(&ua->due))
		mono_timer_start(&ua->tmr_due, 0, timer_handler, ua);
	else
		mono_timer_cancel(&ua->tmr_due);
}
