/**
 * Makes texts in libre's memory (released by mem_deref()).
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_MESSAGE_TEXT_H
#define OFFHOOK_SIP_MESSAGE_TEXT_H

#include <stdint.h>

#include "sip/host.h"

struct mbuf;

/* Size of a reason: a sentence with its terminating 0. */
#define REASON_BYTES SIP_REASON_BYTES

/**
 * Print a text.
 * @param ret  the caller's; untouched on failure
 * @param fmt  libre's format: %r a struct pl, %H a print function
 * @return 0; -ENOMEM; -errno of a print function
 */
int text_print(char **ret, const char *fmt, ...);
/**
 * Make one text of several; much cheaper than text_print().
 * @param ret    the caller's; untouched on failure
 * @param first  then more of const char *, ended by NULL
 * @return 0; -ENOMEM
 */
int text_join(char **ret, const char *first, ...) __attribute__((sentinel));
/**
 * Append several texts. Used for header lines of every message, as a format string
 * costs several times as much.
 * @param first  then more of const char *, ended by NULL
 * @return 0; -ENOMEM
 */
int text_append(struct mbuf *mb, const char *first, ...)
	__attribute__((sentinel));
/** Make the user part of a URI (RFC 3261 25.1): other characters are escaped.
 * @param ret  the caller's @return 0; -ENOMEM */
int text_user(char **ret, const char *user);

#endif
