#include "control/cli/record/record_verbs.h"

#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/client/fields.h"
#include "control/cli/client/record_kinds.h"
#include "control/cli/code/code_schema.h"
#include "control/cli/command/commands.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/table.h"
#include "control/cli/common/terminal.h"
#include "control/cli/record/record_edit.h"
#include "control/cli/record/test_verdict.h"
#include "control/cli/run/run_files.h"
#include "control/wire/json.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES      300
#define RECORD_ID_BYTES 100

/* A verb with its arguments. */
struct record_command {
	struct client *client;
	const struct record_kind *kind;
	const char *verb;
	char id[RECORD_ID_BYTES]; /* numeric id or name; "": none */
	const char *given;        /* as the user names it; NULL: none */
	char **fields;            /* NAME=VALUE */
	int field_count;
	const char *file; /* --file of create; NULL: none */
	bool yes;         /* delete without asking */
};

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

static bool is_test(const struct record_command *c)
{
	return strcmp(c->kind->command, "test") == 0;
}

static int list(struct record_command *c)
{
	char path[PATH_BYTES];
	json_t *rows = json_array();
	int status;

	str_print(path, sizeof(path), "%s%s%s", c->kind->of_run ? "/runs/" : "",
		  c->kind->of_run ? c->id : "", c->kind->path);
	status = client_list(c->client, path, c->kind->plural, rows);
	if (!status && is_test(c) && !client_json(c->client))
		status = test_verdict_add_states(c->client, rows);
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
	if (is_test(c))
		status = test_verdict_add(c->client, a.body);
	if (!status)
		print_one(c, &a);
	remote_answer_release(&a);
	return status;
}

static int edit(struct record_command *c)
{
	return record_edit(c->client, c->kind, strtoll(c->id, NULL, 10));
}

static int create_from_file(struct record_command *c)
{
	if (c->field_count)
		return client_usage("%s: with --file the fields are in the "
				    "file",
				    c->fields[0]);
	return record_create_from(c->client, c->kind, c->file);
}

static int create(struct record_command *c)
{
	json_t *fields = json_object();
	int status = fields_read(fields, c->fields, c->field_count);
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
	return fields_read(fields, c->fields, c->field_count);
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

/* @return 0: the user agrees; else the exit status */
static int confirm(const struct record_command *c)
{
	char question[300];

	if (c->yes)
		return 0;
	if (isatty(STDIN_FILENO) != 1)
		return client_usage("%s delete cannot ask without a terminal: "
				    "add --yes",
				    c->kind->command);
	str_print(question, sizeof(question), "Delete the %s %s?",
		  c->kind->command, c->given);
	return terminal_confirm(question) ? 0 : CLI_EXIT_USAGE;
}

static int delete (struct record_command *c)
{
	char path[PATH_BYTES];
	struct remote_answer a;
	int status = confirm(c);

	if (status)
		return status;
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

/* ---- command lines ---- */

/* Verbs, and whether they take an id and fields. */
static const struct {
	const char *name;
	bool id, fields;
	int (*run)(struct record_command *c);
} verbs[] = {
	{"list", false, false, list},    {"show", true, false, show},
	{"create", false, true, create}, {"edit", true, false, edit},
	{"update", true, true, update},  {"delete", true, false, delete},
	{"enable", true, false, update}, {"disable", true, false, update},
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

/* True for `create` of a kind that YAML files hold. */
static bool may_be_file(const struct record_command *c)
{
	return strcmp(c->verb, "create") == 0 &&
	       code_kind_find(c->kind->plural) < CODE_KINDS;
}

/* Read options, id and fields. @return 0; exit status */
static int read_arguments(struct record_command *c, bool id, bool fields,
			  int argc, char **argv)
{
	static const struct option options[] = {
		{"file", required_argument, NULL, 'f'},
		{"yes", no_argument, NULL, 'y'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'f' && may_be_file(c))
			c->file = optarg;
		else if (option == 'y' && strcmp(c->verb, "delete") == 0)
			c->yes = true;
		else
			return client_usage("wrong option of `%s %s`",
					    c->kind->command, c->verb);
	}
	if (id) {
		int status;

		c->given = optind < argc ? argv[optind] : NULL;
		status = read_id(c, c->given);

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

			if (!status && c.file)
				return create_from_file(&c);
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

int record_key_create(struct client *c, int argc, char **argv)
{
	int status = record_verb_main(c, "key", argc, argv);

	if (!status)
		fputs("offhook: keep the secret: it is not shown again. "
		      "OFFHOOK_KEY takes public_key:secret\n",
		      stderr);
	return status;
}

int record_names_main(struct client *client, int argc, char **argv)
{
	const struct record_kind *kind =
		argc == 2 ? record_kind_find(argv[1]) : NULL;
	const struct command *command = kind ? command_find(argv[1]) : NULL;
	json_t *rows, *row;
	size_t i;
	int status;

	if (!command || !command->names)
		return client_usage("names of which records?");
	rows = json_array();
	status = client_list(client, kind->path, kind->plural, rows);
	json_array_foreach(rows, i, row)
	{
		const char *name =
			json_string_value(json_object_get(row, "name"));

		if (name) {
			terminal_print(stdout, name, 0);
			putchar('\n');
		}
	}
	json_decref(rows);
	return status;
}
