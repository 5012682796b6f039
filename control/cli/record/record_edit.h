/**
 * Records as YAML in an editor, or from a file. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RECORD_RECORD_EDIT_H
#define OFFHOOK_CONTROL_CLI_RECORD_RECORD_EDIT_H

#include <jansson.h>

struct client;
struct record_kind;

/**
 * Open a record in $VISUAL or $EDITOR and write it back. A text that is wrong or
 * was refused is kept, and its file is named.
 * @param kind  one that offhook apply knows
 * @return exit status
 */
int record_edit(struct client *c, const struct record_kind *kind,
		json_int_t id);

/** Create the records of a YAML file. @param file  "-": standard input.
 * @return exit status */
int record_create_from(struct client *c, const struct record_kind *kind,
		       const char *file);

/** `offhook test export [NAME] [--to DIR]`. @return exit status */
int record_test_export(struct client *c, int argc, char **argv);

#endif
