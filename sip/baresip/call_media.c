/* Reads offer and answer of baresip's calls from its SIP messages. */
#include "sip/baresip/internal.h"

#include <string.h>

/* sets *changed if there is one */
void baresip_sdp_take(struct sdp *ret, bool *has, bool *changed,
		      const struct sip_msg *msg)
{
	const char *reason;

	if (!msg_ctype_cmp(&msg->ctyp, "application", "sdp") ||
	    mbuf_get_left(msg->mb) == 0)
		return;
	if (sdp_parse(ret, (const char *)mbuf_buf(msg->mb),
		      mbuf_get_left(msg->mb), &reason))
		return;
	*has = true;
	*changed = true;
}

static void encryption_settle(struct media_negotiated *n,
			      const struct baresip_call *c)
{
	const struct sdp *offer = c->outgoing ? c->local : c->remote;
	const struct sdp *answer = c->outgoing ? c->remote : c->local;

	if (offer->association.fingerprint.len &&
	    answer->association.fingerprint.len) {
		n->encrypted = true;
		n->dtls = true;
	} else if (offer->crypto.offered && answer->crypto.count > 0) {
		/* the answer has the suite that both use; baresip keeps its
		 * suite when the peer sends a later offer */
		n->encrypted = true;
		n->crypto_tx = answer->crypto.lines[0];
		n->crypto_rx = answer->crypto.lines[0];
		explicit_bzero(n->crypto_tx.key, sizeof(n->crypto_tx.key));
		explicit_bzero(n->crypto_rx.key, sizeof(n->crypto_rx.key));
	}
}

/* @return false: no audio, or no common codec */
static bool settle(struct baresip_call *c)
{
	const struct sdp *l = c->local;
	const struct sdp *r = c->remote;
	struct media_negotiated n;

	if (!c->has_local || !c->has_remote || !l->has_audio || !r->has_audio)
		return false;
	c->has_settled = sdp_observe(&n, l, r);
	n.ice = l->ice.ufrag[0] && r->ice.ufrag[0];
	encryption_settle(&n, c);
	c->settled = n;
	c->local_news = false;
	c->remote_news = false;
	return c->has_settled;
}

/* Report a description that was sent or received, and the media it settled. */
static void sdp_tell(struct baresip_call *c, enum sip_call_event event,
		     int64_t now_ns)
{
	struct sip_call_info info = {.mono_ns = now_ns};
	bool final = c->local_news && c->remote_news;

	if (event == SIP_CALL_LOCAL_SDP && c->has_local)
		info.client_rtp = &c->local->rtp;
	if (info.client_rtp)
		info.client_rtcp = &c->local->rtcp;
	/* an offer without answer settles nothing */
	if (final && settle(c))
		info.media = &c->settled;
	baresip_call_emit(c, event, &info);
}

void baresip_sdp_message(struct baresip_call *c, const struct sip_msg *msg,
			 bool sent, int64_t now_ns)
{
	bool news = false;

	if (sent)
		baresip_sdp_take(c->local, &c->has_local, &news, msg);
	else
		baresip_sdp_take(c->remote, &c->has_remote, &news, msg);
	if (!news)
		return;
	if (sent)
		c->local_news = true;
	else
		c->remote_news = true;
	sdp_tell(c, sent ? SIP_CALL_LOCAL_SDP : SIP_CALL_REMOTE_SDP, now_ns);
}
