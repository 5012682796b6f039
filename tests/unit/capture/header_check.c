#include "tests/unit/capture/header_check.h"

#include <stdlib.h>
#include <string.h>

#include "media/analysis/rtp_header.h"

bool header_decode(const struct frame *f, struct datagram *ret_datagram,
		   struct packet_record *ret_record)
{
	struct rtp_header h;
	struct datagram d;

	if (datagram_parse(&d, f) != DATAGRAM_IS_UDP ||
	    datagram_classify(d.payload, d.captured) != DATAGRAM_RTP ||
	    rtp_header_parse(&h, d.payload, d.captured, d.bytes))
		return false;
	d.flow.ssrc = h.ssrc;
	*ret_datagram = d;
	rtp_header_record(ret_record, &h, PACKET_RTP_RECEIVED, f->ns);
	return true;
}

bool header_check(const struct header_match *m, const struct datagram *stream,
		  const struct frame *f)
{
	struct packet_record fast;
	struct packet_record full;
	struct datagram d;

	if (!header_match_record(m, f, &fast))
		return false;
	if (!header_decode(f, &d, &full) ||
	    !flow_key_equal(&d.flow, &stream->flow) ||
	    memcmp(&fast, &full, sizeof(fast)) != 0)
		abort();
	return true;
}
