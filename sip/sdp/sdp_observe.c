#include "sip/sdp/sdp.h"

#include <strings.h>

#include "sip/sdp/sdp_direction.h"

static const struct media_codec *find_like(const struct sdp *s,
					   const struct media_codec *like)
{
	for (size_t i = 0; i < s->codec_count; i++) {
		const struct media_codec *c = &s->codecs[i];

		if (strcasecmp(c->name, like->name) == 0 &&
		    c->clock_hz == like->clock_hz)
			return c;
	}
	return NULL;
}

/* @return whether there is one besides telephone-event */
static bool observe_codecs(struct media_negotiated *n, const struct sdp *local,
			   const struct sdp *remote)
{
	bool found = false;

	for (size_t i = 0; i < remote->codec_count; i++) {
		const struct media_codec *theirs = &remote->codecs[i];
		const struct media_codec *ours = find_like(local, theirs);

		if (!ours)
			continue;
		if (strcasecmp(theirs->name, "telephone-event") == 0) {
			n->has_event_pt = true;
			n->event_pt = theirs->pt;
			n->event_clock_hz = theirs->clock_hz;
		} else if (!found) {
			n->codec = *theirs;
			found = true;
		}
		if (n->accepted_count < MEDIA_CODECS_MAX)
			n->accepted[n->accepted_count++] = *ours;
	}
	return found;
}

bool sdp_observe(struct media_negotiated *ret, const struct sdp *local,
		 const struct sdp *remote)
{
	*ret = (struct media_negotiated){
		.rtp = remote->rtp,
		.rtcp = remote->rtcp,
		.rtcp_mux = local->rtcp_mux && remote->rtcp_mux,
		.ptime_ms =
			remote->ptime_ms ? remote->ptime_ms : local->ptime_ms,
		.direction =
			sdp_direction(sdp_sends(local->direction) &&
					      sdp_receives(remote->direction),
				      sdp_receives(local->direction) &&
					      sdp_sends(remote->direction)),
	};
	return observe_codecs(ret, local, remote);
}
