/**
 * Notify the service manager (sd_notify(3)); without one nothing is done.
 * Thread: main.
 */
#ifndef OFFHOOK_SERVER_SERVICE_H
#define OFFHOOK_SERVER_SERVICE_H

#include <stdint.h>

void service_ready(void);
/** The configuration is read again; service_ready() follows. */
void service_reloading(void);
/** @return ms between two calls of service_alive(); 0: nobody waits for them */
int64_t service_watchdog_ms(void);
void service_alive(void);
void service_stopping(void);

#endif
