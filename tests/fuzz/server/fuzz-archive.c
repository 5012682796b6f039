/* The archive of a backup: what is accepted has members within its bytes. */
#include "control/server/backup/archive.h"

#include "base/file.h"

#include <sodium.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	int64_t bytes; /* of headers and contents */
};

static int begin(const struct archive_member *m, int *ret_fd, void *arg)
{
	(void)m;
	(void)ret_fd;
	(void)arg;
	return 0;
}

static int end(const struct archive_member *m, int fd, void *arg)
{
	struct seen *seen = arg;

	if (fd != -1 || m->size < 0)
		abort();
	seen->bytes += 512 + m->size;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen = {.bytes = 0};
	const struct archive_reader r = {
		.begin = begin, .end = end, .arg = &seen};
	char why[64] = "";
	int fd, err;

	if (sodium_init() < 0)
		abort();
	fd = memfd_create("archive", MFD_CLOEXEC);
	if (fd < 0 || file_write(fd, data, size) || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	err = archive_read(fd, &r, why, sizeof(why));
	close(fd);
	if (err > 0 || seen.bytes > (int64_t)size || (err == 0 && why[0]))
		abort();
	return 0;
}
