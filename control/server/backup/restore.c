#include "control/server/backup/command.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/backup/contents.h"
#include "control/server/backup/snapshot.h"
#include "control/server/store/store_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What is restored. The order is that of the last step: the database comes last,
 * so that it never names files that are not there yet. */
enum part {
	PART_ARTIFACTS,
	PART_APPIMAGES,
	PART_KEY,
	PART_DATABASE,
	PARTS
};

static const char *const folder_names[] = {
	[PART_ARTIFACTS] = "artifacts", [PART_APPIMAGES] = "appimages"};

/* Renames of the last step: what was there, with the side files of the database,
 * and what is new. */
#define MOVES_MAX (2 * PARTS + 2)

struct move {
	char from[CONF_PATH_BYTES];
	char to[CONF_PATH_BYTES];
};

struct restore {
	const struct controller_conf *conf;
	const struct backup_options *o;
	char place[PARTS][CONF_PATH_BYTES];
	char fresh[PARTS][CONF_PATH_BYTES]; /* until the last step */
	struct contents contents;
	struct move moves[MOVES_MAX];
	size_t move_count;
	size_t findings;
};

static int find_places(struct restore *r)
{
	const char *names[PARTS] = {
		[PART_ARTIFACTS] = folder_names[PART_ARTIFACTS],
		[PART_APPIMAGES] = folder_names[PART_APPIMAGES],
		[PART_KEY] = r->conf->key_file,
		[PART_DATABASE] = r->conf->database,
	};

	for (size_t i = 0; i < PARTS; i++)
		if (conf_path(r->place[i], CONF_PATH_BYTES, r->conf->state_dir,
			      names[i]) < 0 ||
		    str_print(r->fresh[i], CONF_PATH_BYTES, "%s.restored",
			      r->place[i]) < 0)
			return -ENAMETOOLONG;
	return 0;
}

/* ---- what is there ---- */

/* Whether the path exists and is not an empty folder. */
static bool filled(const char *path)
{
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	if (access(path, F_OK))
		return false;
	dir = opendir(path);
	if (!dir)
		return true;
	while ((entry = readdir(dir)) != NULL)
		found |= strcmp(entry->d_name, ".") &&
			 strcmp(entry->d_name, "..");
	closedir(dir);
	return found;
}

static int check_empty(const struct restore *r)
{
	if (r->o->force)
		return 0;
	for (size_t i = 0; i < PARTS; i++) {
		if (i == PART_KEY || !filled(r->place[i]))
			continue;
		log_error("%s exists: restore to an empty state_dir, or with "
			  "--force, which keeps what is there as "
			  "NAME.replaced-TIME",
			  r->place[i]);
		return -EEXIST;
	}
	return 0;
}

/* Files of another user could not be opened by the controller. */
static int check_user(const struct restore *r)
{
	struct stat st;

	if (mkdir(r->conf->state_dir, 0700) && errno != EEXIST) {
		log_error("state_dir %s: %s", r->conf->state_dir,
			  strerror(errno));
		return -errno;
	}
	if (stat(r->conf->state_dir, &st) == 0 && st.st_uid == geteuid())
		return 0;
	log_error("state_dir %s belongs to another user: run this as that "
		  "user (runuser -u USER -- offhook-controller restore ...)",
		  r->conf->state_dir);
	return -EPERM;
}

/* The secrets of the backup can be used with its own master key only. */
static int check_key(const struct restore *r)
{
	const char *key_file = r->place[PART_KEY];
	char check[SECRETS_CHECK_BYTES];
	struct secrets *secrets;
	int err;

	if (access(key_file, F_OK)) {
		if (r->contents.has_key || r->o->without_key)
			return 0;
		log_error("the master key is missing, and the backup does not "
			  "hold it: put the key of the controller that was "
			  "backed up at %s first. If it is lost, "
			  "--without-key restores the rest; API keys, users' "
			  "sessions, agents and SIP passwords must be made "
			  "anew then",
			  key_file);
		return -ENOKEY;
	}
	err = secrets_load(&secrets, key_file);
	if (err)
		return err;
	secrets_check(secrets, check);
	secrets_free(secrets);
	if (!r->contents.key_check[0] || r->o->without_key ||
	    strcmp(check, r->contents.key_check) == 0)
		return 0;
	log_error("%s is not the master key of the controller that was backed "
		  "up: put that one in its place, or restore with "
		  "--without-key; API keys, users' sessions, agents and SIP "
		  "passwords must be made anew then",
		  key_file);
	return -EKEYREJECTED;
}

/* ---- reading the backup, beside what is there ---- */

static int part_of(const char *name)
{
	if (strcmp(name, CONTENTS_DATABASE) == 0)
		return PART_DATABASE;
	if (strcmp(name, CONTENTS_KEY) == 0)
		return PART_KEY;
	return strncmp(name, "artifacts/", 10) == 0 ? PART_ARTIFACTS
						    : PART_APPIMAGES;
}

static int make_folder_of(char *path)
{
	char *slash = strrchr(path, '/');
	int err = 0;

	*slash = '\0';
	if (mkdir(path, 0700) && errno != EEXIST)
		err = -errno;
	*slash = '/';
	return err;
}

static int open_fresh(const char *name, int *ret_fd, void *arg)
{
	const struct restore *r = arg;
	const int part = part_of(name);
	char path[CONF_PATH_BYTES];
	int err;

	if (part == PART_DATABASE || part == PART_KEY)
		err = str_copy(path, sizeof(path), r->fresh[part]);
	else
		err = str_print(path, sizeof(path), "%s/%s", r->fresh[part],
				strchr(name, '/') + 1);
	if (err < 0)
		return err;
	if (part == PART_ARTIFACTS)
		err = make_folder_of(path);
	if (err < 0)
		return err;
	*ret_fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (*ret_fd >= 0)
		return 0;
	err = -errno;
	log_error("%s: %s", path, strerror(errno));
	return err;
}

/* Delete a file, or a folder of at most two levels. */
static void delete_tree(const char *path)
{
	struct dirent *entry;
	DIR *dir;

	if (unlink(path) == 0 || errno == ENOENT)
		return;
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) != NULL) {
		char below[2 * CONF_PATH_BYTES];

		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (unlink(below) && errno == EISDIR)
			delete_tree(below);
	}
	if (dir)
		closedir(dir);
	(void)rmdir(path);
}

static void delete_fresh(const struct restore *r)
{
	for (size_t i = 0; i < PARTS; i++)
		delete_tree(r->fresh[i]);
}

static int schema_finding(const char *text, void *arg)
{
	(void)arg;
	log_error("the database of the backup: %s", text);
	return -EBADMSG;
}

/* It is in the backup as it was: nothing that a restore could put right. */
static int file_finding(const char *text, void *arg)
{
	struct restore *r = arg;

	log_warning("%s", text);
	r->findings++;
	return 0;
}

static int check_fresh(struct restore *r)
{
	const char *database = r->fresh[PART_DATABASE];
	struct database_schema schema;
	int err = database_schema(database, &schema);

	if (err == 0 && schema.refused) {
		log_error("the database of the backup has schema %d: %s",
			  schema.number, schema.refused);
		err = -EPROTO;
	}
	if (err == 0)
		err = database_check(database, schema_finding, NULL);
	if (err == 0)
		err = contents_compare(&r->contents, database, file_finding, r);
	return err;
}

static int sync_all(const struct restore *r)
{
	int err = 0;

	/* the database may be on another file system than the rest */
	for (int part = PART_ARTIFACTS; part <= PART_DATABASE && err == 0;
	     part++) {
		int fd = open(r->fresh[part], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue; /* a backup without the key */
		err = syncfs(fd) ? -errno : 0;
		close(fd);
	}
	return err;
}

static int read_fresh(struct restore *r)
{
	int err = 0;

	delete_fresh(r); /* left by a crash */
	for (int part = PART_ARTIFACTS; part <= PART_APPIMAGES; part++)
		if (mkdir(r->fresh[part], 0700) && err == 0)
			err = -errno;
	if (err) {
		log_error("%s: %s", r->fresh[PART_ARTIFACTS], strerror(-err));
		return err;
	}
	err = contents_read(r->o->file, open_fresh, r, &r->contents);
	if (err == 0)
		err = check_key(r);
	if (err == 0)
		err = check_fresh(r);
	return err ? err : sync_all(r);
}

/* ---- the last step ---- */

static int plan_move(struct restore *r, const char *from, const char *to)
{
	struct move *m = &r->moves[r->move_count++];

	return str_copy(m->from, sizeof(m->from), from) ||
			       str_copy(m->to, sizeof(m->to), to)
		       ? -ENAMETOOLONG
		       : 0;
}

/* Keep what is there under another name, and forget empty folders. */
static int plan_old(struct restore *r, const char *when)
{
	static const char *const sides[] = {"-wal", "-shm"};
	char to[CONF_PATH_BYTES], from[CONF_PATH_BYTES];
	int err = 0;

	for (size_t i = 0; i < PARTS && err >= 0; i++) {
		if (i == PART_KEY)
			continue;
		if (!filled(r->place[i])) {
			(void)rmdir(r->place[i]);
			continue;
		}
		err = str_print(to, sizeof(to), "%s.replaced-%s", r->place[i],
				when);
		if (err >= 0)
			err = plan_move(r, r->place[i], to);
	}
	for (size_t i = 0; i < 2 && err >= 0; i++) {
		/* found by the name of their database */
		err = str_print(from, sizeof(from), "%s%s",
				r->place[PART_DATABASE], sides[i]);
		if (err < 0 || access(from, F_OK))
			continue;
		err = str_print(to, sizeof(to), "%s.replaced-%s%s",
				r->place[PART_DATABASE], when, sides[i]);
		if (err >= 0)
			err = plan_move(r, from, to);
	}
	return err < 0 ? err : 0;
}

static int plan_new(struct restore *r)
{
	int err = 0;

	for (size_t i = 0; i < PARTS && err == 0; i++) {
		/* a key that is there is the same one */
		if (i == PART_KEY &&
		    (!r->contents.has_key || access(r->place[i], F_OK) == 0))
			continue;
		err = plan_move(r, r->fresh[i], r->place[i]);
	}
	return err;
}

static int move_all(const struct restore *r)
{
	for (size_t i = 0; i < r->move_count; i++) {
		const struct move *m = &r->moves[i];
		int err;

		if (rename(m->from, m->to) == 0)
			continue;
		err = -errno;
		log_error("%s: %s", m->to, strerror(errno));
		while (i-- > 0)
			(void)rename(r->moves[i].to, r->moves[i].from);
		return err;
	}
	return file_sync_folder_of(r->place[PART_DATABASE]);
}

static int put_in_place(struct restore *r)
{
	const time_t now = (time_t)(clock_wall_ns() / NS_PER_S);
	char when[32];
	struct tm tm;
	int err;

	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	err = plan_old(r, when);
	if (err == 0)
		err = plan_new(r);
	return err ? err : move_all(r);
}

static void tell(const struct restore *r)
{
	printf("restored the backup of %s UTC: schema %d, %zu files\n",
	       r->contents.created_at, r->contents.schema,
	       r->contents.files.count);
	if (r->findings > 0)
		printf("%zu files were missing in it already: see the "
		       "warnings\n",
		       r->findings);
	for (size_t i = 0; i < r->move_count; i++)
		if (strstr(r->moves[i].to, ".replaced-"))
			printf("what was there is kept as %s\n",
			       r->moves[i].to);
}

static int restore_locked(struct restore *r)
{
	int lock, err = database_lock(&lock, r->place[PART_DATABASE]);

	if (err == -EBUSY) {
		log_error("a controller is using %s: stop it first",
			  r->place[PART_DATABASE]);
		return err;
	}
	if (err) {
		log_error("%s.lock: %s", r->place[PART_DATABASE],
			  strerror(-err));
		return err;
	}
	err = check_empty(r);
	if (err == 0) {
		err = read_fresh(r);
		if (err == 0)
			err = put_in_place(r);
		delete_fresh(r);
	}
	contents_release(&r->contents);
	close(lock);
	return err;
}

int restore_command(const struct controller_conf *conf,
		    const struct backup_options *o)
{
	struct restore r = {.conf = conf, .o = o};
	int err = snapshot_supported(conf, "restore");

	if (err == 0)
		err = find_places(&r);
	if (err == 0)
		err = check_user(&r);
	if (err == 0)
		err = restore_locked(&r);
	if (err)
		log_error("nothing was restored; the data is as it was");
	else
		tell(&r);
	return err;
}
