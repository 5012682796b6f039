/**
 * Tells other controllers on the same PostgreSQL database that runs or leases have
 * changed, and hears it from them (NOTIFY, LISTEN), so that each wakes the requests
 * that are parked. What was not heard is found by a query each second.
 */
#ifndef OFFHOOK_SERVER_STORE_ANNOUNCER_H
#define OFFHOOK_SERVER_STORE_ANNOUNCER_H

struct announcer;

/** Another controller has changed runs. Thread: the announcer's. */
typedef void(announcer_h)(void *arg);

/**
 * Start the thread; it connects by itself, and again whenever the connection is lost.
 * @param database  the configured one; with an SQLite file there are no others, and
 *                  nothing is started
 * @return 0, *ret NULL if nothing was started; -ENOMEM; -errno
 */
int announcer_start(struct announcer **ret, const char *database,
		    announcer_h *heard_h, void *arg);

/** Runs have changed, and their transaction is over. Several calls within a few
 * milliseconds become one message. Accepts NULL. Thread: any */
void announcer_tell(struct announcer *a);

/** Stop the thread; announcer_tell() does nothing after it. Accepts NULL. */
void announcer_stop(struct announcer *a);

/** Release it, stopped; accepts NULL. @return NULL */
struct announcer *announcer_free(struct announcer *a);

#endif
