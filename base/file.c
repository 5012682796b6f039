#include "base/file.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
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

int file_sync_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = fsync(fd) ? -errno : 0;
	close(fd);
	return err;
}

int file_sync_folder_of(const char *file)
{
	char folder[PATH_MAX];
	char *slash;

	if (str_copy(folder, sizeof(folder), file))
		return -ENAMETOOLONG;
	slash = strrchr(folder, '/');
	if (!slash)
		return file_sync_folder(".");
	slash[slash == folder] = '\0'; /* "/" stays */
	return file_sync_folder(folder);
}
