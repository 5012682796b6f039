#include "sip/sdp/sdp.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/sockaddr.h"
#include "base/str.h"
#include "sip/sdp/sdp_address.h"
#include "sip/sdp/sdp_format.h"
#include "sip/sdp/sdp_xr.h"

/* "IP4 192.0.2.1" */
static int addr_text(char *dst, size_t size, const struct media_addr *addr,
		     uint16_t *port)
{
	char host[INET6_ADDRSTRLEN];

	if (addr->len == 0 || sockaddr_host(host, port, &addr->ss))
		return -EINVAL;
	memcpy(dst, addr->ss.ss_family == AF_INET ? "IP4 " : "IP6 ", 4);
	return str_copy(dst + 4, size - 4, host) ? -EINVAL : 0;
}

/* The profile of our audio line: the peer's, if it is known. */
static const char *proto_text(const struct sdp_draft *draft)
{
	const struct sdp *frame = draft->frame;

	if (frame && frame->has_audio)
		return frame->lines[frame->audio].proto;
	switch (draft->local->encryption) {
	case MEDIA_ENCRYPTION_SDES_MANDATORY:
		return "RTP/SAVP";
	case MEDIA_ENCRYPTION_DTLS:
		return "UDP/TLS/RTP/SAVP";
	case MEDIA_ENCRYPTION_NONE:
	case MEDIA_ENCRYPTION_SDES:
		break;
	}
	return "RTP/AVP";
}

static enum sdp_setup setup_of(const struct media_negotiated *answer)
{
	if (!answer)
		return SDP_SETUP_ACTPASS; /* of an offer (RFC 5763 5) */
	return answer->dtls_active ? SDP_SETUP_ACTIVE : SDP_SETUP_PASSIVE;
}

static int keys_write(struct buf *b, const struct sdp_draft *draft)
{
	int err = 0;

	if (draft->local->encryption == MEDIA_ENCRYPTION_DTLS)
		return sdp_dtls_write(b, &draft->local->fingerprint,
				      setup_of(draft->answer));
	if (draft->answer)
		return draft->answer->encrypted
			       ? sdp_crypto_write(b, &draft->answer->crypto_tx)
			       : 0;
	for (size_t i = 0; !err && i < draft->local->crypto_count; i++)
		err = sdp_crypto_write(b, &draft->local->crypto[i]);
	return err;
}

/* Write the ICE attributes of the audio line or the session; in an answer only if
 * the offer has ICE. */
static int ice_write(struct buf *b, const struct sdp_draft *draft,
		     bool in_session)
{
	const struct media_negotiated *answer = draft->answer;
	const struct media_ice *ice = &draft->local->ice;

	if (answer && answer->ice_mismatch && !in_session)
		return buf_print(b, "a=ice-mismatch\r\n");
	if (!draft->local->has_ice || !ice->ufrag[0] ||
	    (answer && !answer->ice))
		return 0;
	if (in_session)
		return sdp_ice_write_session(b, ice);
	return sdp_ice_write(b, ice, answer && answer->rtcp_mux ? 1 : 2);
}

static int audio_write(struct buf *b, const struct sdp_draft *draft)
{
	char rtcp_text[64];
	char rtp_text[64];
	char number[STR_DECIMAL_BYTES];
	char ptime[STR_DECIMAL_BYTES];
	uint16_t rtp_port, rtcp_port;
	int err;

	if (addr_text(rtp_text, sizeof(rtp_text), &draft->local->rtp,
		      &rtp_port) ||
	    addr_text(rtcp_text, sizeof(rtcp_text), &draft->local->rtcp,
		      &rtcp_port))
		return -EINVAL;
	err = buf_texts(b, "m=audio ", str_decimal(number, rtp_port), " ",
			proto_text(draft), NULL);
	for (size_t i = 0; !err && i < draft->codec_count; i++)
		err = buf_texts(b, " ",
				str_decimal(number, draft->codecs[i].pt), NULL);
	if (!err)
		err = buf_texts(b, "\r\n", NULL);
	for (size_t i = 0; !err && i < draft->codec_count; i++)
		err = sdp_format_write(b, &draft->codecs[i]);
	if (!err)
		err = buf_texts(b, "a=ptime:",
				str_decimal(ptime, draft->local->ptime_ms),
				"\r\na=rtcp:", str_decimal(number, rtcp_port),
				" IN ", rtcp_text,
				"\r\na=", sdp_direction_name(draft->direction),
				"\r\n", NULL);
	if (!err)
		err = sdp_xr_write(b, draft->local->xr);
	if (!err && (draft->answer ? draft->answer->rtcp_mux
				   : draft->local->rtcp_mux == MEDIA_MUX_OFFER))
		err = buf_print(b, "a=rtcp-mux\r\n");
	if (!err && draft->local->has_ssrc)
		err = buf_texts(
			b, "a=ssrc:", str_decimal(number, draft->local->ssrc),
			" cname:", draft->local->cname, "\r\n", NULL);
	if (!err)
		err = ice_write(b, draft, false);
	return err ? err : keys_write(b, draft);
}

int sdp_write(struct buf *b, const struct sdp_draft *draft)
{
	const struct sdp *frame = draft->frame;
	char version[STR_DECIMAL_BYTES];
	char id[STR_DECIMAL_BYTES];
	char text[64];
	uint16_t port;
	int err;

	if (addr_text(text, sizeof(text), &draft->local->rtp, &port))
		return -EINVAL;
	err = buf_texts(b, "v=0\r\no=- ", str_decimal(id, draft->session_id),
			" ", str_decimal(version, draft->version), " IN ", text,
			"\r\ns=-\r\nc=IN ", text, "\r\nt=0 0\r\n", NULL);
	if (!err)
		err = ice_write(b, draft, true);
	if (err || !frame)
		return err ? err : audio_write(b, draft);
	for (size_t i = 0; !err && i < frame->line_count; i++) {
		const struct sdp_line *line = &frame->lines[i];

		if (frame->has_audio && i == frame->audio)
			err = audio_write(b, draft);
		else
			err = buf_print(b, "m=%s 0 %s %s\r\n", line->type,
					line->proto, line->format);
	}
	return err;
}

static bool codec_is_speech(const struct media_codec *codec)
{
	return strcasecmp(codec->name, SDP_EVENT_NAME) != 0 &&
	       strcasecmp(codec->name, MEDIA_NOISE_NAME) != 0;
}

static const struct media_codec *codec_find(const struct media_local *local,
					    const struct media_codec *codec)
{
	for (size_t i = 0; i < local->codec_count; i++) {
		if (sdp_format_same(&local->codecs[i], codec))
			return &local->codecs[i];
	}
	return NULL;
}

/* Choose the telephone-event to send: with the codec's clock rate if there is one
 * (RFC 4733 2.1), else the peer's first. */
static void event_settle(struct media_negotiated *deal, const struct sdp *peer,
			 const struct media_local *local)
{
	for (size_t i = 0; i < peer->codec_count; i++) {
		const struct media_codec *theirs = &peer->codecs[i];

		if (strcasecmp(theirs->name, SDP_EVENT_NAME) != 0 ||
		    !codec_find(local, theirs) ||
		    (deal->has_event_pt &&
		     theirs->clock_hz != deal->codec.clock_hz))
			continue;
		deal->has_event_pt = true;
		deal->event_pt = theirs->pt;
		deal->event_clock_hz = theirs->clock_hz;
		if (theirs->clock_hz == deal->codec.clock_hz)
			return;
	}
}

/* Comfort noise needs a codec of its clock rate (RFC 3389 section 4). */
static void noise_settle(struct media_negotiated *deal, const struct sdp *peer,
			 const struct media_local *local)
{
	for (size_t i = 0; i < peer->codec_count && !deal->has_noise_pt; i++) {
		const struct media_codec *theirs = &peer->codecs[i];

		deal->has_noise_pt =
			strcasecmp(theirs->name, MEDIA_NOISE_NAME) == 0 &&
			theirs->clock_hz == deal->codec.clock_hz &&
			codec_find(local, theirs);
		deal->noise_pt = theirs->pt;
	}
}

/* Settle whether SRTP is used, and its keys. @return 0; -ENOKEY */
static int settle_keys(struct media_negotiated *deal, const struct sdp *peer,
		       const struct media_local *local, bool ours)
{
	bool wanted = local->encryption != MEDIA_ENCRYPTION_NONE;

	if (local->encryption == MEDIA_ENCRYPTION_DTLS)
		return sdp_dtls_settle(deal, &peer->association, ours) ? -ENOKEY
								       : 0;
	if (wanted && sdp_crypto_settle(deal, &peer->crypto, local, ours))
		return 0;
	/* an answer with keys to an offer without protects nothing */
	if (peer->secure || (wanted && ours && peer->crypto.offered) ||
	    local->encryption > MEDIA_ENCRYPTION_SDES)
		return -ENOKEY;
	return 0;
}

const char *sdp_key_reason(const struct sdp *peer,
			   const struct media_local *local)
{
	struct media_negotiated scratch;

	if (local->encryption == MEDIA_ENCRYPTION_DTLS)
		return sdp_dtls_settle(&scratch, &peer->association, false);
	if (peer->secure && peer->association.fingerprint.len > 0 &&
	    !peer->crypto.offered)
		return "the peer's SDP asks for DTLS-SRTP, media_encryption is "
		       "not dtls";
	if (local->encryption == MEDIA_ENCRYPTION_NONE)
		return "the peer's SDP asks for SRTP, media_encryption is none";
	if (!peer->crypto.offered)
		return "SRTP is mandatory, the peer's SDP has no a=crypto line";
	if (peer->crypto.count > 0)
		return "no a=crypto line of the peer's SDP is one of ours";
	return peer->crypto.refusal;
}

/* Check the peer's addresses. With ICE an unusable default address is removed:
 * nothing is sent until a pair is selected. @return 0; -errno */
static int settle_addresses(struct media_negotiated *deal,
			    const struct media_local *local)
{
	int rtp = sdp_address_check(&deal->rtp, &local->rtp);
	int rtcp = sdp_address_check(&deal->rtcp, &local->rtcp);

	if (!deal->ice)
		return rtp ? rtp : rtcp;
	if (rtp)
		deal->rtp.len = 0;
	if (rtcp)
		deal->rtcp.len = 0;
	return 0;
}

/*
 * Settle the common formats, in the peer's order. An answer repeats the peer's
 * payload types; formats of our own offer are received with our payload types.
 */
static int settle(struct media_negotiated *ret, const struct sdp *peer,
		  const struct media_local *local, bool ours,
		  enum media_direction wanted)
{
	struct media_negotiated deal;
	bool has_speech = false;
	int err;

	memset(&deal, 0, sizeof(deal));

	for (size_t i = 0; i < peer->codec_count; i++) {
		const struct media_codec *theirs = &peer->codecs[i];
		const struct media_codec *mine = codec_find(local, theirs);

		if (!mine || deal.accepted_count == MEDIA_CODECS_MAX)
			continue;
		deal.accepted[deal.accepted_count] = ours ? *mine : *theirs;
		memcpy(deal.accepted[deal.accepted_count].name, mine->name,
		       sizeof(mine->name));
		/* our own parameters, whoever chose the payload type */
		memcpy(deal.accepted[deal.accepted_count++].fmtp, mine->fmtp,
		       sizeof(mine->fmtp));
		if (has_speech || !codec_is_speech(mine))
			continue;
		has_speech = true;
		deal.codec = *mine;
		deal.codec.pt = theirs->pt;
		memcpy(deal.codec.fmtp, theirs->fmtp, sizeof(theirs->fmtp));
	}
	if (!has_speech)
		return -ENOENT;
	event_settle(&deal, peer, local);
	noise_settle(&deal, peer, local);
	/* an answer must not add it; that of an offer is accepted */
	deal.rtcp_mux =
		peer->rtcp_mux && (ours ? local->rtcp_mux == MEDIA_MUX_OFFER
					: local->rtcp_mux != MEDIA_MUX_REFUSE);
	err = settle_keys(&deal, peer, local, ours);
	if (err)
		return err;
	deal.rtp = peer->rtp;
	deal.rtcp = deal.rtcp_mux ? peer->rtp : peer->rtcp;
	if (local->has_ice)
		sdp_ice_settle(&deal, &peer->ice, &local->ice, ours);
	err = settle_addresses(&deal, local);
	if (err)
		return err;
	deal.xr = peer->xr;
	memcpy(deal.ssrcs, peer->ssrcs, sizeof(deal.ssrcs));
	deal.ssrc_count = peer->ssrc_count;
	deal.ptime_ms = peer->ptime_ms ? peer->ptime_ms : local->ptime_ms;
	if (peer->maxptime_ms && deal.ptime_ms > peer->maxptime_ms)
		deal.ptime_ms = peer->maxptime_ms;
	deal.direction = sdp_direction(
		sdp_sends(wanted) && sdp_receives(peer->direction) &&
			peer->rtp.len > 0,
		sdp_receives(wanted) && sdp_sends(peer->direction));
	*ret = deal;
	return 0;
}

int sdp_answer(struct media_negotiated *ret, const struct sdp *offer,
	       const struct media_local *local, enum media_direction want)
{
	if (!offer->has_audio)
		return offer->foreign ? -EPROTOTYPE : -EINVAL;
	return settle(ret, offer, local, false, want);
}

int sdp_accept(struct media_negotiated *ret, const struct sdp *answer,
	       const struct media_local *local, enum media_direction offered)
{
	if (!answer->has_audio)
		return answer->foreign ? -EPROTOTYPE : -EINVAL;
	return settle(ret, answer, local, true, offered);
}
