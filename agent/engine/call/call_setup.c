/* How a call begins: placed, taken, or as a stream without signalling. */
#include "agent/engine/call/call_internal.h"
#include "base/log.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEER_BYTES (INET6_ADDRSTRLEN + sizeof("rtp:[]:65535"))

struct sip_call_options calls_options(const struct wire_action *action)
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

/* ---- outgoing ---- */

int call_setup_dial(struct call *c)
{
	const struct sip_call_options options = calls_options(c->action);
	struct custom_headers headers = {.list = NULL};
	struct sip_call_params params = {
		.uri = c->dial_uri,
		.media = media_session_local(c->media),
		.options = &options,
		.replaces = c->dial_replaces,
		.call_h = call_handler,
		.arg = c,
	};
	int err = 0;

	if (custom_headers_vary(c->origin))
		err = custom_headers_make(&headers, c->origin, c->number);
	if (err)
		return err;
	params.headers = headers.list;
	params.header_count = headers.count;
	err = sip_call_dial(&c->sip, account_sip(c->origin), &params);
	custom_headers_free(&headers);
	return err;
}

/* Dial, now or when the media's addresses are known. @return 0; -errno */
static int dial_soon(struct call *c, const char *uri, const char *replaces)
{
	c->dial_uri = strdup(uri);
	c->dial_replaces = replaces ? strdup(replaces) : NULL;
	if (!c->dial_uri || (replaces && !c->dial_replaces))
		return -ENOMEM;
	return media_session_ready(c->media) ? call_setup_dial(c) : 0;
}

int calls_place(struct calls *calls, const struct wire_action *action,
		struct account *account, const char *uri, unsigned n)
{
	struct call *c = call_make(calls, action, account, true);
	int err;

	if (!c) {
		report_end_job(calls->report, "error", "role %s: out of memory",
			       calls->job->role);
		return -ENOMEM;
	}
	err = call_media_new(c);
	if (err == -EADDRINUSE) {
		call_unmake(c);
		return err;
	}
	if (err) {
		call_fault(c, "its audio cannot be set up", err);
		call_release(c);
		return err;
	}
	c->number = n;
	err = call_script_fill(c, n);
	if (err) {
		call_fault(c, "its sipclient_actions cannot be filled in", err);
		call_release(c);
		return err;
	}
	err = dial_soon(c, uri, NULL);
	if (err) {
		call_fault(c, "it cannot be dialled", err);
		call_release(c);
		return err;
	}
	call_begun(c);
	if (c->sip)
		call_go_on(c);
	return 0;
}

/* A call that no generator placed, without a script. */
struct extra {
	const struct wire_action *action;
	struct account *account;
	const char *placed_for;
	unsigned number;
	const char *uri;
	const char *replaces; /* value of a Replaces header, or NULL */
};

static int place_extra(struct call **ret, struct calls *calls,
		       const struct extra *x)
{
	struct call *c;
	int err;

	if (calls->listed >= CALLS_MAX)
		return -EBUSY;
	c = call_make(calls, x->action, x->account, true);
	if (!c)
		return -ENOMEM;
	(void)str_copy(c->placed_for, sizeof(c->placed_for), x->placed_for);
	/* it has no script */
	script_init(&c->script, NULL, 0, &call_script_ops, c);
	c->number = x->number;
	err = call_media_new(c);
	if (!err)
		err = dial_soon(c, x->uri, x->replaces);
	if (err) {
		call_release(c);
		return err;
	}
	call_begun(c);
	*ret = c;
	return 0;
}

int call_place_extra(struct call **ret, struct call *of, const char *uri,
		     const char *replaces)
{
	const struct extra x = {
		.action = of->action,
		.account = of->origin,
		.placed_for = of->name,
		.number = of->number,
		.uri = uri,
		.replaces = replaces,
	};

	return place_extra(ret, of->calls, &x);
}

int call_place_referred(struct call **ret, struct calls *calls,
			const struct wire_action *action,
			struct account *account,
			const struct sip_refer_info *info)
{
	const struct extra x = {
		.action = action,
		.account = account,
		.placed_for = "REFER",
		.uri = info->target,
		.replaces = info->replaces,
	};

	return place_extra(ret, calls, &x);
}

/* ---- incoming ---- */

/* No RTP port is free: answer 503, and report a failed call. */
static void refuse_without_port(struct call *c)
{
	const struct engine_settings *s = c->calls->settings;

	(void)str_print(c->failure, sizeof(c->failure),
			"it was refused with 503: no port of the RTP range "
			"%u-%u was free; widen rtp_ports, or limit "
			"max_concurrent_calls",
			s->rtp_min, s->rtp_max);
	if (sip_call_reject(c->sip, 503, NULL))
		call_end(c);
}

void call_answer_due(void *arg)
{
	struct call *c = arg;
	char why[96];
	int err;

	if (c->closed)
		return;
	if (c->action->answer_code != 200 && !c->replaces) {
		c->refusal_asked = true;
		err = c->action->answer_contact
			      ? sip_call_redirect(c->sip,
						  c->action->answer_code,
						  c->action->answer_contact)
			      : sip_call_reject(c->sip, c->action->answer_code,
						NULL);
		if (err)
			call_give_up(c, "its answer_code cannot be sent");
		return;
	}
	err = c->media ? 0 : call_media_new(c);
	if (!err && !media_session_ready(c->media)) {
		c->answer_waits = true;
		return;
	}
	if (err == -EADDRINUSE) {
		refuse_without_port(c);
		return;
	}
	if (err)
		call_fault(c, "its audio cannot be set up", err);
	else
		err = sip_call_answer(c->sip, media_session_local(c->media));
	if (err) {
		log_warning("run=%s call=%s cannot be answered: %s",
			    c->calls->job->session_id, c->name, strerror(-err));
		snprintf(why, sizeof(why), "it cannot be answered: %s",
			 strerror(-err));
		call_give_up(c, why);
	}
}

/* Start early media, or ask the servers, before the call is answered. */
static void media_early(struct call *c, bool rings)
{
	const struct wire_action *action = c->action;
	bool wanted = action->early_media ||
		      (call_nat_asks(action) && action->answer_code == 200 &&
		       !action->ring_only);
	bool made = wanted && call_media_new(c) == 0;

	if (action->early_media && made) {
		c->progress_waits = !media_session_ready(c->media);
		if (!c->progress_waits)
			sip_call_progress(c->sip, 183,
					  media_session_local(c->media));
	} else if (rings) {
		sip_call_ring(c->sip);
	}
}

void calls_take(struct calls *calls, const struct wire_action *action,
		struct account *account, struct sip_call *sip)
{
	struct call *c = call_make(calls, action, account, false);
	bool rings = action->ring_only || action->answer_code == 200 ||
		     action->answer_delay_ms > 0;

	if (!c || call_script_fill(c, account_index(account)) ||
	    sip_call_adopt(sip, call_handler, c)) {
		if (c)
			call_release(c);
		sip_call_reject(sip, 500, "Server Internal Error");
		return;
	}
	c->sip = sip;
	c->invite_ns = sip_call_came_ns(sip);
	c->replaces = sip_call_replaced(sip) != NULL;
	call_begun(c);
	call_state(c, c->invite_ns, UA_CALL_INCOMING, NULL);
	if (c->replaces) { /* the replaced call has run the script */
		script_init(&c->script, NULL, 0, &call_script_ops, c);
		call_answer_due(c);
		return;
	}
	media_early(c, rings);
	if (!action->ring_only && !script_actions_refuses(action))
		mono_timer_start(&c->tmr_answer, action->answer_delay_ms,
				 call_answer_due, c);
	call_go_on(c);
}

bool calls_take_replacing(struct calls *calls, struct sip_call *sip)
{
	const struct sip_call *old = sip_call_replaced(sip);
	struct le *le;

	if (!old)
		return false;
	LIST_FOREACH(&calls->list, le)
	{
		const struct call *c = le->data;

		if (c->sip == old && !c->closed && calls->listed < CALLS_MAX) {
			calls_take(calls, c->action, c->origin, sip);
			return true;
		}
	}
	return false;
}

/* ---- of a client that acts by itself ---- */

int calls_observe(struct calls *calls, const struct wire_action *action,
		  struct sip_call *sip, bool outgoing)
{
	struct call *c;
	int err;

	if (calls->listed >= calls->sessions_max)
		return -EBUSY;
	c = call_make(calls, action, NULL, outgoing);
	if (!c)
		return -ENOMEM;
	c->duration_ns = INT64_MAX;
	err = call_media_new(c);
	if (!err)
		err = sip_call_adopt(sip, call_handler, c);
	if (err) {
		call_unmake(c);
		return err;
	}
	c->sip = sip;
	call_begun(c);
	if (!outgoing) {
		c->invite_ns = sip_call_came_ns(sip);
		call_state(c, c->invite_ns, UA_CALL_INCOMING, NULL);
	}
	return 0;
}

/* ---- streams ---- */

/* As if both sides had offered the same: our first codec is used. */
static void settle(struct media_negotiated *n, const struct media_local *local,
		   const struct wire_stream *to)
{
	*n = (struct media_negotiated){
		.codec = local->codecs[0],
		.ptime_ms = local->ptime_ms,
		.direction = MEDIA_SENDRECV,
	};
	(void)engine_address(&n->rtp, to->host, to->port);
	(void)engine_address(&n->rtcp, to->host, (uint16_t)(to->port + 1));
	memcpy(n->accepted, local->codecs,
	       local->codec_count * sizeof(local->codecs[0]));
	n->accepted_count = local->codec_count;
}

static int start(struct call *c)
{
	const struct wire_stream *to = &c->action->stream;
	struct media_negotiated negotiated;
	char peer[PEER_BYTES];
	int64_t now_ns;

	snprintf(peer, sizeof(peer),
		 strchr(to->host, ':') ? "rtp:[%s]:%u" : "rtp:%s:%u", to->host,
		 to->port);
	c->dial_uri = strdup(peer);
	if (!c->dial_uri)
		return -ENOMEM;
	settle(&negotiated, media_session_local(c->media), to);
	if (negotiated.rtp.ss.ss_family !=
	    c->calls->settings->addr.ss.ss_family)
		return -EAFNOSUPPORT;
	call_begun(c);
	now_ns = clock_mono_ns();
	call_apply(c, &negotiated, now_ns);
	call_is_up(c, now_ns);
	return 0;
}

int calls_place_stream(struct calls *calls, const struct wire_action *action,
		       unsigned n)
{
	struct call *c = call_make(calls, action, NULL, true);
	int err;

	if (!c) {
		report_end_job(calls->report, "error", "role %s: out of memory",
			       calls->job->role);
		return -ENOMEM;
	}
	c->number = n;
	err = call_media_new(c);
	if (!err)
		err = start(c);
	if (err == -EADDRINUSE && !action->stream.local_port) {
		call_unmake(c);
	} else if (err) {
		call_fault(c, "its stream cannot be set up", err);
		call_release(c);
	}
	return err;
}
