/**
 * Threads to which the process's signals are not delivered.
 */
#ifndef OFFHOOK_BASE_THREAD_H
#define OFFHOOK_BASE_THREAD_H

#include <pthread.h>

/**
 * Start a thread. All signals are blocked in it but those that its own instructions
 * cause, SIGSYS among them: the kernel kills a process that blocks these, whatever
 * its handler is.
 * Thread: any
 * @param name  at most 15 bytes, as tools show it
 * @return 0; -EAGAIN no thread can be started (ret unchanged)
 */
int thread_start(pthread_t *ret, const char *name, void *(*run)(void *arg),
		 void *arg);

#endif
