/**
 * What systemd is told, when we run under it and were built for it; nothing
 * happens otherwise.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_SERVICE_NOTIFY_H
#define OFFHOOK_AGENT_SUPERVISOR_SERVICE_NOTIFY_H

#include "base/event_loop.h"

struct service_notify;

/** READY=1, and WATCHDOG=1 twice per watchdog interval. @return 0; -ENOMEM */
int service_notify_new(struct service_notify **ret, struct event_loop *loop);
/** @return NULL */
struct service_notify *service_notify_free(struct service_notify *n);

/** What `systemctl status` shows. */
void service_notify_status(const char *text);
void service_notify_stopping(void);

#endif
