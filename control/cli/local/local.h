/**
 * `offhook local`: run the tests of YAML files on a controller and agents of the
 * command's own.
 */
#ifndef OFFHOOK_CONTROL_CLI_LOCAL_LOCAL_H
#define OFFHOOK_CONTROL_CLI_LOCAL_LOCAL_H

struct client;

/** @return exit status: 0 all passed; 1 one failed; 2 wrong usage or file; 3 one
 * errored, and none failed */
int local_main(struct client *client, int argc, char **argv);

#endif
