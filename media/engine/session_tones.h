/**
 * DTMF digits that a session sends as tones. A worker thread encodes them in
 * the codec in force, then the TX thread gets them. Thread: loop.
 * Docs: docs/internals/media.md "DTMF"
 */
#ifndef OFFHOOK_MEDIA_ENGINE_SESSION_TONES_H
#define OFFHOOK_MEDIA_ENGINE_SESSION_TONES_H

#include "media/dtmf.h"
#include "media/engine/session_prompt.h"

/** Tones of a session. All zero: none. */
struct session_tones {
	struct session_prompt *prompt; /* constant: knows the codec in force */
	struct tones_work *work;       /* being encoded; NULL: none */
};

/**
 * Begin to encode an order. The TX thread gets it when that is done.
 * @param order  valid; copied
 * @return 0; -EAGAIN too many encodings are in progress; -ENOMEM; -errno
 */
int session_tones_send(struct session_tones *t, const struct dtmf_order *order);

/** Cancel the order that is being encoded, if any: it is dropped when its
 * encoding ends. */
void session_tones_cancel(struct session_tones *t);

#endif
