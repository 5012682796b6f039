#include "control/server/api/appimages.h"

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/api/file_content.h"
#include "control/server/api/file_reply.h"
#include "control/server/api/references.h"
#include "control/server/api/resource_type.h"
#include "control/server/request/upload.h"
#include "control/server/store/store.h"
#include "control/server/store/store_appimage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILENAME_MAX_BYTES   (FILE_NAME_BYTES - 1)
#define MEDIA_TYPE_MAX_BYTES 127

static const struct column columns[] = {
	{"id", "id", NULL, COLUMN_INT},
	{"name", "name", "name", COLUMN_TEXT},
	{"version", "version", "version", COLUMN_TEXT},
	{"kind", "kind", "kind", COLUMN_TEXT},
	{"filename", "filename", "filename", COLUMN_TEXT},
	{"media_type", "media_type", "media_type", COLUMN_TEXT},
	{"size", "size", "size", COLUMN_INT},
	{"sha256", "sha256", "sha256", COLUMN_TEXT},
	{"created_at", "created_at", "created_at", COLUMN_TIME},
	{"updated_at", "updated_at", "updated_at", COLUMN_TIME},
};

static const struct table table = {
	.name = "appimage",
	.from = "appimage",
	.id = "id",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(*columns),
};

/* The name is sent in a header field. */
static void check_media_type(struct request *req, json_t *value,
			     const char *pointer, struct reply *rep)
{
	const char *text = json_string_value(value);
	const char *slash = text ? strchr(text, '/') : NULL;

	(void)req;
	if (!text)
		return;
	for (const char *c = text; *c; c++) {
		if (*c < ' ' || *c > '~')
			slash = NULL;
	}
	if (!slash || slash == text || slash[1] == '\0')
		field_error(rep, pointer, "is no media type");
}

#define METADATA_FIELDS                                                        \
	{.name = "name",                                                       \
	 .kind = FIELD_TEXT,                                                   \
	 .required = true,                                                     \
	 .min = 1,                                                             \
	 .max = 200},                                                          \
		{.name = "version",                                            \
		 .kind = FIELD_TEXT,                                           \
		 .max = 100,                                                   \
		 .fallback = "\"\""},                                          \
	{                                                                      \
		.name = "kind", .kind = FIELD_CHOICE,                          \
		.choices = "application prompt", .fallback = "\"application\"" \
	}

/* Members that a PUT changes; the file stays. */
static const struct field fields[] = {METADATA_FIELDS};

static const struct field create_fields[] = {
	METADATA_FIELDS,
	{.name = "filename",
	 .kind = FIELD_TEXT,
	 .min = 1,
	 .max = FILENAME_MAX_BYTES},
	{.name = "media_type",
	 .kind = FIELD_TEXT,
	 .min = 1,
	 .max = MEDIA_TYPE_MAX_BYTES,
	 .check = check_media_type},
	{.name = "content", .kind = FIELD_TEXT, .max = INT32_MAX},
};

/* The parts of a new appimage. */
struct source {
	struct file_content file;
	char path[CONF_PATH_BYTES];
};

static int file_path(const struct request *req, char path[CONF_PATH_BYTES],
		     const char *name)
{
	char below[64];
	int err = str_print(below, sizeof(below), APPIMAGE_DIR "/%s", name);

	if (err >= 0)
		err = controller_conf_stored(path, CONF_PATH_BYTES,
					     request_conf(req), below);
	return err < 0 ? err : 0;
}

static int id_path(const struct request *req, char path[CONF_PATH_BYTES],
		   int64_t id)
{
	char name[24];

	str_print(name, sizeof(name), "%" PRId64, id);
	return file_path(req, path, name);
}

/* Old browsers send the whole path (RFC 7578 section 4.2): keep what is behind
 * the last slash or backslash. */
static void strip_path(json_t *values)
{
	const char *path =
		json_string_value(json_object_get(values, "filename"));
	const char *name = path ? path : "";

	for (const char *c = name; *c; c++)
		if (*c == '/' || *c == '\\')
			name = c + 1;
	if (!name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		name = "file";
	/* copied first: the name is part of the replaced text */
	json_object_set_new(values, "filename", json_string(name));
}

/* Find the content, its file name and media type. */
static void read_source(struct request *req, struct source *s, json_t *values,
			struct reply *rep)
{
	const struct upload *u = request_upload(req);
	json_t *type;

	if (!file_content_read(req, json_object_get(values, "content"),
			       &s->file, rep))
		return;
	if (u) {
		if (json_is_null(json_object_get(values, "filename")))
			json_object_set_new(values, "filename",
					    json_string(u->filename));
		if (json_is_null(json_object_get(values, "media_type")) &&
		    u->media_type[0]) {
			type = json_string(u->media_type);
			check_media_type(req, type, "/media_type", rep);
			json_object_set_new(values, "media_type", type);
		}
	}
	strip_path(values);
	if (json_is_null(json_object_get(values, "media_type")))
		json_object_set_new(values, "media_type",
				    json_string("application/octet-stream"));
	json_object_del(values, "content");
	if (reply_status(rep) == 0 && s->file.len == 0 &&
	    strcmp(json_string_value(json_object_get(values, "kind")),
		   "prompt") == 0)
		field_error(rep, "/content",
			    "is empty: a prompt is an audio file");
}

/* Write the content to a file of a random name. */
static int keep(struct request *req, struct source *s)
{
	char name[UUID_TEXT_BYTES + 4] = "new-";
	int fd, err;

	uuid_make(name + 4);
	err = file_path(req, s->path, name);
	if (err)
		return err;
	fd = open(s->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = file_write_synced(fd, s->file.data, s->file.len);
	close(fd);
	if (err)
		unlink(s->path);
	return err;
}

/* Runs in the transaction of the row: without a file there is no row. */
static int take_place(struct store *s, struct db *db, int64_t id,
		      json_t *values)
{
	const char *path = json_string_value(json_object_get(values, "path"));
	char place[CONF_PATH_BYTES];

	(void)s;
	(void)db;
	if (str_print(place, sizeof(place), "%.*s%" PRId64,
		      (int)(strrchr(path, '/') + 1 - path), path, id) < 0)
		return -EIO;
	return rename(path, place) ? -EIO : 0;
}

static void describe(const struct source *s, json_t *values)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char hex[2 * sizeof(hash) + 1];
	int64_t now = store_now_ms();

	crypto_hash_sha256(hash, s->file.data, s->file.len);
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	json_object_set_new(values, "sha256", json_string(hex));
	json_object_set_new(values, "size",
			    json_integer((json_int_t)s->file.len));
	json_object_set_new(values, "created_at", json_integer(now));
	json_object_set_new(values, "updated_at", json_integer(now));
	json_object_set_new(values, "path", json_string(s->path));
}

static void insert(struct request *req, struct reply *rep, struct source *s,
		   json_t *values)
{
	int64_t id;
	int err;

	err = keep(req, s);
	if (err) {
		log_error("an appimage was not kept: %s", strerror(-err));
		reply_file_error(rep, err);
		return;
	}
	describe(s, values);
	err = record_insert(request_store(req), &table, values, take_place,
			    &id);
	if (err) {
		unlink(s->path);
		reply_store_error(rep, err, "appimage");
		return;
	}
	resource_reply(req, rep, &appimage_resource, id, 201, NULL);
}

void appimage_create(struct request *req, struct reply *rep)
{
	struct source s = {.path = ""};
	json_t *values = fields_read(
		req, request_body(req), request_body_is_form(req), "",
		create_fields, sizeof(create_fields) / sizeof(*create_fields),
		rep);

	if (!values)
		return;
	read_source(req, &s, values, rep);
	if (reply_status(rep) == 0)
		insert(req, rep, &s, values);
	file_content_release(&s.file);
	json_decref(values);
}

static void send_file(struct request *req, struct reply *rep, int64_t id,
		      json_t *row)
{
	char path[CONF_PATH_BYTES];
	int err = id_path(req, path, id);

	if (err == 0)
		err = reply_file(
			rep, path,
			json_string_value(json_object_get(row, "filename")),
			json_string_value(json_object_get(row, "sha256")),
			"application/octet-stream");
	if (err == 0)
		return;
	log_error("appimage %lld: %s", (long long)id, strerror(-err));
	reply_problem(rep, 500, "the file of the appimage is lost");
}

/* @param err  of finding the id; 0: it is known */
static void reply_content(struct request *req, struct reply *rep, int64_t id,
			  int err)
{
	json_t *row = NULL;

	if (err == 0)
		err = record_get(request_store(req), &table, id, &row);
	if (err)
		reply_store_error(rep, err, "appimage");
	else
		send_file(req, rep, id, row);
	json_decref(row);
}

void appimage_content(struct request *req, struct reply *rep)
{
	int64_t id = 0;
	int err = param_id(req, 0, &id) ? 0 : -ENOENT;

	reply_content(req, rep, id, err);
}

void agent_appimage(struct request *req, struct reply *rep)
{
	int64_t id = 0;
	int err = store_appimage_of_agent(request_store(req),
					  request_agent_id(req),
					  request_param(req, 0), &id);

	reply_content(req, rep, id, err);
}

/* Actions name a prompt. */
static bool may_delete(struct request *req, int64_t id, struct reply *rep)
{
	json_t *row;
	bool may = true;
	int err = record_get(request_store(req), &table, id, &row);

	if (err) {
		reply_store_error(rep, err, "appimage");
		return false;
	}
	if (strcmp(json_string_value(json_object_get(row, "kind")), "prompt") ==
	    0)
		may = reference_check_upload(
			req, json_string_value(json_object_get(row, "name")),
			rep);
	json_decref(row);
	return may;
}

void appimage_delete(struct request *req, struct reply *rep)
{
	char path[CONF_PATH_BYTES];
	int64_t id;

	resource_delete(req, rep);
	if (reply_status(rep) == 204 && param_id(req, 0, &id) &&
	    id_path(req, path, id) == 0 && unlink(path))
		log_warning("%s: %s", path, strerror(errno));
}

const struct resource appimage_resource = {
	.path = "/appimages",
	.plural = "appimages",
	.singular = "appimage",
	.table = &table,
	.fields = fields,
	.field_count = sizeof(fields) / sizeof(*fields),
	.updated_at = true,
	.may_delete = may_delete,
};
