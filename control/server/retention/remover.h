/**
 * The thread that deletes what is marked as deleted (store_removal.h): files
 * first, then rows in chunks, with a pause after each for other writers; then it
 * thins what is marked for that (store_thinning.h). Each
 * retention_check_s it marks what retention says (retention.h).
 */
#ifndef OFFHOOK_SERVER_RETENTION_REMOVER_H
#define OFFHOOK_SERVER_RETENTION_REMOVER_H

struct controller;

/** Start the thread; it goes on with what an earlier process left. The database
 * is open. @return 0; -ENOMEM; -errno */
int remover_start(struct controller *controller);

/** Stop the thread after the transaction in progress; nobody pokes it any more.
 * Without a thread it does nothing. */
void remover_stop(struct controller *controller);

/** Wake the thread: something was marked. Thread: any. */
void remover_poke(struct controller *controller);

#endif
