/**
 * The Cookie header (RFC 6265 section 4.2).
 * Thread: any; pure.
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_COOKIE_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_COOKIE_H

#include <stddef.h>

/**
 * Copy the value of a cookie, the first of its name.
 * @param header  value of the header; may be NULL
 * @return 0; -ENOENT not there; -ENAMETOOLONG (value undefined)
 */
int cookie_get(const char *header, const char *name, char *value, size_t size);

#endif
