#include "control/cli/local/local_folder.h"

#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "offhook-local-"
/* A folder with this file belongs to a command that has not ended. It is written
 * when the lock is held: without the lock the command was killed. */
#define MARK     "unfinished"
#define OPEN_MAX 16 /* descriptors for nftw() */

static const char *parent(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && folder[0] == '/' ? folder : "/tmp";
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path); /* what stays makes its folder stay */
	return 0;
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, OPEN_MAX, FTW_DEPTH | FTW_PHYS);
}

/* True if the folder is ours and the command that made it was killed. */
static bool is_left_over(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	       faccessat(fd, MARK, F_OK, 0) == 0 &&
	       flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void remove_left_over(void)
{
	char path[LOCAL_FOLDER_BYTES];
	DIR *dir = opendir(parent());
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd;

		if (strncmp(entry->d_name, PREFIX, sizeof(PREFIX) - 1) != 0 ||
		    str_print(path, sizeof(path), "%s/%s", parent(),
			      entry->d_name) < 0)
			continue;
		fd = open(path,
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (is_left_over(fd))
			remove_tree(path);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

int local_folder_make(struct local_folder *f)
{
	int err;

	*f = (struct local_folder){.lock = -1};
	remove_left_over();
	if (str_print(f->path, sizeof(f->path), "%s/" PREFIX "XXXXXX",
		      parent()) < 0) {
		f->path[0] = '\0';
		return -ENAMETOOLONG;
	}
	if (!mkdtemp(f->path)) {
		err = -errno;
		f->path[0] = '\0';
		return err;
	}
	f->lock = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->lock < 0 || flock(f->lock, LOCK_EX))
		err = -errno;
	else
		err = local_folder_write(f, MARK, "");
	if (err)
		local_folder_end(f, false);
	return err;
}

int local_folder_write(const struct local_folder *f, const char *name,
		       const char *text)
{
	int fd = openat(f->lock, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			0600);
	size_t len = strlen(text);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len)
		err = -EIO;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

void local_folder_end(struct local_folder *f, bool keep)
{
	if (keep && f->lock >= 0)
		unlinkat(f->lock, MARK, 0);
	else if (f->path[0])
		remove_tree(f->path);
	if (f->lock >= 0)
		close(f->lock);
	f->lock = -1;
	f->path[0] = '\0';
}
