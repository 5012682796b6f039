#include "base/file.h"

#include <errno.h>
#include <unistd.h>

int file_write(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int file_write_synced(int fd, const void *data, size_t len)
{
	int err = file_write(fd, data, len);

	if (err)
		return err;
	return fsync(fd) ? -errno : 0;
}
