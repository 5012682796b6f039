/* Follows the dialogs of SIPp's calls in its SIP messages. */
#include "sip/sipp/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/sockaddr.h"

struct sipp_call {
	struct sip_object object;
	struct le le;          /* of sipp.calls */
	struct le le_measured; /* of sipp.measured */
	struct sipp *sipp;     /* NULL: it was closed */
	char id[SIPP_ID_BYTES];
	char *peer;
	bool outgoing;
	sip_call_h *handler; /* NULL: nobody adopted it */
	void *arg;
	int64_t came_ns;
	/* offer and answer */
	struct sdp *local;
	struct sdp *remote;
	bool has_local;
	bool has_remote;
	bool local_news; /* changed since media was settled */
	bool remote_news;
	bool unmeasured; /* another call has its RTP port */
	struct media_negotiated settled;
	/* the dialog */
	bool ringing;
	bool answered;
	bool established;
	bool cancelled;
	bool bye_sent;
	bool bye_received;
	int64_t bye_ns;
	uint16_t code; /* last final response but 2xx to the INVITE */
	char reason[SIP_REASON_BYTES];
};

static bool is(const struct pl *method, const char *name)
{
	return pl_strcmp(method, name) == 0;
}

static void emit(struct sipp_call *c, enum sip_call_event event,
		 struct sip_call_info *info)
{
	if (!info->reason)
		info->reason = "";
	if (c->handler)
		c->handler((struct sip_call *)c, event, info, c->arg);
}

/* ---- the functions of sip/call.h ---- */

static int call_adopt(struct sip_call *call, sip_call_h *handler, void *arg)
{
	struct sipp_call *c = (struct sipp_call *)call;

	c->handler = handler;
	c->arg = arg;
	return 0;
}

static int64_t call_came_ns(const struct sip_call *call)
{
	return ((const struct sipp_call *)call)->came_ns;
}

static const struct sip_call *call_replaced(const struct sip_call *call)
{
	(void)call;
	return NULL;
}

static int call_reject(struct sip_call *call, uint16_t code, const char *reason)
{
	(void)call;
	(void)code;
	(void)reason;
	return -ENOTSUP;
}

static void call_hangup(struct sip_call *call)
{
	(void)call; /* it ends with its process: sipp_stop() */
}

static const char *call_id(const struct sip_call *call)
{
	return ((const struct sipp_call *)call)->id;
}

static const char *call_peer(const struct sip_call *call)
{
	const struct sipp_call *c = (const struct sipp_call *)call;

	return c->peer ? c->peer : "";
}

static void call_release(struct sipp_call *c)
{
	hash_unlink(&c->le);
	list_unlink(&c->le_measured);
	free(c->local);
	free(c->remote);
	free(c->peer);
	free(c);
}

/* A call that is up goes on without being reported. */
static struct sip_call *call_free(struct sip_call *call)
{
	struct sipp_call *c = (struct sipp_call *)call;

	c->handler = NULL;
	if (!c->sipp)
		call_release(c);
	return NULL;
}

static const struct sip_ops sipp_ops = {
	.call.adopt = call_adopt,
	.call.came_ns = call_came_ns,
	.call.replaced = call_replaced,
	.call.reject = call_reject,
	.call.hangup = call_hangup,
	.call.id = call_id,
	.call.peer = call_peer,
	.call.free = call_free,
};

/* ---- the end ---- */

static enum sip_call_end end_of(const struct sipp_call *c)
{
	if (c->answered)
		return c->bye_received ? SIP_END_REMOTE
		       : c->bye_sent   ? SIP_END_LOCAL
				       : SIP_END_FAILED;
	if (c->cancelled)
		return SIP_END_CANCELLED;
	return c->code >= 300 ? SIP_END_REJECTED : SIP_END_FAILED;
}

/* @param bye_ok_ns  when our BYE was answered; 0: it was not, or is the peer's */
static void call_close(struct sipp_call *c, int64_t now_ns, int64_t bye_ok_ns)
{
	struct sip_call_info info = {
		.mono_ns = c->bye_ns ? c->bye_ns : now_ns,
		.end = end_of(c),
		.bye_ok_ns = bye_ok_ns,
	};

	info.local = info.end == SIP_END_LOCAL ||
		     (info.end == SIP_END_CANCELLED && c->outgoing);
	if (info.end == SIP_END_REJECTED) {
		info.code = c->code;
		info.reason = c->reason;
	} else if (info.end == SIP_END_FAILED) {
		info.reason = c->answered ? "SIPp ended without a BYE"
					  : "SIPp ended without a final "
					    "response";
	}
	hash_unlink(&c->le);
	list_unlink(&c->le_measured);
	c->sipp = NULL;
	if (c->handler)
		emit(c, SIP_CALL_CLOSED, &info);
	else
		call_release(c);
}

static bool close_one(struct le *le, void *arg)
{
	(void)arg;
	call_close(le->data, clock_mono_ns(), 0);
	return false;
}

static bool detach_one(struct le *le, void *arg)
{
	struct sipp_call *c = le->data;

	(void)arg;
	hash_unlink(&c->le);
	list_unlink(&c->le_measured);
	c->sipp = NULL;
	if (!c->handler)
		call_release(c);
	return false;
}

void sipp_dialog_detach_all(struct sipp *s)
{
	(void)hash_apply(s->calls, detach_one, NULL);
}

void sipp_dialog_close_all(struct sipp *s)
{
	(void)hash_apply(s->calls, close_one, NULL);
}

/* ---- offer and answer ---- */

/* @return false: no audio, no common codec, or media that is not RTP */
static bool settle(struct sipp_call *c)
{
	const struct sdp *l = c->local;
	const struct sdp *r = c->remote;

	if (!c->has_local || !c->has_remote || !l->has_audio || !r->has_audio ||
	    l->secure || r->secure)
		return false;
	c->local_news = false;
	c->remote_news = false;
	return sdp_observe(&c->settled, l, r);
}

static bool same_address(const struct media_addr *a, const struct media_addr *b)
{
	char hosts[2][INET6_ADDRSTRLEN];
	uint16_t ports[2];

	return sockaddr_host(hosts[0], &ports[0], &a->ss) == 0 &&
	       sockaddr_host(hosts[1], &ports[1], &b->ss) == 0 &&
	       ports[0] == ports[1] && strcmp(hosts[0], hosts[1]) == 0;
}

/* Take the RTP port for this call, unless another one has it that is up. */
static void port_take(struct sipp_call *c)
{
	struct le *le;

	if (c->le_measured.list || c->unmeasured || !c->local->has_audio)
		return;
	LIST_FOREACH(&c->sipp->measured, le)
	{
		const struct sipp_call *other = le->data;

		c->unmeasured |=
			same_address(&other->local->rtp, &c->local->rtp);
	}
	if (c->unmeasured)
		c->sipp->end.unmeasured++;
	else
		list_append(&c->sipp->measured, &c->le_measured, c);
}

static bool sdp_take(struct sdp *ret, const struct sip_msg *msg)
{
	const char *reason;

	return msg_ctype_cmp(&msg->ctyp, "application", "sdp") &&
	       mbuf_get_left(msg->mb) > 0 &&
	       sdp_parse(ret, (const char *)mbuf_buf(msg->mb),
			 mbuf_get_left(msg->mb), &reason) == 0;
}

/* Report the description of a message, and the media that it settled. */
static void description(struct sipp_call *c, const struct sip_msg *msg,
			bool sent, int64_t now_ns)
{
	struct sip_call_info info = {.mono_ns = now_ns};

	if (!sdp_take(sent ? c->local : c->remote, msg))
		return;
	*(sent ? &c->has_local : &c->has_remote) = true;
	*(sent ? &c->local_news : &c->remote_news) = true;
	if (sent)
		port_take(c);
	if (sent && c->le_measured.list) {
		info.client_rtp = &c->local->rtp;
		info.client_rtcp = &c->local->rtcp;
	}
	/* an offer without answer settles nothing */
	if (c->local_news && c->remote_news && settle(c) && !c->unmeasured)
		info.media = &c->settled;
	emit(c, sent ? SIP_CALL_LOCAL_SDP : SIP_CALL_REMOTE_SDP, &info);
}

/* ---- requests ---- */

static struct sipp_call *call_make(struct sipp *s, const struct sip_msg *msg,
				   bool sent, int64_t now_ns)
{
	const struct pl *peer = sent ? &msg->to.auri : &msg->from.auri;
	struct sipp_call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->object.ops = &sipp_ops;
	c->sipp = s;
	c->outgoing = sent;
	c->came_ns = now_ns;
	c->local = calloc(1, sizeof(*c->local));
	c->remote = calloc(1, sizeof(*c->remote));
	c->peer = malloc(peer->l + 1);
	if (!c->local || !c->remote || !c->peer ||
	    pl_strcpy(peer, c->peer, peer->l + 1) ||
	    pl_strcpy(&msg->callid, c->id, sizeof(c->id))) {
		call_release(c);
		return NULL;
	}
	hash_append(s->calls, hash_joaat_str(c->id), &c->le, c);
	return c;
}

static void invite_first(struct sipp *s, const struct sip_msg *msg, bool sent,
			 int64_t now_ns)
{
	struct sip_call_info info = {.mono_ns = now_ns};
	struct sipp_call *c = call_make(s, msg, sent, now_ns);

	if (!c)
		return;
	s->call_h((struct sip_call *)c, sent, s->arg);
	if (sent)
		emit(c, SIP_CALL_OUTGOING, &info);
	description(c, msg, sent, now_ns);
}

static void request(struct sipp_call *c, const struct sip_msg *msg, bool sent,
		    int64_t now_ns)
{
	struct sip_call_info info = {.mono_ns = now_ns};

	if (is(&msg->met, "BYE")) {
		c->bye_ns = c->bye_ns ? c->bye_ns : now_ns;
		*(sent ? &c->bye_sent : &c->bye_received) = true;
		return;
	}
	if (is(&msg->met, "CANCEL")) {
		c->cancelled = !c->answered;
		return;
	}
	/* a new offer: an answer must follow it */
	if (is(&msg->met, "INVITE") && c->established) {
		c->local_news = false;
		c->remote_news = false;
	}
	description(c, msg, sent, now_ns);
	if (is(&msg->met, "ACK") && c->answered && !c->established) {
		c->established = true;
		emit(c, SIP_CALL_ESTABLISHED, &info);
	}
}

/* ---- responses ---- */

static void invite_answered(struct sipp_call *c, const struct sip_msg *msg,
			    bool sent, int64_t now_ns)
{
	char reason[SIP_REASON_BYTES];
	struct sip_call_info info = {
		.mono_ns = now_ns, .code = msg->scode, .reason = reason};

	(void)pl_strcpy(&msg->reason, reason, sizeof(reason));
	if (msg->scode == 100)
		return;
	if (msg->scode < 200) {
		if (msg->scode != 180 || !c->ringing)
			emit(c,
			     msg->scode == 180 ? SIP_CALL_RINGING
					       : SIP_CALL_PROGRESS,
			     &info);
		c->ringing |= msg->scode == 180;
		description(c, msg, sent, now_ns);
	} else if (msg->scode < 300) {
		c->answered = true;
		description(c, msg, sent, now_ns);
		emit(c, SIP_CALL_ANSWERED, &info);
	} else {
		c->code = msg->scode;
		(void)str_copy(c->reason, sizeof(c->reason), reason);
		/* after a challenge the INVITE may follow with credentials */
		if (msg->scode != 401 && msg->scode != 407)
			call_close(c, now_ns, 0);
	}
}

static void response(struct sipp_call *c, const struct sip_msg *msg, bool sent,
		     int64_t now_ns)
{
	bool bye = is(&msg->cseq.met, "BYE") && msg->scode >= 200 &&
		   msg->scode != 401 && msg->scode != 407;

	if (bye && sent && c->bye_received)
		call_close(c, now_ns, 0);
	else if (bye && !sent && c->bye_sent)
		call_close(c, now_ns, now_ns);
	/* responses to its INVITE are received, to the peer's sent */
	else if (is(&msg->cseq.met, "INVITE") && !c->answered &&
		 sent != c->outgoing)
		invite_answered(c, msg, sent, now_ns);
	else if (!is(&msg->cseq.met, "BYE") && msg->scode < 300 &&
		 c->established)
		description(c, msg, sent, now_ns);
}

/* ---- messages ---- */

static bool same_id(struct le *le, void *arg)
{
	const struct sipp_call *c = le->data;

	return strcmp(c->id, arg) == 0;
}

static void dialog(struct sipp *s, const struct sip_msg *msg, bool sent,
		   int64_t now_ns)
{
	char id[SIPP_ID_BYTES];
	struct le *le;

	if (pl_strcpy(&msg->callid, id, sizeof(id)) || !id[0])
		return;
	le = hash_lookup(s->calls, hash_joaat_str(id), same_id, id);
	if (!le) {
		if (msg->req && is(&msg->met, "INVITE") &&
		    !pl_isset(&msg->to.tag))
			invite_first(s, msg, sent, now_ns);
	} else if (msg->req) {
		request(le->data, msg, sent, now_ns);
	} else {
		response(le->data, msg, sent, now_ns);
	}
}

/* The peer of a request that came names itself in the topmost Via. */
static void peer_know(struct sipp *s, const struct sip_msg *msg)
{
	const struct sa *via = &msg->via.addr;

	if (!sa_isset(via, SA_ADDR) || via->len > sizeof(s->peer.ss))
		return;
	memcpy(&s->peer.ss, &via->u, via->len);
	s->peer.len = via->len;
}

void sipp_dialog_message(struct sipp *s, bool sent, const char *data,
			 size_t len)
{
	struct mbuf *mb = mbuf_alloc(len);
	struct sip_msg *msg = NULL;
	struct sip_trace trace = {
		.mono_ns = clock_mono_ns(),
		.sent = sent,
		.transport = s->tcp ? SIP_TRANSPORT_TCP : SIP_TRANSPORT_UDP,
		.local = s->local,
		.data = data,
		.len = len,
	};

	if (mb && mbuf_write_mem(mb, (const uint8_t *)data, len) == 0) {
		mb->pos = 0;
		(void)sip_msg_decode(&msg, mb);
	}
	if (msg && msg->req && !sent)
		peer_know(s, msg);
	trace.peer = s->peer;
	if (s->trace_h)
		s->trace_h(&trace, s->trace_arg);
	if (msg)
		dialog(s, msg, sent, trace.mono_ns);
	else
		s->end.left_out++;
	mem_deref(msg);
	mem_deref(mb);
}
