/**
 * An engine: one process that carries out one job (docs/internals/engine.md).
 */
#ifndef OFFHOOK_AGENT_ENGINE_ENGINE_H
#define OFFHOOK_AGENT_ENGINE_ENGINE_H

/**
 * Run an engine on a socket until its job is done: takes the job, speaks the
 * messages of docs/internals/wire.md, returns when `finish` is written. Blocks SIGTERM
 * (a cancel) and ignores SIGINT and SIGPIPE in this process for good.
 * Thread: the process's only one; once a process.
 * @param fd  a connected stream socket, taken over
 * @return the exit code of the process: 0 the job was accounted for; 1 it was
 *         not (the socket was gone, or the engine could not start)
 */
int engine_main(int fd);

#endif
