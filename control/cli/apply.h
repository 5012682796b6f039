/**
 * `offhook apply` and `offhook export`: records of a controller as YAML files.
 */
#ifndef OFFHOOK_CONTROL_CLI_APPLY_H
#define OFFHOOK_CONTROL_CLI_APPLY_H

struct client;

/** @return exit status: 0 done, or nothing to do; 1 --dry-run found differences;
 * 2 wrong usage or file; 3 refused, or no answer */
int apply_main(struct client *client, int argc, char **argv);

/** @return exit status: 0; 2; 3 */
int export_main(struct client *client, int argc, char **argv);

#endif
