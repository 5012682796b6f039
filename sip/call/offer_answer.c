#include "sip/call/offer_answer.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/sockaddr.h"
#include "base/str.h"
#include "sip/body/multipart.h"
#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/call_table.h"
#include "sip/call/call_user.h"
#include "sip/call/native_call.h"
#include "sip/message/message.h"
#include "sip/message/text.h"
#include "sip/sdp/sdp.h"
#include "sip/sdp/sdp_address.h"
#include "sip/sdp/sdp_crypto.h"
#include "sip/sdp/sdp_direction.h"
#include "sip/sdp/sdp_dtls.h"
#include "sip/sdp/sdp_format.h"
#include "sip/sdp/sdp_ice.h"
#include "sip/transport/transport.h"

static int local_check(const struct media_local *media)
{
	bool valid = media->rtp.len > 0 && media->rtcp.len > 0 &&
		     media->codec_count > 0 &&
		     media->codec_count <= MEDIA_CODECS_MAX;

	return valid ? 0 : -EINVAL;
}

static void local_destructor(void *arg)
{
	sdp_local_wipe(arg);
}

int offer_answer_local_set(struct sip_call *call,
			   const struct media_local *media)
{
	struct media_local *local;
	int err = local_check(media);

	if (err)
		return err;
	local = mem_alloc(media_local_bytes(media), local_destructor);
	if (!local)
		return -ENOMEM;
	memcpy(local, media, media_local_bytes(media));
	mem_deref(call->session.local);
	call->session.local = local;
	return 0;
}

const struct media_local *offer_answer_local(const struct sip_call *call)
{
	static const struct media_local none;

	return call->session.local ? call->session.local : &none;
}

int native_call_relocate(struct sip_call *call, const struct media_local *media)
{
	return offer_answer_local_set(call, media);
}

/* The part of a description after its o= line, which has the version. */
static const char *behind_origin(const struct buf *sdp)
{
	const char *text = sdp->data ? strstr(sdp->data, "\r\ns=") : NULL;

	return text ? text : "";
}

static int draft_write(struct sip_call *call, struct sdp_draft *draft)
{
	struct buf text;
	int err;

	buf_init(&text, SDP_TEXT_MAX);
	draft->local = offer_answer_local(call);
	draft->session_id = call->session.id;
	draft->version = call->session.version;
	draft->frame = call->session.remote;
	err = sdp_write(&text, draft);
	/* the version is increased only if the description changes (RFC 3264
	 * section 8) */
	if (!err && call->session.sdp.used &&
	    strcmp(behind_origin(&text), behind_origin(&call->session.sdp)) !=
		    0) {
		draft->version = call->session.version + 1;
		buf_consume(&text, text.used);
		err = sdp_write(&text, draft);
	}
	if (err) {
		buf_release(&text);
		return err;
	}
	call->session.version = draft->version;
	buf_release(&call->session.sdp);
	call->session.sdp = text;
	return 0;
}

enum media_direction offer_answer_wanted(const struct sip_call *call, bool held)
{
	enum media_direction base = offer_answer_local(call)->direction;

	/* RFC 3264 8.4: to hold a recvonly stream it becomes inactive */
	return sdp_direction(sdp_sends(base) &&
				     !(held && call->session.held_by_peer),
			     sdp_receives(base) && !held);
}

/* The direction that we answer an offer with; whether the peer holds us is
 * in the peer's offer. */
static enum media_direction willing(const struct sip_call *call)
{
	enum media_direction base = offer_answer_local(call)->direction;

	return sdp_direction(sdp_sends(base),
			     sdp_receives(base) && !call->session.held);
}

int offer_answer_new_offer(struct sip_call *call,
			   enum media_direction direction)
{
	struct sdp_draft draft = {
		.codecs = offer_answer_local(call)->codecs,
		.codec_count = offer_answer_local(call)->codec_count,
		.direction = direction,
	};
	int err = draft_write(call, &draft);

	if (!err)
		call->session.offered = direction;
	return err;
}

static struct multipart_text header_value(const struct sip_msg *msg,
					  enum sip_hdrid id)
{
	const struct sip_hdr *hdr = sip_msg_hdr(msg, id);

	if (!hdr)
		return (struct multipart_text){NULL, 0};
	return (struct multipart_text){hdr->val.p, hdr->val.l};
}

/* @return as of multipart_sdp() */
static int description_find(struct multipart_text *ret,
			    const struct sip_msg *msg)
{
	const struct multipart_body body = {
		.type = header_value(msg, SIP_HDR_CONTENT_TYPE),
		.disposition = header_value(msg, SIP_HDR_CONTENT_DISPOSITION),
		.encoding = header_value(msg, SIP_HDR_CONTENT_ENCODING),
		.text.p = msg->mb ? (const char *)mbuf_buf(msg->mb) : NULL,
		.text.len = msg_body_length(msg),
		.optional = !msg->req || !pl_strcmp(&msg->met, "ACK"),
	};

	return multipart_sdp(ret, &body);
}

bool offer_answer_empty(const struct sip_msg *msg)
{
	struct multipart_text text;

	return description_find(&text, msg) == 1;
}

static void sdp_destructor(void *arg)
{
	struct sdp *sdp = arg;

	sdp_crypto_wipe(&sdp->crypto, &sdp->ice);
}

int offer_answer_read(struct sip_call *call, const struct sip_msg *msg,
		      char *reason)
{
	const char *why = "";
	struct multipart_text text;
	struct sdp parsed;
	struct sdp *sdp;
	int err = description_find(&text, msg);

	if (err == -EPROTONOSUPPORT)
		str_print(reason, REASON_BYTES,
			  "the body, or a part of it that has to be "
			  "understood, is not SDP");
	else if (err < 0)
		str_print(reason, REASON_BYTES,
			  "the multipart body is malformed");
	if (err)
		return err;
	err = sdp_parse(&parsed, text.p, text.len, &why);
	if (err) {
		str_print(reason, REASON_BYTES, "%s", why);
		return err;
	}
	/* it is kept as long as the call: without room for 64 formats */
	sdp = mem_alloc(sdp_used_bytes(&parsed), sdp_destructor);
	if (sdp)
		memcpy(sdp, &parsed, sdp_used_bytes(&parsed));
	sdp_crypto_wipe(&parsed.crypto, &parsed.ice);
	if (!sdp)
		return -ENOMEM;
	mem_deref(call->session.remote);
	call->session.remote = sdp;
	return 0;
}

static bool is_speech(const struct media_codec *codec)
{
	return strcasecmp(codec->name, SDP_EVENT_NAME) != 0 &&
	       strcasecmp(codec->name, MEDIA_NOISE_NAME) != 0;
}

/* The reason names the codecs of the peer: "the peer's SDP has G729, GSM" */
static void no_codec_reason(char *reason, const struct sdp *sdp)
{
	size_t used = 0;
	unsigned named = 0;
	int len;

	len = str_print(reason, REASON_BYTES,
			"no common codec, the peer's SDP has");
	for (size_t i = 0; i < sdp->codec_count && named < 8 && len >= 0; i++) {
		if (!is_speech(&sdp->codecs[i]))
			continue;
		used += (size_t)len;
		len = str_print(reason + used, REASON_BYTES - used, "%s %s",
				named++ ? "," : "", sdp->codecs[i].name);
	}
	if (named == 0)
		str_print(reason, REASON_BYTES,
			  "no common codec, the peer's SDP has none");
}

static const char *family_name(const struct media_addr *addr)
{
	return addr->ss.ss_family == AF_INET6 ? "IPv6" : "IPv4";
}

/* The first address that sdp_address_check() refuses. */
static void address_reason(char *reason, const struct sdp *sdp,
			   const struct media_local *local)
{
	bool rtcp = sdp_address_check(&sdp->rtp, &local->rtp) == 0;
	const struct media_addr *addr = rtcp ? &sdp->rtcp : &sdp->rtp;
	const char *what = rtcp ? "RTCP" : "audio";
	char there[INET6_ADDRSTRLEN];
	char here[INET6_ADDRSTRLEN];
	uint16_t port;

	(void)sockaddr_host(there, &port, &addr->ss);
	(void)sockaddr_host(here, &port, &local->rtp.ss);
	if (addr->ss.ss_family != local->rtp.ss.ss_family)
		str_print(reason, REASON_BYTES,
			  "the peer's SDP names %s for its %s: %s, our media "
			  "is bound to %s (%s)",
			  there, what, family_name(addr),
			  family_name(&local->rtp), here);
	else
		str_print(reason, REASON_BYTES,
			  "the peer's SDP names %s for its %s, which is no "
			  "unicast address",
			  there, what);
}

static void unusable_reason(char *reason, const struct sdp *sdp,
			    const struct media_local *local, int err)
{
	if (err == -ENOENT)
		no_codec_reason(reason, sdp);
	else if (err == -ENOKEY)
		str_print(reason, REASON_BYTES, "%s",
			  sdp_key_reason(sdp, local));
	else if (err == -EAFNOSUPPORT || err == -EADDRNOTAVAIL)
		address_reason(reason, sdp, local);
	else if (err == -EPROTOTYPE)
		str_print(reason, REASON_BYTES,
			  "the peer's SDP has audio over %s, which is no "
			  "profile of RTP",
			  sdp->lines[sdp->foreign - 1].proto);
	else if (sdp->audio_refused)
		str_print(reason, REASON_BYTES,
			  "the peer's SDP refuses the audio (port 0)");
	else
		str_print(reason, REASON_BYTES,
			  "the peer's SDP has no audio over RTP");
	/* the reason quotes what the peer sent: no control characters */
	for (; *reason; reason++) {
		if ((unsigned char)*reason < 0x20)
			*reason = '?';
	}
}

int offer_answer_no_audio(const struct sip_call *call, char *reason)
{
	int err = call->session.remote->foreign ? -EPROTOTYPE : -EINVAL;

	unusable_reason(reason, call->session.remote, offer_answer_local(call),
			err);
	return err;
}

/* Check that the routes of this host lead to a negotiated address. */
static int route_of(const struct sip_call *call, const struct media_addr *to,
		    const char *what, char *reason)
{
	const struct media_local *local = offer_answer_local(call);
	char there[INET6_ADDRSTRLEN];
	char here[INET6_ADDRSTRLEN];
	int err = sdp_address_route(call_table_route(call->user->table), to,
				    &local->rtp, clock_mono_ns());
	uint16_t port;

	if (!err)
		return 0;
	(void)sockaddr_host(here, &port, &local->rtp.ss);
	(void)sockaddr_host(there, &port, &to->ss);
	str_print(reason, REASON_BYTES,
		  "the peer's SDP names %s for its %s, no route of this host "
		  "leads there from %s (%s)",
		  there, what, here, strerror(-err));
	return -EHOSTUNREACH;
}

/* Check that this host has a route for our media; with ICE the candidate
 * pairs are checked instead. */
static int route_check(const struct sip_call *call,
		       const struct media_negotiated *deal, char *reason)
{
	int err;

	if (deal->ice)
		return 0;
	err = route_of(call, &deal->rtp, "audio", reason);
	if (!err && !deal->rtcp_mux)
		err = route_of(call, &deal->rtcp, "RTCP", reason);
	return err;
}

static bool peer_changes_key(const struct media_negotiated *before,
			     const struct media_negotiated *after)
{
	return before && before->encrypted && after->encrypted &&
	       !after->dtls &&
	       !sdp_crypto_same(&before->crypto_rx, &after->crypto_rx);
}

static void media_destructor(void *arg)
{
	sdp_negotiated_wipe(arg);
}

typedef int settle_h(struct media_negotiated *ret, const struct sdp *peer,
		     const struct media_local *local,
		     enum media_direction ours);

/**
 * Settle the media with the peer's last description.
 * @param settle  sdp_answer() of an offer, sdp_accept() of an answer
 * @param reason  why it is impossible, if the error is the description's
 * @return 0; -ENOMEM; others as of settle; -EHOSTUNREACH
 */
static int media_settle(struct media_negotiated **ret, struct sip_call *call,
			settle_h *settle, enum media_direction ours,
			char *reason)
{
	const struct media_local *local = offer_answer_local(call);
	struct call_session *s = &call->session;
	struct media_negotiated settled;
	struct media_negotiated *deal = NULL;
	int err;

	if (s->media)
		sdp_dtls_keep(&s->remote->association, s->media);
	err = settle(&settled, s->remote, local, ours);
	if (err) {
		unusable_reason(reason, s->remote, local, err);
		return err;
	}
	err = route_check(call, &settled, reason);
	/* it is kept as long as the call: without room for 16 codecs and ICE */
	if (!err)
		deal = mem_alloc(media_negotiated_bytes(&settled),
				 media_destructor);
	if (!err && !deal)
		err = -ENOMEM;
	if (!err) {
		media_negotiated_copy(deal, &settled);
		*ret = deal;
	}
	sdp_negotiated_wipe(&settled);
	return err;
}

/* @param media  taken over */
static void media_take(struct sip_call *call, struct media_negotiated *media)
{
	mem_deref(call->session.media);
	call->session.media = media;
}

int offer_answer_new_answer(struct sip_call *call, enum media_direction want,
			    char *reason)
{
	struct media_negotiated *deal;
	struct sdp_draft draft;
	int err = media_settle(&deal, call, sdp_answer, want, reason);

	if (err)
		return err;
	memset(&draft, 0, sizeof(draft));
	draft.codecs = deal->accepted;
	draft.codec_count = deal->accepted_count;
	draft.direction = deal->direction;
	draft.answer = deal;
	err = draft_write(call, &draft);
	if (err) {
		mem_deref(deal);
		return err;
	}
	if (peer_changes_key(call->session.media, deal))
		call_event_now(&call->events, SIP_CALL_NEW_KEY,
			       transport_received_ns(call->transport));
	media_take(call, deal);
	return 0;
}

bool offer_answer_refusable(int err)
{
	switch (-err) {
	case EINVAL:
	case ENOENT:
	case ENOKEY:
	case EPROTOTYPE:
	case EAFNOSUPPORT:
	case EADDRNOTAVAIL:
	case EHOSTUNREACH:
		return true;
	default:
		return false;
	}
}

int offer_answer_accept(struct sip_call *call, char *reason)
{
	struct media_negotiated *deal;
	int err = media_settle(&deal, call, sdp_accept, call->session.offered,
			       reason);

	if (!err)
		media_take(call, deal);
	return err;
}

static bool addr_same(const struct media_addr *a, const struct media_addr *b)
{
	/* sdp.c zeroes the addresses first: padding compares equal */
	return a->len == b->len && memcmp(&a->ss, &b->ss, a->len) == 0;
}

static bool codec_same(const struct media_codec *a, const struct media_codec *b)
{
	return strcmp(a->name, b->name) == 0 && a->pt == b->pt &&
	       a->channels == b->channels && a->clock_hz == b->clock_hz &&
	       strcmp(a->fmtp, b->fmtp) == 0;
}

static bool media_same(const struct media_negotiated *a,
		       const struct media_negotiated *b)
{
	if (!addr_same(&a->rtp, &b->rtp) || !addr_same(&a->rtcp, &b->rtcp) ||
	    !codec_same(&a->codec, &b->codec) ||
	    a->accepted_count != b->accepted_count ||
	    a->has_event_pt != b->has_event_pt || a->event_pt != b->event_pt ||
	    a->ptime_ms != b->ptime_ms || a->direction != b->direction ||
	    a->encrypted != b->encrypted || a->rtcp_mux != b->rtcp_mux ||
	    a->dtls != b->dtls || a->dtls_active != b->dtls_active ||
	    memcmp(&a->fingerprint, &b->fingerprint, sizeof(a->fingerprint)) !=
		    0 ||
	    a->ssrc_count != b->ssrc_count ||
	    memcmp(a->ssrcs, b->ssrcs, a->ssrc_count * sizeof(a->ssrcs[0])) !=
		    0 ||
	    !sdp_ice_same(a, b) ||
	    !sdp_crypto_same(&a->crypto_tx, &b->crypto_tx) ||
	    !sdp_crypto_same(&a->crypto_rx, &b->crypto_rx))
		return false;
	for (size_t i = 0; i < a->accepted_count; i++) {
		if (!codec_same(&a->accepted[i], &b->accepted[i]))
			return false;
	}
	return true;
}

bool offer_answer_news(const struct sip_call *call)
{
	const struct call_session *s = &call->session;

	return !s->reported ||
	       (s->reported != s->media && !media_same(s->reported, s->media));
}

void offer_answer_event_media(struct sip_call *call, struct call_event *event)
{
	struct call_session *s = &call->session;

	if (!offer_answer_news(call))
		return;
	mem_deref(s->reported);
	s->reported = mem_ref(s->media);
	if (event)
		event->media = mem_ref(s->media);
}

/* If our description does not send, the peer must not receive (RFC 3264
 * 6.1): that is no hold. */
static void hold_event(struct sip_call *call, int64_t mono_ns)
{
	if (sdp_sends(offer_answer_local(call)->direction))
		call_event(&call->events,
			   call->session.held_by_peer ? SIP_CALL_HELD
						      : SIP_CALL_RESUMED,
			   false, mono_ns);
}

/* A peer whose description does not receive holds us (RFC 3264 8.4). */
void offer_answer_hold_events(struct sip_call *call, int64_t mono_ns)
{
	bool held = !sdp_receives(call->session.remote->direction) ||
		    call->session.remote->rtp.len == 0;

	if (held == call->session.held_by_peer)
		return;
	call->session.held_by_peer = held;
	if (call->session.hold_known)
		hold_event(call, mono_ns);
}

void session_established(struct sip_call *call)
{
	call->session.hold_known = true;
	if (call->session.held_by_peer)
		hold_event(call, transport_received_ns(call->transport));
}

int offer_answer_conclude(struct sip_call *call, const struct sip_msg *msg,
			  const char *missing, char *reason)
{
	int64_t now = transport_received_ns(call->transport);
	struct call_event *event;
	int err = offer_answer_read(call, msg, reason);

	if (err == 1) {
		str_print(reason, REASON_BYTES, "%s", missing);
		return -EBADMSG;
	}
	if (!err)
		err = offer_answer_accept(call, reason);
	if (err)
		return err;
	event = call_event(&call->events, SIP_CALL_REMOTE_SDP, false, now);
	offer_answer_event_media(call, event);
	offer_answer_hold_events(call, now);
	return 0;
}

int offer_answer_offered(struct sip_call *call, const struct sip_msg *msg,
			 char *reason)
{
	struct sdp *before = mem_ref(call->session.remote);
	int err = offer_answer_read(call, msg, reason);
	bool none = err == 1;

	if (none)
		err = 0;
	else if (!err)
		err = offer_answer_new_answer(call, willing(call), reason);
	if (err) {
		mem_deref(call->session.remote);
		call->session.remote = before;
	} else {
		mem_deref(before);
	}
	return none ? 1 : err;
}

void offer_answer_answered(struct sip_call *call)
{
	int64_t received = transport_received_ns(call->transport);
	struct call_event *event;

	call_event(&call->events, SIP_CALL_REMOTE_SDP, false, received);
	event = call_event(&call->events, SIP_CALL_LOCAL_SDP, true,
			   transport_sent_ns(call->transport));
	offer_answer_event_media(call, event);
	offer_answer_hold_events(call, received);
}
