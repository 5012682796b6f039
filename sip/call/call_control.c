#include "sip/call/call_control.h"

#include <errno.h>

#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/native_call.h"
#include "sip/call/refer.h"
#include "sip/call/reinvite.h"
#include "sip/call/reliable_provisional.h"
#include "sip/call/uac.h"
#include "sip/call/uas.h"
#include "sip/call/update.h"
#include "sip/transport/deferred.h"

static void stop(struct sip_call *call)
{
	reinvite_stop(call);
	reliable_stop(call);
	update_stop(call);
}

static int refresh(struct sip_call *call)
{
	return call->timer.peer_updates ? update_refresh(call)
					: reinvite_refresh(call);
}

static const struct call_handlers handlers = {
	.closing_h = refer_stop,
	.stop_h = stop,
	.refresh_h = refresh,
};

int native_call_dial(struct sip_call **ret, struct sip_account *account,
		     const struct sip_call_params *params)
{
	return uac_dial(ret, account, params, &handlers);
}

void call_invited(struct sip_account *account, const struct sip_msg *msg)
{
	uas_invite(account, msg, &handlers);
}

void native_call_hangup(struct sip_call *call)
{
	switch (call->state) {
	case CALL_INVITING:
		call_set_end(call, SIP_END_CANCELLED, true, 0,
			     "cancelled by us");
		uac_cancel(call);
		break;
	case CALL_INCOMING:
		uas_refuse(call, 603, "Decline");
		break;
	case CALL_ACCEPTED:
		/* No BYE before the ACK (RFC 3261 section 15). */
		call->uas.bye_after_ack = true;
		break;
	case CALL_UP:
		call_set_end(call, SIP_END_LOCAL, true, 0, "hung up by us");
		call_bye(call);
		break;
	case CALL_ENDING:
	case CALL_DONE:
		break;
	}
}

int native_call_digit(struct sip_call *call, char digit)
{
	(void)call;
	(void)digit;
	return -ENOTSUP;
}

int native_call_mute(struct sip_call *call, bool mute)
{
	(void)call;
	(void)mute;
	return -ENOTSUP;
}

int native_call_play(struct sip_call *call, const char *path, int64_t ns)
{
	(void)call;
	(void)path;
	(void)ns;
	return -ENOTSUP;
}

/* What runs on the wire (BYE, CANCEL, an unacknowledged 2xx) is finished in
 * the background; it holds the memory until then. */
struct sip_call *native_call_free(struct sip_call *call)
{
	if (!call)
		return NULL;
	call->events.handler = NULL;
	native_call_hangup(call);
	deferred_cancel(&call->events.due);
	list_flush(&call->events.queue);
	return mem_deref(call);
}
