/**
 * Inside of the media engine: DTLS-SRTP of a session. The RX thread hands the
 * datagrams over, the loop shakes hands and puts the keys in force. Docs:
 * docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_ENGINE_SESSION_DTLS_H
#define OFFHOOK_MEDIA_ENGINE_SESSION_DTLS_H

#include "media/handover.h"
#include "media/media.h"
#include "media/security/dtls.h"
#include "media/socket.h"

#include <stdbool.h>
#include <stdint.h>

/* Kept until offer and answer are settled: a peer that has our offer begins
 * before we see its answer. */
#define DTLS_EARLY_MAX 4
/* How long a handshake may take: flights are repeated after 1, 2, 4, 8 s. */
#define DTLS_PATIENCE_NS INT64_C(20000000000)

/** Of one port of a session. Loop thread. */
struct dtls_association {
	struct media_session *session;
	bool rtcp;         /* the port */
	struct dtls *dtls; /* NULL: not begun */
	bool under_way;
	int64_t until_ns; /* it may take */
	bool secured;     /* tx and rx are in force */
	bool active;      /* our role in it */
	bool expects; /* roles have changed: the peer may begin another one */
	struct media_crypto tx;
	struct media_crypto rx;
	struct handover *early; /* DTLS_EARLY_MAX; NULL: none came */
	size_t early_count;
};

/** Of a session. Loop thread. An association protects one port: without
 * rtcp-mux there are two (RFC 5764 section 3). */
struct session_dtls {
	bool listed;                /* some association is under way */
	struct media_session *next; /* of the engine's list */
	struct media_negotiated settled;
	struct dtls_association associations[SOCKET_COUNT];
};

/** Nothing is begun. */
void session_dtls_open(struct media_session *s);

/**
 * Offer and answer settled DTLS: begin, or go on with the associations that
 * fit (RFC 8842 section 5.5). One of which the peer alone has changed the
 * roles, so that it is to begin anew, is in force until it does: linphone, which
 * says a=setup:active in every answer, never does.
 * The keys that are known stand in the associations.
 * @return 0; -EINVAL; -ENOMEM; -EIO
 */
int session_dtls_settle(struct media_session *s,
			const struct media_negotiated *n);
void session_dtls_release(struct media_session *s);

/** A datagram of it. */
void session_dtls_input(struct media_session *s, const struct handover *d);
/** All that is due. */
void session_dtls_poll(struct media_engine *e, media_record_h *handler,
		       void *arg);

#endif
