/**
 * Detection of RTP that no SDP announced. A flow is RTP after CANDIDATE_PACKETS
 * packets in a row that look like RTP; these are kept, so that the stream has
 * them all.
 *
 * A packet can be RTP if it is not RTCP, its header is valid, both ports are
 * at least 1024, and its payload type is static audio or video (0 to 34) or
 * dynamic (96 to 127). In a row means: the same SSRC, each sequence number 1 to
 * 50 ahead of the one before, each timestamp 0 to 2^24 ticks ahead. Any other
 * packet starts the count anew. Random bytes pass with a probability below
 * 1e-15.
 *
 * Thread: one owner. Fixed size: a new flow replaces the least recently used one.
 */
#ifndef OFFHOOK_CAPTURE_CANDIDATES_H
#define OFFHOOK_CAPTURE_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/flow.h"
#include "media/analysis/record.h"

#define CANDIDATE_PACKETS 6
#define CANDIDATE_SETS    4096
#define CANDIDATE_WAYS    4

struct candidate {
	struct flow_key key;
	uint64_t last; /* value of `calls` at its last packet; 0: free */
	uint32_t packets;
	struct packet_record record[CANDIDATE_PACKETS];
};

/** All zero: empty. The table is allocated with the first packet. */
struct candidates {
	struct candidate (*set)[CANDIDATE_WAYS];
	uint64_t calls;
};

/** Free the table. */
void candidates_release(struct candidates *c);

/**
 * Take a packet of a flow that has no stream yet.
 * @return NULL: not known to be RTP, or no memory; else the packets of the flow,
 *         this one last, valid until candidates_drop()
 */
struct candidate *candidates_take(struct candidates *c,
				  const struct flow_key *key,
				  const struct packet_record *r);

/** Forget a flow that candidates_take() returned. */
void candidates_drop(struct candidate *c);

#endif
