/**
 * Shares the request rate of keys between the controllers on one database: each second
 * a thread reads what is left in the buckets of all and reports what was taken here. No
 * request waits for that. docs/reference/api.md#limits has the bound.
 */
#ifndef OFFHOOK_SERVER_HTTP_RATE_SHARING_H
#define OFFHOOK_SERVER_HTTP_RATE_SHARING_H

struct database;
struct rate;
struct rate_sharing;

/**
 * Start the thread, if the database may have several controllers.
 * @param rate  outlives it
 * @return 0, *ret NULL if nothing was started; -ENOMEM; -EIO; -errno
 */
int rate_sharing_start(struct rate_sharing **ret, struct database *database,
		       struct rate *rate);

/** Stop and release; accepts NULL. @return NULL */
struct rate_sharing *rate_sharing_stop(struct rate_sharing *s);

#endif
