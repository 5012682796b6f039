/**
 * Notifications to systemd. They do nothing in a build without libsystemd, and
 * when the agent is not started by systemd.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_SERVICE_NOTIFY_H
#define OFFHOOK_AGENT_SUPERVISOR_SERVICE_NOTIFY_H

#include "base/event_loop.h"

struct service_notify;

/** Send READY=1 now, and WATCHDOG=1 twice per watchdog interval.
 * @return 0; -ENOMEM */
int service_notify_new(struct service_notify **ret, struct event_loop *loop);
/** Stop the watchdog messages. @return NULL */
struct service_notify *service_notify_free(struct service_notify *n);

/** Set the text that `systemctl status` shows. */
void service_notify_status(const char *text);
/** The start takes so long from now on; before READY=1 only. */
void service_notify_extend(unsigned seconds);
/** Send STOPPING=1. */
void service_notify_stopping(void);
/** The configuration is read again; the state is ready again after that. */
void service_notify_reloading(void);
void service_notify_reloaded(void);

#endif
