/**
 * What a service manager is told (sd_notify(3)); nothing without one.
 * Thread: main.
 */
#ifndef OFFHOOK_SERVER_SERVICE_H
#define OFFHOOK_SERVER_SERVICE_H

void service_ready(void);
void service_stopping(void);

#endif
