/**
 * Runs as listings show them, as JSON text. Those that are over change no
 * more: their text is kept, so that a listing asked for again and again costs
 * little more than its ids. Included by control/server/store only.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_RUN_TEXT_H
#define OFFHOOK_SERVER_STORE_STORE_RUN_TEXT_H

#include "base/buf.h"
#include "control/server/store/record_db.h"

/* Runs kept, by the last digits of their ids; longer ones are not. */
#define RUN_TEXTS      2048
#define RUN_TEXT_BYTES 2048

/**
 * Append the selected runs as a JSON array.
 * @param t     of runs, `run r`: the columns to show
 * @param done  SQL expression: the run is over
 * @return 0; -EIO; -ENOMEM; -EMSGSIZE; then the text is half written
 */
int run_text_select(struct store *s, const struct table *t, const char *done,
		    const struct selection *selection, const struct page *page,
		    struct buf *text, int64_t *total);

#endif
