/**
 * Captures the frames of a network interface: a packet socket with a ring that the
 * kernel fills (TPACKET_V3), its time stamps, and a filter in the kernel.
 * Source: packet(7), Documentation/networking/packet_mmap.rst
 * Thread: one owner. Docs: docs/reference/tap.md
 */
#ifndef OFFHOOK_CAPTURE_TAP_H
#define OFFHOOK_CAPTURE_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/filter.h"
#include "capture/reader.h"

#define TAP_RING_BYTES_DEFAULT (32u << 20)
#define TAP_BLOCK_BYTES        (1u << 18)
#define TAP_BLOCK_MS           10 /* a block is handed out after this time */
#define TAP_REASON_BYTES       256

struct tap;

struct tap_params {
	const char *interface;
	const struct filter *filter; /* borrowed for the call; NULL: all */
	size_t ring_bytes;           /* 0: TAP_RING_BYTES_DEFAULT */
	bool promiscuous;            /* frames for others, too (mirror port) */
};

/** Since tap_open(). */
struct tap_counters {
	uint64_t frames;  /* passed the filter */
	uint64_t dropped; /* of these, because the ring was full */
};

/**
 * Open the packet socket and its ring. The kernel drops what the filter does not
 * match as far as it can tell: see capture/filter.h.
 * @param reason  TAP_REASON_BYTES; written on failure: cause and remedy
 * @return 0; -EPERM no CAP_NET_RAW; -ENODEV; -ENOTSUP a link layer that is not
 *         read; -ENOMEM; -errno
 */
int tap_open(struct tap **ret, const struct tap_params *params, char *reason);
/** Close the socket and unmap the ring. @return NULL */
struct tap *tap_close(struct tap *t);

/** A descriptor that is readable when frames wait. */
int tap_fd(const struct tap *t);

/** Gets a frame. @param f  with Unix time; valid during the call */
typedef void(tap_h)(const struct frame *f, void *arg);

/**
 * Hand out the waiting frames in their order, at most one ring of them: a flood
 * does not block the caller.
 * @return 0; -ENETDOWN the interface is down or gone; -errno
 */
int tap_read(struct tap *t, tap_h *handler, void *arg);

/** Read the counters. */
void tap_counters(struct tap *t, struct tap_counters *ret);

#endif
