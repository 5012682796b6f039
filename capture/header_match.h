/**
 * A shortcut for the packets of a stream: a frame with the same headers as the
 * stream's last one, apart from the fields that change from packet to packet, is
 * the stream's next packet and is not parsed again. A frame with other headers is
 * parsed as usual.
 *
 * Not compared: IP length, identification, TTL or hop limit, type of service or
 * traffic class and flow label, checksums, UDP length, RTP sequence number and
 * timestamp. Everything else up to the SSRC is compared, with the link layer.
 * The shortcut is not used for packets with padding or an RTP header extension,
 * and not for headers of more than HEADER_MATCH_OCTETS.
 *
 * Thread: one owner. Memory: a fixed size.
 */
#ifndef OFFHOOK_CAPTURE_HEADER_MATCH_H
#define OFFHOOK_CAPTURE_HEADER_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/datagram.h"
#include "capture/reader.h"
#include "media/analysis/record.h"

#define HEADER_MATCH_OCTETS 96 /* PPPoE, IPv6, UDP and RTP: 82 */
#define HEADER_LAYOUTS_MAX  16 /* of one capture */

/** The unit of comparison: a register of SSE2 or NEON. */
typedef uint64_t header_words __attribute__((vector_size(16), aligned(8)));
#define HEADER_MATCH_WORDS (HEADER_MATCH_OCTETS / sizeof(header_words))

/** Offsets of the headers in a frame; many streams share one layout. */
struct header_layout {
	uint32_t link;
	uint16_t ip_length_min;  /* less: a header is cut */
	uint16_t udp_length_min; /* less: a header is cut */
	uint8_t ip_length_at;
	uint8_t ip_at;
	uint8_t ip_version;
	uint8_t rtp_at;
	uint8_t rtp_bytes;                     /* fixed header and CSRCs */
	uint8_t words;                         /* up to the SSRC, rounded up */
	header_words mask[HEADER_MATCH_WORDS]; /* 0: not compared */
};

struct header_layouts {
	size_t count;
	struct header_layout layout[HEADER_LAYOUTS_MAX];
};

/** All zero: matches nothing. */
struct header_match {
	const struct header_layout *layout; /* borrowed */
	header_words value[HEADER_MATCH_WORDS];
};

/**
 * Remember the headers of a frame.
 * @param all  of the same owner; a new layout is added
 * @param d    what datagram_parse() says of the frame: UDP with valid RTP
 */
void header_match_learn(struct header_match *m, struct header_layouts *all,
			const struct frame *f, const struct datagram *d);

/**
 * Compare a frame with the remembered headers and read the changing fields.
 * @param ret  the same as rtp_header_record() makes of the frame
 * @return false: the frame has other headers (*ret undefined)
 */
bool header_match_record(const struct header_match *m, const struct frame *f,
			 struct packet_record *ret);

#endif
