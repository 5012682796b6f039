#include "base/event_loop.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

struct event_loop {
	int epoll_fd;
	bool stop;
	struct event_loop_timer *timers; /* by due time; a few dozen at most */
};

int event_loop_new(struct event_loop **ret)
{
	struct event_loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return -ENOMEM;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0) {
		int err = -errno;

		free(loop);
		return err;
	}
	*ret = loop;
	return 0;
}

struct event_loop *event_loop_free(struct event_loop *loop)
{
	if (loop) {
		close(loop->epoll_fd);
		free(loop);
	}
	return NULL;
}

void event_loop_stop(struct event_loop *loop)
{
	loop->stop = true;
}

int event_loop_watch(struct event_loop *loop, struct event_loop_fd *fd,
		     uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = fd};
	int op = fd->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (epoll_ctl(loop->epoll_fd, op, fd->fd, &ev) != 0)
		return -errno;
	fd->watched = true;
	return 0;
}

void event_loop_unwatch(struct event_loop *loop, struct event_loop_fd *fd)
{
	if (!fd->watched)
		return;
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd->fd, NULL);
	fd->watched = false;
}

void event_loop_disarm(struct event_loop *loop, struct event_loop_timer *timer)
{
	if (!timer->armed)
		return;
	for (struct event_loop_timer **p = &loop->timers; *p; p = &(*p)->next) {
		if (*p == timer) {
			*p = timer->next;
			break;
		}
	}
	timer->armed = false;
	timer->next = NULL;
}

void event_loop_arm(struct event_loop *loop, struct event_loop_timer *timer,
		    int64_t delay_ms)
{
	struct event_loop_timer **p = &loop->timers;

	event_loop_disarm(loop, timer);
	timer->due_ns = clock_mono_ns() + delay_ms * NS_PER_MS;
	while (*p && (*p)->due_ns <= timer->due_ns)
		p = &(*p)->next;
	timer->next = *p;
	*p = timer;
	timer->armed = true;
}

/* Run the timers that are due. Those armed meanwhile wait for the next turn. */
static void run_timers(struct event_loop *loop)
{
	int64_t now = clock_mono_ns();

	while (!loop->stop && loop->timers && loop->timers->due_ns <= now) {
		struct event_loop_timer *timer = loop->timers;

		event_loop_disarm(loop, timer);
		timer->due_h(timer->arg);
	}
}

static int wait_ms(const struct event_loop *loop)
{
	int64_t left;

	if (!loop->timers)
		return -1;
	left = loop->timers->due_ns - clock_mono_ns();
	if (left <= 0)
		return 0;
	left = (left + NS_PER_MS - 1) / NS_PER_MS;
	return left > 60000 ? 60000 : (int)left;
}

int event_loop_run(struct event_loop *loop)
{
	while (!loop->stop) {
		struct epoll_event ev;
		struct event_loop_fd *fd;
		/* one event per turn: a handler may release any other
		 * watcher */
		int n = epoll_wait(loop->epoll_fd, &ev, 1, wait_ms(loop));

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 1) {
			fd = ev.data.ptr;
			fd->ready_h(ev.events, fd->arg);
		}
		run_timers(loop);
	}
	return 0;
}
