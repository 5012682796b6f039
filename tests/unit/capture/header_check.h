/* What header_match.h says of a frame, held to decoding it in full. */
#ifndef OFFHOOK_TESTS_UNIT_CAPTURE_HEADER_CHECK_H
#define OFFHOOK_TESTS_UNIT_CAPTURE_HEADER_CHECK_H

#include <stdbool.h>

#include "capture/header_match.h"

/** Decode a frame in full.
 * @return false: no RTP (nothing is written) */
bool header_decode(const struct frame *f, struct datagram *ret_datagram,
		   struct packet_record *ret_record);

/**
 * Abort unless a match means the stream it was learned of, and the record that
 * decoding gives.
 * @param stream  what the frame was that it was learned of
 * @return true: it matches
 */
bool header_check(const struct header_match *m, const struct datagram *stream,
		  const struct frame *f);

#endif
