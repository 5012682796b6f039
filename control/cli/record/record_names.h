/**
 * `offhook names`: the names of records, for the completion of command lines.
 * Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RECORD_RECORD_NAMES_H
#define OFFHOOK_CONTROL_CLI_RECORD_RECORD_NAMES_H

struct client;

/** Print the names of a command's records, one a line. @return exit status */
int record_names_main(struct client *client, int argc, char **argv);

#endif
