/* Follows the dialogs of baresip's calls in its SIP messages. */
#include "sip/baresip/internal.h"

#include <stdlib.h>
#include <string.h>

#include "sip/body/dtmf_info.h"

static bool is(const struct pl *method, const char *name)
{
	return pl_strcmp(method, name) == 0;
}

static void answer_note(struct baresip_call *c, const struct sip_msg *msg)
{
	c->code = msg->scode;
	(void)pl_strcpy(&msg->reason, c->reason, sizeof(c->reason));
}

/* ---- the first INVITE ---- */

static void invite_first(struct baresip_account *a, const struct sip_msg *msg,
			 bool sent, int64_t now_ns)
{
	struct sip_call_info info = {.mono_ns = now_ns};
	struct baresip_call *c = sent ? baresip_call_dialled(a) : NULL;

	if (!sent && list_count(&a->calls) < BARESIP_CALLS_MAX)
		c = baresip_call_make(a, false);
	if (!c)
		return;
	c->invite_cseq = msg->cseq.num;
	c->offered_ns = now_ns;
	if (pl_strcpy(&msg->callid, c->id, sizeof(c->id))) {
		baresip_call_release(c);
		return;
	}
	if (!sent) {
		size_t size = msg->from.auri.l + 1;

		c->peer = malloc(size);
		if (c->peer)
			(void)pl_strcpy(&msg->from.auri, c->peer, size);
		baresip_sdp_take(c->remote, &c->has_remote, &c->remote_news,
				 msg);
		return;
	}
	if (c->hung_up) { /* before the INVITE was sent */
		c->hung_up = false;
		baresip_call_hangup((struct sip_call *)c);
		return;
	}
	baresip_call_emit(c, SIP_CALL_OUTGOING, &info);
	baresip_sdp_message(c, msg, true, now_ns);
}

static void provisional(struct baresip_call *c, const struct sip_msg *msg,
			bool sent, int64_t now_ns)
{
	char reason[64];
	struct sip_call_info info = {
		.mono_ns = now_ns, .code = msg->scode, .reason = reason};

	if (msg->scode == 100)
		return;
	(void)pl_strcpy(&msg->reason, reason, sizeof(reason));
	if (sent && !c->handler) {
		c->rang_ns = now_ns;
		return;
	}
	/* ignore repeated ones */
	if (msg->scode != 180 || !c->ringing)
		baresip_call_emit(c,
				  msg->scode == 180 ? SIP_CALL_RINGING
						    : SIP_CALL_PROGRESS,
				  &info);
	c->ringing |= msg->scode == 180;
	if (!c->closed && !c->answered)
		baresip_sdp_message(c, msg, sent, now_ns);
}

static void invite_answered(struct baresip_call *c, const struct sip_msg *msg,
			    bool sent, int64_t now_ns)
{
	char reason[SIP_REASON_BYTES];
	struct sip_call_info info = {
		.mono_ns = now_ns, .code = msg->scode, .reason = reason};

	if (msg->scode < 200) {
		provisional(c, msg, sent, now_ns);
		return;
	}
	if (msg->scode == 401 || msg->scode == 407) {
		answer_note(c, msg); /* kept if it is the last one */
		return;
	}
	if (msg->scode >= 300) {
		answer_note(c, msg);
		/* a call that was not announced ends with it */
		if (!c->outgoing && !c->announced)
			baresip_call_close(c, NULL);
		return;
	}
	if (c->answered)
		return;
	c->answered = true;
	c->code = 0;
	(void)pl_strcpy(&msg->reason, reason, sizeof(reason));
	baresip_sdp_message(c, msg, sent, now_ns);
	baresip_call_emit(c, SIP_CALL_ANSWERED, &info);
}

/* ---- later ones ---- */

static void peer_direction(struct baresip_call *c, int64_t now_ns)
{
	struct sip_call_info info = {.mono_ns = now_ns};
	bool held = c->has_remote && (!sdp_receives(c->remote->direction) ||
				      c->remote->rtp.len == 0);

	if (held == c->held_by_peer)
		return;
	c->held_by_peer = held;
	baresip_call_emit(c, held ? SIP_CALL_HELD : SIP_CALL_RESUMED, &info);
}

static void change_over(struct baresip_call *c, const struct sip_msg *msg,
			int64_t now_ns)
{
	char reason[SIP_REASON_BYTES];
	struct sip_call_info info = {.mono_ns = now_ns, .local = true};
	enum baresip_change change = c->change;

	c->change = BARESIP_CHANGE_NONE;
	c->change_cseq = 0;
	(void)pl_strcpy(&msg->reason, reason, sizeof(reason));
	info.code = msg->scode;
	info.reason = reason;
	if (msg->scode >= 300) {
		baresip_call_emit(c, SIP_CALL_REINVITE_FAIL, &info);
		return;
	}
	if (change == BARESIP_CHANGE_HOLD)
		c->held = true;
	else if (change == BARESIP_CHANGE_RESUME)
		c->held = false;
	baresip_call_emit(c,
			  change == BARESIP_CHANGE_HOLD ? SIP_CALL_HELD
			  : change == BARESIP_CHANGE_RESUME
				  ? SIP_CALL_RESUMED
				  : SIP_CALL_REINVITED,
			  &info);
}

static void reinvite(struct baresip_call *c, const struct sip_msg *msg,
		     bool sent, int64_t now_ns)
{
	uint32_t *cseq = sent ? &c->change_cseq : &c->their_cseq;

	if (*cseq == msg->cseq.num)
		return; /* repeated */
	*cseq = msg->cseq.num;
	c->local_news = false;
	c->remote_news = false;
	baresip_sdp_message(c, msg, sent, now_ns);
}

static void reinvite_answered(struct baresip_call *c, const struct sip_msg *msg,
			      bool sent, int64_t now_ns)
{
	if (msg->scode < 200 || msg->scode == 401 || msg->scode == 407)
		return;
	if (msg->scode < 300)
		baresip_sdp_message(c, msg, sent, now_ns);
	if (c->closed)
		return;
	if (sent && msg->scode < 300)
		peer_direction(c, now_ns);
	else if (!sent && c->change != BARESIP_CHANGE_NONE)
		change_over(c, msg, now_ns);
	else if (!sent)
		c->change_cseq = 0; /* baresip's own re-INVITE */
}

/* A NOTIFY with the progress of a transfer: "SIP/2.0 200 OK". */
static void notified(struct baresip_call *c, const struct sip_msg *msg,
		     int64_t now_ns)
{
	struct sip_call_info info = {.mono_ns = now_ns};
	char reason[SIP_REASON_BYTES];
	struct pl code;
	struct pl text;

	if (!c->transferring ||
	    re_regex((const char *)mbuf_buf(msg->mb), mbuf_get_left(msg->mb),
		     "SIP/2.0 [0-9]+[^\r\n]*", &code, &text))
		return;
	info.code = (uint16_t)pl_u32(&code);
	if (info.code < 200)
		return;
	pl_advance(&text, text.l > 0 ? 1 : 0);
	(void)pl_strcpy(&text, reason, sizeof(reason));
	info.reason = reason;
	c->transferring = false;
	baresip_call_emit(c,
			  info.code < 300 ? SIP_CALL_TRANSFERRED
					  : SIP_CALL_TRANSFER_FAIL,
			  &info);
}

static void info_came(struct baresip_call *c, const struct sip_msg *msg,
		      int64_t now_ns)
{
	struct sip_call_info info = {.mono_ns = now_ns};
	struct dtmf_info digit;
	char type[64];

	if (re_snprintf(type, sizeof(type), "%r/%r", &msg->ctyp.type,
			&msg->ctyp.subtype) < 0 ||
	    dtmf_info_parse(&digit, type, strlen(type),
			    (const char *)mbuf_buf(msg->mb),
			    mbuf_get_left(msg->mb)))
		return;
	c->info_digit = true;
	info.digit = digit.digit;
	info.digit_ms = digit.ms;
	baresip_call_emit(c, SIP_CALL_DTMF, &info);
}

static void acknowledged(struct baresip_call *c, const struct sip_msg *msg,
			 bool sent, int64_t now_ns)
{
	struct sip_call_info info = {.mono_ns = now_ns};

	if (!c->answered || c->established)
		return;
	baresip_sdp_message(c, msg, sent, now_ns);
	c->established = true;
	baresip_call_emit(c, SIP_CALL_ESTABLISHED, &info);
	if (!c->closed)
		peer_direction(c, now_ns);
}

static void request(struct baresip_call *c, const struct sip_msg *msg,
		    bool sent, int64_t now_ns)
{
	if (is(&msg->met, "INVITE")) {
		/* the first INVITE again, perhaps with credentials */
		if (!c->answered)
			c->invite_cseq = msg->cseq.num;
		/* each side counts by itself (RFC 3261 section 12.2.1.1) */
		else if (sent != c->outgoing || msg->cseq.num != c->invite_cseq)
			reinvite(c, msg, sent, now_ns);
	} else if (is(&msg->met, "ACK")) {
		acknowledged(c, msg, sent, now_ns);
	} else if (is(&msg->met, "BYE")) {
		c->bye_received |= !sent;
		if (sent && !c->bye_ns)
			c->bye_ns = now_ns;
	} else if (is(&msg->met, "CANCEL")) {
		c->cancelled |= !sent;
	} else if (is(&msg->met, "NOTIFY") && !sent) {
		notified(c, msg, now_ns);
	} else if (is(&msg->met, "INFO") && !sent) {
		info_came(c, msg, now_ns);
	}
}

static void response(struct baresip_call *c, const struct sip_msg *msg,
		     bool sent, int64_t now_ns)
{
	struct sip_call_info info = {.mono_ns = now_ns};
	char reason[SIP_REASON_BYTES];

	if (is(&msg->cseq.met, "INVITE")) {
		/* responses to our requests are received, to theirs sent */
		if (!c->answered && sent != c->outgoing)
			invite_answered(c, msg, sent, now_ns);
		else if (c->answered &&
			 msg->cseq.num ==
				 (sent ? c->their_cseq : c->change_cseq))
			reinvite_answered(c, msg, sent, now_ns);
	} else if (is(&msg->cseq.met, "BYE") && !sent && msg->scode >= 200 &&
		   msg->scode != 401 && msg->scode != 407) {
		baresip_call_bye_answered(c);
	} else if (is(&msg->cseq.met, "REFER") && !sent && c->transferring &&
		   msg->scode >= 300 && msg->scode != 401 &&
		   msg->scode != 407) {
		(void)pl_strcpy(&msg->reason, reason, sizeof(reason));
		info.code = msg->scode;
		info.reason = reason;
		c->transferring = false;
		baresip_call_emit(c, SIP_CALL_TRANSFER_FAIL, &info);
	}
}

void baresip_dialog_message(struct baresip_account *a,
			    const struct sip_msg *msg, bool sent,
			    int64_t now_ns)
{
	char id[BARESIP_ID_BYTES];
	struct baresip_call *c;

	if (is(msg->req ? &msg->met : &msg->cseq.met, "REGISTER")) {
		baresip_account_registers(a, msg, sent);
		return;
	}
	if (pl_strcpy(&msg->callid, id, sizeof(id)) || !id[0])
		return;
	c = baresip_call_find(a, id);
	if (!c) {
		if (msg->req && is(&msg->met, "INVITE") &&
		    !pl_isset(&msg->to.tag))
			invite_first(a, msg, sent, now_ns);
	} else if (msg->req) {
		request(c, msg, sent, now_ns);
	} else {
		response(c, msg, sent, now_ns);
	}
}
