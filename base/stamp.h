/**
 * The kernel's receive times (SO_TIMESTAMPNS, socket(7)) as monotonic time. For
 * a datagram it is the time of arrival. For a stream it is that of the last
 * bytes read, as far as the kernel knows it (it merges waiting segments).
 * Thread: any.
 */
#ifndef OFFHOOK_BASE_STAMP_H
#define OFFHOOK_BASE_STAMP_H

#include "base/clock.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>

/** Room for a time stamp among control messages. */
#define STAMP_SPACE CMSG_SPACE(sizeof(struct timespec))

/** Time-stamp what the socket receives from now on.
 * @return 0; -errno */
int stamp_enable(int fd);

/** Both clocks at one moment, read after the datagrams were received. */
struct stamp_clock {
	int64_t mono_ns;
	int64_t wall_offset_ns;
};

/** Read both clocks. */
void stamp_clock_read(struct stamp_clock *clock);

/**
 * Convert a wall-clock time stamp to monotonic time. A stamp later than the
 * clock, or more than 5 s before it, indicates a step of the wall clock: then
 * the clock's own time is returned.
 */
int64_t stamp_mono_ns(int64_t wall_ns, const struct stamp_clock *clock);

/**
 * Read the time stamp of a control message.
 * @param ret_ns  as of stamp_mono_ns()
 * @return false: it is not a time stamp (*ret_ns untouched)
 */
bool stamp_take(int64_t *ret_ns, const struct cmsghdr *control,
		const struct stamp_clock *clock);

/** @return the time stamp among a message's control messages, or the clock's
 *         time */
int64_t stamp_find(struct msghdr *header, const struct stamp_clock *clock);

#endif
