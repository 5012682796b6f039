#include "control/server/http/pem_file.h"

#include "base/buf.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A chain is a few KiB, a system's collection of authorities about 220. */
#define PEM_BYTES (256u << 10)

static int read_all(int fd, struct buf *text)
{
	char piece[4096];
	ssize_t n;
	int err = 0;

	while (err == 0 && (n = read(fd, piece, sizeof(piece))) != 0) {
		if (n > 0)
			err = buf_add(text, piece, (size_t)n);
		else if (errno != EINTR)
			err = -errno;
	}
	sodium_memzero(piece, sizeof(piece));
	return err == -EMSGSIZE ? -EFBIG : err;
}

static int read_file(struct buf *text, const char *path, bool secret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st))
		err = -errno;
	else if (secret && (st.st_mode & S_IRWXO))
		err = -EPERM;
	else
		err = read_all(fd, text);
	if (fd >= 0)
		close(fd);
	return err;
}

int pem_file_read(char **ret, const char *path, bool secret, const char *what)
{
	struct buf text;
	int err;

	buf_init(&text, PEM_BYTES);
	err = read_file(&text, path, secret);
	if (err == 0 && (!text.data || !strstr(text.data, what))) {
		log_error("%s holds no PEM text with a %s", path, what);
		err = -EINVAL;
	} else if (err == -EPERM && secret) {
		log_error("%s can be read by everybody: chmod o= it", path);
	} else if (err) {
		log_error("%s: %s", path, strerror(-err));
	}
	if (err == 0) {
		*ret = text.data;
		return 0;
	}
	if (text.data)
		sodium_memzero(text.data, text.allocated);
	buf_release(&text);
	return err;
}
