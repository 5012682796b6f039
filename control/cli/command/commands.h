/**
 * The commands of `offhook`: one table, from which dispatch, help and completion
 * are made. command_table.c holds the entries.
 */
#ifndef OFFHOOK_CONTROL_CLI_COMMAND_COMMANDS_H
#define OFFHOOK_CONTROL_CLI_COMMAND_COMMANDS_H

#include <stdbool.h>
#include <stdio.h>

/** The program of the commands that use a controller; it alone loads an HTTP
 * client, which takes longer than analyzing a small capture. */
#define COMMANDS_REMOTE "offhook-records"

enum command_group {
	COMMAND_CALLS,
	COMMAND_MEASURE,
	COMMAND_RUNS,       /* tests, and what they did */
	COMMAND_RESOURCES,  /* what tests use */
	COMMAND_CONTROLLER, /* who uses it, and how */
	COMMAND_OTHER,
	COMMAND_TOPIC,  /* a page of help, no command */
	COMMAND_HIDDEN, /* for scripts of ours; not listed */
};

/** `offhook COMMAND VERB`. */
struct command_verb {
	const char *name;      /* "show"; NULL ends a list */
	const char *arguments; /* "NAME"; "": none */
	const char *summary;   /* "Print one record" */
	const char *options;   /* lines of help, each ends with '\n'; NULL */
};

struct command {
	const char *name;
	enum command_group group;
	const char *program; /* COMMANDS_REMOTE; NULL: offhook itself */
	const char *summary;
	const struct command_verb *verbs; /* NULL: none */
	const char *help; /* with verbs: lines below them; else all of it */
	bool names;       /* its records have names to complete */
};

/** All commands, the last one without a name. */
extern const struct command command_table[];

/** Find a command by name. @return static; NULL: there is none */
const struct command *command_find(const char *name);

/** Find a verb of a command. @return static; NULL: there is none */
const struct command_verb *command_verb_find(const struct command *command,
					     const char *name);

/** True for a command that takes the options of all remote commands. */
bool command_has_shared_options(const struct command *command);

/**
 * Find the command in a command line: the first argument that is neither an
 * option that all remote commands share nor the value of one.
 * @return index into argv; 0: none
 */
int command_index(int argc, const char *const *argv);

/** True if the arguments ask for help: -h or --help before a "--". */
bool command_help_asked(int argc, const char *const *argv);

/** Print the overview of all commands, grouped by purpose. */
void command_overview(FILE *out);

/** Print the help of a command or, with a verb, of that. At most 24 lines of 80
 * columns. @param verb  NULL: of the command */
void command_help(FILE *out, const struct command *command,
		  const struct command_verb *verb);

/** Complain on standard error about a name that is no command, or no verb of the
 * command, and suggest the nearest one. @param command  NULL: the name is of a
 * command. @return exit status */
int command_unknown(const struct command *command, const char *name);

/** `offhook help [COMMAND [VERB]]`. @return exit status */
int command_help_main(int argc, char **argv);

#endif
