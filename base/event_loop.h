/**
 * The supervisor's event loop: epoll, and timers in monotonic time.
 * Thread: all functions and handlers run on the thread of event_loop_run().
 */
#ifndef OFFHOOK_BASE_EVENT_LOOP_H
#define OFFHOOK_BASE_EVENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct event_loop;

/* A watched descriptor; embedded by its owner, all zero before first use. */
struct event_loop_fd {
	int fd;
	bool watched;
	/** @param events  EPOLLIN etc. */
	void (*ready_h)(uint32_t events, void *arg);
	void *arg;
};

/* A timer; embedded by its owner, all zero before first use. */
struct event_loop_timer {
	int64_t due_ns;
	bool armed;
	struct event_loop_timer *next;
	void (*due_h)(void *arg);
	void *arg;
};

/** @return 0; -ENOMEM; -errno */
int event_loop_new(struct event_loop **ret);
/** Nothing may be watched or armed any more.
 * @return NULL */
struct event_loop *event_loop_free(struct event_loop *loop);

/** Run until event_loop_stop(), which may have been called before.
 * @return 0; -errno */
int event_loop_run(struct event_loop *loop);
/** Make event_loop_run() return. */
void event_loop_stop(struct event_loop *loop);

/**
 * Watch fd->fd for events, or change the events.
 * @return 0; -errno (nothing has changed)
 */
int event_loop_watch(struct event_loop *loop, struct event_loop_fd *fd,
		     uint32_t events);
/** Stop watching, before the descriptor is closed. Does nothing if it is not
 * watched. */
void event_loop_unwatch(struct event_loop *loop, struct event_loop_fd *fd);

/** Arm a timer, or change its due time. It fires once.
 * @param delay_ms  >= 0 */
void event_loop_arm(struct event_loop *loop, struct event_loop_timer *timer,
		    int64_t delay_ms);
/** Stop a timer. Does nothing if it is not armed. */
void event_loop_disarm(struct event_loop *loop, struct event_loop_timer *timer);

#endif
