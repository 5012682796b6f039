#include "media/wake.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

/*
 * All accesses of until_ns are read-modify-write operations with acquire and
 * release, and so they form one chain: the later one of wake_sleep() and
 * wake_comes() sees what the other thread did before the earlier one. If
 * wake_sleep() is the later one, the sleeper sees the work that was published;
 * else the other thread sees that it sleeps.
 */

int wake_open(struct wake *w)
{
	/* relaxed: no other thread knows it yet */
	atomic_store_explicit(&w->until_ns, WAKE_NOW, memory_order_relaxed);
	w->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return w->fd < 0 ? -errno : 0;
}

void wake_close(struct wake *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

void wake_sleep(struct wake *w, int64_t until_ns)
{
	atomic_exchange_explicit(&w->until_ns, until_ns, memory_order_acq_rel);
}

void wake_end(struct wake *w, bool readable)
{
	uint64_t count;
	ssize_t got;

	atomic_exchange_explicit(&w->until_ns, WAKE_NOW, memory_order_acq_rel);
	if (!readable)
		return;
	got = read(w->fd, &count, sizeof(count));
	(void)got;
}

bool wake_comes(struct wake *w, int64_t need_ns)
{
	return atomic_fetch_add_explicit(&w->until_ns, 0,
					 memory_order_acq_rel) <= need_ns;
}

void wake_signal(struct wake *w)
{
	uint64_t one = 1;
	ssize_t written;

	atomic_exchange_explicit(&w->until_ns, WAKE_NOW, memory_order_acq_rel);
	/* fails only when the counter is full: then a signal is pending */
	written = write(w->fd, &one, sizeof(one));
	(void)written;
}

bool wake_by(struct wake *w, int64_t need_ns)
{
	if (wake_comes(w, need_ns))
		return false;
	wake_signal(w);
	return true;
}

void wake_fd_signal(int fd)
{
	uint64_t one = 1;
	/* fails only when the counter is full: then a signal is pending */
	ssize_t written = write(fd, &one, sizeof(one));

	(void)written;
}

void wake_fd_clear(int fd)
{
	uint64_t count;
	ssize_t got = read(fd, &count, sizeof(count));

	(void)got; /* fails when nothing was pending */
}
