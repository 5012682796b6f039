/**
 * The verbs that kinds of records share: list, show, create, ...
 */
#ifndef OFFHOOK_CONTROL_CLI_RECORD_RECORD_VERBS_H
#define OFFHOOK_CONTROL_CLI_RECORD_RECORD_VERBS_H

struct client;

/** Do the verb argv[0] of a kind. @return exit status */
int record_verb_main(struct client *c, const char *kind, int argc, char **argv);

int record_artifact_list(struct client *c, int argc, char **argv);
int record_artifact_save(struct client *c, int argc, char **argv);

/** Make an API key, print it, and say how it is used. @return exit status */
int record_key_create(struct client *c, int argc, char **argv);

/** `offhook names`, for the completion of command lines: print the names of a
 * command's records, one a line. @return exit status */
int record_names_main(struct client *client, int argc, char **argv);

#endif
