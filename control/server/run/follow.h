/**
 * What follows runs that are over: further attempts of failed ones
 * (retries_on_failure), the next tests of project runs. All state is in rows;
 * each turn is taken by a compare-and-set, so that several controllers may
 * race and a restarted one goes on.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_RUN_FOLLOW_H
#define OFFHOOK_SERVER_RUN_FOLLOW_H

struct controller_conf;
struct store;

/**
 * Start what is due, and end the project runs that are over.
 * Callbacks: a run whose failure is final has callback_state 'due' from then
 * on (schema.sql); callback/ goes on from there.
 * @return 1 something moved; 0; -EIO; -ENOMEM
 */
int run_follow(struct store *store, const struct controller_conf *conf);

#endif
