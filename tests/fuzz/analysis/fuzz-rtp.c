/* RTP: any host can send any bytes to a media port. */
#include <stdint.h>
#include <stdlib.h>

#include "media/analysis/rtp_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte is the number of bytes that the capture cut off. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct packet_record record;
	struct rtp_header h;
	size_t bytes;

	if (size < 1)
		return 0;
	bytes = size - 1 + data[0];
	datagram_classify(data + 1, size - 1);
	if (rtp_header_parse(&h, data + 1, size - 1, bytes))
		return 0;
	if (h.header_bytes + h.payload_bytes + h.padding_bytes != bytes ||
	    h.header_bytes < RTP_HEADER_BYTES || h.pt > 127)
		abort();
	rtp_header_record(&record, &h, PACKET_RTP_RECEIVED, 0);
	if (packet_pt(&record) != h.pt || packet_marker(&record) != h.marker)
		abort();
	return 0;
}
