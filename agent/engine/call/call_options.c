#include "agent/engine/engine_internal.h"

struct sip_call_options call_options(const struct wire_action *action)
{
	static const enum sip_prack pracks[] = {
		[WIRE_PRACK_NONE] = SIP_PRACK_NONE,
		[WIRE_PRACK_SUPPORTED] = SIP_PRACK_SUPPORTED,
		[WIRE_PRACK_REQUIRED] = SIP_PRACK_REQUIRED,
	};
	static const enum sip_refresher refreshers[] = {
		[WIRE_REFRESHER_ANY] = SIP_REFRESHER_ANY,
		[WIRE_REFRESHER_UAC] = SIP_REFRESHER_UAC,
		[WIRE_REFRESHER_UAS] = SIP_REFRESHER_UAS,
	};
	const struct wire_call_options *o = &action->call_options;

	return (struct sip_call_options){
		.prack = pracks[o->prack],
		.session_timer_s = o->session_timer_s,
		.refresher = refreshers[o->refresher],
		.late_offer = o->late_offer,
		.ring_timeout_s = o->ring_timeout_s,
		.redirects_max = o->redirects_max,
	};
}
