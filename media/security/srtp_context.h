/**
 * SRTP and SRTCP with one master key: protect what is sent, or verify and
 * decrypt what comes. One context a direction.
 *
 * Source: RFC 3711 (AES-CM, HMAC-SHA1, key derivation without rate), RFC 6188
 * (AES-256), RFC 7714 (AES-GCM). No MKI. libcrypto does the ciphers; nothing
 * here allocates, locks or calls the kernel after srtp_context_new().
 *
 * Thread: made and released by the loop, used by ONE media thread in between.
 */
#ifndef OFFHOOK_MEDIA_SECURITY_SRTP_CONTEXT_H
#define OFFHOOK_MEDIA_SECURITY_SRTP_CONTEXT_H

#include "media/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What protecting adds at most: tag, and the index word of SRTCP. */
#define SRTP_OVERHEAD_BYTES  16
#define SRTCP_OVERHEAD_BYTES 20

struct srtp_context;

/**
 * @param crypto  master key and salt; copied as session keys, not kept
 * @return 0; -EINVAL suite unknown; -ENOMEM; -EIO the library refused
 */
int srtp_context_new(struct srtp_context **ret,
		     const struct media_crypto *crypto);

/** Wipe the keys, release. @return NULL */
struct srtp_context *srtp_context_free(struct srtp_context *ctx);

/**
 * The other context goes on where this one was: a new master key does not set
 * the roll-over counters back (RFC 3711 3.3.1). The replay windows are empty.
 */
void srtp_context_continue(struct srtp_context *ctx,
			   const struct srtp_context *before);

/**
 * Encrypt and authenticate an RTP packet in place.
 * @param bytes  in: of the packet; out: with the tag; unchanged on failure
 * @param room   bytes of the buffer; SRTP_OVERHEAD_BYTES more than *bytes
 * @return 0; -EBADMSG no RTP packet; -ENOBUFS
 */
int srtp_context_protect(struct srtp_context *ctx, uint8_t *packet,
			 size_t *bytes, size_t room);

/**
 * Verify and decrypt an RTP packet in place.
 * @return 0; -EALREADY authentic, but seen before or older than the window
 *         (decrypted all the same); -EACCES not authentic; -EBADMSG too
 *         short or no RTP packet (both: *bytes unchanged)
 */
int srtp_context_unprotect(struct srtp_context *ctx, uint8_t *packet,
			   size_t *bytes);

/** The same for a compound RTCP packet; room SRTCP_OVERHEAD_BYTES more. */
int srtp_context_protect_rtcp(struct srtp_context *ctx, uint8_t *packet,
			      size_t *bytes, size_t room);
int srtp_context_unprotect_rtcp(struct srtp_context *ctx, uint8_t *packet,
				size_t *bytes);

#endif
