/**
 * Classify a datagram on a media port and parse its RTP header.
 * Source: RFC 7983 section 7, RFC 5761 section 4, RFC 3550 section 5.1 and
 * appendix A.1
 * Thread: any; no state.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_RTP_HEADER_H
#define OFFHOOK_MEDIA_ANALYSIS_RTP_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/analysis/record.h"

#define RTP_HEADER_BYTES 12 /* RFC 3550 section 5.1, without CSRCs */

enum datagram_class {
	DATAGRAM_RTP,
	DATAGRAM_RTCP,
	DATAGRAM_STUN,
	DATAGRAM_DTLS,
	DATAGRAM_UNKNOWN, /* none of these: counted as invalid */
};

/**
 * Classify a datagram by its first two octets. The second one distinguishes RTP
 * and RTCP (192..223 is RTCP). Nothing else is checked.
 */
enum datagram_class datagram_classify(const uint8_t *data, size_t bytes);

struct rtp_header {
	bool marker;
	uint8_t pt;
	uint16_t seq;
	uint32_t ts;
	uint32_t ssrc;
	uint8_t csrc_count;
	bool has_extension;
	uint16_t extension_profile; /* valid if has_extension */
	size_t header_bytes;        /* offset of the payload */
	size_t payload_bytes;       /* without header and padding */
	size_t padding_bytes;
};

/**
 * Parse and check the header of an RTP packet.
 * @param ret       written on success only
 * @param data      the UDP payload
 * @param captured  bytes available in data
 * @param bytes     original size (>= captured). If the capture cut the packet,
 *                  padding cannot be checked and counts as payload
 * @return 0; -EINVAL captured > bytes; -EBADMSG not a valid RTP packet
 */
int rtp_header_parse(struct rtp_header *ret, const uint8_t *data,
		     size_t captured, size_t bytes);

/** Fill a record from a header. `session` and `lateness_us` are set to 0. */
void rtp_header_record(struct packet_record *ret, const struct rtp_header *h,
		       enum packet_kind kind, int64_t mono_ns);

#endif
