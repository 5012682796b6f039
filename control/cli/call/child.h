/**
 * The engine process of a command line: offhook-agent --engine=FD.
 */
#ifndef OFFHOOK_CONTROL_CLI_CALL_CHILD_H
#define OFFHOOK_CONTROL_CLI_CALL_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * Start the engine: the program in our own folder, else the one in PATH.
 * @param ret_fd  our end of the socket; the caller closes it
 * @param quiet   the engine's log is discarded
 * @return 0; -errno
 */
int child_start(pid_t *ret_pid, int *ret_fd, bool quiet);

/** Wait until the engine exits. It is killed after 5 s.
 * @return its exit code; -1 it was killed or crashed */
int child_wait(pid_t pid);

#endif
