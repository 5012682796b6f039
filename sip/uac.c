#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/internal.h"

static void invite_response(int err, const struct sip_msg *msg, void *arg);

int invite_send_handler(enum sip_transp tp, const struct sa *src,
			const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct sip_call *call = arg;
	struct sip_contact contact;
	(void)dst;

	sip_contact_set(&contact, call->account->contact_user, src, tp);
	return mbuf_printf(mb, "%H", sip_contact_print, &contact);
}

static int invite_send(struct sip_call *call)
{
	const struct request request = {
		.method = "INVITE",
		.headers = ALLOW_HEADER,
		.sdp = &call->sdp,
		.sendh = invite_send_handler,
		.resph = invite_response,
		.arg = call,
	};
	int err;

	mem_ref(call);
	err = dialog_send(&call->req, call->account, call->dialog, call->digest,
			  &request);
	if (err)
		mem_deref(call);
	return err;
}

void call_sent(struct sip_call *call, int64_t mono_ns)
{
	if (call->invite_sent_ns)
		return;
	call->invite_sent_ns = mono_ns;
	call_event(call, SIP_CALL_OUTGOING, true, mono_ns);
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

int uac_ack(struct sip_call *call, uint32_t cseq)
{
	const struct request request = {
		.method = "ACK",
		.ack_cseq = cseq,
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
	if (call->ack_mb && msg->cseq.num == call->ack_cseq)
		(void)sip_send(call->ua->sip, NULL, call->ack_tp,
			       &call->ack_dst, call->ack_mb);
}

/* 180 to 199; the SDP of a first 18x is an answer already (13.2.1). */
static void provisional(struct sip_call *call, const struct sip_msg *msg)
{
	int64_t now = call->ua->received_ns;
	char reason[REASON_BYTES];
	struct call_event *event;

	if (msg->scode <= 100 || call->state != CALL_INVITING)
		return;
	if (session_read(call, msg, reason) == 0 &&
	    session_accept(call, reason) == 0) {
		call->early_answer = true;
		if (session_news(call)) {
			event = call_event(call, SIP_CALL_REMOTE_SDP, false,
					   now);
			session_event_media(call, event);
		}
	}
	if (msg->scode < 180 || msg->scode == call->last_provisional)
		return;
	call->last_provisional = msg->scode;
	event = call_event(
		call, msg->scode == 180 ? SIP_CALL_RINGING : SIP_CALL_PROGRESS,
		false, now);
	call_event_reason(event, msg);
}

/* @return 0, or -errno with the reason why the call cannot be */
static int answer_take(struct sip_call *call, const struct sip_msg *msg,
		       char *reason)
{
	/* It may have come with a provisional response. */
	if (call->early_answer && session_empty(msg))
		return 0;
	return session_conclude(call, msg, "the answer has no SDP", reason);
}

static void answered(struct sip_call *call, const struct sip_msg *msg)
{
	int64_t now = call->ua->received_ns;
	char reason[REASON_BYTES] = "";
	struct call_event *event;
	int err;

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
		(void)uac_ack(call, msg->cseq.num);
		call->state = CALL_UP;
		call_bye(call);
		return;
	}
	err = answer_take(call, msg, reason);
	event = call_event(call, SIP_CALL_ANSWERED, false, now);
	call_event_reason(event, msg);
	(void)uac_ack(call, msg->cseq.num);
	call->state = CALL_UP;
	call->hold_known = true;
	if (err) {
		call_set_end(call, SIP_END_FAILED, true, msg->scode, reason);
		call_bye(call);
		return;
	}
	event = call_event(call, SIP_CALL_ESTABLISHED, true, call->ua->sent_ns);
	call_event_reason(event, msg);
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
	if (msg->scode != 401 && msg->scode != 407) {
		call_set_end_msg(call, SIP_END_REJECTED, msg);
		call_close(call);
		return;
	}
	err = digest_challenge(call->digest, msg);
	if (!err)
		err = invite_send(call);
	if (err) {
		digest_reason(reason, sizeof(reason), err, msg);
		call_set_end(call, SIP_END_REJECTED, false, msg->scode, reason);
		call_close(call);
	}
}

static void invite_response(int err, const struct sip_msg *msg, void *arg)
{
	struct sip_call *call = arg;
	char reason[REASON_BYTES];

	if (!err && msg->scode < 200) {
		provisional(call, msg);
		return;
	}
	if (err) {
		if (call->state != CALL_ENDING) {
			failure_reason(reason, sizeof(reason), call->account,
				       err);
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

int sip_call_dial(struct sip_call **ret, struct sip_account *account,
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
	err = call_local_set(call, params->media);
	if (!err)
		err = peer_uri(&call->peer, account, params->uri);
	if (!err)
		err = dialog_new(&call->dialog, account, call->peer,
				 call->peer);
	if (!err)
		err = session_offer(call, call->local.direction);
	if (err) {
		mem_deref(call);
		return err;
	}
	call_register(call);
	err = invite_send(call);
	if (err) {
		failure_reason(reason, sizeof(reason), account, -err);
		call_set_end(call, SIP_END_FAILED, false, 0, reason);
		call_close(call);
	}
	*ret = call;
	return 0;
}
