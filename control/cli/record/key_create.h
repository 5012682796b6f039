/**
 * `offhook key create`. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RECORD_KEY_CREATE_H
#define OFFHOOK_CONTROL_CLI_RECORD_KEY_CREATE_H

struct client;

/** Make an API key, print it, and say how it is used. @return exit status */
int key_create_main(struct client *c, int argc, char **argv);

#endif
