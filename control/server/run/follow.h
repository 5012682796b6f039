/**
 * Starts what follows runs that are over: further attempts of failed runs
 * (retries_on_failure), the next tests of project runs. All state is in the
 * database and changed by compare-and-set: a controller that was restarted
 * continues.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_RUN_FOLLOW_H
#define OFFHOOK_SERVER_RUN_FOLLOW_H

struct controller_conf;
struct store;

/**
 * Start runs that are due, and end project runs that are over. Callbacks: a run
 * whose failure is final has callback_state 'due' from then on (schema.sql);
 * callback/ goes on from there.
 * @return 1 something moved; 0; -EIO; -ENOMEM
 */
int run_follow(struct store *store, const struct controller_conf *conf);

#endif
