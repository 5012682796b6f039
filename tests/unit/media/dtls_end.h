/**
 * The peer's end of one DTLS association, with a port of its own, for the tests.
 */
#ifndef TESTS_UNIT_MEDIA_DTLS_END_H
#define TESTS_UNIT_MEDIA_DTLS_END_H

#include "media_peer.h"

#include "media/security/dtls.h"
#include "media/security/srtp_context.h"

#include <stdbool.h>

struct dtls_end {
	struct peer peer;
	struct media_addr to; /* our port */
	bool large;           /* its datagrams have the largest size */
	struct dtls *dtls;    /* NULL: not begun */
	struct srtp_context *tx;
	struct srtp_context *rx;
};

/** Open its port. @param to  where it sends to */
void dtls_end_open(struct dtls_end *e, const struct media_addr *to);
void dtls_end_close(struct dtls_end *e);

/** Shake hands, or do so again: AEAD_AES_128_GCM. @param theirs  what our
 * certificate must be */
void dtls_end_begin(struct dtls_end *e, const struct dtls_identity *id,
		    const struct media_fingerprint *theirs, bool client);
/** What has come, and what is due; all but DTLS is left out. */
void dtls_end_run(struct dtls_end *e);
/** It is done: make its keys. */
void dtls_end_keys(struct dtls_end *e);

/** Records and fragments that cannot be, or contradict the handshake's, of a
 * fixed list: what a spoofer can send from the peer's address. */
void dtls_end_spoil(const struct dtls_end *e, unsigned first, unsigned count);

/** RTP of PCMA, 20 ms, encrypted; time stamps follow from the number. */
void dtls_end_send_rtp(struct dtls_end *e, uint16_t seq);

/** What of SRTP and SRTCP has come. */
struct dtls_end_media {
	unsigned rtp;   /* authentic */
	unsigned rtcp;  /* authentic */
	unsigned wrong; /* not authentic, or in plain */
};
struct dtls_end_media dtls_end_media(struct dtls_end *e);

#endif
