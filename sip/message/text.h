/**
 * Texts of libre's memory (mem_deref), and sentences for people.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_MESSAGE_TEXT_H
#define OFFHOOK_SIP_MESSAGE_TEXT_H

#include <stdint.h>

#include "sip/host.h"

struct mbuf;

/* A sentence that says why, with its end. */
#define REASON_BYTES SIP_REASON_BYTES

/* A number as text, terminated. */
#define TEXT_NUMBER_BYTES 24

/**
 * Print a text.
 * @param ret  the caller's; untouched on failure
 * @param fmt  of libre: %r a struct pl, %H a function that prints
 * @return 0; -ENOMEM; -errno of such a function
 */
int text_print(char **ret, const char *fmt, ...);
/**
 * Append texts, one behind the other: for header lines of every message, which
 * a format string would cost several times as much.
 * @param first  then more of const char *, ended by NULL
 * @return 0; -ENOMEM
 */
int text_append(struct mbuf *mb, const char *first, ...)
	__attribute__((sentinel));
/** A number of decimal digits. @return dst */
const char *text_decimal(char dst[TEXT_NUMBER_BYTES], uint64_t number);
/** A number of 16 hexadecimal digits. @return dst */
const char *text_hex(char dst[TEXT_NUMBER_BYTES], uint64_t number);
/** The user part of a URI (RFC 3261 25.1): what may not stand there is
 * escaped. @param ret  the caller's @return 0; -ENOMEM */
int text_user(char **ret, const char *user);

#endif
