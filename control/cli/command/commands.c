#include "control/cli/command/commands.h"

#include "base/str.h"
#include "control/cli/common/exit_code.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BYTES     40 /* of a verb with its arguments */
#define NEAREST_MAX    2  /* edits between a typo and what was meant */
#define OVERVIEW_WIDTH 78

static const char remote_options[] =
	"\nOptions of all commands that use a controller, anywhere in the line:\n"
	"  --url URL  --key-file FILE  --ca-file FILE  --fingerprint F\n"
	"  --profile NAME  --json\n"
	"Explained by `offhook help controller`; exit status by `offhook help exit`.\n";

static const struct {
	enum command_group group;
	bool brief; /* names only */
	const char *title;
} groups[] = {
	{COMMAND_CALLS, false, "Calls without a controller"},
	{COMMAND_MEASURE, false, "Measurement without calls"},
	{COMMAND_RUNS, false, "Tests and runs of a controller"},
	{COMMAND_RESOURCES, true, "Records"},
	{COMMAND_CONTROLLER, true, "Controller"},
	{COMMAND_OTHER, true, "Help"},
};

const struct command *command_find(const char *name)
{
	for (const struct command *c = command_table; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

const struct command_verb *command_verb_find(const struct command *command,
					     const char *name)
{
	for (const struct command_verb *v = command->verbs; v && v->name; v++)
		if (strcmp(v->name, name) == 0)
			return v;
	return NULL;
}

/* True for an option of all remote commands whose value is the next argument. */
static bool takes_next(const char *argument)
{
	static const char *const options[] = {"--url", "--key-file",
					      "--ca-file", "--fingerprint",
					      "--profile"};

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (strcmp(options[i], argument) == 0)
			return true;
	return false;
}

int command_index(int argc, const char *const *argv)
{
	for (int i = 1; i < argc; i++) {
		if (takes_next(argv[i]))
			i++;
		else if (argv[i][0] != '-')
			return i;
	}
	return 0;
}

bool command_help_asked(int argc, const char *const *argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "-h") == 0 ||
		    strcmp(argv[i], "--help") == 0)
			return true;
	return false;
}

bool command_has_shared_options(const struct command *command)
{
	/* the others have a controller of their own */
	return command->program && command->group != COMMAND_CALLS;
}

/* ---- help ---- */

/* Print the names of a group within OVERVIEW_WIDTH columns. */
static void print_names(FILE *out, const char *title, enum command_group group)
{
	int column = fprintf(out, "%s:", title);

	for (const struct command *c = command_table; c->name; c++) {
		if (c->group != group)
			continue;
		if (column + 1 + (int)strlen(c->name) > OVERVIEW_WIDTH)
			column = fprintf(out, "\n ") - 1;
		column += fprintf(out, " %s", c->name);
	}
	fputc('\n', out);
}

void command_overview(FILE *out)
{
	fputs("Usage: offhook COMMAND [ARGUMENT...] [OPTION...]\n", out);
	for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); g++) {
		if (groups[g].brief) {
			print_names(out, groups[g].title, groups[g].group);
			continue;
		}
		fprintf(out, "%s\n", groups[g].title);
		for (const struct command *c = command_table; c->name; c++)
			if (c->group == groups[g].group)
				fprintf(out, "  %-11s%s\n", c->name,
					c->summary);
	}
	fputs("`offhook help COMMAND` explains a command, `man offhook` all "
	      "of them.\n",
	      out);
}

static void verb_line(FILE *out, const struct command_verb *v)
{
	char line[NAME_BYTES];
	int len = snprintf(line, sizeof(line), "%s%s%s", v->name,
			   v->arguments[0] ? " " : "", v->arguments);

	if (len > 28)
		fprintf(out, "  %s %s\n", v->name, v->arguments);
	else
		fprintf(out, "  %-29s %s\n", line, v->summary);
}

void command_help(FILE *out, const struct command *command,
		  const struct command_verb *verb)
{
	if (verb) {
		fprintf(out, "Usage: offhook %s %s%s%s\n\n%s.\n", command->name,
			verb->name, verb->arguments[0] ? " " : "",
			verb->arguments, verb->summary);
		if (verb->options)
			fprintf(out, "\n%s", verb->options);
	} else if (command->verbs) {
		fprintf(out, "Usage: offhook %s VERB [ARGUMENT...]\n\n%s.\n\n",
			command->name, command->summary);
		for (const struct command_verb *v = command->verbs; v->name;
		     v++)
			verb_line(out, v);
		if (command->help)
			fprintf(out, "\n%s", command->help);
	} else {
		fputs(command->help, out);
	}
	if (command_has_shared_options(command))
		fputs(remote_options, out);
}

/* ---- typing errors ---- */

static void nearer(const char *name, const char *typo, const char **best,
		   size_t *best_distance)
{
	size_t d = str_distance(name, typo);

	/* what has to be replaced as a whole is no typing error */
	if (d < *best_distance && d < strlen(name)) {
		*best = name;
		*best_distance = d;
	}
}

int command_unknown(const struct command *command, const char *name)
{
	size_t best_distance = NEAREST_MAX + 1;
	const char *best = NULL;

	if (command) {
		for (const struct command_verb *v = command->verbs;
		     v && v->name; v++)
			nearer(v->name, name, &best, &best_distance);
		fprintf(stderr, "offhook: there is no `%s %s`", command->name,
			name);
	} else {
		for (const struct command *c = command_table; c->name; c++)
			if (c->group != COMMAND_HIDDEN &&
			    c->group != COMMAND_TOPIC)
				nearer(c->name, name, &best, &best_distance);
		fprintf(stderr, "offhook: there is no command %s", name);
	}
	if (best)
		fprintf(stderr, "; did you mean `%s%s%s`?",
			command ? command->name : "", command ? " " : "", best);
	fprintf(stderr, "\nUsage: `offhook help%s%s` lists what there is\n",
		command ? " " : "", command ? command->name : "");
	return CLI_EXIT_USAGE;
}

int command_help_main(int argc, char **argv)
{
	const struct command *command;
	const struct command_verb *verb = NULL;

	if (argc < 2 || argv[1][0] == '-') {
		command_overview(stdout);
		return CLI_EXIT_OK;
	}
	command = command_find(argv[1]);
	if (!command)
		return command_unknown(NULL, argv[1]);
	if (argc > 2) {
		verb = command_verb_find(command, argv[2]);
		if (!verb)
			return command_unknown(command, argv[2]);
	}
	command_help(stdout, command, verb);
	return CLI_EXIT_OK;
}
