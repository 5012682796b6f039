/**
 * `offhook apply` and `offhook export`: records of a controller as YAML files.
 */
#ifndef OFFHOOK_CONTROL_CLI_APPLY_H
#define OFFHOOK_CONTROL_CLI_APPLY_H

#include <jansson.h>

struct client;
struct code_files;

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
