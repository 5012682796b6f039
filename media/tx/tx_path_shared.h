/**
 * Sending by sockets that sessions share: packets wait for the end of the thread's
 * turn and leave together, by sendmmsg(). Those of one size from one socket to one
 * address on this host are joined to one send (UDP_SEGMENT, udp(7)), which the
 * kernel does not divide on its way; elsewhere a queueing discipline would see,
 * delay and drop them as one. Docs: docs/internals/media.md "Media paths"
 */
#ifndef OFFHOOK_MEDIA_TX_TX_PATH_SHARED_H
#define OFFHOOK_MEDIA_TX_TX_PATH_SHARED_H

#include "media/tx/tx_path.h"

struct tx_queue; /* packets that wait */

/** Thread: loop, while no session uses it. @return 0; -ENOMEM */
int tx_queue_new(struct tx_queue **ret);
/** Thread: loop, after the thread has ended. @param q  may be NULL
 * @return NULL */
struct tx_queue *tx_queue_free(struct tx_queue *q);

extern const struct tx_path tx_path_shared;

#endif
