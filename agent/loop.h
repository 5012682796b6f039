/**
 * The supervisor's event loop: epoll, and timers in monotonic time.
 * Thread: all functions and handlers run on the thread of loop_run().
 */
#ifndef OFFHOOK_AGENT_LOOP_H
#define OFFHOOK_AGENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;

/* A watched descriptor; embedded by its owner, zeroed before first use. */
struct loop_fd {
	int fd;
	bool watched;
	/** @param events  EPOLLIN and so on */
	void (*ready_h)(uint32_t events, void *arg);
	void *arg;
};

/* A timer; embedded by its owner, zeroed before first use. */
struct loop_timer {
	int64_t due_ns;
	bool armed;
	struct loop_timer *next;
	void (*due_h)(void *arg);
	void *arg;
};

/** @return 0; -ENOMEM; -errno */
int loop_new(struct loop **ret);
/** Nothing may be watched or armed any more. @return NULL */
struct loop *loop_free(struct loop *loop);

/** Serve until loop_stop(), which may have been before. @return 0; -errno */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/**
 * Watch fd->fd for events, or change what it is watched for.
 * @return 0; -errno (what was watched stays)
 */
int loop_watch(struct loop *loop, struct loop_fd *fd, uint32_t events);
/** Stop watching; before the descriptor is closed. No call: harmless. */
void loop_unwatch(struct loop *loop, struct loop_fd *fd);

/** Arm, or arm anew; once. @param delay_ms  >= 0 */
void loop_arm(struct loop *loop, struct loop_timer *timer, int64_t delay_ms);
void loop_disarm(struct loop *loop, struct loop_timer *timer);

#endif
