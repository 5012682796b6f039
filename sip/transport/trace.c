#include "sip/transport/trace.h"

#include <string.h>

#include "base/clock.h"
#include "media/params.h"
#include "sip/call/call_internal.h"
#include "sip/call/uac.h"
#include "sip/dialog/dialog.h"
#include "sip/host.h"
#include "sip/transport/transport.h"
#include "sip/ua.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/register.h"
#include "sip/ua/ua_internal.h"

static void addr_set(struct media_addr *addr, const struct sa *sa)
{
	addr->len = sa->len;
	memcpy(&addr->ss, &sa->u, sa->len);
}

static enum sip_transport transport_of(enum sip_transp tp)
{
	if (tp == SIP_TRANSP_UDP)
		return SIP_TRANSPORT_UDP;
	return tp == SIP_TRANSP_TCP ? SIP_TRANSPORT_TCP : SIP_TRANSPORT_TLS;
}

/* Our own Call-ID line, as dialog.c writes it. */
static bool callid_find(struct pl *ret, const char *text, size_t len)
{
	static const char name[] = "\r\nCall-ID: ";
	const char *p = memmem(text, len, name, sizeof(name) - 1);
	const char *end;

	if (!p)
		return false;
	p += sizeof(name) - 1;
	end = memchr(p, '\r', len - (size_t)(p - text));
	if (!end)
		return false;
	ret->p = p;
	ret->l = (size_t)(end - p);
	return true;
}

static bool call_handler(struct le *le, void *arg)
{
	const struct sip_call *call = le->data;

	return call->outgoing && !pl_strcmp(arg, call->dialog->callid);
}

static bool account_handler(struct le *le, void *arg)
{
	const struct sip_account *account = le->data;

	return account->dialog && !pl_strcmp(arg, account->dialog->callid);
}

/* A request may wait for its connection or a name: when it really left is
 * known only here. */
static void request_sent(struct sip_ua *ua, const char *text, size_t len)
{
	struct pl callid;
	struct le *le;

	if (len > 9 && memcmp(text, "INVITE ", 7) == 0 &&
	    callid_find(&callid, text, len)) {
		le = hash_lookup(ua->calls, hash_joaat_pl(&callid),
				 call_handler, &callid);
		if (le)
			call_sent(le->data, ua->sent_ns);
	} else if (len > 9 && memcmp(text, "REGISTER ", 9) == 0 &&
		   callid_find(&callid, text, len)) {
		le = hash_lookup(ua->registers, hash_joaat_pl(&callid),
				 account_handler, &callid);
		if (le)
			register_sent(le->data, ua->sent_ns);
	}
}

static void trace(struct sip_ua *ua, const struct sip_trace *what,
		  const struct sa *local, const struct sa *peer)
{
	struct sip_trace copy = *what;

	if (!ua->trace_h)
		return;
	addr_set(&copy.local, local);
	addr_set(&copy.peer, peer);
	ua->trace_h(&copy, ua->arg);
}

void trace_sent(struct sip_ua *ua, enum sip_transp tp, const struct sa *src,
		const struct sa *dst, const uint8_t *data, size_t len)
{
	const struct sip_trace sent = {
		.mono_ns = clock_mono_ns(),
		.sent = true,
		.transport = transport_of(tp),
		.data = (const char *)data,
		.len = len,
	};

	ua->sent_ns = sent.mono_ns;
	trace(ua, &sent, src, dst);
	request_sent(ua, sent.data, len);
}

void trace_received(struct sip_ua *ua, const struct arrival *arrival)
{
	const struct sip_trace received = {
		.mono_ns = arrival->mono_ns,
		.transport = transport_of(arrival->tp),
		.data = (const char *)arrival->data,
		.len = arrival->len,
	};

	trace(ua, &received, arrival->dst, arrival->src);
}

int64_t ua_event_ns(const struct sip_ua *ua)
{
	return ua->handling ? ua->received_ns : clock_mono_ns();
}
