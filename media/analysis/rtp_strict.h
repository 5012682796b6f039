/**
 * The counters of RFC 3550 for RTCP reports: with probation, duplicates in
 * `received`, signed loss; losses over 3000 are forgotten.
 * Source: RFC 3550 appendix A.1 and A.3; docs/reference/measurement.md
 * "Packets"
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_RTP_STRICT_H
#define OFFHOOK_MEDIA_ANALYSIS_RTP_STRICT_H

#include <stdbool.h>
#include <stdint.h>

#define RTP_MIN_SEQUENTIAL 2 /* RFC 3550 appendix A.1 */

/** Counters exactly as in RFC 3550 appendix A.1 and A.3. */
struct rtp_strict {
	uint32_t received;
	uint32_t cycles; /* multiple of 65536 */
	uint32_t base_seq;
	uint32_t bad_seq;
	uint32_t expected_prior;
	uint32_t received_prior;
	uint32_t rejected;
	uint32_t resyncs;
	uint16_t max_seq;
	uint8_t probation;
	bool started;
	bool valid; /* probation is over */
};

/** @param min_sequential  RTP_MIN_SEQUENTIAL, or 0 for no probation */
void rtp_strict_init(struct rtp_strict *s, uint8_t min_sequential);

/** @return the packet was accepted (A.1) */
bool rtp_strict_update(struct rtp_strict *s, uint16_t seq);

/** rtp_strict_update() for `count` consecutive packets from `seq`. */
void rtp_strict_run(struct rtp_strict *s, uint16_t seq, uint32_t count);

/** @return extended highest sequence number */
uint32_t rtp_strict_ext_max(const struct rtp_strict *s);
/** @return packets expected from base_seq on */
uint32_t rtp_strict_expected(const struct rtp_strict *s);
/** Signed; not clamped. */
int64_t rtp_strict_lost(const struct rtp_strict *s);
/** Clamped to 24 bits, as in a report block. */
int32_t rtp_strict_lost_24bit(const struct rtp_strict *s);

/** Close an interval (A.3).
 * @return fraction lost, 0..255 of 256 */
uint8_t rtp_strict_fraction(struct rtp_strict *s);

#endif
