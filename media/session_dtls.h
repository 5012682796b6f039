/**
 * Inside of the media engine: DTLS-SRTP of a session. The RX thread hands the
 * datagrams over, the loop shakes hands and puts the keys in force. Docs:
 * media.md
 */
#ifndef OFFHOOK_MEDIA_SESSION_DTLS_H
#define OFFHOOK_MEDIA_SESSION_DTLS_H

#include "media/dtls.h"
#include "media/handover.h"
#include "media/media.h"

#include <stdbool.h>
#include <stdint.h>

/* Kept until offer and answer are settled: a peer that has our offer begins
 * before we see its answer. */
#define DTLS_EARLY_MAX 4
/* How long a handshake may take: flights are repeated after 1, 2, 4, 8 s. */
#define DTLS_PATIENCE_NS INT64_C(20000000000)

/** Of a session. Loop thread. */
struct session_dtls {
	struct dtls *dtls;          /* NULL: not begun */
	struct media_session *next; /* under way; of the engine's list */
	struct media_negotiated settled;
	int64_t until_ns;
	bool secured; /* tx and rx are in force */
	bool active;  /* our role in the association under way, or in force */
	bool expects; /* roles have changed: the peer may begin another one */
	struct media_crypto tx;
	struct media_crypto rx;
	struct handover *early; /* DTLS_EARLY_MAX; NULL: none came */
	size_t early_count;
};

/**
 * Offer and answer settled DTLS: begin, or go on with the association that
 * fits (RFC 8842 section 5.5). One of which the peer alone has changed the
 * roles, so that it is to begin anew, is in force until it does: linphone, which
 * says a=setup:active in every answer, never does.
 * @param n  in/out: with keys and what it needs once they are known
 * @return 0; -EINVAL; -ENOMEM; -EIO
 */
int session_dtls_settle(struct media_session *s, struct media_negotiated *n);
void session_dtls_release(struct media_session *s);

/** A datagram of it. */
void session_dtls_input(struct media_session *s, const struct handover *d);
/** All that is due. */
void session_dtls_poll(struct media_engine *e, media_record_h *handler,
		       void *arg);

#endif
