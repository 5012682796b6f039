#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/code/apply.h"
#include "control/cli/code/code_schema.h"
#include "control/cli/code/code_state.h"
#include "control/cli/common/exit_code.h"
#include "control/yaml/yaml_write.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODELINE                                                \
	"# yaml-language-server: $schema=offhook.schema.json\n" \
	"# offhook apply -f FILE; secrets come from the environment\n"

struct export
{
	const char *folder; /* NULL: standard output */
	size_t kind;        /* CODE_KINDS: all */
	const char *name;   /* NULL: all */
	struct client *client;
	json_t *schema;
	struct code_state *state;
	json_t *document;
	size_t count;
};

static int wrong_file(const char *path)
{
	fprintf(stderr, "offhook: %s: %s\n", path, strerror(errno));
	return CLI_EXIT_ERRORED;
}

/* "prompts/3-hello": the content of an appimage, beside its record. */
static int save_content(struct export *e, json_int_t id, json_t *record)
{
	char name[CODE_NAME_BYTES], path[PATH_MAX], from[CODE_NAME_BYTES];
	int status;

	code_name(CODE_APPIMAGE, record, name);
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			*c = '_';
	str_print(from, sizeof(from),
		  "appimages/%" JSON_INTEGER_FORMAT "-%.200s", id, name);
	json_object_del(record, "sha256");
	json_object_set_new(record, "file", json_string(from));
	if (!e->folder)
		return 0;
	str_print(path, sizeof(path), "%s/appimages", e->folder);
	if (mkdir(path, 0777) && errno != EEXIST)
		return wrong_file(path);
	str_print(path, sizeof(path), "%s/%s", e->folder, from);
	str_print(from, sizeof(from),
		  "/appimages/%" JSON_INTEGER_FORMAT "/content", id);
	unlink(path); /* of an earlier export */
	status = client_save(e->client, from, path);
	return status;
}

static int add_kind(struct export *e, enum code_kind_index kind)
{
	json_t *records = json_array(), *id;
	const char *name;
	int status = 0;

	json_object_foreach(code_state_names(e->state, kind), name, id)
	{
		char etag[REMOTE_ETAG_BYTES];
		json_t *record = NULL;

		if (status || (e->name && strcmp(e->name, name) != 0))
			continue;
		status = code_state_read(e->state, kind, json_integer_value(id),
					 &record, etag);
		if (!status && kind == CODE_APPIMAGE)
			status =
				save_content(e, json_integer_value(id), record);
		json_array_append_new(records, record);
	}
	e->count += json_array_size(records);
	if (json_array_size(records))
		json_object_set(e->document, code_kinds[kind].plural, records);
	json_decref(records);
	return status;
}

static int write_document(json_t *document, const char *path)
{
	const char *name = path ? path : "standard output";
	FILE *out = path ? fopen(path, "we") : stdout;
	int err;

	if (!out)
		return wrong_file(name);
	fputs(MODELINE, out);
	err = yaml_write(out, document);
	if (path && fclose(out))
		err = -EIO;
	return err ? wrong_file(name) : 0;
}

/* One file a kind. */
static int write_folder(const struct export *e)
{
	char path[PATH_MAX];
	const char *key;
	json_t *records;
	int status = 0;

	json_object_foreach(e->document, key, records)
	{
		json_t *one = json_pack("{s:O}", key, records);

		str_print(path, sizeof(path), "%s/%s.yaml", e->folder, key);
		if (!status)
			status = write_document(one, path);
		json_decref(one);
	}
	return status;
}

static int find_kind(struct export *e, const char *word)
{
	for (e->kind = 0; e->kind < CODE_KINDS; e->kind++) {
		char command[40];

		str_print(command, sizeof(command), "%s",
			  code_kinds[e->kind].path + 1);
		if (strcmp(word, command) == 0 ||
		    strcmp(word, code_kinds[e->kind].plural) == 0 ||
		    strcmp(word, code_kinds[e->kind].singular) == 0)
			return 0;
	}
	return client_usage("export: there is no kind %s; kinds: projects, "
			    "targets, credential-pools, agent-pools, "
			    "callback-templates, appimages, tests, schedules",
			    word);
}

static int read_options(struct export *e, int argc, char **argv)
{
	static const struct option options[] = {
		{"to", required_argument, NULL, 't'},
		{NULL, 0, NULL, 0},
	};
	int option, status = 0;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 't')
			return client_usage("export: wrong option %s",
					    argv[optind - 1]);
		e->folder = optarg;
	}
	if (optind < argc)
		status = find_kind(e, argv[optind++]);
	if (!status && optind < argc)
		e->name = argv[optind++];
	return !status && optind < argc
		       ? client_usage("export: %s is too much", argv[optind])
		       : status;
}

static int carry_out(struct export *e)
{
	int status = code_state_new(&e->state, e->client, e->schema);

	if (!status && e->folder && mkdir(e->folder, 0777) && errno != EEXIST)
		return wrong_file(e->folder);
	for (size_t k = 0; k < CODE_KINDS && !status; k++)
		if (e->kind == CODE_KINDS || e->kind == k)
			status = add_kind(e, (enum code_kind_index)k);
	if (!status && e->name && !e->count) {
		fprintf(stderr, "offhook: there is no %s %s\n",
			code_kinds[e->kind].title, e->name);
		status = CLI_EXIT_ERRORED;
	}
	if (status)
		return status;
	return e->folder ? write_folder(e) : write_document(e->document, NULL);
}

int export_main(struct client *client, int argc, char **argv)
{
	struct export e = {
		.client = client,
		.kind = CODE_KINDS,
		.schema = code_schema_new(),
		.document = json_object(),
	};
	int status = read_options(&e, argc, argv);

	if (!status)
		status = carry_out(&e);
	code_state_free(e.state);
	json_decref(e.document);
	json_decref(e.schema);
	return status;
}
