/**
 * Reassembles fragmented IP datagrams: an INVITE with a long SDP often needs
 * several frames.
 * Source: RFC 791 section 3.2, RFC 8200 section 4.5
 * Thread: one owner. At most FRAGMENT_SETS datagrams at a time, 66 KiB each; a new
 * one replaces the least recently used one.
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
	uint64_t whole;      /* datagrams reassembled */
	uint64_t incomplete; /* datagrams given up */
};

enum fragments_fate {
	FRAGMENTS_WHOLE,    /* complete */
	FRAGMENTS_CUT,      /* the first part only, cut by the capture */
	FRAGMENTS_GIVEN_UP, /* the beginning; a later part is missing */
};

/**
 * Gets a datagram, or the beginning of one (d->fragment).
 * @param kind  result of datagram_transport()
 * @param d     valid during the call; of several parts d->ip is the header of
 *              one of them, as of a packet that was not fragmented
 * @param ns    when its last part was captured
 */
typedef void(fragments_h)(enum fragments_fate fate, enum datagram_kind kind,
			  struct datagram *d, int64_t ns, void *arg);

/** Take a fragment (DATAGRAM_IS_FRAGMENT). If the capture cut it, the datagram
 * cannot be reassembled: a first fragment is handed out at once. */
void fragments_take(struct fragments *f, const struct datagram *d, int64_t ns,
		    fragments_h *handler, void *arg);

/** No more fragments come: hand out the beginnings of incomplete datagrams. */
void fragments_flush(struct fragments *f, fragments_h *handler, void *arg);

/** Free all datagrams. */
void fragments_release(struct fragments *f);

#endif
