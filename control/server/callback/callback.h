/**
 * Telling somebody that a run failed (docs/reference/callbacks.md): rows are made of
 * runs whose failure is final, and delivered by one thread with several
 * transfers at a time. docs/internals/orchestration.md has the picture.
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

/** Stop it; tries in progress are cut off and will be made again. Accepts
 * NULL. @return NULL */
struct callback_sender *callback_sender_stop(struct callback_sender *s);

/** There may be something to send. Thread: any. Accepts NULL. */
void callback_sender_poke(struct callback_sender *s);

/**
 * Make rows of what is due: bodies are what the runs are now.
 * @param base_url  what links begin with
 * @return 1 rows were made; 0; -EIO; -ENOMEM
 */
int callback_make(struct store *store, const char *base_url);

#endif
