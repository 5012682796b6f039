/**
 * One DTLS-SRTP handshake (RFC 5764) as a state machine without a socket:
 * datagrams in, datagrams out, keys at the end. OpenSSL does DTLS 1.2; the
 * certificate is self-signed and proven by the fingerprint in SDP (RFC 8122).
 *
 * Thread: the loop, or a test; one at a time. Nothing blocks.
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

/** Make an EC key and its certificate; takes about a millisecond.
 * @return 0; -ENOMEM; -EIO OpenSSL refused */
int dtls_identity_new(struct dtls_identity **ret);
struct dtls_identity *dtls_identity_free(struct dtls_identity *id);
/** SHA-256 of the certificate. @return valid as long as id */
const struct media_fingerprint *dtls_identity_fingerprint(
	const struct dtls_identity *id);

struct dtls;

/** Send a datagram to the peer. Errors are not reported: a lost flight is
 * repeated. */
typedef void(dtls_send_h)(const uint8_t *data, size_t bytes, void *arg);

struct dtls_params {
	bool client; /* setup:active, sends the first flight */
	struct media_fingerprint peer;
	/* suites to offer or to accept, by preference; those without a profile
	 * in RFC 5764 and RFC 7714 (AES-256 in counter mode) are skipped */
	const enum media_srtp_suite *suites;
	size_t suite_count;
	dtls_send_h *send;
	void *arg;
};

/**
 * Start a handshake; the client sends its first flight.
 * @param id  borrowed until dtls_free()
 * @return 0; -EINVAL no suite has a profile; -ENOMEM; -EIO OpenSSL refused
 */
int dtls_new(struct dtls **ret, const struct dtls_identity *id,
	     const struct dtls_params *params);
/** Wipe the keys, release; the peer is sent nothing. @return NULL */
struct dtls *dtls_free(struct dtls *d);

/** Take a datagram of the peer. Invalid records and fragments are discarded
 * (dtls_reassembly.h). @return how many of this datagram were discarded, or
 * contradict earlier ones */
unsigned dtls_input(struct dtls *d, const uint8_t *data, size_t bytes);
/** Repeat the last flight if its timer has expired. Call several times a
 * second while the handshake is under way. */
void dtls_tick(struct dtls *d);

/** End a handshake that is under way: it has failed. */
void dtls_give_up(struct dtls *d);

enum dtls_state {
	DTLS_UNDER_WAY,
	DTLS_DONE,
	DTLS_FAILED,
};

enum dtls_state dtls_state(const struct dtls *d);
/** Why it failed; "" in other states. @return valid as long as d */
const char *dtls_reason(const struct dtls *d);

/**
 * The master keys of both directions (RFC 5764 section 4.2).
 * @return 0; -EINVAL the state is not DTLS_DONE
 */
int dtls_keys(const struct dtls *d, struct media_crypto *ret_tx,
	      struct media_crypto *ret_rx);

#endif
