/* Compare the result of header_match.h with a full decode of the frame. */
#ifndef OFFHOOK_TESTS_UNIT_CAPTURE_HEADER_CHECK_H
#define OFFHOOK_TESTS_UNIT_CAPTURE_HEADER_CHECK_H

#include <stdbool.h>

#include "capture/header_match.h"

/** Decode a frame in full.
 * @return false: no RTP (nothing is written) */
bool header_decode(const struct frame *f, struct datagram *ret_datagram,
		   struct packet_record *ret_record);

/**
 * Abort unless a match means the stream that the match was learned from, and
 * gives the record that decoding gives.
 * @param stream  the stream that the match was learned from
 * @return true: it matches
 */
bool header_check(const struct header_match *m, const struct datagram *stream,
		  const struct frame *f);

#endif
