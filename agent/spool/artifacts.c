#include "agent/spool/artifacts.h"

#include "base/log.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART_BYTES (WIRE_ARTIFACT_NAME_BYTES + sizeof(WIRE_ARTIFACT_PART))

struct artifacts {
	char path[PATH_MAX];
	int dir_fd;
	struct spool_space *space;
	uint64_t bytes;
	size_t count;
};

/* Size of a file, 0 if there is none. */
static uint64_t size_of(const struct artifacts *a, const char *name)
{
	struct stat st;

	if (fstatat(a->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return 0;
	return (uint64_t)st.st_size;
}

static void account(struct artifacts *a, uint64_t bytes)
{
	a->bytes += bytes;
	a->space->used += bytes;
	a->count++;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int recover(struct artifacts *a)
{
	DIR *dir = opendir(a->path);
	struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)) != NULL) {
		if (is_dots(entry->d_name))
			continue;
		if (wire_artifact_name_valid(entry->d_name))
			account(a, size_of(a, entry->d_name));
		else
			unlinkat(a->dir_fd, entry->d_name, 0);
	}
	closedir(dir);
	return 0;
}

int artifacts_open(struct artifacts **ret, const char *dir,
		   const char *lease_id, struct spool_space *space)
{
	struct artifacts *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return -ENOMEM;
	a->dir_fd = -1;
	a->space = space;
	err = str_print(a->path, sizeof(a->path), "%s/%s", dir, lease_id);
	if (err >= 0)
		err = mkdir(a->path, 0700) && errno != EEXIST ? -errno : 0;
	if (err == 0) {
		a->dir_fd = open(a->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = a->dir_fd < 0 ? -errno : recover(a);
	}
	if (err) {
		artifacts_free(a);
		return err;
	}
	*ret = a;
	return 0;
}

struct artifacts *artifacts_free(struct artifacts *a)
{
	if (!a)
		return NULL;
	a->space->used -= a->bytes;
	if (a->dir_fd >= 0)
		close(a->dir_fd);
	free(a);
	return NULL;
}

static void remove_folder(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL)
		if (!is_dots(entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	if (rmdir(path) && errno != ENOENT)
		log_warning("%s: %s", path, strerror(errno));
}

struct artifacts *artifacts_remove(struct artifacts *a)
{
	if (a)
		remove_folder(a->path);
	return artifacts_free(a);
}

const char *artifacts_dir(const struct artifacts *a)
{
	return a->path;
}

/* Without a descriptor for the file, all of its file system is written.
 * @return its size; -errno */
static int64_t sync_all(const struct artifacts *a, const char *part)
{
	struct stat st;

	if (fstatat(a->dir_fd, part, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return syncfs(a->dir_fd) ? -errno : st.st_size;
}

/* @return its size; -errno */
static int64_t sync_file(const struct artifacts *a, const char *part)
{
	int fd = openat(a->dir_fd, part,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int64_t ret;

	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		return sync_all(a, part);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		ret = -errno;
	else if (!S_ISREG(st.st_mode))
		ret = -EINVAL;
	else
		ret = fsync(fd) ? -errno : st.st_size;
	close(fd);
	return ret;
}

/* Rename the complete file and count its size. */
static int settle(struct artifacts *a, const char *part, const char *name,
		  uint64_t bytes)
{
	/* statistics need the other half: without them a run is errored */
	if (a->count >= ARTIFACTS_MAX ||
	    a->space->used + bytes > a->space->limit / 2)
		return -EDQUOT;
	if (renameat(a->dir_fd, part, a->dir_fd, name))
		return -errno;
	account(a, bytes);
	if (fsync(a->dir_fd))
		log_warning("%s: %s", a->path, strerror(errno));
	return 0;
}

int artifacts_take(struct artifacts *a, const char *name)
{
	char part[PART_BYTES];
	int64_t bytes;
	int err;

	if (!wire_artifact_name_valid(name))
		return -EINVAL;
	str_print(part, sizeof(part), "%s" WIRE_ARTIFACT_PART, name);
	bytes = sync_file(a, part);
	if (bytes < 0)
		err = (int)bytes;
	else if (faccessat(a->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		err = -EEXIST; /* the other one may be being uploaded */
	else
		err = settle(a, part, name, (uint64_t)bytes);
	if (err)
		unlinkat(a->dir_fd, part, 0);
	return err;
}

int artifacts_next(const struct artifacts *a,
		   char name[static WIRE_ARTIFACT_NAME_BYTES])
{
	DIR *dir;
	struct dirent *entry;
	int found = 0;

	if (a->count == 0)
		return 0;
	dir = opendir(a->path);
	if (!dir)
		return -errno;
	errno = 0; /* readdir() leaves it so at the end of the folder */
	while (!found && (entry = readdir(dir)) != NULL)
		if (wire_artifact_name_valid(entry->d_name))
			found = str_copy(name, WIRE_ARTIFACT_NAME_BYTES,
					 entry->d_name) == 0;
	if (!found && errno)
		found = -errno;
	closedir(dir);
	return found;
}

void artifacts_drop(struct artifacts *a, const char *name)
{
	uint64_t bytes = size_of(a, name);

	if (unlinkat(a->dir_fd, name, 0)) {
		log_warning("%s/%s: %s", a->path, name, strerror(errno));
		return;
	}
	a->bytes -= bytes;
	a->space->used -= bytes;
	a->count--;
}

void artifacts_sweep(const char *dir,
		     bool (*wanted)(const char *lease_id, void *arg), void *arg)
{
	DIR *all = opendir(dir);
	struct dirent *entry;
	char path[PATH_MAX];

	while (all && (entry = readdir(all)) != NULL) {
		if (!spool_name_valid(entry->d_name) ||
		    wanted(entry->d_name, arg) ||
		    str_print(path, sizeof(path), "%s/%s", dir, entry->d_name) <
			    0)
			continue;
		remove_folder(path);
	}
	if (all)
		closedir(all);
}
