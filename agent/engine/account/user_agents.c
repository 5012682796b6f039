/* The user agents of a job: the native one always, others where an action
 * names them. */
#include "agent/engine/engine_internal.h"

#include "sip/baresip/baresip.h"

#include "agent/engine/report/redact.h"
#include "base/sockaddr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDR_BYTES (INET6_ADDRSTRLEN + 8)

static void addr_text(char dst[static ADDR_BYTES], const struct media_addr *a)
{
	char host[INET6_ADDRSTRLEN];
	uint16_t port;

	dst[0] = '\0';
	if (a->len > 0 && sockaddr_host(host, &port, &a->ss) == 0)
		snprintf(dst, ADDR_BYTES,
			 a->ss.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u",
			 host, port);
}

void user_agents_trace(const struct sip_trace *trace, void *arg)
{
	static const char *const transports[] = {
		[SIP_TRANSPORT_UDP] = "udp",
		[SIP_TRANSPORT_TCP] = "tcp",
		[SIP_TRANSPORT_TLS] = "tls",
	};
	const struct engine *e = arg;
	char local[ADDR_BYTES];
	char peer[ADDR_BYTES];
	struct wire_sip_message message = {
		.sent = trace->sent,
		.transport = transports[trace->transport],
		.local = local,
		.peer = peer,
		.len = trace->len,
	};
	struct writer w;
	char *copy;

	if (!e->job->record_sip)
		return;
	copy = malloc(trace->len);
	if (!copy) {
		report_dropped(e->report, OUTBOX_SIP);
		return;
	}
	memcpy(copy, trace->data, trace->len);
	redact_keys(copy, trace->len);
	message.data = copy;
	addr_text(local, &trace->local);
	addr_text(peer, &trace->peer);
	w = report_begin(e->report);
	wire_sip_message_write(&w, report_time(e->report, trace->mono_ns),
			       &message);
	report_end(e->report, OUTBOX_SIP, &w);
	explicit_bzero(copy, trace->len);
	free(copy);
}

static bool calls(const struct wire_action *a)
{
	return a->type == WIRE_ACTION_ANSWER || a->type == WIRE_ACTION_CALL;
}

/* The next action from a place on; both counters move. */
static const struct wire_action *next_action(const struct engine *e,
					     size_t *step, size_t *i)
{
	for (; *step < e->job->step_count; (*step)++, *i = 0) {
		const struct wire_step *s = &e->job->steps[*step];

		if (*i < s->action_count)
			return &s->actions[(*i)++];
	}
	return NULL;
}

bool user_agents_want(const struct engine *e, enum wire_client client)
{
	const struct wire_action *a;
	size_t step = 0;
	size_t i = 0;

	while ((a = next_action(e, &step, &i))) {
		if (a->client == client)
			return true;
	}
	return false;
}

int user_agents_start(struct engine *e)
{
	const struct engine_settings *s = &e->settings;
	char reason[SIP_REASON_BYTES] = "";
	const struct baresip_params baresip = {
		.bind_addr = s->bind,
		.rtp_min = s->rtp_min,
		.rtp_max = s->rtp_max,
		.trace_h = user_agents_trace,
		.arg = e,
		.reason = reason,
	};
	int err;

	if (!user_agents_want(e, WIRE_CLIENT_BARESIP))
		return 0;
	err = baresip_new(&e->baresip, &baresip);
	if (err)
		report_end_job(e->report, "error", "role %s: %s", e->job->role,
			       reason[0] ? reason : strerror(-err));
	return err;
}

void user_agents_free(struct engine *e)
{
	e->baresip = sip_ua_free(e->baresip);
}

struct sip_ua *user_agents_ua(const struct engine *e,
			      const struct wire_action *action)
{
	return action->client == WIRE_CLIENT_BARESIP ? e->baresip : e->ua;
}

const struct wire_action *user_agents_media_of(const struct engine *e,
					       const struct wire_action *action)
{
	const struct wire_action *a;
	bool behind = calls(action);
	size_t step = 0;
	size_t i = 0;

	if (calls(action))
		return action;
	/* who registers will call or answer: the first of these */
	while ((a = next_action(e, &step, &i))) {
		if (behind && calls(a) && a->client == action->client)
			return a;
		behind |= a == action;
	}
	return action;
}

static enum media_encryption encryption_of(const struct wire_action *a)
{
	switch (a->encryption) {
	case WIRE_ENCRYPTION_SDES:
		return MEDIA_ENCRYPTION_SDES;
	case WIRE_ENCRYPTION_SDES_MANDATORY:
		return MEDIA_ENCRYPTION_SDES_MANDATORY;
	case WIRE_ENCRYPTION_DTLS:
		return MEDIA_ENCRYPTION_DTLS;
	case WIRE_ENCRYPTION_NONE:
		break;
	}
	return MEDIA_ENCRYPTION_NONE;
}

static enum media_mux mux_of(const struct wire_action *a)
{
	switch (a->rtcp_mux) {
	case WIRE_MUX_OFFER:
		return MEDIA_MUX_OFFER;
	case WIRE_MUX_REFUSE:
		return MEDIA_MUX_REFUSE;
	case WIRE_MUX_TAKE:
		break;
	}
	return MEDIA_MUX_TAKE;
}

void user_agents_media(struct sip_account_media *ret,
		       const struct wire_action *action)
{
	*ret = (struct sip_account_media){
		.codec_count = action->codec_count,
		.ptime_ms = action->ptime_ms,
		.encryption = encryption_of(action),
		.rtcp_mux = mux_of(action),
	};
	memcpy(ret->codecs, action->codecs, sizeof(ret->codecs));
}

static bool text_same(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool nat_same(const struct wire_action *a, const struct wire_action *b)
{
	return a->nat == b->nat && text_same(a->stun_server, b->stun_server) &&
	       text_same(a->turn_server, b->turn_server) &&
	       text_same(a->turn_username, b->turn_username) &&
	       text_same(a->turn_password, b->turn_password);
}

static bool media_same(const struct wire_action *a, const struct wire_action *b)
{
	if (a->codec_count != b->codec_count || a->ptime_ms != b->ptime_ms ||
	    a->encryption != b->encryption || a->rtcp_mux != b->rtcp_mux ||
	    !nat_same(a, b))
		return false;
	for (size_t i = 0; i < a->codec_count; i++) {
		if (strcmp(a->codecs[i], b->codecs[i]) != 0)
			return false;
	}
	return true;
}

bool user_agents_native(const struct account *a)
{
	return a->origin->client == WIRE_CLIENT_NATIVE;
}

bool user_agents_serve(const struct account *a,
		       const struct wire_action *action)
{
	return a->origin->client == action->client &&
	       (action->client == WIRE_CLIENT_NATIVE ||
		media_same(a->media, action));
}
