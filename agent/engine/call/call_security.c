/* The encryption of a call's media. */
#include "agent/engine/call/call_internal.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

int call_security_params(const struct call *c,
			 struct media_session_params *params)
{
	const struct wire_action *action = c->action;
	struct sip_account_media media;

	user_agents_media(&media, action);
	params->encryption = media.encryption;
	params->rtcp_mux = media.rtcp_mux;
	for (size_t i = 0; i < action->srtp_suite_count; i++) {
		if (media_srtp_suite_by_name(&params->suites[i],
					     action->srtp_suites[i]))
			return -EINVAL;
	}
	params->suite_count = action->srtp_suite_count;
	return 0;
}

int call_security_rekey(struct call *c)
{
	int err;

	/* DTLS keeps its association, baresip its keys */
	if (!c->encrypted || c->action->encryption == WIRE_ENCRYPTION_DTLS ||
	    c->action->client == WIRE_CLIENT_BARESIP)
		return 0;
	err = media_session_rekey(c->media);
	return err ? err
		   : sip_call_relocate(c->sip, media_session_local(c->media));
}

void call_security_expect_key(struct call *c)
{
	int err =
		c->media && !c->closed ? media_session_expect_key(c->media) : 0;

	if (err)
		call_media_flaw(c, err);
}

void call_security_applied(struct call *c,
			   const struct media_negotiated *negotiated,
			   int64_t at_ns)
{
	const char *suite = media_srtp_suite_name(negotiated->crypto_tx.suite);
	bool news =
		negotiated->encrypted && (!c->encrypted || c->suite != suite);

	if (negotiated->dtls)
		return; /* call_security_dtls() reports it */
	c->encrypted = negotiated->encrypted;
	c->suite = suite;
	if (!news)
		return;
	call_state(c, at_ns, UA_CALL_MENC, suite);
}

void call_security_client(struct call *c, const struct sip_call_info *info)
{
	if (c->encrypted)
		return; /* reported for each stream: the first one counts */
	c->encrypted = true;
	call_state(c, info->mono_ns, UA_CALL_MENC, info->reason);
}

bool call_security_dtls(struct call *c, const struct media_record *record,
			char reason[static CALL_REASON_BYTES])
{
	const struct media_secured *end = &record->u.secured;
	char text[64]; /* a suite with its port */

	if (c->closed)
		return true;
	if (end->suite) {
		str_print(text, sizeof(text), "%s%s%s", end->suite,
			  end->port ? ", " : "", end->port ? end->port : "");
		c->encrypted = true;
		call_state(c, record->mono_ns, UA_CALL_MENC, text);
		return true;
	}
	str_print(reason, CALL_REASON_BYTES, "%s%s%s",
		  end->port ? end->port : "", end->port ? ": " : "",
		  end->reason);
	report_event(c->calls->report,
		     wire_event_assert(
			     report_time(c->calls->report, record->mono_ns),
			     c->name, "media_encryption", "dtls", reason));
	return false;
}
