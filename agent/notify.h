/**
 * What systemd is told, when we run under it and were built for it; nothing
 * happens otherwise.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_NOTIFY_H
#define OFFHOOK_AGENT_NOTIFY_H

#include "agent/loop.h"

struct notify;

/** READY=1, and WATCHDOG=1 twice per watchdog interval. @return 0; -ENOMEM */
int notify_new(struct notify **ret, struct loop *loop);
/** @return NULL */
struct notify *notify_free(struct notify *n);

/** What `systemctl status` shows. */
void notify_status(const char *text);
void notify_stopping(void);

#endif
