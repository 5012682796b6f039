#include "base/stamp.h"

#include <errno.h>
#include <string.h>

#define AGE_MAX_NS (5 * NS_PER_S)

int stamp_enable(int fd)
{
	int on = 1;

	return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0
		       ? -errno
		       : 0;
}

void stamp_clock_read(struct stamp_clock *clock)
{
	clock->wall_offset_ns = clock_wall_offset_ns();
	clock->mono_ns = clock_mono_ns();
}

int64_t stamp_mono_ns(int64_t wall_ns, const struct stamp_clock *clock)
{
	int64_t mono_ns = wall_ns - clock->wall_offset_ns;

	if (mono_ns > clock->mono_ns || mono_ns < clock->mono_ns - AGE_MAX_NS)
		return clock->mono_ns;
	return mono_ns;
}

bool stamp_take(int64_t *ret_ns, const struct cmsghdr *control,
		const struct stamp_clock *clock)
{
	struct timespec stamp;

	if (control->cmsg_level != SOL_SOCKET ||
	    control->cmsg_type != SCM_TIMESTAMPNS)
		return false;
	memcpy(&stamp, CMSG_DATA(control), sizeof(stamp));
	*ret_ns = stamp_mono_ns(
		(int64_t)stamp.tv_sec * NS_PER_S + stamp.tv_nsec, clock);
	return true;
}

int64_t stamp_find(struct msghdr *header, const struct stamp_clock *clock)
{
	int64_t mono_ns = clock->mono_ns;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c;
	     c = CMSG_NXTHDR(header, c)) {
		if (stamp_take(&mono_ns, c, clock))
			break;
	}
	return mono_ns;
}
