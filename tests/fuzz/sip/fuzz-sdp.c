/*
 * The SDP of a peer, through the parser and both halves of offer/answer. The
 * result must stay within its limits and our own parser must accept it.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "sip/sdp/sdp.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void local_fill(struct media_local *local)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&local->rtp.ss;

	memset(local, 0, sizeof(*local));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in->sin_port = htons(4000);
	local->rtp.len = sizeof(*in);
	local->rtcp = local->rtp;
	local->codecs[0] = (struct media_codec){"PCMU", 0, 1, 8000, ""};
	local->codecs[1] = (struct media_codec){"PCMA", 8, 1, 8000, ""};
	local->codecs[2] =
		(struct media_codec){"telephone-event", 101, 1, 8000, ""};
	local->codec_count = 3;
	local->ptime_ms = 20;
	local->xr = MEDIA_XR_ALL;
	local->has_ssrc = true;
	local->ssrc = 0x80000001;
	memcpy(local->cname, "name", 5);
	local->encryption = MEDIA_ENCRYPTION_SDES;
	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++)
		local->crypto[i] = (struct media_crypto){
			i + 1, (enum media_srtp_suite)i, {(uint8_t)i}};
	local->crypto_count = MEDIA_SRTP_SUITE_COUNT;
}

static void answer(const struct sdp *offer, const struct media_local *local)
{
	struct media_negotiated deal;
	struct sdp_draft draft = {.local = local, .frame = offer};
	const char *reason;
	struct sdp again;
	struct buf b;

	if (sdp_answer(&deal, offer, local, MEDIA_SENDRECV))
		return;
	check(deal.accepted_count > 0);
	check(deal.accepted_count <= MEDIA_CODECS_MAX);
	check(deal.ssrc_count <= MEDIA_SSRCS_MAX);
	draft.codecs = deal.accepted;
	draft.codec_count = deal.accepted_count;
	draft.direction = deal.direction;
	draft.answer = &deal;
	buf_init(&b, 4 * SDP_TEXT_MAX);
	check(sdp_write(&b, &draft) == 0);
	check(sdp_parse(&again, b.data, b.used, &reason) == 0);
	check(again.line_count == offer->line_count);
	check(again.has_audio && again.audio == offer->audio);
	check(again.direction == deal.direction);
	check(again.xr == MEDIA_XR_ALL);
	check(deal.xr == offer->xr && offer->xr <= MEDIA_XR_ALL);
	check(again.crypto.count == (deal.encrypted ? 1 : 0));
	/* its tag is the peer's, which need not be one that we offered */
	if (!deal.encrypted)
		check(sdp_accept(&deal, &again, local, MEDIA_SENDRECV) == 0);
	buf_release(&b);
}

/* Both ends have a fixed role, and may conflict. */
static void answer_dtls(const struct sdp *offer,
			const struct media_local *local)
{
	struct media_negotiated deal;
	struct sdp_draft draft = {.local = local, .frame = offer};
	const char *reason;
	struct sdp again;
	struct buf b;
	bool active;

	if (sdp_answer(&deal, offer, local, MEDIA_SENDRECV))
		return;
	active = deal.dtls_active;
	check(deal.fingerprint.len > 0 &&
	      deal.fingerprint.len <= MEDIA_FINGERPRINT_BYTES);
	draft.codecs = deal.accepted;
	draft.codec_count = deal.accepted_count;
	draft.answer = &deal;
	buf_init(&b, 4 * SDP_TEXT_MAX);
	check(sdp_write(&b, &draft) == 0);
	check(sdp_parse(&again, b.data, b.used, &reason) == 0);
	check(sdp_dtls_settle(&deal, &again.association, true) == NULL);
	check(deal.dtls_active != active);
	buf_release(&b);
}

/* An ICE offer gets our candidates, unless its SDP was changed on the way. */
static void answer_ice(const struct sdp *offer, const struct media_local *local)
{
	struct media_negotiated deal;
	struct sdp_draft draft = {.local = local, .frame = offer};
	const char *reason;
	struct sdp again;
	struct buf b;

	check(offer->ice.candidate_count <= MEDIA_CANDIDATES_MAX);
	if (sdp_answer(&deal, offer, local, MEDIA_SENDRECV))
		return;
	check(!(deal.ice && deal.ice_mismatch) && !deal.ice_controlling);
	draft.codecs = deal.accepted;
	draft.codec_count = deal.accepted_count;
	draft.answer = &deal;
	buf_init(&b, 4 * SDP_TEXT_MAX);
	check(sdp_write(&b, &draft) == 0);
	check(sdp_parse(&again, b.data, b.used, &reason) == 0);
	check((again.ice.ufrag[0] != 0) == deal.ice);
	check(again.ice.candidate_count == (deal.ice ? 1 : 0));
	buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct media_negotiated deal;
	struct media_local local;
	const char *reason = NULL;
	struct sdp sdp;

	local_fill(&local);
	if (sdp_parse(&sdp, (const char *)data, size, &reason)) {
		check(reason != NULL);
		return 0;
	}
	check(sdp.line_count <= SDP_LINES_MAX);
	check(sdp.codec_count <= SDP_FORMATS_MAX);
	answer(&sdp, &local);
	local.has_ice = true;
	strcpy(local.ice.ufrag, "ours");
	strcpy(local.ice.pwd, "a password of ours: 22+");
	local.ice.candidate_count = 1;
	local.ice.candidates[0] = (struct media_candidate){
		.component = 1, .addr = local.rtp, .related = local.rtp};
	answer(&sdp, &local);
	answer_ice(&sdp, &local);
	local.encryption = MEDIA_ENCRYPTION_DTLS;
	local.fingerprint = (struct media_fingerprint){"sha-1", {1}, 20};
	answer_dtls(&sdp, &local);
	(void)sdp_accept(&deal, &sdp, &local, MEDIA_SENDONLY);
	return 0;
}
