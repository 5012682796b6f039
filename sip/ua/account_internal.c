#include "sip/ua/account_internal.h"

#include "sip/message/text.h"
#include "sip/transport/transport.h"
#include "sip/ua/ua_internal.h"

#define EVENTS_MAX 16 /* queued for the handler; more are dropped */

struct account_event {
	struct le le;
	enum sip_account_event event;
	struct sip_account_info info;
	char reason[REASON_BYTES];
};

static void event_destructor(void *arg)
{
	struct account_event *event = arg;

	list_unlink(&event->le);
}

static void events_deliver(void *arg)
{
	struct sip_account *account = arg;
	struct account_event *event;

	mem_ref(account); /* the handler may release it */
	while ((event = list_ledata(list_head(&account->events)))) {
		list_unlink(&event->le);
		event->info.reason = event->reason;
		if (account->account_h)
			account->account_h(account, event->event, &event->info,
					   account->arg);
		mem_deref(event);
	}
	mem_deref(account);
}

void account_event_add(struct sip_account *account, enum sip_account_event what,
		       int64_t mono_ns, uint16_t code, const char *reason)
{
	struct account_event *event;

	if (list_count(&account->events) >= EVENTS_MAX)
		return;
	event = mem_zalloc(sizeof(*event), event_destructor);
	if (!event)
		return;
	event->event = what;
	event->info.mono_ns = mono_ns;
	event->info.code = code;
	event->info.expires_s = account->expires_s;
	if (what != SIP_ACCOUNT_REGISTERING)
		event->info.took_ns =
			mono_ns - (account->first_sent_ns
					   ? account->first_sent_ns
					   : account->began_ns);
	str_print(event->reason, sizeof(event->reason), "%s", reason);
	list_append(&account->events, &event->le, event);
	deferred_start(transport_deferred(account->ua->transport),
		       &account->due, events_deliver, account);
}
