/* The user agents of a job: the native one, and baresip where an action names
 * it. */
#include "agent/engine/account/accounts_internal.h"

#include "sip/baresip/baresip.h"

#include "agent/engine/report/redact.h"
#include "base/log.h"
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

void user_agents_traced(const struct sip_trace *trace, void *arg)
{
	static const char *const transports[] = {
		[SIP_TRANSPORT_UDP] = "udp",
		[SIP_TRANSPORT_TCP] = "tcp",
		[SIP_TRANSPORT_TLS] = "tls",
	};
	const struct accounts *accounts = arg;
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

	if (!accounts->job->record_sip)
		return;
	copy = malloc(trace->len);
	if (!copy) {
		report_dropped(accounts->report, OUTBOX_SIP);
		return;
	}
	memcpy(copy, trace->data, trace->len);
	redact_keys(copy, trace->len);
	message.data = copy;
	addr_text(local, &trace->local);
	addr_text(peer, &trace->peer);
	w = report_begin(accounts->report);
	wire_sip_message_write(
		&w, report_time(accounts->report, trace->mono_ns), &message);
	report_end(accounts->report, OUTBOX_SIP, &w);
	explicit_bzero(copy, trace->len);
	free(copy);
}

static bool calls(const struct wire_action *a)
{
	return a->type == WIRE_ACTION_ANSWER || a->type == WIRE_ACTION_CALL;
}

/* The next action from step and i on; moves both. */
static const struct wire_action *next_action(const struct wire_job *job,
					     size_t *step, size_t *i)
{
	for (; *step < job->step_count; (*step)++, *i = 0) {
		const struct wire_step *s = &job->steps[*step];

		if (*i < s->action_count)
			return &s->actions[(*i)++];
	}
	return NULL;
}

bool user_agents_want(const struct wire_job *job, enum wire_client client)
{
	const struct wire_action *a;
	size_t step = 0;
	size_t i = 0;

	while ((a = next_action(job, &step, &i))) {
		if (a->client == client)
			return true;
	}
	return false;
}

int user_agents_start_baresip(struct accounts *accounts)
{
	const struct engine_settings *s = accounts->settings;
	char reason[SIP_REASON_BYTES] = "";
	const struct baresip_params baresip = {
		.bind_addr = s->bind,
		.rtp_min = s->rtp_min,
		.rtp_max = s->rtp_max,
		.trace_h = user_agents_traced,
		.arg = accounts,
		.reason = reason,
	};
	int err;

	if (!user_agents_want(accounts->job, WIRE_CLIENT_BARESIP))
		return 0;
	err = baresip_new(&accounts->baresip, &baresip);
	if (err)
		report_end_job(accounts->report, "error", "role %s: %s",
			       accounts->job->role,
			       reason[0] ? reason : strerror(-err));
	return err;
}

static void sip_full(const char *reason, void *arg)
{
	const struct accounts *accounts = arg;

	log_warning("run=%s role=%s %s", accounts->job->session_id,
		    accounts->job->role, reason);
}

int user_agents_start_native(struct accounts *accounts)
{
	const struct engine_settings *s = accounts->settings;
	const struct sip_tls tls = {
		.cert_file = s->tls_certificate,
		.key_file = s->tls_key[0] ? s->tls_key : NULL,
	};
	char reason[SIP_REASON_BYTES] = "";
	const struct sip_ua_params ua = {
		.bind_addr = s->bind,
		.port = s->sip_port,
		.software = "offhook/" OFFHOOK_VERSION,
		.calls_max = accounts->calls_max,
		.tls = s->tls_certificate[0] ? &tls : NULL,
		.name_servers = s->name_servers[0] ? s->name_servers : NULL,
		.trace_h = user_agents_traced,
		.full_h = sip_full,
		.arg = accounts,
		.reason = reason,
	};
	int err = sip_ua_new(&accounts->ua, &ua);

	if (err)
		report_end_job(
			accounts->report, "error",
			"role %s: SIP cannot be set up on %s port %u: %s",
			accounts->job->role, s->bind, s->sip_port,
			reason[0] ? reason : strerror(-err));
	return err;
}

bool user_agents_started(const struct accounts *accounts)
{
	return accounts->ua != NULL;
}

struct client_sounds *user_agents_sounds(struct accounts *accounts)
{
	return &accounts->sounds;
}

void user_agents_free(struct accounts *accounts)
{
	if (accounts->ua)
		accounts->ua = sip_ua_free(accounts->ua);
	accounts->baresip = sip_ua_free(accounts->baresip);
}

struct sip_ua *user_agents_ua(const struct accounts *accounts,
			      const struct wire_action *action)
{
	return action->client == WIRE_CLIENT_BARESIP ? accounts->baresip
						     : accounts->ua;
}

const struct wire_action *user_agents_media_of(const struct accounts *accounts,
					       const struct wire_action *action)
{
	const struct wire_action *a;
	bool behind = calls(action);
	size_t step = 0;
	size_t i = 0;

	if (calls(action))
		return action;
	/* an account that registers will call or answer: take the first of these */
	while ((a = next_action(accounts->job, &step, &i))) {
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

int user_agents_receive_drops(const struct accounts *accounts, uint64_t *ret)
{
	return accounts->ua ? sip_ua_receive_drops(accounts->ua, ret) : -ENOENT;
}
