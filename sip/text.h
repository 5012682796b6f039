/**
 * Texts of libre's memory (mem_deref), and sentences for people.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_TEXT_H
#define OFFHOOK_SIP_TEXT_H

#include "sip/host.h"

/* A sentence that says why, with its end. */
#define REASON_BYTES SIP_REASON_BYTES

/**
 * Print a text.
 * @param ret  the caller's; untouched on failure
 * @param fmt  of libre: %r a struct pl, %H a function that prints
 * @return 0; -ENOMEM; -errno of such a function
 */
int text_print(char **ret, const char *fmt, ...);
/** The user part of a URI (RFC 3261 25.1): what may not stand there is
 * escaped. @param ret  the caller's @return 0; -ENOMEM */
int text_user(char **ret, const char *user);

#endif
