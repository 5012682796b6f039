/**
 * Inside of the media engine: how a thread sleeps, and how others wake it. A
 * thread that is awake, or that wakes by itself soon enough, is not signalled:
 * that saves a system call on each side and a context switch.
 *
 * The sleeper calls wake_sleep(), looks once more whether there is work, waits
 * for the descriptor only if there is none, and calls wake_end(). The others
 * publish their work (ring_push()) and call wake_by() after it. Either the
 * sleeper then finds the work, or the other finds that it sleeps.
 */
#ifndef OFFHOOK_MEDIA_WAKE_H
#define OFFHOOK_MEDIA_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** It does not wake by itself. */
#define WAKE_NEVER INT64_MAX
/** To wake_by(): the work is to be done at once. */
#define WAKE_NOW INT64_C(0)

struct wake {
	int fd; /* eventfd, readable when signalled; -1: none */
	/* when the thread wakes by itself, monotonic; 0: it is awake, or
	 * somebody has signalled it */
	_Atomic int64_t until_ns;
};

/** Thread: the one that starts the others. @return 0; -errno (fd is -1) */
int wake_open(struct wake *w);
/** May be called twice, and after wake_open() failed. */
void wake_close(struct wake *w);

/**
 * About to wait for the descriptor. Thread: the sleeper.
 * @param until_ns  when it will wake at the latest, monotonic, > 0; WAKE_NEVER
 */
void wake_sleep(struct wake *w, int64_t until_ns);
/** Awake again, or not asleep after all. Thread: the sleeper; never blocks.
 * @param readable  the descriptor is */
void wake_end(struct wake *w, bool readable);

/**
 * Whether the thread looks for work by this time without a signal. Thread: any,
 * after it has published the work.
 * @param need_ns  monotonic; WAKE_NOW
 */
bool wake_comes(struct wake *w, int64_t need_ns);
/** Signal the thread, whether or not it sleeps. Thread: any; never blocks. */
void wake_signal(struct wake *w);
/** wake_signal() unless wake_comes(). @return it was signalled */
bool wake_by(struct wake *w, int64_t need_ns);

/** Signal the loop by its eventfd. Thread: any; never blocks. */
void wake_fd_signal(int fd);
/** Clear the signal of an eventfd that does not block. Thread: the loop. */
void wake_fd_clear(int fd);

#endif
