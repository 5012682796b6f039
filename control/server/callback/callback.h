/**
 * Callbacks about failed runs (docs/reference/callbacks.md). A row is made for
 * each run whose failure is final; one thread delivers them, several transfers
 * at a time. docs/internals/orchestration.md has the picture.
 */
#ifndef OFFHOOK_SERVER_CALLBACK_CALLBACK_H
#define OFFHOOK_SERVER_CALLBACK_CALLBACK_H

struct callback_sender;
struct controller;
struct store;

/**
 * Start the thread. The database is open.
 * @param controller  its configuration has the allow-list and the times
 * @return 0; -ENOMEM; -errno
 */
int callback_sender_start(struct callback_sender **ret,
			  struct controller *controller);

/** Stop the thread; attempts in progress are aborted and repeated after the
 * next start. Accepts NULL. @return NULL */
struct callback_sender *callback_sender_stop(struct callback_sender *s);

/** Wake the thread: a callback may be due. Thread: any. Accepts NULL. */
void callback_sender_poke(struct callback_sender *s);

/**
 * Make the rows of callbacks that are due; bodies show the runs as they are
 * now.
 * @param base_url  prefix of links
 * @return 1 rows were made; 0; -EIO; -ENOMEM
 */
int callback_make(struct store *store, const char *base_url);

#endif
