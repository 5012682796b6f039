/**
 * `offhook apply` and `offhook export`: records of a controller as YAML files.
 */
#ifndef OFFHOOK_CONTROL_CLI_CODE_APPLY_H
#define OFFHOOK_CONTROL_CLI_CODE_APPLY_H

#include "control/cli/code/code_schema.h"

#include <jansson.h>

struct client;
struct code_files;

/** One record of one kind. */
struct apply_only {
	enum code_kind_index kind;
	json_int_t id;    /* to change; 0: all records of the file are new */
	const char *etag; /* as it was read; NULL without an id */
};

/** Apply a file with records of one kind. Standard input is "-".
 * @return exit status as of apply_main() */
int apply_only(struct client *client, const char *path,
	       const struct apply_only *only);

/** @return exit status: 0 done, or nothing to do; 1 --dry-run found differences;
 * 2 wrong usage or file; 3 refused, or no answer */
int apply_main(struct client *client, int argc, char **argv);

/**
 * Bring the records of files to a controller that has none, without a word
 * unless something is wrong. Schedules and callback templates are left out.
 * @param schema, files  borrowed
 * @return exit status: 0; 2 wrong file, also where the controller refused a
 *         record; 3 no answer
 */
int apply_fresh(struct client *client, json_t *schema,
		struct code_files *files);

/** @return exit status: 0; 2; 3 */
int export_main(struct client *client, int argc, char **argv);

#endif
