#include "control/cli/record_verbs.h"

#include "base/str.h"
#include "control/cli/client.h"
#include "control/cli/exit_code.h"
#include "control/cli/record_kinds.h"
#include "control/cli/run_files.h"
#include "control/cli/table.h"
#include "control/wire/json.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES      300
#define RECORD_ID_BYTES 100
#define FILE_MAX        (1u << 20)
#define POLL_S          1

/* A verb with its arguments. */
struct record_command {
	struct client *client;
	const struct record_kind *kind;
	const char *verb;
	char id[RECORD_ID_BYTES]; /* numeric id or name; "": none */
	char **fields;            /* NAME=VALUE */
	int field_count;
	bool wait;
};

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
			return client_usage("%s is not NAME=VALUE",
					    c->fields[i]);
		str_print(name, sizeof(name), "%.*s",
			  (int)(equals - c->fields[i]), c->fields[i]);
		value = equals[1] == '@'
				? read_file(equals + 2, of_password(name))
				: json_string(equals + 1);
		if (!value || json_object_set_new(fields, name, value))
			return client_usage("%s: it cannot be read, is larger "
					    "than 1 MiB, or is not UTF-8 text",
					    name);
	}
	return 0;
}

/* ---- verbs ---- */

static void print_one(const struct record_command *c,
		      const struct remote_answer *a)
{
	if (client_json(c->client))
		client_print_json(stdout, a->body);
	else
		record_print(stdout,
			     json_object_get(a->body, c->kind->singular));
}

static int list(struct record_command *c)
{
	char path[PATH_BYTES];
	json_t *rows = json_array();
	int status;

	str_print(path, sizeof(path), "%s%s%s", c->kind->of_run ? "/runs/" : "",
		  c->kind->of_run ? c->id : "", c->kind->path);
	status = client_list(c->client, path, c->kind->plural, rows);
	if (!status && client_json(c->client))
		client_print_json(stdout, rows);
	else if (!status)
		record_print_list(stdout, c->kind, rows, table_width(stdout));
	json_decref(rows);
	return status;
}

static int show(struct record_command *c)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	int status;

	str_print(path, sizeof(path), "%s/%s", c->kind->path, c->id);
	status = client_call(c->client, "GET", path, NULL, NULL, &a);
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
		status = client_call_form(c->client, "POST", c->kind->path,
					  fields, NULL, &a);
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
	status = client_call(c->client, "GET", path, NULL, NULL, &old);
	if (!status) {
		status = merge(c, json_object_get(old.body, c->kind->singular),
			       fields);
		drop_empty(fields);
		if (!status)
			status = client_call_form(c->client, "PUT", path,
						  fields, old.etag, &new);
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
	status = client_call(c->client, "DELETE", path, NULL, NULL, &a);
	if (!status)
		remote_answer_release(&a);
	return status;
}

/* ---- artifacts ---- */

static int save(struct record_command *c)
{
	json_t *saved = json_array(), *file;
	int status = run_files_artifacts(c->client, c->id,
					 c->field_count ? c->fields[0] : ".",
					 false, saved);
	size_t i;

	json_array_foreach(saved, i, file)
	{
		puts(json_string_value(file));
	}
	json_decref(saved);
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
	if (client_call(c->client, "GET", path, NULL, NULL, &a))
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
	while ((status = client_call(c->client, "GET", path, NULL, NULL, &a)) ==
	       0) {
		json_t *run = json_object_get(a.body, "run");
		const char *state =
			json_string_value(json_object_get(run, "status"));
		bool passed = state && strcmp(state, "passed") == 0;
		bool failed = state && strcmp(state, "failed") == 0;

		while (tell_progress(c, told))
			;
		if (state && strcmp(state, "running") != 0) {
			if (client_json(c->client))
				client_print_json(stdout, a.body);
			else
				record_print(stdout, run);
			remote_answer_release(&a);
			return passed   ? CLI_EXIT_OK
			       : failed ? CLI_EXIT_FAILED
					: CLI_EXIT_ERRORED;
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
	if (waiting && !client_json(c->client))
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
		status = client_call_form(c->client, "POST", path, fields, NULL,
					  &a);
	json_decref(fields);
	if (status)
		return status;
	data = json_object_get(a.body, "data");
	if (!client_json(
		    c->client)) { /* its report can be looked at while it runs */
		record_print(stdout, data);
		fflush(stdout);
	} else if (!c->wait) {
		client_print_json(stdout, a.body);
	}
	if (c->wait)
		status = wait_for(c, data);
	remote_answer_release(&a);
	return status;
}

/* ---- command lines ---- */

/* Verbs, and whether they take an id and fields. */
static const struct {
	const char *name;
	bool id, fields;
	int (*run)(struct record_command *c);
} verbs[] = {
	{"list", false, false, list},     {"show", true, false, show},
	{"create", false, true, create},  {"update", true, true, update},
	{"delete", true, false, delete},  {"enable", true, false, update},
	{"disable", true, false, update},
};

/* True if the text is safe as one path element of a URL. */
static bool is_id(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return len > 0 && len < RECORD_ID_BYTES && !text[len];
}

/* Runs and scenarios are named in the path itself, other records by their id. */
static int read_id(struct record_command *c, const char *given)
{
	char id[CLIENT_ID_BYTES];
	bool literal =
		c->kind->of_run || strcmp(c->kind->command, "scenario") == 0;
	int status;

	if (!given || (literal && !is_id(given)))
		return client_usage("%s %s of which one?", c->kind->command,
				    c->verb);
	if (literal) {
		(void)str_copy(c->id, sizeof(c->id), given);
		return 0;
	}
	status = client_id(c->client, c->kind, given, id);
	if (!status)
		(void)str_copy(c->id, sizeof(c->id), id);
	return status;
}

/* Read options, id and fields. @return 0; exit status */
static int read_arguments(struct record_command *c, bool id, bool fields,
			  int argc, char **argv)
{
	static const struct option options[] = {
		{"wait", no_argument, NULL, 'w'},
		{NULL, 0, NULL, 0},
	};
	static const struct option none[] = {{NULL, 0, NULL, 0}};
	bool runs = strcmp(argv[0], "run") == 0;

	while (getopt_long(argc, argv, "", runs ? options : none, NULL) != -1) {
		if (optopt || !runs)
			return client_usage("wrong option of `%s %s`",
					    c->kind->command, c->verb);
		c->wait = true;
	}
	if (id) {
		int status = read_id(c, optind < argc ? argv[optind] : NULL);

		if (status)
			return status;
		optind++;
	}
	c->fields = argv + optind;
	c->field_count = argc - optind;
	if (c->field_count && !fields)
		return client_usage("%s is too much", argv[optind]);
	return 0;
}

int record_verb_main(struct client *client, const char *kind, int argc,
		     char **argv)
{
	struct record_command c = {.client = client,
				   .kind = record_kind_find(kind),
				   .verb = argv[0]};

	for (size_t v = 0; v < sizeof(verbs) / sizeof(*verbs); v++)
		if (strcmp(verbs[v].name, argv[0]) == 0) {
			int status = read_arguments(
				&c, verbs[v].id, verbs[v].fields, argc, argv);

			return status ? status : verbs[v].run(&c);
		}
	return client_usage("there is no %s %s", kind, argv[0]);
}

int record_artifact_list(struct client *client, int argc, char **argv)
{
	struct record_command c = {.client = client,
				   .kind = record_kind_find("artifact"),
				   .verb = argv[0]};
	int status = read_arguments(&c, true, false, argc, argv);

	return status ? status : list(&c);
}

int record_artifact_save(struct client *client, int argc, char **argv)
{
	struct record_command c = {.client = client,
				   .kind = record_kind_find("artifact"),
				   .verb = argv[0]};
	int status = read_arguments(&c, true, true, argc, argv);

	if (!status && c.field_count > 1)
		status = client_usage("%s is too much", c.fields[1]);
	return status ? status : save(&c);
}

int record_scenario_run(struct client *client, int argc, char **argv)
{
	struct record_command c = {.client = client,
				   .kind = record_kind_find("scenario"),
				   .verb = argv[0]};
	int status = read_arguments(&c, true, true, argc, argv);

	return status ? status : run(&c);
}
