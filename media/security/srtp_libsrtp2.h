/**
 * SRTP by libsrtp2: what srtp_context.c needs of it. libsrtp2 encrypts,
 * authenticates and keeps roll-over counters and SRTCP indexes; srtp_context.c
 * keeps the sources and decides what a replay is, as for the built-in one.
 *
 * Source: RFC 3711, RFC 6188, RFC 7714; libsrtp 2.5 (Debian 12), 2.7 (Debian 13)
 *
 * Thread: made and released by the loop, used by ONE media thread in between.
 * Unlike the built-in implementation it allocates and locks on that thread:
 * for each new source, and where libsrtp2 is built on NSS for each packet.
 */
#ifndef OFFHOOK_MEDIA_SECURITY_SRTP_LIBSRTP2_H
#define OFFHOOK_MEDIA_SECURITY_SRTP_LIBSRTP2_H

#include "media/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One master key of one direction. */
struct srtp_libsrtp2;

/**
 * Initialize libsrtp2 for this process, and try every suite. May be called
 * again. libsrtp2 stays initialized until the process ends.
 * Thread: loop
 * @param ret_suite  set with -ENOTSUP only: the name of a suite that libsrtp2
 *                   refuses; the first one if it cannot be initialized
 * @return 0; -ENOTSUP
 */
int srtp_libsrtp2_init(const char **ret_suite);

/**
 * @param crypto  master key and salt of a known suite; copied, and wiped by
 *                srtp_libsrtp2_free()
 * @return 0; -ENOMEM; -EIO libsrtp2 refused
 */
int srtp_libsrtp2_new(struct srtp_libsrtp2 **ret,
		      const struct media_crypto *crypto);

/** Wipe the keys, release. NULL is allowed. @return NULL */
struct srtp_libsrtp2 *srtp_libsrtp2_free(struct srtp_libsrtp2 *l);

/**
 * Send with the key of `to` from now on, with the roll-over counters and SRTCP
 * indexes of `from` (RFC 3711 3.3.1, 3.4): srtp_update().
 * @param from  not to be used for sending afterwards
 * @return 0; -ENOMEM, -EIO: the counters begin with 0
 */
int srtp_libsrtp2_continue(struct srtp_libsrtp2 *to,
			   struct srtp_libsrtp2 *from);

/** Release what is kept of a source. @param ssrc  host byte order */
void srtp_libsrtp2_forget(struct srtp_libsrtp2 *l, uint32_t ssrc);

/**
 * Protect an RTP, or a compound RTCP packet in place. The caller has checked
 * the header, and that there is room for tag and SRTCP index.
 * @return 0 (*bytes has grown); -ENOMEM; -EIO
 */
int srtp_libsrtp2_protect(struct srtp_libsrtp2 *l, uint8_t *packet,
			  size_t *bytes);
int srtp_libsrtp2_protect_rtcp(struct srtp_libsrtp2 *l, uint8_t *packet,
			       size_t *bytes);

/**
 * Verify and decrypt an RTP packet in place, a replayed one too.
 * @param bytes  with the tag
 * @param roc    the packet's roll-over counter
 * @param anew   forget what libsrtp2 has of the source and begin at `roc`;
 *               false: libsrtp2 follows the source already, or it is new and
 *               `roc` is 0
 * @return 0; -EACCES not authentic; -EBADMSG; -ENOMEM; -EIO
 */
int srtp_libsrtp2_unprotect(struct srtp_libsrtp2 *l, uint8_t *packet,
			    size_t bytes, uint32_t roc, bool anew);

/** The same of a compound RTCP packet. @param bytes  with index and tag */
int srtp_libsrtp2_unprotect_rtcp(struct srtp_libsrtp2 *l, uint8_t *packet,
				 size_t bytes);

#endif
