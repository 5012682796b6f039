#include "control/cli/code/code_files.h"

#include "base/str.h"
#include "control/cli/code/code_state.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/terminal.h"
#include "control/yaml/yaml_read.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAX   1000
#define KEY_BYTES   (CODE_NAME_BYTES + 12)
#define CONTENT_MAX (64u << 20)

struct source {
	char path[PATH_MAX];
	struct yaml_file yaml;
};

struct code_files {
	json_t *schema;
	size_t source_count, record_count;
	struct source *sources[FILES_MAX];
	struct code_record *records; /* CODE_RECORDS_MAX */
	json_t *places;              /* "KIND NAME": index of the record */
	bool have[CODE_KINDS];
	bool wrong;
};

/* ---- complaints ---- */

static void print_place(const char *file, struct yaml_place place,
			const char *reason)
{
	fprintf(stderr, "%s:%zu:%zu: ", file, place.line, place.column);
	terminal_print(stderr, reason, 0);
	fputc('\n', stderr);
}

void code_complain(const struct code_record *r, const char *pointer,
		   const char *reason)
{
	print_place(r->file, yaml_place_of(r->places, pointer), reason);
}

/* ---- files ---- */

static int read_stdin(size_t limit, char **ret, size_t *len)
{
	char *text = malloc(limit + 1);
	size_t got = text ? fread(text, 1, limit + 1, stdin) : 0;
	int err = !text ? -ENOMEM : ferror(stdin) ? -EIO : 0;

	if (!err && got > limit)
		err = -EFBIG;
	if (err) {
		free(text);
		return err;
	}
	text[got] = '\0';
	*ret = text;
	*len = got;
	return 0;
}

static int read_whole(const char *path, size_t limit, char **ret, size_t *len)
{
	FILE *file = fopen(path, "re");
	struct stat st;
	char *text = NULL;
	int err = 0;

	if (!file)
		return -errno;
	if (fstat(fileno(file), &st) || !S_ISREG(st.st_mode))
		err = -EISDIR;
	else if ((size_t)st.st_size > limit)
		err = -EFBIG;
	else if (!(text = malloc((size_t)st.st_size + 1)))
		err = -ENOMEM;
	else
		*len = fread(text, 1, (size_t)st.st_size, file);
	fclose(file);
	if (err)
		return err;
	text[*len] = '\0';
	*ret = text;
	return 0;
}

/* A path from the folder of a record's file. */
static void path_from(const struct code_record *r, const char *path,
		      char full[static PATH_MAX])
{
	const char *slash = strrchr(r->file, '/');
	int folder = slash && path[0] != '/' ? (int)(slash + 1 - r->file) : 0;

	str_print(full, PATH_MAX, "%.*s%s", folder, r->file, path);
}

int code_content(const struct code_record *r, const char *path, char **ret,
		 size_t *len)
{
	char full[PATH_MAX];

	path_from(r, path, full);
	return read_whole(full, CONTENT_MAX, ret, len);
}

int code_secret(const struct code_record *r, json_t *where,
		char secret[static CODE_SECRET_BYTES])
{
	const char *name = json_string_value(json_object_get(where, "env"));
	const char *path = json_string_value(json_object_get(where, "file"));
	const char *value = name ? getenv(name) : NULL;
	char *text = NULL;
	size_t len;
	int err = -ENOENT;

	if (path && code_content(r, path, &text, &len) == 0 && text) {
		text[strcspn(text, "\r\n")] = '\0';
		value = text;
	}
	if (value && *value && str_copy(secret, CODE_SECRET_BYTES, value) >= 0)
		err = 0;
	if (text)
		explicit_bzero(text, len);
	free(text);
	return err;
}

/* ---- records ---- */

struct document {
	struct code_files *files;
	const struct source *source;
	json_t *places;
};

static void misfit(void *arg, const char *pointer, const char *reason)
{
	const struct document *d = arg;

	d->files->wrong = true;
	print_place(d->source->path, yaml_place_of(d->places, pointer), reason);
}

static void key_of(char key[static KEY_BYTES], const struct code_record *r)
{
	char name[CODE_NAME_BYTES];

	code_name(r->kind, r->value, name);
	str_print(key, KEY_BYTES, "%d %s", (int)r->kind, name);
}

/* A record of this kind and name that was read before. */
static const struct code_record *find(const struct code_files *f,
				      const struct code_record *r)
{
	char key[KEY_BYTES];
	const json_t *place;

	key_of(key, r);
	place = json_object_get(f->places, key);
	return place ? &f->records[json_integer_value(place)] : NULL;
}

static void add(struct code_files *f, const struct code_record *r)
{
	char key[KEY_BYTES];

	key_of(key, r);
	if (json_object_set_new_nocheck(
		    f->places, key,
		    json_integer((json_int_t)f->record_count))) {
		code_complain(r, "", strerror(ENOMEM));
		f->wrong = true;
		return;
	}
	f->records[f->record_count++] = *r;
}

static void add_record(const struct document *d, const struct code_record *r)
{
	const struct code_record *first = find(d->files, r);
	char reason[CODE_REASON_BYTES];

	if (first) {
		struct yaml_place at = yaml_place_of(first->places, "");

		str_print(reason, sizeof(reason),
			  "a %s of this name stands in %s:%zu already",
			  code_kinds[r->kind].title, first->file, at.line);
		code_complain(r, "", reason);
		d->files->wrong = true;
	} else if (d->files->record_count == CODE_RECORDS_MAX) {
		if (!d->files->wrong)
			code_complain(r, "", "there are too many records");
		d->files->wrong = true;
	} else {
		add(d->files, r);
	}
}

static void add_document(struct code_files *f, const struct source *source,
			 json_t *value, json_t *places)
{
	struct document d = {f, source, places};

	if (json_is_null(value))
		return;
	code_schema_check(f->schema, value, misfit, &d);
	if (f->wrong)
		return;
	for (size_t k = 0; k < CODE_KINDS; k++) {
		const char *key = code_kinds[k].plural;
		json_t *list = json_object_get(value, key), *record;
		size_t i;

		f->have[k] |= list != NULL;
		json_array_foreach(list, i, record)
		{
			const struct code_record r = {
				.kind = (enum code_kind_index)k,
				.file = source->path,
				.value = record,
				.places = yaml_places_in(
					yaml_places_in(places, key, 0), NULL,
					i),
			};

			add_record(&d, &r);
		}
	}
}

static void wrong_file(struct code_files *f, const char *path,
		       const char *reason)
{
	fprintf(stderr, "offhook: %s: %s\n", path, reason);
	f->wrong = true;
}

static void add_file(struct code_files *f, const char *path)
{
	struct source *source = calloc(1, sizeof(*source));
	struct yaml_error error;
	char *text = NULL;
	size_t len = 0, i;
	json_t *value;
	int err;

	if (!source || f->source_count == FILES_MAX ||
	    str_copy(source->path, sizeof(source->path), path) < 0) {
		wrong_file(f, path, "there are too many files");
		free(source);
		return;
	}
	f->sources[f->source_count++] = source;
	err = strcmp(path, "-") == 0
		      ? read_stdin(YAML_BYTES_MAX, &text, &len)
		      : read_whole(path, YAML_BYTES_MAX, &text, &len);
	if (err) {
		wrong_file(f, path, strerror(-err));
		return;
	}
	err = yaml_read(text, len, &source->yaml, &error);
	free(text);
	if (err == -EINVAL) {
		print_place(path, error.place, error.reason);
		f->wrong = true;
	} else if (err) {
		wrong_file(f, path, strerror(-err));
	}
	json_array_foreach(source->yaml.documents, i, value)
	{
		add_document(f, source, value,
			     json_array_get(source->yaml.places, i));
	}
}

static int is_yaml(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot &&
	       (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static void add_path(struct code_files *f, const char *path)
{
	struct dirent **entries;
	char full[PATH_MAX];
	struct stat st;
	int count;

	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		add_file(f, path);
		return;
	}
	count = scandir(path, &entries, is_yaml, alphasort);
	if (count <= 0)
		wrong_file(f, path, "there is no .yaml file in this folder");
	for (int i = 0; i < count; i++) {
		str_print(full, sizeof(full), "%s/%s", path,
			  entries[i]->d_name);
		add_file(f, full);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

static int by_kind(const void *a, const void *b)
{
	const struct code_record *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return strcmp(json_string_value(json_object_get(x->value, "name")),
		      json_string_value(json_object_get(y->value, "name")));
}

int code_files_new(struct code_files **ret, json_t *schema,
		   const char *const *paths, size_t count)
{
	struct code_files *f = calloc(1, sizeof(*f));

	if (f) {
		f->records = calloc(CODE_RECORDS_MAX, sizeof(*f->records));
		f->places = json_object();
	}
	if (!f || !f->records || !f->places) {
		fprintf(stderr, "offhook: %s\n", strerror(ENOMEM));
		code_files_free(f);
		return CLI_EXIT_ERRORED;
	}
	f->schema = schema;
	for (size_t i = 0; i < count; i++)
		add_path(f, paths[i]);
	if (f->wrong) {
		code_files_free(f);
		return CLI_EXIT_USAGE;
	}
	qsort(f->records, f->record_count, sizeof(*f->records), by_kind);
	*ret = f;
	return 0;
}

struct code_files *code_files_free(struct code_files *f)
{
	if (f) {
		for (size_t i = 0; i < f->source_count; i++) {
			yaml_file_release(&f->sources[i]->yaml);
			free(f->sources[i]);
		}
		free(f->records);
		json_decref(f->places);
		free(f);
	}
	return NULL;
}

const struct code_record *code_files_records(const struct code_files *f,
					     size_t *count)
{
	*count = f->record_count;
	return f->records;
}

bool code_files_have(const struct code_files *f, enum code_kind_index kind)
{
	return f->have[kind];
}
