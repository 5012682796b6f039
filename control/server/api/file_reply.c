#include "control/server/api/file_reply.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name as a quoted string of visible ASCII (RFC 6266). */
static void add_disposition(struct reply *rep, const char *filename)
{
	char name[FILE_NAME_BYTES];
	size_t i;

	for (i = 0; filename[i] && i + 1 < sizeof(name); i++) {
		char c = filename[i];

		name[i] = c < ' ' || c > '~' || strchr("\"\\/;%", c) ? '_' : c;
	}
	name[i] = '\0';
	reply_header(rep, "Content-Disposition", "attachment; filename=\"%s\"",
		     name);
}

int reply_file(struct reply *rep, const char *path, const char *filename,
	       const char *sha256, const char *type)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	int err;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		err = -errno;
		close(fd);
		return err;
	}
	reply_fd(rep, fd, (uint64_t)st.st_size, type);
	reply_header(rep, "ETag", "\"%s\"", sha256);
	add_disposition(rep, filename);
	/* browsers must not run scripts in it */
	reply_header(rep, "Content-Security-Policy", "sandbox");
	return 0;
}
