#include "control/server/store/artifact_files.h"

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/store/store_artifact.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int folder_path(char path[static CONF_PATH_BYTES],
		       const struct controller_conf *conf,
		       const char *session_id)
{
	char below[80];
	int err =
		str_print(below, sizeof(below), ARTIFACT_DIR "/%s", session_id);

	if (err >= 0)
		err = controller_conf_stored(path, CONF_PATH_BYTES, conf,
					     below);
	return err < 0 ? err : 0;
}

int artifact_file_path(char path[static CONF_PATH_BYTES],
		       const struct controller_conf *conf,
		       const char *session_id, const char *file)
{
	char folder[CONF_PATH_BYTES];
	int err = folder_path(folder, conf, session_id);

	if (err)
		return err;
	return str_print(path, CONF_PATH_BYTES, "%s/%s", folder, file) < 0
		       ? -ENAMETOOLONG
		       : 0;
}

static int write_in(const char *folder, const char *path, const void *data,
		    size_t len)
{
	int fd, err;

	if (mkdir(folder, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = file_write_synced(fd, data, len);
	close(fd);
	if (err == 0)
		err = file_sync_folder(folder);
	if (err)
		unlink(path);
	return err;
}

int artifact_file_write(const struct controller_conf *conf,
			const char *session_id, const char *file,
			const void *data, size_t len)
{
	char folder[CONF_PATH_BYTES], path[CONF_PATH_BYTES];
	int err = folder_path(folder, conf, session_id);

	if (err == 0)
		err = artifact_file_path(path, conf, session_id, file);
	return err ? err : write_in(folder, path, data, len);
}

void artifact_file_delete(const struct controller_conf *conf,
			  const char *session_id, const char *file)
{
	char path[CONF_PATH_BYTES];

	if (artifact_file_path(path, conf, session_id, file) == 0 &&
	    unlink(path))
		log_warning("%s: %s", path, strerror(errno));
	if (folder_path(path, conf, session_id) == 0)
		(void)rmdir(path); /* usually other files are left in it */
}

static void delete_folder(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	if (rmdir(path) && errno != ENOENT)
		log_warning("%s: %s", path, strerror(errno));
}

void artifact_files_delete(const struct controller_conf *conf,
			   const char *session_id)
{
	char path[CONF_PATH_BYTES];

	if (folder_path(path, conf, session_id) == 0)
		delete_folder(path);
}

/* ---- the directory that several controllers share ---- */

#define MARKER "offhook-files"

static int read_marker(const char *path, char id[static UUID_TEXT_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, id, UUID_TEXT_BYTES - 1);
	close(fd);
	id[n > 0 ? n : 0] = '\0';
	return uuid_valid(id) ? 0 : -EINVAL;
}

static int make_marker(const char *path, char id[static UUID_TEXT_BYTES])
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int err;

	if (fd < 0)
		return -errno;
	uuid_make(id);
	err = file_write_synced(fd, id, strlen(id));
	close(fd);
	return err ? err : file_sync_folder_of(path);
}

/* The first controller names the directory in the database, and those that come while
 * it runs must find the same name in theirs. */
static int check_marker(const struct controller_conf *conf, struct store *store,
			bool alone)
{
	char path[CONF_PATH_BYTES], id[UUID_TEXT_BYTES],
		named[UUID_TEXT_BYTES] = "";
	int err = controller_conf_stored(path, sizeof(path), conf, MARKER);

	if (err < 0)
		return err;
	err = read_marker(path, id);
	if (err && alone)
		err = make_marker(path, id);
	if (err && alone) {
		log_error("%s: %s", path, strerror(-err));
		return err;
	}
	if (alone)
		return store_artifact_name_place(store, id);
	if (err == 0)
		err = store_artifact_place(store, named);
	if (err == 0 && strcmp(id, named) == 0)
		return 0;
	log_error("%s: not the directory of the controllers that are running: "
		  "set artifact_store to the one that they share",
		  path);
	return err ? err : -EPERM;
}

int artifact_files_begin(const struct controller_conf *conf,
			 struct store *store, bool alone)
{
	char path[CONF_PATH_BYTES];
	struct dirent *entry;
	DIR *dir;
	int err =
		controller_conf_stored(path, sizeof(path), conf, ARTIFACT_DIR);

	if (err < 0)
		return err;
	if ((mkdir(path, 0700) && errno != EEXIST) || !(dir = opendir(path))) {
		err = -errno;
		log_error("%s: %s", path, strerror(errno));
		return err;
	}
	err = controller_conf_has_file(conf) ? 0
					     : check_marker(conf, store, alone);
	while (err == 0 && (entry = readdir(dir)) != NULL)
		if (uuid_valid(entry->d_name) &&
		    store_artifact_session(store, entry->d_name) == 0)
			artifact_files_delete(conf, entry->d_name);
	closedir(dir);
	return err;
}
