/**
 * The TX thread: sends RTP of all sessions at absolute deadlines, and RTCP.
 * Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_TX_TX_H
#define OFFHOOK_MEDIA_TX_TX_H

#include "media/tx/tx_params.h"

struct tx;

/** Create the thread's state. Thread: loop, before the thread starts.
 * @param params  copied
 * @return 0; -ENOMEM */
int tx_new(struct tx **ret, const struct tx_params *params);
/** Thread: loop, after the thread has ended.
 * @param t  may be NULL
 * @return NULL */
struct tx *tx_free(struct tx *t);

/** The thread's function.
 * @param tx  from tx_new()
 * @return NULL */
void *tx_thread(void *tx);

/** Counters of the thread. Thread: any, with COUNTER_READ() and
 * lateness_read(). */
const struct tx_counters *tx_counters(const struct tx *t);

#endif
