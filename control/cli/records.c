#include "control/cli/records.h"

#include "control/cli/options.h"
#include "control/cli/record_command.h"
#include "control/cli/remote.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 300

enum option_code {
	OPTION_URL = 256,
	OPTION_KEY_FILE,
	OPTION_CA_FILE,
	OPTION_JSON,
	OPTION_WAIT,
	OPTION_HELP,
};

static const struct option long_options[] = {
	{"url", required_argument, NULL, OPTION_URL},
	{"key-file", required_argument, NULL, OPTION_KEY_FILE},
	{"ca-file", required_argument, NULL, OPTION_CA_FILE},
	{"json", no_argument, NULL, OPTION_JSON},
	{"wait", no_argument, NULL, OPTION_WAIT},
	{"help", no_argument, NULL, OPTION_HELP},
	{NULL, 0, NULL, 0},
};

static const char usage_text[] =
	"Usage: offhook scenario list | show NAME\n"
	"       offhook scenario run NAME [PARAMETER=VALUE]... [--wait]\n"
	"       offhook schedule list | show ID | delete ID | enable ID | disable ID\n"
	"       offhook schedule create FIELD=VALUE...\n"
	"       offhook schedule update ID FIELD=VALUE...\n"
	"       offhook callback list | show ID\n"
	"       offhook user list | show ID | delete ID\n"
	"       offhook user create name=NAME rights=RIGHTS password=@FILE\n"
	"       offhook user update ID FIELD=VALUE...\n"
	"       offhook agent list | show ID | update ID FIELD=VALUE... | delete ID\n"
	"       offhook artifact list RUN | save RUN [FOLDER]\n"
	"       offhook callback-template list | show ID | delete ID\n"
	"       offhook callback-template create FIELD=VALUE...\n"
	"       offhook callback-template update ID FIELD=VALUE...\n"
	"\n"
	"  --url URL        of the controller; else OFFHOOK_URL, else\n"
	"                   http://127.0.0.1:8080\n"
	"  --key-file FILE  with an API key as PUBLIC:SECRET; else OFFHOOK_KEY\n"
	"  --ca-file FILE   authorities in PEM; else the system's\n"
	"  --json           print what the controller answers\n"
	"  --wait           wait for the end of the run; 0 only if it passed\n"
	"\n"
	"VALUE @FILE is the content of a file. An update changes the fields that are\n"
	"given; FIELD= empties one. A password of @FILE is its first line. Fields and parameters: docs/reference/schedules.md,\n"
	"docs/reference/callbacks.md, and `offhook scenario show NAME`.\n"
	"\n"
	"Exit status: 0; 1 it was refused, or the run did not pass; 2 wrong usage.\n";

int record_usage(const char *fmt, ...)
{
	va_list args;

	fputs("offhook: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs("\nUsage: offhook scenario|schedule|callback|callback-template|"
	      "artifact|user|agent "
	      "VERB...; --help tells more\n",
	      stderr);
	return CLI_EXIT_USAGE;
}

bool records_command(const char *name)
{
	return record_kind_find(name) != NULL;
}

/* ---- the command line ---- */

static int read_options(struct record_command *c, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) !=
	       -1) {
		switch (option) {
		case OPTION_URL:
			c->url = optarg;
			break;
		case OPTION_KEY_FILE:
			c->key_file = optarg;
			break;
		case OPTION_CA_FILE:
			c->ca_file = optarg;
			break;
		case OPTION_JSON:
			c->json = true;
			break;
		case OPTION_WAIT:
			c->wait = true;
			break;
		case OPTION_HELP:
			c->help = true;
			break;
		default:
			return record_usage("wrong option");
		}
	}
	return 0;
}

/* Verbs, and whether they take an id and fields. */
static const struct {
	const char *name;
	bool id, fields, writes, starts, of_run;
} verbs[] = {
	{"list", false, false, false, false, false},
	{"list", true, false, false, false, true},
	{"save", true, true, false, false, true},
	{"show", true, false, false, false, false},
	{"create", false, true, true, false, false},
	{"update", true, true, true, false, false},
	{"delete", true, false, true, false, false},
	{"enable", true, false, true, false, false},
	{"disable", true, false, true, false, false},
	{"run", true, true, false, true, false},
};

static bool verb_fits(const struct record_kind *kind, size_t v)
{
	bool toggles = strstr(verbs[v].name, "able") != NULL;

	if (kind->made_elsewhere && strcmp(verbs[v].name, "create") == 0)
		return false;
	return verbs[v].of_run == kind->of_run &&
	       (!verbs[v].writes || kind->writable) &&
	       (!verbs[v].starts || kind->startable) &&
	       (!toggles || strcmp(kind->command, "schedule") == 0);
}

/* True if the text is safe as one path element of a URL. */
static bool is_id(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return len > 0 && len < 100 && !text[len];
}

static int read_verb(struct record_command *c, int argc, char **argv)
{
	int at = optind;
	size_t v = 0;

	if (at >= argc)
		return record_usage("%s what?", c->kind->command);
	c->verb = argv[at++];
	while (v < sizeof(verbs) / sizeof(*verbs) &&
	       (strcmp(verbs[v].name, c->verb) != 0 || !verb_fits(c->kind, v)))
		v++;
	if (v == sizeof(verbs) / sizeof(*verbs))
		return record_usage("there is no `%s %s`", c->kind->command,
				    c->verb);
	if (verbs[v].id) {
		if (at >= argc || !is_id(argv[at]))
			return record_usage("%s %s of which one?",
					    c->kind->command, c->verb);
		c->id = argv[at++];
	}
	c->fields = argv + at;
	c->field_count = argc - at;
	if (c->field_count && !verbs[v].fields)
		return record_usage("%s is too much", argv[at]);
	if (c->field_count > 1 && verbs[v].of_run)
		return record_usage("%s is too much", argv[at + 1]);
	if (c->wait && !verbs[v].starts)
		return record_usage("--wait is for run");
	return 0;
}

/* ---- credentials ---- */

/* @return new string; NULL: failed, the reason was printed */
static char *read_key(const struct record_command *c)
{
	const char *given = getenv("OFFHOOK_KEY");
	char line[KEY_BYTES] = "";
	FILE *file;
	char *key;

	if (!c->key_file) {
		if (!given)
			record_usage("there is no API key: set OFFHOOK_KEY to "
				     "PUBLIC:SECRET, or give --key-file");
		return given ? strdup(given) : NULL;
	}
	file = fopen(c->key_file, "re");
	if (!file || !fgets(line, sizeof(line), file)) {
		record_usage("%s cannot be read", c->key_file);
		if (file)
			fclose(file);
		return NULL;
	}
	fclose(file);
	line[strcspn(line, "\r\n")] = '\0';
	key = strdup(line);
	explicit_bzero(line, sizeof(line));
	return key;
}

static int connect_and_go(struct record_command *c)
{
	const char *url = c->url ? c->url : getenv("OFFHOOK_URL");
	char reason[REMOTE_REASON_BYTES];
	char *key = read_key(c);
	int err, status;

	if (!key)
		return CLI_EXIT_USAGE;
	err = remote_new(&c->remote, url ? url : "http://127.0.0.1:8080", key,
			 c->ca_file, reason);
	explicit_bzero(key, strlen(key));
	free(key);
	if (err)
		return record_usage("%s",
				    err == -EINVAL ? reason : strerror(-err));
	status = record_carry_out(c);
	c->remote = remote_free(c->remote);
	return status;
}

int records_main(int argc, char **argv)
{
	struct record_command c = {.kind = record_kind_find(argv[0])};
	int status = read_options(&c, argc, argv);

	if (status)
		return status;
	if (c.help) {
		fputs(usage_text, stdout);
		return 0;
	}
	status = read_verb(&c, argc, argv);
	return status ? status : connect_and_go(&c);
}
