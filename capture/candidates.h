/**
 * RTP that no SDP announced: flows that may be RTP and are believed once
 * they behaved like it for CANDIDATE_PACKETS packets, none of which is then
 * missing from the stream.
 *
 * A packet may be RTP if it is no RTCP, its header is valid, both ports are
 * at least 1024, and its payload type is static audio or video (0 to 34) or
 * dynamic (96 to 127). A flow behaves like RTP if SSRC stays, every sequence
 * number is 1 to 50 ahead of the one before, and timestamps do not run back
 * nor more than 2^24 ticks ahead. A packet that does not starts it anew.
 * That random bytes do so has a probability under 1e-15.
 *
 * Thread: one owner. Fixed size: the flow seen longest ago makes room.
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
	uint64_t last; /* count of calls when it was last seen; 0: free */
	uint32_t packets;
	struct packet_record record[CANDIDATE_PACKETS];
};

/** All zero: empty. The table is made with the first packet. */
struct candidates {
	struct candidate (*set)[CANDIDATE_WAYS];
	uint64_t calls;
};

void candidates_release(struct candidates *c);

/**
 * One packet of a flow without a stream.
 * @return NULL (also without memory); the flow is RTP: its packets, this one last; free it with
 *         candidates_drop()
 */
struct candidate *candidates_take(struct candidates *c,
				  const struct flow_key *key,
				  const struct packet_record *r);

void candidates_drop(struct candidate *c);

#endif
