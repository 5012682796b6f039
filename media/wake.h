/**
 * Inside of the media engine: how a thread sleeps, and how others wake it. A
 * thread that is awake, or that wakes by itself soon enough, is not signalled:
 * that saves a system call on each side and a context switch.
 *
 * The sleeper calls wake_sleep(), checks once more for work, waits for the
 * descriptor only if there is none, and calls wake_end(). The others publish
 * their work (ring_push()) and call wake_by() after it. Either the sleeper then
 * finds the work, or the other thread finds that it sleeps.
 */
#ifndef OFFHOOK_MEDIA_WAKE_H
#define OFFHOOK_MEDIA_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** The thread does not wake by itself. */
#define WAKE_NEVER INT64_MAX
/** For wake_by(): the work must be done at once. */
#define WAKE_NOW INT64_C(0)

struct wake {
	int fd; /* eventfd, readable when signalled; -1: none */
	/* when the thread wakes by itself, monotonic; 0: it is awake or already
	 * signalled */
	_Atomic int64_t until_ns;
};

/** Thread: the one that starts the others.
 * @return 0; -errno (fd is -1) */
int wake_open(struct wake *w);
/** May be called twice, and after wake_open() failed. */
void wake_close(struct wake *w);

/**
 * Announce that the thread is about to wait for the descriptor. Thread: the
 * sleeper.
 * @param until_ns  when it will wake at the latest, monotonic, > 0; WAKE_NEVER
 */
void wake_sleep(struct wake *w, int64_t until_ns);
/** Announce that the thread is awake. Thread: the sleeper; never blocks.
 * @param readable  the descriptor is readable */
void wake_end(struct wake *w, bool readable);

/**
 * Check whether the thread will look for work in time without a signal. Thread:
 * any, after it has published the work.
 * @param need_ns  when the work must be done, monotonic; WAKE_NOW
 * @return the thread looks for work by then
 */
bool wake_comes(struct wake *w, int64_t need_ns);
/** Signal the thread, whether or not it sleeps. Thread: any; never blocks. */
void wake_signal(struct wake *w);
/** Call wake_signal() unless wake_comes().
 * @return the thread was signalled */
bool wake_by(struct wake *w, int64_t need_ns);

/** Signal the loop through its eventfd. Thread: any; never blocks. */
void wake_fd_signal(int fd);
/** Clear the signal of a non-blocking eventfd. Thread: the loop. */
void wake_fd_clear(int fd);

#endif
