/**
 * The headers of a stream's last packet. A frame that repeats them, but for
 * what changes from packet to packet, is the stream's next packet: nothing of
 * it needs to be decoded but what changed. What does not repeat them proves
 * nothing.
 *
 * Changing, and no part of the comparison: IP length, identification, TTL or
 * hop limit, type of service or traffic class and flow label, checksums, UDP
 * length, RTP sequence number and timestamp. Everything else up to the SSRC is
 * compared, link layer included. Packets with padding or an RTP header
 * extension have no such form, nor have headers of more than
 * HEADER_MATCH_OCTETS.
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

/** Compared at once. */
typedef uint64_t header_words __attribute__((vector_size(16), aligned(8)));
#define HEADER_MATCH_WORDS (HEADER_MATCH_OCTETS / sizeof(header_words))

/** Where the headers of some frames lie: the same for many streams. */
struct header_layout {
	uint32_t link;
	uint16_t ip_length_min;  /* below: not all of the headers */
	uint16_t udp_length_min; /* the same */
	uint8_t ip_length_at;
	uint8_t ip_at;
	uint8_t ip_version;
	uint8_t rtp_at;
	uint8_t rtp_bytes;                     /* fixed header and CSRCs */
	uint8_t words;                         /* up to the SSRC, rounded up */
	header_words mask[HEADER_MATCH_WORDS]; /* 0: changes */
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
 * @param all  of the same owner; gets the layout if it is new
 * @param d    what datagram_parse() says of the frame: UDP with valid RTP
 */
void header_match_learn(struct header_match *m, struct header_layouts *all,
			const struct frame *f, const struct datagram *d);

/**
 * @param ret  as rtp_header_record() of the frame
 * @return false: the frame has other headers (*ret undefined)
 */
bool header_match_record(const struct header_match *m, const struct frame *f,
			 struct packet_record *ret);

#endif
