/**
 * The kernel's receive times (SO_TIMESTAMPNS, socket(7)) as monotonic time: a
 * datagram's when it arrived; of a stream that of the last bytes read, as near
 * as the kernel knows it (it merges segments that wait).
 * Thread: any.
 */
#ifndef OFFHOOK_BASE_STAMP_H
#define OFFHOOK_BASE_STAMP_H

#include "base/clock.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>

/** Room for a stamp among control messages. */
#define STAMP_SPACE CMSG_SPACE(sizeof(struct timespec))

/** Stamp what the socket receives from now on. @return 0; -errno */
int stamp_enable(int fd);

/** Both clocks at one moment, read after what is to be timed was received. */
struct stamp_clock {
	int64_t mono_ns;
	int64_t wall_offset_ns;
};

void stamp_clock_read(struct stamp_clock *clock);

/**
 * A stamp of the wall clock as monotonic time: the clock's own time where it
 * lies after it or 5 s before, which is a step of the wall clock, no waiting.
 */
int64_t stamp_mono_ns(int64_t wall_ns, const struct stamp_clock *clock);

/**
 * Read a control message.
 * @param ret_ns  as of stamp_mono_ns()
 * @return false: it is no stamp (*ret_ns untouched)
 */
bool stamp_take(int64_t *ret_ns, const struct cmsghdr *control,
		const struct stamp_clock *clock);

/** The stamp among a message's control messages, or the clock's time. */
int64_t stamp_find(struct msghdr *header, const struct stamp_clock *clock);

#endif
