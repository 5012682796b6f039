#include "control/cli/code/apply.h"

#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/code/code_diff.h"
#include "control/cli/code/code_files.h"
#include "control/cli/code/code_schema.h"
#include "control/cli/code/code_state.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/terminal.h"

#include <getopt.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATHS_MAX 100

enum change_type {
	CHANGE_NONE,
	CHANGE_CREATE,
	CHANGE_EDIT,
	CHANGE_DELETE,
};

struct change {
	enum change_type type;
	enum code_kind_index kind;
	char name[CODE_NAME_BYTES];
	const struct code_record *record; /* NULL: to delete */
	bool fresh;                       /* apply_fresh() */
	json_int_t id;                    /* 0: to create */
	json_t *old, *new;                /* reduced */
	json_t *secrets; /* members of the body that hold the secrets */
	char etag[REMOTE_ETAG_BYTES];
};

struct apply {
	/* options */
	const char *paths[PATHS_MAX];
	size_t path_count;
	bool dry_run, prune, yes, set_secrets;
	bool fresh;                    /* apply_fresh() */
	const struct apply_only *only; /* NULL: all records of the files */
	/* made in this order */
	struct client *client;
	json_t *schema;
	struct code_files *files;
	struct code_state *state;
	json_t *known; /* names that the files create */
	struct change *changes;
	size_t change_count;
	bool wrong;
};

/* ---- secrets ---- */

/* The credential of a reduced pool with the same username, counted: a name may
 * occur several times. */
static json_t *stored(json_t *old, json_t *credentials, size_t at)
{
	json_t *username =
		json_object_get(json_array_get(credentials, at), "username");
	size_t nth = 0, i;
	json_t *c;

	for (i = 0; i < at; i++)
		nth += (size_t)json_equal(
			username,
			json_object_get(json_array_get(credentials, i),
					"username"));
	json_array_foreach(json_object_get(old, "credentials"), i, c)
	{
		if (json_equal(json_object_get(c, "username"), username) &&
		    nth-- == 0)
			return c;
	}
	return NULL;
}

/* Put a secret, or the flag that keeps the stored one, into part of a body. */
static void place_secret(struct apply *a, struct change *c, json_t *part,
			 const char *key, const char *pointer, bool is_stored)
{
	json_t *where = json_object_get(part, key);
	char secret[CODE_SECRET_BYTES], flag[40], reason[CODE_REASON_BYTES];
	const char *env = json_string_value(json_object_get(where, "env"));
	const char *file = json_string_value(json_object_get(where, "file"));

	str_print(flag, sizeof(flag), "has_%s", key);
	if (!where || (is_stored && !a->set_secrets)) {
		json_object_set_new(part, flag, json_boolean(where != NULL));
	} else if (code_secret(c->record, where, secret) == 0) {
		json_object_set_new(part, key, json_string(secret));
		explicit_bzero(secret, sizeof(secret));
		return;
	} else {
		str_print(reason, sizeof(reason),
			  env ? "the variable %s is not set: it holds the %s"
			      : "the file %s cannot be read: it holds the %s",
			  env ? env : file, key);
		code_complain(c->record, pointer, reason);
		a->wrong = true;
	}
	json_object_del(part, key);
}

static void place_secrets(struct apply *a, struct change *c, json_t *body)
{
	json_t *credentials = json_object_get(body, "credentials"), *credential;
	json_t *names = json_deep_copy(credentials);
	char pointer[CODE_POINTER_BYTES];
	size_t i;

	json_array_foreach(credentials, i, credential)
	{
		str_print(pointer, sizeof(pointer), "/credentials/%zu/password",
			  i);
		place_secret(a, c, credential, "password", pointer,
			     json_object_get(stored(c->old, names, i),
					     "password") != NULL);
	}
	json_decref(names);
	if (c->kind == CODE_TEST)
		place_secret(a, c, body, "callback_secret", "/callback_secret",
			     json_object_get(c->old, "callback_secret") !=
				     NULL);
}

/* ---- files of appimages ---- */

static int digest_of(struct apply *a, const struct change *c, json_t *new)
{
	const char *path =
		json_string_value(json_object_get(c->record->value, "file"));
	unsigned char digest[EVP_MAX_MD_SIZE];
	char hex[2 * EVP_MAX_MD_SIZE + 1] = "", *content;
	unsigned int size = 0;
	size_t len;

	if (code_content(c->record, path, &content, &len)) {
		code_complain(c->record, "/file", "the file cannot be read");
		a->wrong = true;
		return -1;
	}
	EVP_Digest(content, len, digest, &size, EVP_sha256(), NULL);
	for (unsigned int i = 0; i < size; i++)
		str_print(hex + 2 * i, 3, "%02x", digest[i]);
	free(content);
	json_object_del(new, "file");
	json_object_set_new(new, "sha256", json_string(hex));
	return 0;
}

static json_t *base64_of(const struct code_record *r)
{
	const char *path = json_string_value(json_object_get(r->value, "file"));
	unsigned char *encoded = NULL;
	json_t *text = NULL;
	char *content;
	size_t len;

	if (code_content(r, path, &content, &len))
		return NULL;
	encoded = malloc((len + 2) / 3 * 4 + 1);
	if (encoded) {
		EVP_EncodeBlock(encoded, (unsigned char *)content, (int)len);
		text = json_string((char *)encoded);
	}
	free(encoded);
	free(content);
	return text;
}

/* ---- the plan ---- */

static void unknown_name(void *arg, const char *pointer,
			 enum code_kind_index kind, const char *name)
{
	struct change *c = arg;
	char reason[CODE_REASON_BYTES];

	str_print(reason, sizeof(reason), "there is no %s %s, %s",
		  code_kinds[kind].title, name,
		  c->fresh ? "as it stands in no file"
			   : "neither in the files nor at the controller");
	code_complain(c->record, pointer, reason);
	c->type = CHANGE_DELETE; /* it is wrong: see plan_record() */
}

/* The body of a request. */
static json_t *body_of(struct apply *a, struct change *c)
{
	enum change_type type = c->type;
	json_t *record = json_deep_copy(c->record->value), *body;

	body = code_state_refer(a->state, c->kind, record, a->known,
				unknown_name, c);
	json_decref(record);
	if (c->type != type)
		a->wrong = true;
	c->type = type;
	place_secrets(a, c, body);
	if (!c->id) { /* nothing to remove of a new record */
		json_t *credential;
		size_t i;

		json_array_foreach(json_object_get(body, "credentials"), i,
				   credential)
			json_object_del(credential, "has_password");
		json_object_del(body, "has_callback_secret");
	}
	if (c->kind == CODE_APPIMAGE)
		json_object_del(body, "file");
	return body;
}

static bool wants_secrets(const struct apply *a, json_t *new)
{
	json_t *credential;
	size_t i;

	if (!a->set_secrets)
		return false;
	json_array_foreach(json_object_get(new, "credentials"), i, credential)
	{
		if (json_object_get(credential, "password"))
			return true;
	}
	return json_object_get(new, "callback_secret") != NULL;
}

/* A record that was edited is still as it was read; one to create is new. */
static int check_only(const struct apply_only *only, const struct change *c)
{
	if (only->id ? strcmp(only->etag, c->etag) == 0 : !c->id)
		return 0;
	if (only->id)
		fputs("offhook: somebody else changed it in the meantime: "
		      "edit it again\n",
		      stderr);
	else
		code_complain(c->record, "/name",
			      "there is one of this name: edit changes it");
	return CLI_EXIT_ERRORED;
}

static int plan_record(struct apply *a, const struct code_record *r,
		       struct change *c)
{
	int status = 0;

	*c = (struct change){.kind = r->kind, .record = r, .fresh = a->fresh};
	code_name(r->kind, r->value, c->name);
	c->id = a->only && a->only->id
			? a->only->id
			: json_integer_value(json_object_get(
				  code_state_names(a->state, r->kind),
				  c->name));
	c->new = code_schema_reduce(a->schema, r->kind, r->value);
	if (r->kind == CODE_APPIMAGE && digest_of(a, c, c->new))
		return 0;
	if (c->id)
		status = code_state_read(a->state, r->kind, c->id, &c->old,
					 c->etag);
	if (!status && a->only)
		status = check_only(a->only, c);
	if (status)
		return status;
	if (r->kind == CODE_APPIMAGE && !json_object_get(c->new, "media_type"))
		json_object_del(c->old, "media_type");
	if (!c->id)
		c->type = CHANGE_CREATE;
	else if (!code_same(c->old, c->new) || wants_secrets(a, c->new))
		c->type = CHANGE_EDIT;
	if (c->kind == CODE_APPIMAGE && c->type == CHANGE_EDIT &&
	    !json_equal(json_object_get(c->old, "sha256"),
			json_object_get(c->new, "sha256"))) {
		code_complain(r, "/file",
			      "the stored content differs; content cannot be "
			      "replaced: give it another version");
		a->wrong = true;
	}
	/* complains about names and secrets before anything is sent */
	json_decref(body_of(a, c));
	return 0;
}

static bool named(json_t *projects, json_t *record)
{
	const char *name =
		json_string_value(json_object_get(record, "project"));

	return name && json_object_get(projects, name);
}

/* Projects that the files hold: only their tests and schedules are pruned. */
static json_t *own_projects(const struct apply *a)
{
	json_t *names = json_object();
	size_t count;
	const struct code_record *r = code_files_records(a->files, &count);

	for (size_t i = 0; i < count; i++)
		if (r[i].kind == CODE_PROJECT)
			json_object_set_new(names,
					    json_string_value(json_object_get(
						    r[i].value, "name")),
					    json_true());
	return names;
}

static bool is_in_files(const struct apply *a, enum code_kind_index kind,
			const char *name)
{
	return json_object_get(
		       json_object_get(a->known, code_kinds[kind].plural),
		       name) != NULL;
}

/* True if a schedule is of these projects: by its test, or itself. */
static int schedule_of(struct apply *a, json_t *projects, json_t *schedule,
		       bool *ret)
{
	const char *test = json_string_value(json_object_get(schedule, "test"));
	char etag[REMOTE_ETAG_BYTES];
	json_t *record = NULL;
	int status = 0;

	*ret = named(projects, schedule);
	if (test)
		status = code_state_read(
			a->state, CODE_TEST,
			json_integer_value(json_object_get(
				code_state_names(a->state, CODE_TEST), test)),
			&record, etag);
	if (record)
		*ret = named(projects, record);
	json_decref(record);
	return status;
}

static int plan_prune(struct apply *a, enum code_kind_index kind,
		      json_t *projects)
{
	const char *name;
	json_t *id;

	if (!code_files_have(a->files, kind))
		return 0;
	json_object_foreach(code_state_names(a->state, kind), name, id)
	{
		struct change *c = &a->changes[a->change_count];
		bool own = false;
		int status;

		if (is_in_files(a, kind, name) ||
		    a->change_count == CODE_RECORDS_MAX)
			continue;
		*c = (struct change){.type = CHANGE_DELETE,
				     .kind = kind,
				     .id = json_integer_value(id)};
		str_copy(c->name, sizeof(c->name), name);
		status = code_state_read(a->state, kind, c->id, &c->old,
					 c->etag);
		if (!status && kind == CODE_SCHEDULE)
			status = schedule_of(a, projects, c->old, &own);
		else if (!status)
			own = named(projects, c->old);
		if (own && !status) {
			a->change_count++;
		} else {
			json_decref(c->old);
			c->old = NULL;
		}
		if (status)
			return status;
	}
	return 0;
}

static void note_known(struct apply *a, const struct code_record *r,
		       size_t count)
{
	char name[CODE_NAME_BYTES];

	a->known = json_object();
	for (size_t i = 0; i < CODE_KINDS; i++)
		json_object_set_new(a->known, code_kinds[i].plural,
				    json_object());
	for (size_t i = 0; i < count; i++) {
		code_name(r[i].kind, r[i].value, name);
		json_object_set_new(
			json_object_get(a->known, code_kinds[r[i].kind].plural),
			name, json_integer(0));
	}
}

/* Kinds that a controller acts on by itself. */
static bool starts_or_tells(enum code_kind_index kind)
{
	return kind == CODE_SCHEDULE || kind == CODE_CALLBACK_TEMPLATE;
}

static int plan(struct apply *a)
{
	size_t count;
	const struct code_record *r = code_files_records(a->files, &count);
	json_t *projects;
	int status = 0;

	note_known(a, r, count);
	a->changes = calloc(CODE_RECORDS_MAX + 1, sizeof(*a->changes));
	if (!a->changes)
		return CLI_EXIT_ERRORED;
	projects = own_projects(a);
	/* what is deleted comes first, who uses it before it */
	if (a->prune)
		status = plan_prune(a, CODE_SCHEDULE, projects);
	if (a->prune && !status)
		status = plan_prune(a, CODE_TEST, projects);
	json_decref(projects);
	for (size_t i = 0; i < count && !status; i++) {
		if (a->change_count == CODE_RECORDS_MAX)
			return client_usage("there are too many records");
		if (a->fresh && starts_or_tells(r[i].kind))
			continue;
		status = plan_record(a, &r[i], &a->changes[a->change_count++]);
	}
	return status ? status : a->wrong ? CLI_EXIT_USAGE : 0;
}

/* ---- what is printed ---- */

static void print_change(const struct change *c)
{
	static const char marks[] = {
		[CHANGE_CREATE] = '+',
		[CHANGE_EDIT] = '~',
		[CHANGE_DELETE] = '-',
	};

	printf("%c %s ", marks[c->type], code_kinds[c->kind].title);
	terminal_print(stdout, c->name, 0);
	putchar('\n');
	if (c->type == CHANGE_EDIT)
		code_diff_print(stdout, c->old, c->new);
}

static size_t count_of(const struct apply *a, enum change_type type)
{
	size_t count = 0;

	for (size_t i = 0; i < a->change_count; i++)
		count += (size_t)(a->changes[i].type == type);
	return count;
}

/* @return number of changes */
static size_t print_plan(const struct apply *a)
{
	for (size_t i = 0; i < a->change_count; i++)
		if (a->changes[i].type != CHANGE_NONE)
			print_change(&a->changes[i]);
	printf("%zu to create, %zu to change, %zu to delete, %zu unchanged\n",
	       count_of(a, CHANGE_CREATE), count_of(a, CHANGE_EDIT),
	       count_of(a, CHANGE_DELETE), count_of(a, CHANGE_NONE));
	fflush(stdout);
	return a->change_count - count_of(a, CHANGE_NONE);
}

/* ---- the changes ---- */

/* Print a refusal with the places that its lines point to. */
static int refused(struct apply *a, const struct change *c, const char *reason)
{
	size_t len = strcspn(reason, ": ");
	char pointer[CODE_POINTER_BYTES];

	/* without an answer nothing is known to be wrong in the file */
	if (!c->record || !remote_status(client_remote(a->client)))
		return client_refused(a->client, reason);
	str_print(pointer, sizeof(pointer), "/%.*s", (int)len, reason);
	code_complain(c->record, pointer, reason);
	return a->fresh && remote_status(client_remote(a->client)) < 500
		       ? CLI_EXIT_USAGE
		       : CLI_EXIT_ERRORED;
}

static int carry_out(struct apply *a, struct change *c)
{
	static const char *const methods[] = {
		[CHANGE_CREATE] = "POST",
		[CHANGE_EDIT] = "PUT",
		[CHANGE_DELETE] = "DELETE",
	};
	char path[CODE_POINTER_BYTES], reason[REMOTE_REASON_BYTES];
	struct remote_answer answer = {.status = 0};
	json_t *body = c->record ? body_of(a, c) : NULL;
	int err, status;

	if (c->id)
		str_print(path, sizeof(path), "%s/%" JSON_INTEGER_FORMAT,
			  code_kinds[c->kind].path, c->id);
	else
		str_print(path, sizeof(path), "%s", code_kinds[c->kind].path);
	if (c->kind == CODE_APPIMAGE && !c->id) {
		const char *file = json_string_value(
			json_object_get(c->record->value, "file"));
		const char *slash = strrchr(file, '/');

		json_object_set_new(body, "content", base64_of(c->record));
		json_object_set_new(body, "filename",
				    json_string(slash ? slash + 1 : file));
	}
	err = remote_call_json(client_remote(a->client), methods[c->type], path,
			       body, c->id ? c->etag : NULL, &answer, reason);
	json_decref(body);
	status = err ? refused(a, c, reason) : 0;
	if (!err && !c->id)
		code_state_add(
			a->state, c->kind, c->name,
			json_integer_value(json_object_get(
				json_object_get(answer.body,
						code_kinds[c->kind].singular),
				"id")));
	if (!err)
		remote_answer_release(&answer);
	return status;
}

static void say_stopped(const struct apply *a, const struct change *c,
			size_t done, size_t total)
{
	bool answered = remote_status(client_remote(a->client)) != 0;

	fprintf(stderr, "offhook: stopped at %s ", code_kinds[c->kind].title);
	terminal_print(stderr, c->name, 0);
	fprintf(stderr, "; %zu of %zu changes were made%s\n", done, total,
		answered ? "; apply again after the correction"
			 : ", and perhaps this one; apply again when the "
			   "controller answers");
}

static int carry_out_all(struct apply *a)
{
	size_t total = a->change_count - count_of(a, CHANGE_NONE), done = 0;
	int status = 0;

	for (size_t i = 0; i < a->change_count && !status; i++) {
		if (a->changes[i].type == CHANGE_NONE)
			continue;
		status = carry_out(a, &a->changes[i]);
		if (!status)
			done++;
		else if (!a->fresh)
			say_stopped(a, &a->changes[i], done, total);
	}
	if (!status && !a->fresh)
		printf("done\n");
	return status;
}

/* @return true: the user agrees to the deletions */
static bool confirmed(const struct apply *a)
{
	char question[80];

	if (a->yes || !count_of(a, CHANGE_DELETE))
		return true;
	if (!isatty(STDIN_FILENO)) {
		client_usage("--prune deletes %zu records and cannot ask "
			     "without a terminal: add --yes",
			     count_of(a, CHANGE_DELETE));
		return false;
	}
	str_print(question, sizeof(question), "Delete %zu records?",
		  count_of(a, CHANGE_DELETE));
	return terminal_confirm(question);
}

/* ---- the command line ---- */

static int add_path(struct apply *a, const char *path)
{
	if (a->path_count == PATHS_MAX)
		return client_usage("apply: at most %d files and folders; a "
				    "folder stands for all its files",
				    PATHS_MAX);
	a->paths[a->path_count++] = path;
	return 0;
}

static int read_options(struct apply *a, int argc, char **argv)
{
	static const struct option options[] = {
		{"file", required_argument, NULL, 'f'},
		{"dry-run", no_argument, NULL, 'n'},
		{"prune", no_argument, NULL, 'p'},
		{"yes", no_argument, NULL, 'y'},
		{"set-secrets", no_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	int option, status = 0;

	opterr = 0;
	while (!status &&
	       (option = getopt_long(argc, argv, "f:", options, NULL)) != -1) {
		if (option == 'f')
			status = add_path(a, optarg);
		else if (option == 'n')
			a->dry_run = true;
		else if (option == 'p')
			a->prune = true;
		else if (option == 'y')
			a->yes = true;
		else if (option == 's')
			a->set_secrets = true;
		else
			status = client_usage("apply: wrong option %s",
					      argv[optind - 1]);
	}
	for (; !status && optind < argc; optind++)
		status = add_path(a, argv[optind]);
	if (!status && !a->path_count)
		status = client_usage("apply which files? -f DIR");
	return status;
}

static void release(struct apply *a)
{
	for (size_t i = 0; i < a->change_count; i++) {
		json_decref(a->changes[i].old);
		json_decref(a->changes[i].new);
	}
	free(a->changes);
	json_decref(a->known);
	code_state_free(a->state);
}

/* Read, compare, print, change. */
static int carry_through(struct apply *a)
{
	int status = code_state_new(&a->state, a->client, a->schema);

	if (!status)
		status = plan(a);
	if (status || !print_plan(a))
		return status;
	if (a->dry_run)
		return CLI_EXIT_FAILED;
	return confirmed(a) ? carry_out_all(a) : CLI_EXIT_USAGE;
}

/* Carry it out unless its preparation failed, and release it. @param status  of the
 * preparation */
static int apply_end(struct apply *a, int status)
{
	if (!status)
		status = carry_through(a);
	release(a);
	code_files_free(a->files);
	json_decref(a->schema);
	return status;
}

/* Check that the file has what it has to have. */
static int check_records(const struct apply *a)
{
	size_t count;
	const struct code_record *r = code_files_records(a->files, &count);
	const char *title = code_kinds[a->only->kind].title;

	if (count == 0 || (a->only->id && count > 1)) {
		fprintf(stderr, "offhook: %s: there must be %s %s in it\n",
			a->paths[0], a->only->id ? "exactly one" : "a", title);
		return CLI_EXIT_USAGE;
	}
	for (size_t i = 0; i < count; i++)
		if (r[i].kind != a->only->kind) {
			char reason[CODE_REASON_BYTES];

			str_print(reason, sizeof(reason),
				  "it is a %s, and a %s is wanted here: "
				  "offhook apply takes any kind",
				  code_kinds[r[i].kind].title, title);
			code_complain(&r[i], "", reason);
			return CLI_EXIT_USAGE;
		}
	return 0;
}

int apply_only(struct client *client, const char *path,
	       const struct apply_only *only)
{
	struct apply a = {
		.client = client,
		.schema = code_schema_new(),
		.paths = {path},
		.path_count = 1,
		.only = only,
	};
	int status = code_files_new(&a.files, a.schema, a.paths, 1);

	if (!status)
		status = check_records(&a);
	return apply_end(&a, status);
}

int apply_main(struct client *client, int argc, char **argv)
{
	struct apply a = {.client = client, .schema = code_schema_new()};
	int status = read_options(&a, argc, argv);

	if (!status)
		status = code_files_new(&a.files, a.schema, a.paths,
					a.path_count);
	return apply_end(&a, status);
}

int apply_fresh(struct client *client, json_t *schema, struct code_files *files)
{
	struct apply a = {.client = client,
			  .schema = schema,
			  .files = files,
			  .fresh = true};
	int status = code_state_new(&a.state, client, schema);

	if (!status)
		status = plan(&a);
	if (!status)
		status = carry_out_all(&a);
	release(&a);
	return status;
}
