#include "agent/supervisor/health.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILE_NAME "last-poll"

/* Digits of the time, with blanks before it, and the end of the line: always as long,
 * so that a reader never sees a part of it. */
#define LINE_BYTES 20

/* Since the machine's start; not stepped, and the same in all of its containers. */
static int64_t uptime_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec;
}

static int path_make(char path[static PATH_MAX], const char *state_dir)
{
	return str_print(path, PATH_MAX, "%s/" FILE_NAME, state_dir) < 0
		       ? -ENAMETOOLONG
		       : 0;
}

void health_forget(const char *state_dir)
{
	char path[PATH_MAX];

	if (path_make(path, state_dir) == 0)
		(void)unlink(path);
}

void health_note(const char *state_dir)
{
	char path[PATH_MAX], line[LINE_BYTES + 1];
	int err = path_make(path, state_dir), fd = -1;

	if (!err)
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			  0600);
	if (!err && fd < 0)
		err = -errno;
	str_print(line, sizeof(line), "%*jd\n", LINE_BYTES - 1,
		  (intmax_t)uptime_s());
	if (!err)
		err = file_write(fd, line, LINE_BYTES);
	if (fd >= 0)
		close(fd);
	if (err)
		log_warning("%s/" FILE_NAME " cannot be written: %s", state_dir,
			    strerror(-err));
}

static int read_note(const char *path, int64_t *ret_s)
{
	char line[LINE_BYTES + 1] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	uint64_t noted = 0;
	ssize_t n;
	int err;

	if (fd < 0)
		return -errno;
	n = read(fd, line, LINE_BYTES);
	err = n < 0 ? -errno : 0;
	close(fd);
	if (!err && n != LINE_BYTES)
		err = -EBADMSG;
	line[strcspn(line, "\n")] = '\0';
	if (!err)
		err = str_to_u64(line + strspn(line, " "), INT64_MAX, &noted);
	if (!err)
		*ret_s = (int64_t)noted;
	return err;
}

int health_check(const char *state_dir, char *text, size_t size)
{
	char path[PATH_MAX];
	int64_t noted_s = 0, silent_s;
	int err = path_make(path, state_dir);

	if (!err)
		err = read_note(path, &noted_s);
	if (err == -ENOENT) {
		snprintf(text, size,
			 "no poll was answered since the agent's start");
		return err;
	}
	if (err) {
		snprintf(text, size, "%s: %s", path, strerror(-err));
		return err;
	}
	silent_s = uptime_s() - noted_s;
	if (silent_s < 0) {
		/* the machine was started again; the agent was not */
		snprintf(text, size, "the agent does not run");
		return -ENOENT;
	}
	snprintf(text, size, "the last poll was answered %jd s ago",
		 (intmax_t)silent_s);
	return silent_s > HEALTH_SILENT_S ? -ETIMEDOUT : 0;
}
