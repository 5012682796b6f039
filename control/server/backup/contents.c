#include "control/server/backup/contents.h"

#include "base/log.h"
#include "base/str.h"
#include "control/server/backup/snapshot.h"
#include "control/server/store/store_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WHY_BYTES  256
#define LINE_BYTES 256

struct reading {
	const char *file;
	contents_open_h *open_h;
	void *arg;
	struct contents *c;
	bool has_about;
};

static bool digits_only(const char *text)
{
	return text[0] && text[strspn(text, "0123456789")] == '\0';
}

/* Nothing but these is written: a name can lead nowhere else. */
static bool name_known(const char *name)
{
	char folder[UUID_TEXT_BYTES];

	if (strcmp(name, CONTENTS_DATABASE) == 0 ||
	    strcmp(name, CONTENTS_KEY) == 0)
		return true;
	if (strncmp(name, "appimages/", 10) == 0)
		return digits_only(name + 10);
	if (strncmp(name, "artifacts/", 10) != 0 ||
	    strlen(name) != 10 + 2 * (UUID_TEXT_BYTES - 1) + 1 ||
	    name[10 + UUID_TEXT_BYTES - 1] != '/')
		return false;
	memcpy(folder, name + 10, UUID_TEXT_BYTES - 1);
	folder[UUID_TEXT_BYTES - 1] = '\0';
	return uuid_valid(folder) && uuid_valid(name + 10 + UUID_TEXT_BYTES);
}

static int begin_member(const struct archive_member *m, int *ret_fd, void *arg)
{
	struct reading *g = arg;

	if (!g->has_about) {
		/* it is the first one, and says whether the rest can be read */
		if (strcmp(m->name, CONTENTS_ABOUT) != 0) {
			log_error("%s: it is no backup of this program: it "
				  "does not begin with " CONTENTS_ABOUT,
				  g->file);
			return -EBADMSG;
		}
		*ret_fd = memfd_create(CONTENTS_ABOUT, MFD_CLOEXEC);
		return *ret_fd < 0 ? -errno : 0;
	}
	if (!name_known(m->name)) {
		log_error("%s: it is no backup of this program: it has a file "
			  "%s",
			  g->file, m->name);
		return -EBADMSG;
	}
	return g->open_h(m->name, ret_fd, g->arg);
}

static int read_about(struct reading *g, int fd)
{
	const char *created_at = NULL, *key_check = NULL;
	int format = 0, err = -EBADMSG;
	json_error_t error;
	json_t *about;

	if (lseek(fd, 0, SEEK_SET))
		return -errno;
	about = json_loadfd(fd, 0, &error);
	if (about &&
	    json_unpack(about, "{s:i, s:i, s:s, s:s}", "format", &format,
			"schema", &g->c->schema, "created_at", &created_at,
			"key_check", &key_check) == 0 &&
	    str_copy(g->c->created_at, sizeof(g->c->created_at), created_at) ==
		    0 &&
	    str_copy(g->c->key_check, sizeof(g->c->key_check), key_check) == 0)
		err = 0;
	json_decref(about);
	if (format > CONTENTS_FORMAT) {
		log_error("%s: a later version of this program made it: use "
			  "that one",
			  g->file);
		return -EPROTO;
	}
	if (err)
		log_error("%s: " CONTENTS_ABOUT " in it cannot be read",
			  g->file);
	g->has_about = err == 0;
	return err;
}

static int end_member(const struct archive_member *m, int fd, void *arg)
{
	struct reading *g = arg;
	int err = 0;

	if (!g->has_about)
		err = read_about(g, fd);
	else if (strcmp(m->name, CONTENTS_DATABASE) == 0)
		g->c->has_database = true;
	else if (strcmp(m->name, CONTENTS_KEY) == 0)
		g->c->has_key = true;
	else
		err = file_list_add(m->name, m->size, m->hash, &g->c->files);
	if (fd >= 0 && close(fd) && err == 0)
		err = -errno;
	return err;
}

static int read_all(struct reading *g, int fd)
{
	const struct archive_reader r = {
		.begin = begin_member,
		.end = end_member,
		.stop_h = snapshot_interrupted,
		.arg = g,
	};
	char why[WHY_BYTES] = "";
	int err = archive_read(fd, &r, why, sizeof(why));

	if (why[0])
		log_error("%s is damaged: %s; use another backup", g->file,
			  why);
	else if (err == -ECANCELED)
		log_error("%s: interrupted", g->file);
	else if (err && err != -EBADMSG && err != -EPROTO)
		log_error("%s: %s", g->file, strerror(-err));
	if (err == 0 && !g->c->has_database) {
		log_error("%s: it is no backup: it has no " CONTENTS_DATABASE,
			  g->file);
		err = -EBADMSG;
	}
	return err;
}

int contents_read(const char *file, contents_open_h *open_h, void *arg,
		  struct contents *ret)
{
	struct reading g = {
		.file = file, .open_h = open_h, .arg = arg, .c = ret};
	int fd, err;

	memset(ret, 0, sizeof(*ret));
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		log_error("%s: %s", file, strerror(errno));
		return err;
	}
	err = read_all(&g, fd);
	close(fd);
	file_list_sort(&ret->files);
	return err;
}

void contents_release(struct contents *c)
{
	file_list_release(&c->files);
}

struct comparing {
	const struct file_list *files;
	int (*finding_h)(const char *text, void *arg);
	void *arg;
};

static int compare_row(const char *name, int64_t size, const char *sha256,
		       void *arg)
{
	const struct comparing *g = arg;
	const struct kept_file *f = file_list_find(g->files, name);
	char line[LINE_BYTES];

	if (f && f->size == size && strcmp(f->hash, sha256) == 0)
		return 0;
	str_join(line, sizeof(line), "file ", name,
		 f ? ": its content is not the one that was uploaded"
		   : ": it is missing",
		 NULL);
	return g->finding_h(line, g->arg);
}

int contents_compare(const struct contents *c, const char *database,
		     int (*finding_h)(const char *text, void *arg), void *arg)
{
	struct comparing g = {&c->files, finding_h, arg};

	return database_files(database, compare_row, &g);
}
