/**
 * An engine: one process that carries out one job (docs/internals/engine.md).
 */
#ifndef OFFHOOK_AGENT_ENGINE_ENGINE_H
#define OFFHOOK_AGENT_ENGINE_ENGINE_H

/**
 * Run an engine on a socket until its job is done: receives the job, exchanges the
 * messages of docs/internals/wire.md, and returns when `finish` is written. Blocks SIGTERM
 * (which cancels the job) and ignores SIGINT and SIGPIPE from then on.
 * Thread: the process's only one; once a process.
 * @param fd  a connected stream socket, taken over
 * @return the exit code of the process: 0 `finish` was written; 1 it was
 *         not (the socket was closed, or the engine could not start)
 */
int engine_main(int fd);

#endif
