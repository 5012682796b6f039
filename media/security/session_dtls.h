/**
 * DTLS-SRTP of a media session (RFC 5764). The RX thread hands the datagrams
 * over; the handshakes run on the loop and give the SRTP keys. An association
 * protects one port: without rtcp-mux there are two (RFC 5764 section 3).
 * Thread: loop; nothing blocks. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_SECURITY_SESSION_DTLS_H
#define OFFHOOK_MEDIA_SECURITY_SESSION_DTLS_H

#include "media/handover.h"
#include "media/media.h"
#include "media/security/dtls.h"
#include "media/socket.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Datagrams kept until offer and answer are settled: a peer that has our offer
 * may begin before its answer is here. */
#define DTLS_EARLY_MAX 4
/* How long a handshake may take: flights are repeated after 1, 2, 4, 8 s. */
#define DTLS_PATIENCE_NS INT64_C(20000000000)

/** Those of an engine. */
struct dtls_sessions {
	/* set by the engine */
	_Atomic unsigned
		*ticking; /* sessions whose timers run; see measure.h */
	int loop_fd;      /* eventfd of the loop */
	/* of session_dtls.c */
	struct dtls_identity *identity; /* NULL: no session wanted DTLS */
	struct session_dtls *first;     /* with a handshake under way */
	uint64_t dropped; /* datagrams from another address than the peer's */
	uint64_t refused; /* records and fragments that dtls_input() refused */
};

/** What a session does for its handshakes. */
struct session_dtls_handlers {
	/** Put the settled offer and answer in force again, with the keys that
	 * are known now. @return 0; -errno */
	int (*apply)(struct media_session *session);
	/** Send a datagram from one of its sockets to the peer. */
	void (*send)(const struct media_session *session, unsigned socket,
		     const struct media_addr *to, const uint8_t *data,
		     size_t bytes);
};

struct session_dtls_params {
	struct dtls_sessions *all;
	const struct session_dtls_handlers *handlers; /* static */
	struct media_session *session;       /* for handlers and records */
	const enum media_srtp_suite *suites; /* by preference; copied */
	size_t suite_count;                  /* 0: all suites */
	/* what offer and answer settled: valid from session_dtls_settle() on,
	 * as long as the session */
	const struct media_negotiated *settled;
};

/** Of one port of a session. */
struct dtls_association {
	struct session_dtls *owner;
	unsigned socket;                      /* SOCKET_RTP, SOCKET_RTCP */
	struct media_addr peer;               /* len 0: not known */
	struct media_fingerprint fingerprint; /* the peer's */
	struct dtls *dtls;                    /* NULL: not begun */
	bool under_way;
	int64_t until_ns; /* the handshake may take */
	bool secured;     /* tx and rx are in force */
	bool active;      /* our role in it */
	bool expects; /* roles have changed: the peer may begin another one */
	struct media_crypto tx;
	struct media_crypto rx;
	struct handover *early; /* DTLS_EARLY_MAX; NULL: none came */
	size_t early_count;
};

/** DTLS-SRTP of a session. All zero: it has none. */
struct session_dtls {
	struct dtls_sessions *all; /* NULL: not opened */
	const struct session_dtls_handlers *handlers;
	struct media_session *session;
	const struct media_negotiated *settled;
	enum media_srtp_suite suites[MEDIA_SRTP_SUITE_COUNT];
	size_t suite_count;
	bool stopped;
	bool listed;               /* some association is under way */
	struct session_dtls *next; /* of dtls_sessions.first */
	struct dtls_association associations[SOCKET_COUNT];
};

/** Free the identity. No session may be left. */
void dtls_sessions_free(struct dtls_sessions *all);

/**
 * The session offers and takes DTLS-SRTP. The engine's first one makes its
 * certificate.
 * @param d    all zero
 * @param ret  the fingerprint for SDP
 * @return 0; -ENOMEM; -EIO
 */
int session_dtls_open(struct session_dtls *d,
		      const struct session_dtls_params *params,
		      struct media_fingerprint *ret);
/** No timer runs any more, and nothing more is reported. */
void session_dtls_stop(struct session_dtls *d);
/** Free the associations, wipe the keys. It may be all zero. */
void session_dtls_release(struct session_dtls *d);

/**
 * Offer and answer settled DTLS: begin handshakes, or go on with the
 * associations that fit (RFC 8842 section 5.5). Where the peer alone has
 * changed the roles, so that it is to begin a new handshake, the present keys
 * stay in force until it does: linphone, which says a=setup:active in every
 * answer, never does.
 * @param n      with the addresses that ICE selected
 * @param waits  by socket: do not begin yet, as ICE is to select another pair
 * @return 0; -EINVAL not opened, no suite is left; -ENOMEM; -EIO
 */
int session_dtls_settle(struct session_dtls *d,
			const struct media_negotiated *n,
			const bool waits[static SOCKET_COUNT]);

/**
 * The keys of a port, once its handshake is done.
 * @param ret_rx  borrowed until session_dtls_settle() or _release()
 * @param ret_tx  likewise
 * @return false: none yet (both unchanged)
 */
bool session_dtls_keys(const struct session_dtls *d, unsigned socket,
		       const struct media_crypto **ret_rx,
		       const struct media_crypto **ret_tx);

/** Take a DTLS datagram. */
void session_dtls_input(struct session_dtls *d,
			const struct handover *datagram);
/** Do what is due in all sessions. MEDIA_RECORD_SECURED goes to the handler,
 * which may stop and free sessions. */
void session_dtls_poll(struct dtls_sessions *all, media_record_h *handler,
		       void *arg);

#endif
