/**
 * The peer's end of one DTLS association, with its own port.
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
	bool large;           /* its datagrams have the maximum size */
	struct dtls *dtls;    /* NULL: no handshake was begun */
	struct srtp_context *tx;
	struct srtp_context *rx;
};

/**
 * Open the port.
 * @param to  where it sends to
 */
void dtls_end_open(struct dtls_end *e, const struct media_addr *to);
void dtls_end_close(struct dtls_end *e);

/**
 * Start a handshake, or another one, offering AEAD_AES_128_GCM.
 * @param theirs  fingerprint that our certificate must have
 */
void dtls_end_begin(struct dtls_end *e, const struct dtls_identity *id,
		    const struct media_fingerprint *theirs, bool client);
/**
 * Process received datagrams and expired timers. Anything but DTLS is skipped.
 */
void dtls_end_run(struct dtls_end *e);
/** Derive the SRTP keys after the handshake. */
void dtls_end_keys(struct dtls_end *e);

/**
 * Send records and fragments of a fixed list, which are invalid or contradict
 * the handshake: what a spoofer can send from the peer's address.
 */
void dtls_end_spoil(const struct dtls_end *e, unsigned first, unsigned count);

/**
 * Send 20 ms of PCMA as SRTP. The timestamp follows from the sequence number.
 */
void dtls_end_send_rtp(struct dtls_end *e, uint16_t seq);

/** SRTP and SRTCP packets that arrived. */
struct dtls_end_media {
	unsigned rtp;   /* authentic */
	unsigned rtcp;  /* authentic */
	unsigned wrong; /* not authentic, or not encrypted */
};
struct dtls_end_media dtls_end_media(struct dtls_end *e);

#endif
