/**
 * Classify a datagram on a media port and read its RTP header.
 * Source: RFC 7983 section 7, RFC 5761 section 4, RFC 3550 sections 5.1, A.1
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
 * Say what a datagram is by its first two octets. RTP and RTCP are told
 * apart by the second (192..223 is RTCP), nothing more is checked.
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
 * Read and check the header of an RTP packet.
 * @param ret       written on success only
 * @param data      the UDP payload
 * @param captured  bytes of it that are there
 * @param bytes     its true size (>= captured; larger where a capture was
 *                  cut: then padding cannot be tested and counts as payload,
 *                  except that the packet's size is true)
 * @return 0; -EINVAL captured > bytes; -EBADMSG not a valid RTP packet
 */
int rtp_header_parse(struct rtp_header *ret, const uint8_t *data,
		     size_t captured, size_t bytes);

/** Fill a record from a header. `session` and `lateness_us` are set to 0. */
void rtp_header_record(struct packet_record *ret, const struct rtp_header *h,
		       enum packet_kind kind, int64_t mono_ns);

#endif
