/**
 * The commands of offhook-records, which use a controller: from the name of a
 * command and verb to what does it. Every verb of command_table with the program
 * COMMANDS_REMOTE has an entry here.
 */
#ifndef OFFHOOK_CONTROL_CLI_REMOTE_COMMANDS_H
#define OFFHOOK_CONTROL_CLI_REMOTE_COMMANDS_H

struct client;

/** A verb and the function that carries it out. main() gets the verb in argv[0],
 * or the command where it has no verbs, without the shared options;
 * getopt_long() starts anew. It returns the exit status. */
struct remote_verb {
	const char *command;
	const char *verb; /* NULL: the command has no verbs */
	int (*main)(struct client *c, int argc, char **argv);
};

/** Find it. @param verb  NULL: none. @return static; NULL: a verb that all
 * kinds of records share, or none */
const struct remote_verb *remote_verb_find(const char *command,
					   const char *verb);

/** Run a command line. @return exit status */
int remote_commands_main(int argc, char **argv);

#endif
