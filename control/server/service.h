/**
 * Notify the service manager (sd_notify(3)); without one nothing is done.
 * Thread: main.
 */
#ifndef OFFHOOK_SERVER_SERVICE_H
#define OFFHOOK_SERVER_SERVICE_H

void service_ready(void);
void service_stopping(void);

#endif
