/**
 * One DTLS-SRTP handshake (RFC 5764) as a machine without a socket: datagrams
 * in, datagrams out, keys at the end. OpenSSL does DTLS 1.2; the certificate is
 * made by ourselves and proven by the fingerprint in SDP (RFC 8122).
 *
 * Thread: one at a time; nothing blocks.
 */
#ifndef OFFHOOK_MEDIA_SECURITY_DTLS_H
#define OFFHOOK_MEDIA_SECURITY_DTLS_H

#include "media/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DTLS_REASON_BYTES 192

/** Key pair, certificate and fingerprint. */
struct dtls_identity;

/** Takes about a millisecond (an EC key). @return 0; -ENOMEM; -EIO */
int dtls_identity_new(struct dtls_identity **ret);
struct dtls_identity *dtls_identity_free(struct dtls_identity *id);
/** Of its certificate, SHA-256. */
const struct media_fingerprint *dtls_identity_fingerprint(
	const struct dtls_identity *id);

struct dtls;

/** A datagram to the peer; nothing is said about what becomes of it. */
typedef void(dtls_send_h)(const uint8_t *data, size_t bytes, void *arg);

struct dtls_params {
	bool client; /* the active side: it begins */
	struct media_fingerprint peer;
	/* profiles to offer or to take, by preference; those that RFC 5764 and
	 * RFC 7714 do not name are left out */
	const enum media_srtp_suite *suites;
	size_t suite_count;
	dtls_send_h *send;
	void *arg;
};

/**
 * Begin; the client sends its first flight.
 * @param id  outlives it
 * @return 0; -EINVAL no profile is left; -ENOMEM; -EIO
 */
int dtls_new(struct dtls **ret, const struct dtls_identity *id,
	     const struct dtls_params *params);
struct dtls *dtls_free(struct dtls *d);

/** A datagram of the peer. What is no DTLS changes nothing, nor does what cannot
 * be (see dtls_reassembly.h). @return how much of it was left out for that, or
 * contradicts what came before */
unsigned dtls_input(struct dtls *d, const uint8_t *data, size_t bytes);
/** To be called now and then: repeats a flight whose time has come. */
void dtls_tick(struct dtls *d);

/** Wait no longer: what is under way has failed. */
void dtls_give_up(struct dtls *d);

enum dtls_state {
	DTLS_UNDER_WAY,
	DTLS_DONE,
	DTLS_FAILED,
};

enum dtls_state dtls_state(const struct dtls *d);
/** Why it failed. */
const char *dtls_reason(const struct dtls *d);

/**
 * The keys of both directions (RFC 5764 section 4.2).
 * @return 0; -EINVAL not done
 */
int dtls_keys(const struct dtls *d, struct media_crypto *ret_tx,
	      struct media_crypto *ret_rx);

#endif
