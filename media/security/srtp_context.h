/**
 * SRTP and SRTCP with one master key: protect what is sent, or verify and
 * decrypt what is received. One context for each direction.
 *
 * Source: RFC 3711 (AES-CM, HMAC-SHA1, key derivation without rate), RFC 6188
 * (AES-256), RFC 7714 (AES-GCM). No MKI.
 *
 * Two implementations with the same results: the built-in one over libcrypto,
 * which does not allocate, lock or call the kernel after srtp_context_new(),
 * and libsrtp2, which may (srtp_libsrtp2.h).
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
struct srtp_session_keys; /* srtp_keys.h */

/**
 * Thread: loop
 * @param crypto   master key and salt; copied. The built-in implementation
 *                 keeps the session keys only
 * @param library  MEDIA_SRTP_LIBRARY_LIBSRTP2: srtp_libsrtp2_init() has
 *                 succeeded
 * @return 0; -EINVAL suite unknown; -ENOMEM; -EIO the library refused
 */
int srtp_context_new(struct srtp_context **ret,
		     const struct media_crypto *crypto,
		     enum media_srtp_library library);

/**
 * A built-in context with session keys that are derived already, as published
 * vectors have them.
 * @param keys  of a known suite; copied
 * @return 0; -ENOMEM; -EIO libcrypto refused
 */
int srtp_context_from_keys(struct srtp_context **ret,
			   enum media_srtp_suite suite,
			   const struct srtp_session_keys *keys);

/** Wipe the keys, release. @return NULL */
struct srtp_context *srtp_context_free(struct srtp_context *ctx);

/**
 * Begin with the roll-over counters and SRTCP indexes of the key before: a new
 * master key does not set them back (RFC 3711 3.3.1, 3.4). The replay windows
 * are empty. Before the first packet with `ctx`.
 * Thread: the one that uses both
 * @param before  of the same direction; may still unprotect, not protect
 */
void srtp_context_continue(struct srtp_context *ctx,
			   struct srtp_context *before);

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
