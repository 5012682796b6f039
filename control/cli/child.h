/**
 * The engine process of a command line: offhook-agent --engine=FD.
 */
#ifndef OFFHOOK_CONTROL_CLI_CHILD_H
#define OFFHOOK_CONTROL_CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * Start it: the program beside ours, else the one in PATH.
 * @param quiet  its log goes nowhere
 * @return 0; -errno. *ret_fd is our end of the socket.
 */
int child_start(pid_t *ret_pid, int *ret_fd, bool quiet);

/** Wait for its end, kill it if it takes longer than some seconds.
 * @return its exit code; -1 it was killed or crashed */
int child_wait(pid_t pid);

#endif
