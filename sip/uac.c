#include "sip/uac.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "media/params.h"
#include "sip/account_internal.h"
#include "sip/call_internal.h"
#include "sip/contact.h"
#include "sip/dialog.h"
#include "sip/digest.h"
#include "sip/early.h"
#include "sip/extensions.h"
#include "sip/headers.h"
#include "sip/native.h"
#include "sip/prack.h"
#include "sip/redirect.h"
#include "sip/session.h"
#include "sip/text.h"
#include "sip/timer.h"
#include "sip/transport.h"
#include "sip/ua.h"
#include "sip/ua_internal.h"

/* RFC 3261 16.6: a proxy's timer C is longer than three minutes. */
#define RING_TIMEOUT_S 180

static void invite_response(int err, const struct sip_msg *msg, void *arg);

int invite_send_handler(enum sip_transp tp, const struct sa *src,
			const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct sip_call *call = arg;
	(void)dst;

	return contact_write(mb, call->account, src, tp);
}

int uac_invite_send(struct sip_call *call, struct request *request)
{
	char *headers;
	int err;

	err = extensions_request(&headers, call, true);
	if (err)
		return err;
	request->headers = headers;
	mem_ref(call);
	err = dialog_send(&call->req, call->account, call->dialog, call->digest,
			  request);
	mem_deref(headers);
	if (err)
		mem_deref(call);
	return err;
}

int uac_invite(struct sip_call *call)
{
	struct request request = {
		.method = "INVITE",
		.sdp = call->options.late_offer ? NULL : &call->sdp,
		.sendh = invite_send_handler,
		.resph = invite_response,
		.arg = call,
	};

	return uac_invite_send(call, &request);
}

void call_sent(struct sip_call *call, int64_t mono_ns)
{
	if (call->invite_sent_ns)
		return;
	call->invite_sent_ns = mono_ns;
	call_event(call, SIP_CALL_OUTGOING, true, mono_ns);
	if (!call->options.late_offer)
		call_event(call, SIP_CALL_LOCAL_SDP, true, mono_ns);
}

/* The ACK is filled in behind this; kept for a repeated 2xx. */
static int ack_send_handler(enum sip_transp tp, const struct sa *src,
			    const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct sip_call *call = arg;
	(void)src;

	mem_deref(call->ack_mb);
	call->ack_mb = mem_ref(mb);
	call->ack_dst = *dst;
	call->ack_tp = tp;
	return 0;
}

int uac_ack(struct sip_call *call, uint32_t cseq, const struct buf *sdp)
{
	const struct request request = {
		.method = "ACK",
		.ack_cseq = cseq,
		.sdp = sdp,
		.sendh = ack_send_handler,
		.arg = call,
	};

	call->ack = mem_deref(call->ack);
	call->ack_cseq = cseq;
	return dialog_send(&call->ack, call->account, call->dialog,
			   call->digest, &request);
}

void uac_ack_again(struct sip_call *call, const struct sip_msg *msg)
{
	const struct hop hop = {
		.tp = call->ack_tp,
		.addr = call->ack_dst,
		.tls = call->account->tls,
	};

	if (call->ack_mb && msg->cseq.num == call->ack_cseq)
		(void)transport_send(call->ua->sip, &hop, call->ack_mb, NULL);
}

/* The SDP of a provisional response: an answer, even if it may be lost
 * (13.2.1), or the offer we left to the peer, which must be reliable.
 * @return 1: our answer stands in call->sdp */
static int early_describe(struct sip_call *call, struct early *early,
			  const struct sip_msg *msg, bool reliable)
{
	char reason[REASON_BYTES];
	int r = 0;

	if (session_empty(msg) || early->settled)
		return 0;
	if (call->options.late_offer) {
		if (!reliable || session_offered(call, msg) != 0)
			return 0;
		call_event(call, SIP_CALL_REMOTE_SDP, false,
			   call->ua->received_ns);
		r = 1;
	} else if (session_read(call, msg, reason) ||
		   session_accept(call, reason)) {
		return 0;
	} else if (session_news(call)) {
		session_event_media(call,
				    call_event(call, SIP_CALL_REMOTE_SDP, false,
					       call->ua->received_ns));
	}
	mem_deref(early->remote);
	early->remote = mem_ref(call->remote);
	early->answered = true;
	early->settled = reliable;
	return r;
}

/* @return false: it came before, or one before it is missing (RFC 3262 4) */
static bool in_sequence(struct early *early, const struct sip_msg *msg)
{
	uint32_t rseq = pl_u32(&sip_msg_hdr(msg, SIP_HDR_RSEQ)->val);

	if (early->has_rseq && rseq != early->rseq + 1)
		return false;
	early->has_rseq = true;
	early->rseq = rseq;
	return true;
}

/* @return false: it counts for nothing */
static bool provisional_take(struct sip_call *call, const struct sip_msg *msg)
{
	struct early *early = early_take(call, msg);
	bool reliable = early && prack_is_reliable(call, msg);
	int answer;

	if (!early)
		return true; /* no dialog: a state alone */
	if (reliable && !in_sequence(early, msg))
		return false;
	answer = early_describe(call, early, msg, reliable);
	if (reliable &&
	    prack_send(call, early, msg, answer ? &call->sdp : NULL) == 0 &&
	    answer)
		session_event_media(call, call_event(call, SIP_CALL_LOCAL_SDP,
						     true, call->ua->sent_ns));
	return true;
}

/* 101 to 199 */
static void provisional(struct sip_call *call, const struct sip_msg *msg)
{
	int64_t now = call->ua->received_ns;
	struct call_event *event;

	if (msg->scode <= 100 || call->state != CALL_INVITING ||
	    !provisional_take(call, msg))
		return;
	if (msg->scode < 180 || msg->scode == call->last_provisional)
		return;
	call->last_provisional = msg->scode;
	event = call_event(
		call, msg->scode == 180 ? SIP_CALL_RINGING : SIP_CALL_PROGRESS,
		false, now);
	call_event_reason(event, msg);
}

/* The answer that came with a provisional response of the same branch. */
static int early_answer_take(struct sip_call *call, struct early *early,
			     char *reason)
{
	int err;

	if (call->remote == early->remote)
		return 0;
	mem_deref(call->remote);
	call->remote = mem_ref(early->remote);
	err = session_accept(call, reason);
	if (!err)
		session_event_media(call,
				    call_event(call, SIP_CALL_REMOTE_SDP, false,
					       call->ua->received_ns));
	return err;
}

/* @return 1: the ACK must have our answer; 0; or -errno with the reason why
 * the call cannot be */
static int answer_take(struct sip_call *call, struct early *early,
		       const struct sip_msg *msg, char *reason)
{
	int err;

	if (early && early->settled && call->options.late_offer)
		return 0;
	if (early && early->answered && (early->settled || session_empty(msg)))
		return early_answer_take(call, early, reason);
	if (!call->options.late_offer)
		return session_conclude(call, msg, "the answer has no SDP",
					reason);
	err = session_offered(call, msg);
	if (err == 0)
		return 1;
	str_print(reason, REASON_BYTES, "%s",
		  err == 1 ? "the 2xx has no SDP, which had to be the offer"
			   : "the offer in the 2xx cannot be answered");
	return -EBADMSG;
}

/* Acknowledge the 2xx: the call is up, or ends at once. */
static void acknowledge(struct sip_call *call, const struct sip_msg *msg,
			int answer, const char *reason)
{
	struct call_event *event;

	event = call_event(call, SIP_CALL_ANSWERED, false,
			   call->ua->received_ns);
	call_event_reason(event, msg);
	(void)uac_ack(call, msg->cseq.num, answer == 1 ? &call->sdp : NULL);
	if (answer == 1)
		session_answered(call);
	event = call_established(call, true, msg->scode,
				 answer < 0 ? reason : NULL);
	call_event_reason(event, msg);
}

static void answered(struct sip_call *call, const struct sip_msg *msg)
{
	char reason[REASON_BYTES] = "";
	struct early *early = early_find(call, msg);
	int err;

	tmr_cancel(&call->tmr_ring);
	err = dialog_establish(call->dialog, msg);
	if (err) {
		/* Without a target neither ACK nor BYE can be sent. */
		if (call->state != CALL_ENDING)
			call_set_end(call, SIP_END_FAILED, false, msg->scode,
				     "the 2xx to INVITE has no usable "
				     "Contact or To tag");
		call_close(call);
		return;
	}
	if (call->state == CALL_ENDING) { /* it crossed our CANCEL */
		(void)uac_ack(call, msg->cseq.num, NULL);
		call->state = CALL_UP;
		call_bye(call);
		return;
	}
	err = answer_take(call, early, msg, reason);
	early_confirm(call, msg);
	acknowledge(call, msg, err, reason);
	if (call->state != CALL_UP)
		return;
	timer_peer(call, msg);
	timer_answered(call, msg);
}

static void refused(struct sip_call *call, const struct sip_msg *msg)
{
	char reason[REASON_BYTES];
	int err;

	if (call->state == CALL_ENDING) { /* 487 to our CANCEL, mostly */
		call->end_code = msg->scode;
		call_close(call);
		return;
	}
	if (msg->scode == 422 && timer_raise(call, msg) &&
	    uac_invite(call) == 0)
		return;
	if (msg->scode / 100 == 3) {
		if (redirect_take(call, msg, reason))
			return;
		call_set_end(call, SIP_END_REJECTED, false, msg->scode, reason);
		call_close(call);
		return;
	}
	if (msg->scode != 401 && msg->scode != 407) {
		if (msg->scode < 600 && redirect_next(call))
			return;
		call_set_end_msg(call, SIP_END_REJECTED, msg);
		call_close(call);
		return;
	}
	err = digest_challenge(call->digest, msg);
	if (!err)
		err = uac_invite(call);
	if (err) {
		digest_reason(reason, sizeof(reason), err, msg);
		call_set_end(call, SIP_END_REJECTED, false, msg->scode, reason);
		call_close(call);
	}
}

static void no_answer_reason(const struct sip_call *call, char *reason, int err)
{
	if (redirect_away(call))
		failure_at(reason, REASON_BYTES, call->account,
			   call->dialog->target, err);
	else
		failure_reason(reason, REASON_BYTES, call->account, err);
}

static void invite_response(int err, const struct sip_msg *msg, void *arg)
{
	struct sip_call *call = arg;
	char reason[REASON_BYTES];

	if (!err && msg->scode < 200) {
		provisional(call, msg);
		return;
	}
	if (err && call->state == CALL_INVITING && redirect_next(call)) {
		mem_deref(call);
		return;
	}
	if (err) {
		if (call->state != CALL_ENDING) {
			no_answer_reason(call, reason, err);
			call_set_end(call, SIP_END_FAILED, false, 0, reason);
		}
		call_close(call);
	} else if (msg->scode < 300) {
		answered(call, msg);
	} else {
		refused(call, msg);
	}
	mem_deref(call);
}

/* hostname, IPv4address or IPv6reference (RFC 3261 25.1), loosely */
static bool host_valid(const struct pl *host)
{
	for (size_t i = 0; i < host->l; i++) {
		char c = host->p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || strchr("-._:[]", c)))
			return false;
	}
	return host->l > 0;
}

int peer_uri(char **ret, const struct sip_account *account, const char *uri)
{
	char *text = NULL;
	struct uri parsed;
	char *user;
	struct pl pl;
	int err;

	if (!uri || !uri[0] || !header_text_valid(uri) || strpbrk(uri, " <>\""))
		return -EINVAL;
	if (strncasecmp(uri, "sip:", 4) == 0 ||
	    strncasecmp(uri, "sips:", 5) == 0) {
		err = text_print(&text, "%s", uri);
	} else if (strchr(uri, '@')) {
		err = text_print(&text, "sip:%s", uri);
	} else {
		err = text_user(&user, uri);
		if (err)
			return err;
		err = text_print(&text, "sip:%s@%s", user, account->domain);
		mem_deref(user);
	}
	if (err)
		return err;
	pl_set_str(&pl, text);
	if (uri_decode(&parsed, &pl) || !host_valid(&parsed.host)) {
		mem_deref(text);
		return -EINVAL;
	}
	*ret = text;
	return 0;
}

static int local_check(const struct media_local *media)
{
	bool valid = media->rtp.len > 0 && media->rtcp.len > 0 &&
		     media->codec_count > 0 &&
		     media->codec_count <= MEDIA_CODECS_MAX;

	return valid ? 0 : -EINVAL;
}

int call_local_set(struct sip_call *call, const struct media_local *media)
{
	int err = local_check(media);

	if (!err)
		call->local = *media;
	return err;
}

int native_call_relocate(struct sip_call *call, const struct media_local *media)
{
	return call_local_set(call, media);
}

static void ring_handler(void *arg)
{
	struct sip_call *call = arg;
	char reason[REASON_BYTES];

	if (call->state != CALL_INVITING)
		return;
	str_print(reason, sizeof(reason), "no final answer within %u s",
		  call->options.ring_timeout_s);
	call_set_end(call, SIP_END_FAILED, true, 0, reason);
	uac_cancel(call);
}

int native_call_dial(struct sip_call **ret, struct sip_account *account,
		     const struct sip_call_params *params)
{
	char reason[REASON_BYTES];
	struct sip_call *call;
	int err;

	if (account->ua->call_count >= 2 * account->ua->calls_max + 16)
		return -EAGAIN;
	err = call_new(&call, account, true);
	if (err)
		return err;
	call->handler = params->call_h;
	call->arg = params->arg;
	if (params->options)
		call->options = *params->options;
	if (call->options.ring_timeout_s == 0)
		call->options.ring_timeout_s = RING_TIMEOUT_S;
	err = call_local_set(call, params->media);
	if (!err)
		err = peer_uri(&call->peer, account, params->uri);
	if (!err && params->replaces)
		err = header_text_valid(params->replaces)
			      ? text_print(&call->replaces_line,
					   "Require: replaces\r\n"
					   "Replaces: %s\r\n",
					   params->replaces)
			      : -EINVAL;
	if (!err)
		err = dialog_new(&call->dialog, account, call->peer,
				 call->peer);
	if (!err && params->headers)
		err = headers_new(&call->dialog->headers, params->headers,
				  params->header_count);
	if (!err && !call->options.late_offer)
		err = session_offer(call, call->local.direction);
	if (err) {
		mem_deref(call);
		return err;
	}
	call_register(call);
	tmr_start(&call->tmr_ring,
		  (uint64_t)call->options.ring_timeout_s * 1000, ring_handler,
		  call);
	err = uac_invite(call);
	if (err) {
		failure_reason(reason, sizeof(reason), account, -err);
		call_set_end(call, SIP_END_FAILED, false, 0, reason);
		call_close(call);
	}
	*ret = call;
	return 0;
}
