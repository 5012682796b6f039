/**
 * The TX thread: sends RTP of all sessions by absolute deadlines, and RTCP.
 * Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_TX_TX_H
#define OFFHOOK_MEDIA_TX_TX_H

#include "media/tx/tx_params.h"

struct tx;

/** The thread's state. Thread: loop, before it starts. @return 0; -ENOMEM */
int tx_new(struct tx **ret, const struct tx_params *params);
/** Thread: loop, after it has ended. @param t  may be NULL @return NULL */
struct tx *tx_free(struct tx *t);

/** The thread's function. @param tx  of tx_new() */
void *tx_thread(void *tx);

/** Thread: any, with COUNTER_READ() and lateness_read(). */
const struct tx_counters *tx_counters(const struct tx *t);

#endif
