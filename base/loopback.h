/**
 * Whether a peer can only be this host: what may be sent to it without encryption.
 * Names are not resolved, but "localhost" (RFC 6761 section 6.3).
 * Thread: any; no state.
 */
#ifndef OFFHOOK_BASE_LOOPBACK_H
#define OFFHOOK_BASE_LOOPBACK_H

#include <stdbool.h>

/** @return the text is an address of 127.0.0.0/8, or ::1 */
bool loopback_address(const char *text);

/** @return a URL begins with http://, and its host is neither "localhost" nor a
 *          loopback address: what is sent can be read on the way */
bool loopback_url_exposed(const char *url);

#endif
