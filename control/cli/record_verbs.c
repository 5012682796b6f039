#include "control/cli/record_command.h"

#include "base/str.h"
#include "control/cli/remote.h"
#include "control/wire/artifact.h"
#include "control/wire/json.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES  300
#define FILE_MAX    (1u << 20)
#define POLL_S      1
#define EXIT_FAILED 1

/* ---- fields ---- */

/* @param line  true: read the first line only, without its end */
static json_t *read_file(const char *path, bool line)
{
	FILE *file = fopen(path, "re");
	char *text = malloc(FILE_MAX + 1);
	json_t *value = NULL;
	size_t len;

	if (file && text) {
		len = fread(text, 1, FILE_MAX + 1, file);
		if (line && len <= FILE_MAX) {
			text[len] = '\0';
			len = strcspn(text, "\r\n");
		}
		if (!ferror(file) && len <= FILE_MAX)
			value = json_stringn(text, len);
	}
	if (file)
		fclose(file);
	free(text);
	return value;
}

/* True for "password" and "caller.password": of their file only the first line
 * is read, without its end. */
static bool of_password(const char *field)
{
	const char *dot = strrchr(field, '.');

	return strcmp(dot ? dot + 1 : field, "password") == 0;
}

/* @return 0; else the exit status */
static int add_fields(const struct record_command *c, json_t *fields)
{
	for (int i = 0; i < c->field_count; i++) {
		const char *equals = strchr(c->fields[i], '=');
		char name[100];
		json_t *value;

		if (!equals || equals == c->fields[i] ||
		    equals - c->fields[i] >= (int)sizeof(name))
			return record_usage("%s is not NAME=VALUE",
					    c->fields[i]);
		str_print(name, sizeof(name), "%.*s",
			  (int)(equals - c->fields[i]), c->fields[i]);
		value = equals[1] == '@'
				? read_file(equals + 2, of_password(name))
				: json_string(equals + 1);
		if (!value || json_object_set_new(fields, name, value))
			return record_usage("%s: it cannot be read, is larger "
					    "than 1 MiB, or is not UTF-8 text",
					    name);
	}
	return 0;
}

/* ---- verbs ---- */

static int call(struct record_command *c, const char *method, const char *path,
		json_t *fields, const char *if_match, struct remote_answer *ret)
{
	char reason[REMOTE_REASON_BYTES];
	if (remote_call(c->remote, method, path, fields, if_match, ret,
			reason)) {
		fprintf(stderr, "offhook: %s\n", reason);
		return EXIT_FAILED;
	}
	return 0;
}

static void print_json(const json_t *value)
{
	json_dumpf(value, stdout,
		   JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_DECIMAL);
	putchar('\n');
}

static void print_one(const struct record_command *c,
		      const struct remote_answer *a)
{
	if (c->json)
		print_json(a->body);
	else
		record_print(stdout,
			     json_object_get(a->body, c->kind->singular));
}

/* @param rows  receives all rows, over all pages */
static int read_list(struct record_command *c, json_t *rows)
{
	char path[PATH_BYTES];
	json_int_t total = 1;
	int status = 0;

	while (!status && (json_int_t)json_array_size(rows) < total) {
		struct remote_answer a;
		json_t *page;

		str_print(path, sizeof(path), "%s%s%s?start=%zu&count=1000",
			  c->kind->of_run ? "/runs/" : "",
			  c->kind->of_run ? c->id : "", c->kind->path,
			  json_array_size(rows));
		status = call(c, "GET", path, NULL, NULL, &a);
		if (status)
			break;
		page = json_object_get(a.body, c->kind->plural);
		total = json_array_size(page)
				? json_integer_value(
					  json_object_get(a.body, "total"))
				: 0;
		json_array_extend(rows, page);
		remote_answer_release(&a);
	}
	return status;
}

static int list(struct record_command *c)
{
	json_t *rows = json_array();
	int status = read_list(c, rows);

	if (!status && c->json)
		print_json(rows);
	else if (!status)
		record_print_list(stdout, c->kind, rows);
	json_decref(rows);
	return status;
}

static int show(struct record_command *c)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	int status;

	str_print(path, sizeof(path), "%s/%s", c->kind->path, c->id);
	status = call(c, "GET", path, NULL, NULL, &a);
	if (status)
		return status;
	print_one(c, &a);
	remote_answer_release(&a);
	return 0;
}

static int create(struct record_command *c)
{
	json_t *fields = json_object();
	int status = add_fields(c, fields);
	struct remote_answer a;

	if (!status)
		status = call(c, "POST", c->kind->path, fields, NULL, &a);
	if (!status) {
		print_one(c, &a);
		remote_answer_release(&a);
	}
	json_decref(fields);
	return status;
}

/* Merge the given fields into those of the stored record: PUT replaces all. */
static int merge(struct record_command *c, const json_t *record, json_t *fields)
{
	for (const char *const *name = c->kind->fields; *name; name++) {
		char *text = record_text(json_object_get(record, *name));

		if (text)
			json_object_set_new(fields, *name, json_string(text));
		free(text);
	}
	if (strcmp(c->verb, "enable") == 0)
		json_object_set_new(fields, "enabled", json_string("1"));
	if (strcmp(c->verb, "disable") == 0)
		json_object_set_new(fields, "enabled", json_string("0"));
	return add_fields(c, fields);
}

/* Leave out text fields that are empty: they get their default. */
static void drop_empty(json_t *fields)
{
	const char *name;
	json_t *value;
	void *next;

	json_object_foreach_safe(fields, next, name, value)
	{
		if (!json_string_length(value))
			json_object_del(fields, name);
	}
}

static int update(struct record_command *c)
{
	json_t *fields = json_object();
	struct remote_answer old, new = {.status = 0};
	char path[PATH_BYTES];
	int status;

	str_print(path, sizeof(path), "%s/%s", c->kind->path, c->id);
	status = call(c, "GET", path, NULL, NULL, &old);
	if (!status) {
		status = merge(c, json_object_get(old.body, c->kind->singular),
			       fields);
		drop_empty(fields);
		if (!status)
			status = call(c, "PUT", path, fields, old.etag, &new);
		if (!status)
			print_one(c, &new);
		remote_answer_release(&new);
		remote_answer_release(&old);
	}
	json_decref(fields);
	return status;
}

static int delete (struct record_command *c)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	int status;

	str_print(path, sizeof(path), "%s/%s", c->kind->path, c->id);
	status = call(c, "DELETE", path, NULL, NULL, &a);
	if (!status)
		remote_answer_release(&a);
	return status;
}

/* ---- artifacts ---- */

/* Refuse names from the controller that would lead out of the folder. */
static bool names_valid(const char *role, const char *name)
{
	size_t i = 0;

	while (role && (isalnum((unsigned char)role[i]) || role[i] == '_'))
		i++;
	return i > 0 && !role[i] && name && wire_artifact_name_valid(name);
}

static int save_one(struct record_command *c, const char *folder,
		    const json_t *row)
{
	const char *role = json_string_value(json_object_get(row, "role"));
	const char *name = json_string_value(json_object_get(row, "name"));
	char path[PATH_BYTES], file[PATH_MAX], reason[REMOTE_REASON_BYTES];
	FILE *out;
	int err;

	if (!names_valid(role, name) ||
	    str_print(file, sizeof(file), "%s/%s-%s", folder, role, name) < 0 ||
	    str_print(path, sizeof(path), "/runs/%s/artifacts/%s/%s", c->id,
		      role, name) < 0) {
		fprintf(stderr, "offhook: a name that is no file's\n");
		return EXIT_FAILED;
	}
	out = fopen(file, "wxe");
	if (!out) {
		fprintf(stderr, "offhook: %s: %s\n", file, strerror(errno));
		return EXIT_FAILED;
	}
	err = remote_save(c->remote, path, out, reason);
	if (fclose(out) && !err) {
		str_print(reason, sizeof(reason), "%s: %s", file,
			  strerror(errno));
		err = -EIO;
	}
	if (err) {
		fprintf(stderr, "offhook: %s\n", reason);
		unlink(file);
		return EXIT_FAILED;
	}
	puts(file);
	return 0;
}

static int save(struct record_command *c)
{
	const char *folder = c->field_count ? c->fields[0] : ".";
	json_t *rows = json_array(), *row;
	int status = read_list(c, rows);
	size_t i;

	if (!status && mkdir(folder, 0777) && errno != EEXIST) {
		fprintf(stderr, "offhook: %s: %s\n", folder, strerror(errno));
		status = EXIT_FAILED;
	}
	json_array_foreach(rows, i, row)
	{
		if (!status)
			status = save_one(c, folder, row);
	}
	json_decref(rows);
	return status;
}

/* ---- runs ---- */

/* What was already printed on standard error for --wait. Standard output is for
 * the result. */
struct told {
	char attempt[UUID_TEXT_BYTES]; /* session id of the current attempt */
	char *waiting;                 /* its last `waiting_for`; NULL: none */
};

/* Print what the attempt waits for whenever that changes. If a further attempt
 * has replaced it, print its result.
 * @return true: told->attempt is now the further attempt, call again */
static bool tell_progress(struct record_command *c, struct told *told)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	const char *waiting, *next;
	json_t *run;
	bool goes_on;

	str_print(path, sizeof(path), "/runs/%s", told->attempt);
	if (call(c, "GET", path, NULL, NULL, &a))
		return false; /* the next status poll reports a lasting error */
	run = json_object_get(a.body, "run");
	waiting = json_string_value(json_object_get(run, "waiting_for"));
	if (waiting && (!told->waiting || strcmp(told->waiting, waiting) != 0))
		fprintf(stderr, "offhook: the run waits: %s\n", waiting);
	free(told->waiting);
	told->waiting = waiting ? strdup(waiting) : NULL;
	next = json_string_value(json_object_get(run, "retried_by"));
	goes_on = next &&
		  str_copy(told->attempt, sizeof(told->attempt), next) >= 0;
	if (goes_on)
		fprintf(stderr, "offhook: attempt %lld %s: %s\n",
			(long long)json_integer_value(
				json_object_get(run, "attempt")),
			json_string_value(json_object_get(run, "status")),
			json_string_value(
				json_object_get(run, "result_description")));
	remote_answer_release(&a);
	return goes_on;
}

static int poll_end(struct record_command *c, const char *session_id,
		    struct told *told)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	int status;

	str_print(path, sizeof(path), "/runs/%s/status", session_id);
	while ((status = call(c, "GET", path, NULL, NULL, &a)) == 0) {
		json_t *run = json_object_get(a.body, "run");
		const char *state =
			json_string_value(json_object_get(run, "status"));
		bool passed = state && strcmp(state, "passed") == 0;

		while (tell_progress(c, told))
			;
		if (state && strcmp(state, "running") != 0) {
			if (c->json)
				print_json(a.body);
			else
				record_print(stdout, run);
			remote_answer_release(&a);
			return passed ? 0 : EXIT_FAILED;
		}
		remote_answer_release(&a);
		sleep(POLL_S);
	}
	return status;
}

/* @param data  `data` of the response to the start */
static int wait_for(struct record_command *c, const json_t *data)
{
	const char *session_id =
		json_string_value(json_object_get(data, "session_id"));
	const char *waiting =
		json_string_value(json_object_get(data, "waiting_for"));
	struct told told = {.waiting = NULL};
	int status;

	/* without --json the record just printed includes it */
	if (waiting && !c->json)
		told.waiting = strdup(waiting);
	(void)str_copy(told.attempt, sizeof(told.attempt), session_id);
	status = poll_end(c, session_id, &told);
	free(told.waiting);
	return status;
}

static int run(struct record_command *c)
{
	json_t *fields = json_object(), *data;
	char path[PATH_BYTES];
	struct remote_answer a;
	int status = add_fields(c, fields);

	str_print(path, sizeof(path), "/tests/scenarios/%s", c->id);
	if (!status)
		status = call(c, "POST", path, fields, NULL, &a);
	json_decref(fields);
	if (status)
		return status;
	data = json_object_get(a.body, "data");
	if (!c->json) { /* its report can be looked at while it runs */
		record_print(stdout, data);
		fflush(stdout);
	} else if (!c->wait) {
		print_json(a.body);
	}
	if (c->wait)
		status = wait_for(c, data);
	remote_answer_release(&a);
	return status;
}

int record_carry_out(struct record_command *c)
{
	if (strcmp(c->verb, "list") == 0)
		return list(c);
	if (strcmp(c->verb, "save") == 0)
		return save(c);
	if (strcmp(c->verb, "show") == 0)
		return show(c);
	if (strcmp(c->verb, "create") == 0)
		return create(c);
	if (strcmp(c->verb, "delete") == 0)
		return delete (c);
	if (strcmp(c->verb, "run") == 0)
		return run(c);
	return update(c);
}
