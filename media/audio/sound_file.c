#include "media/audio/sound_file.h"

#include "base/file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int fd_of(const void *arg)
{
	return *(const int *)arg;
}

static sf_count_t length(void *arg)
{
	struct stat st;

	return fstat(fd_of(arg), &st) == 0 ? st.st_size : -1;
}

static sf_count_t seek_to(sf_count_t offset, int whence, void *arg)
{
	return lseek(fd_of(arg), offset, whence);
}

static sf_count_t read_some(void *dst, sf_count_t count, void *arg)
{
	sf_count_t done = 0;

	while (done < count) {
		ssize_t n = read(fd_of(arg), (char *)dst + done,
				 (size_t)(count - done));

		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		if (n > 0)
			done += n;
	}
	return done;
}

static sf_count_t write_all(const void *data, sf_count_t count, void *arg)
{
	return file_write(fd_of(arg), data, (size_t)count) ? 0 : count;
}

static sf_count_t tell(void *arg)
{
	return lseek(fd_of(arg), 0, SEEK_CUR);
}

SNDFILE *sound_file_open(const int *fd, int mode, SF_INFO *info)
{
	/* neither is const: that is the library's interface */
	SF_VIRTUAL_IO io = {
		.get_filelen = length,
		.seek = seek_to,
		.read = read_some,
		.write = write_all,
		.tell = tell,
	};
	union {
		const int *fd;
		void *arg;
	} u = {.fd = fd};

	return sf_open_virtual(&io, mode, info, u.arg);
}
