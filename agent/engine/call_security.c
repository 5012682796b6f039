#include "agent/engine/internal.h"

#include "media/srtp_keys.h"

#include <errno.h>

static enum media_encryption encryption_of(const struct wire_action *action)
{
	switch (action->encryption) {
	case WIRE_ENCRYPTION_SDES:
		return MEDIA_ENCRYPTION_SDES;
	case WIRE_ENCRYPTION_SDES_MANDATORY:
		return MEDIA_ENCRYPTION_SDES_MANDATORY;
	case WIRE_ENCRYPTION_NONE:
		break;
	}
	return MEDIA_ENCRYPTION_NONE;
}

int call_security_params(const struct call *c,
			 struct media_session_params *params)
{
	const struct wire_action *action = c->action;

	params->encryption = encryption_of(action);
	for (size_t i = 0; i < action->srtp_suite_count; i++) {
		if (srtp_suite_by_name(&params->suites[i],
				       action->srtp_suites[i]))
			return -EINVAL;
	}
	params->suite_count = action->srtp_suite_count;
	return 0;
}

int call_security_rekey(struct call *c)
{
	int err;

	if (!c->encrypted)
		return 0;
	err = media_session_rekey(c->media);
	return err ? err
		   : sip_call_relocate(c->sip, media_session_local(c->media));
}

void call_security_applied(struct call *c,
			   const struct media_negotiated *negotiated)
{
	const struct srtp_suite_info *suite =
		srtp_suite_info(negotiated->crypto_tx.suite);
	bool news =
		negotiated->encrypted && (!c->encrypted || c->suite != suite);

	c->encrypted = negotiated->encrypted;
	c->suite = suite;
	if (!news)
		return;
	call_state(c, clock_mono_ns(), UA_CALL_MENC, suite->name);
}
