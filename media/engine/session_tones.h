/**
 * DTMF digits that a session sends as tones: encoded by a worker thread in the
 * codec in force, then given to the TX thread. Thread: loop.
 * Docs: docs/internals/media.md "DTMF"
 */
#ifndef OFFHOOK_MEDIA_ENGINE_SESSION_TONES_H
#define OFFHOOK_MEDIA_ENGINE_SESSION_TONES_H

#include "media/dtmf.h"
#include "media/engine/session_prompt.h"

/** Tones of a session. */
struct session_tones {
	struct session_prompt *prompt; /* constant: the codec in force */
	struct tones_work *work;       /* being encoded; NULL: none */
};

/**
 * Begin to encode an order; the TX thread gets it when that is done.
 * @param order  valid; copied
 * @return 0; -EAGAIN too many encodings are under way; -ENOMEM; -errno
 */
int session_tones_send(struct session_tones *t, const struct dtmf_order *order);

/** Forget what is being encoded: it is dropped when it is done. */
void session_tones_cancel(struct session_tones *t);

#endif
