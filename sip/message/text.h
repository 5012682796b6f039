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

/* Size of a number as text, terminated. */
#define TEXT_NUMBER_BYTES 24

/**
 * Print a text.
 * @param ret  the caller's; untouched on failure
 * @param fmt  libre's format: %r a struct pl, %H a print function
 * @return 0; -ENOMEM; -errno of a print function
 */
int text_print(char **ret, const char *fmt, ...);
/**
 * Append several texts. Used for header lines of every message, as a format string
 * costs several times as much.
 * @param first  then more of const char *, ended by NULL
 * @return 0; -ENOMEM
 */
int text_append(struct mbuf *mb, const char *first, ...)
	__attribute__((sentinel));
/** Write a number with 16 hexadecimal digits. @return dst */
const char *text_hex(char dst[TEXT_NUMBER_BYTES], uint64_t number);
/** Make the user part of a URI (RFC 3261 25.1): other characters are escaped.
 * @param ret  the caller's @return 0; -ENOMEM */
int text_user(char **ret, const char *user);

#endif
