#include "agent/supervisor/service_notify.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#else
/* Built without libsystemd: do nothing. */
static int sd_notify(int unset, const char *state)
{
	(void)unset;
	(void)state;
	return 0;
}
static int sd_notifyf(int unset, const char *format, ...)
{
	(void)unset;
	(void)format;
	return 0;
}
static int sd_watchdog_enabled(int unset, uint64_t *usec)
{
	(void)unset;
	(void)usec;
	return 0;
}
#endif

struct service_notify {
	struct event_loop *loop;
	struct event_loop_timer watchdog;
	int64_t period_ms;
};

static void on_watchdog(void *arg)
{
	struct service_notify *n = arg;

	sd_notify(0, "WATCHDOG=1");
	event_loop_arm(n->loop, &n->watchdog, n->period_ms);
}

int service_notify_new(struct service_notify **ret, struct event_loop *loop)
{
	struct service_notify *n = calloc(1, sizeof(*n));
	uint64_t usec = 0;

	if (!n)
		return -ENOMEM;
	n->loop = loop;
	n->watchdog.due_h = on_watchdog;
	n->watchdog.arg = n;
	sd_notify(0, "READY=1");
	if (sd_watchdog_enabled(0, &usec) > 0 && usec >= 2000) {
		n->period_ms = (int64_t)(usec / 2000);
		event_loop_arm(loop, &n->watchdog, n->period_ms);
	}
	*ret = n;
	return 0;
}

struct service_notify *service_notify_free(struct service_notify *n)
{
	if (n) {
		event_loop_disarm(n->loop, &n->watchdog);
		free(n);
	}
	return NULL;
}

void service_notify_status(const char *text)
{
	sd_notifyf(0, "STATUS=%s", text);
}

void service_notify_extend(unsigned seconds)
{
	sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%u000000", seconds);
}

void service_notify_reloading(void)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
		   clock_mono_ns() / 1000);
}

void service_notify_reloaded(void)
{
	sd_notify(0, "READY=1");
}

void service_notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}
