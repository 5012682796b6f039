#include "control/server/backup/command.h"

#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/backup/contents.h"
#include "control/server/backup/snapshot.h"
#include "control/server/store/store_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct check {
	const struct controller_conf *conf;
	const char *what; /* path, for the messages */
	struct contents contents;
	size_t findings;
	size_t stray; /* files that no row names */
	int64_t stray_bytes;
};

static int print_finding(const char *text, void *arg)
{
	struct check *c = arg;

	printf("%s: %s\n", c->what, text);
	c->findings++;
	return 0;
}

/* ---- the database ---- */

static int check_database(struct check *c, const char *database)
{
	struct database_schema schema;
	int err = database_schema(database, &schema);

	if (err)
		return err;
	printf("%s: schema %d\n", c->what, schema.number);
	if (schema.refused)
		print_finding(schema.refused, c);
	return database_check(database, print_finding, c);
}

/* ---- the files of a controller ---- */

/* Hash a file and list it. One that cannot be read is left out, so that it is reported as
 * missing. */
static int add_if_there(struct check *c, const char *name)
{
	char path[CONF_PATH_BYTES], hash[ARCHIVE_HASH_BYTES];
	int64_t size;
	int fd, err = conf_path(path, sizeof(path), c->conf->state_dir, name);

	if (err < 0)
		return err;
	if (snapshot_interrupted(NULL))
		return -ECANCELED;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		if (errno != ENOENT)
			log_warning("%s: %s", path, strerror(errno));
		return 0;
	}
	err = archive_hash_file(fd, hash, &size);
	close(fd);
	if (err) {
		log_warning("%s: %s", path, strerror(-err));
		return 0;
	}
	return file_list_add(name, size, hash, &c->contents.files);
}

static int row_file(const char *name, int64_t size, const char *sha256,
		    void *arg)
{
	(void)size;
	(void)sha256;
	return add_if_there(arg, name);
}

/* Count the files of a folder, relative to state_dir, that no row names. */
static void count_stray(struct check *c, const char *folder, bool has_folders)
{
	char path[CONF_PATH_BYTES], name[CONF_PATH_BYTES];
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (conf_path(path, sizeof(path), c->conf->state_dir, folder) < 0)
		return;
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' ||
		    str_print(name, sizeof(name), "%s/%s", folder,
			      entry->d_name) < 0)
			continue;
		if (has_folders) {
			count_stray(c, name, false);
		} else if (!file_list_find(&c->contents.files, name) &&
			   fstatat(dirfd(dir), entry->d_name, &st, 0) == 0) {
			c->stray++;
			c->stray_bytes += st.st_size;
		}
	}
	if (dir)
		closedir(dir);
}

static int ignore_finding(const char *text, void *arg)
{
	(void)text;
	++*(size_t *)arg;
	return 0;
}

/* While a controller runs, a file may be deleted between the snapshot and the look at the
 * file. A second snapshot then no longer has its row, so only files that are really missing
 * are reported. */
static int check_again(struct check *c, struct snapshot *snapshot)
{
	int err;

	snapshot_release(snapshot);
	err = snapshot_take(snapshot, c->conf);
	if (err) {
		snapshot->fd = -1;
		return err;
	}
	file_list_release(&c->contents.files);
	err = database_files(snapshot->path, row_file, c);
	file_list_sort(&c->contents.files);
	return err;
}

static int check_files(struct check *c, struct snapshot *snapshot)
{
	size_t findings = 0;
	int err = database_files(snapshot->path, row_file, c);

	file_list_sort(&c->contents.files);
	if (err == 0)
		err = contents_compare(&c->contents, snapshot->path,
				       ignore_finding, &findings);
	if (err == 0 && findings > 0 && snapshot->live)
		err = check_again(c, snapshot);
	if (err == 0)
		err = contents_compare(&c->contents, snapshot->path,
				       print_finding, c);
	if (err)
		return err;
	count_stray(c, "artifacts", true);
	count_stray(c, "appimages", false);
	return 0;
}

static int check_controller(struct check *c)
{
	struct snapshot snapshot;
	int err = snapshot_take(&snapshot, c->conf);

	if (err)
		return err;
	err = check_database(c, snapshot.path);
	if (err == 0)
		err = check_files(c, &snapshot);
	if (snapshot.fd >= 0)
		snapshot_release(&snapshot);
	return err;
}

/* ---- a backup ---- */

static int open_database(const char *name, int *ret_fd, void *arg)
{
	char *path = arg;

	if (strcmp(name, CONTENTS_DATABASE) != 0)
		return 0;
	*ret_fd = mkostemp(path, O_CLOEXEC);
	if (*ret_fd >= 0)
		return 0;
	log_error("%s: %s", path, strerror(errno));
	return -errno;
}

static int check_backup(struct check *c)
{
	const char *folder = getenv("TMPDIR");
	char database[CONF_PATH_BYTES];
	int err;

	if (str_print(database, sizeof(database), "%s/offhook-check-XXXXXX",
		      folder && folder[0] ? folder : "/tmp") < 0)
		return -ENAMETOOLONG;
	err = contents_read(c->what, open_database, database, &c->contents);
	if (err == 0)
		err = check_database(c, database);
	if (err == 0)
		err = contents_compare(&c->contents, database, print_finding,
				       c);
	unlink(database);
	return err;
}

int check_command(const struct controller_conf *conf,
		  const struct backup_options *o)
{
	struct check c = {.conf = conf,
			  .what = o->file ? o->file : conf->state_dir};
	int err = o->file ? 0 : snapshot_supported(conf, "check");

	if (err)
		return err;
	err = o->file ? check_backup(&c) : check_controller(&c);
	if (err) {
		log_error("%s: the check did not end: %s", c.what,
			  strerror(-err));
	} else {
		printf("%s: %zu files, %zu errors\n", c.what,
		       c.contents.files.count, c.findings);
		if (c.stray > 0)
			printf("%s: %zu files (%" PRId64 " bytes) belong to "
			       "no record; they do no harm\n",
			       c.what, c.stray, c.stray_bytes);
	}
	contents_release(&c.contents);
	return err ? err : c.findings > 0 ? -EBADMSG : 0;
}
