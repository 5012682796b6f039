/**
 * IP datagrams of several fragments, put together again: an INVITE with a long
 * SDP seldom fits in one frame.
 * Source: RFC 791 section 3.2, RFC 8200 section 4.5
 * Thread: one owner. At most FRAGMENT_SETS of them at a time, 66 KiB each; the
 * one touched longest ago makes room.
 */
#ifndef OFFHOOK_CAPTURE_FRAGMENTS_H
#define OFFHOOK_CAPTURE_FRAGMENTS_H

#include <stdint.h>

#include "capture/datagram.h"

#define FRAGMENT_SETS       64
#define FRAGMENT_BYTES      65536
#define FRAGMENT_TIMEOUT_NS INT64_C(60000000000) /* RFC 8200 section 4.5 */

struct fragment_set;

/** All zero: empty. */
struct fragments {
	struct fragment_set *set[FRAGMENT_SETS];
	uint64_t calls;
	uint64_t whole;      /* datagrams put together */
	uint64_t incomplete; /* given up */
};

enum fragments_fate {
	FRAGMENTS_WHOLE,
	FRAGMENTS_CUT,      /* its first part, of which the capture kept less */
	FRAGMENTS_GIVEN_UP, /* its beginning; a later part did not come */
};

/**
 * A datagram, or the beginning of one (d->fragment).
 * @param kind  what datagram_transport() says of it
 * @param d     valid during the call; of several parts d->ip is the header of
 *              one of them, as of a packet that was not fragmented
 * @param ns    when its last part came
 */
typedef void(fragments_h)(enum fragments_fate fate, enum datagram_kind kind,
			  struct datagram *d, int64_t ns, void *arg);

/** One part (DATAGRAM_IS_FRAGMENT). Parts that a capture cut cannot be put
 * together: the first one is handed on at once. */
void fragments_take(struct fragments *f, const struct datagram *d, int64_t ns,
		    fragments_h *handler, void *arg);

/** No more come: hand on the beginnings of what is not whole. */
void fragments_flush(struct fragments *f, fragments_h *handler, void *arg);

void fragments_release(struct fragments *f);

#endif
