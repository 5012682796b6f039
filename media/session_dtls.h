/**
 * Inside of the media engine: DTLS-SRTP of a session. The RX thread hands the
 * datagrams over, the loop shakes hands and puts the keys in force. Docs:
 * media.md
 */
#ifndef OFFHOOK_MEDIA_SESSION_DTLS_H
#define OFFHOOK_MEDIA_SESSION_DTLS_H

#include "media/dtls.h"
#include "media/media.h"

#include <stdbool.h>
#include <stdint.h>

/* A datagram of DTLS that is kept; a longer one is no handshake of a sane MTU */
#define DTLS_DATAGRAM_BYTES 1500
/* Datagrams a session and second that reach the loop; a handshake takes about
 * ten, and each costs the loop at most one verification of a signature. */
#define DTLS_RATE_MAX 50
/* Kept until offer and answer are settled: a peer that has our offer begins
 * before we see its answer. */
#define DTLS_EARLY_MAX 4
/* How long a handshake may take: flights are repeated after 1, 2, 4, 8 s. */
#define DTLS_PATIENCE_NS INT64_C(20000000000)

/** RX thread -> loop. */
struct dtls_datagram {
	uint32_t slot;
	uint32_t ssrc; /* ours: tells whether the slot is still the session's */
	struct media_addr source;
	size_t bytes;
	uint8_t data[DTLS_DATAGRAM_BYTES];
};

/** Of a session. Loop thread. */
struct session_dtls {
	struct dtls *dtls;          /* NULL: not begun */
	struct media_session *next; /* under way; of the engine's list */
	struct media_negotiated settled;
	int64_t until_ns;
	bool secured; /* tx and rx are in force */
	struct media_crypto tx;
	struct media_crypto rx;
	struct dtls_datagram *early; /* DTLS_EARLY_MAX; NULL: none came */
	size_t early_count;
};

/** RX thread: may it go to the loop? Counts it. */
struct dtls_gate {
	bool open;         /* the session wants DTLS; constant after start */
	int64_t second_ns; /* start of the one that is counted */
	unsigned taken;
};
bool dtls_gate_take(struct dtls_gate *gate, int64_t now_ns);

/**
 * Offer and answer settled DTLS: begin, or go on with the association that
 * fits (RFC 8842 section 5.5).
 * @param n  in/out: with keys and what it needs once they are known
 * @return 0; -EINVAL; -ENOMEM; -EIO
 */
int session_dtls_settle(struct media_session *s, struct media_negotiated *n);
void session_dtls_release(struct media_session *s);

/** All that came, all that is due. */
void session_dtls_poll(struct media_engine *e, media_record_h *handler,
		       void *arg);

#endif
