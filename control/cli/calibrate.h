/**
 * `offhook calibrate`: what this host can prove. The media threads belong to the agent,
 * so its program does it.
 */
#ifndef OFFHOOK_CONTROL_CLI_CALIBRATE_H
#define OFFHOOK_CONTROL_CLI_CALIBRATE_H

/** Run `offhook calibrate`, by becoming offhook-agent; argv[0] is "calibrate".
 * @return exit status: 1 there is no such program; 2 wrong usage */
int calibrate_main(int argc, char **argv);

#endif
