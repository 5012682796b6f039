/**
 * Request targets: percent-decoding, and the elements of a path.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_PATH_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_PATH_H

#include <stdbool.h>
#include <stddef.h>

/** Ceiling of a path, in bytes. */
#define PATH_BYTES        2048
#define PATH_ELEMENTS_MAX 8

/**
 * Decode %XX in place (RFC 3986 section 2.1).
 * @param plus  also '+' to a blank, as forms have it
 * @return length; -EILSEQ a broken escape, a NUL or no UTF-8 (text is undefined)
 */
int percent_decode(char *text, bool plus);

/** True for well-formed UTF-8 (RFC 3629) without NUL. */
bool utf8_valid(const char *text, size_t len);

/** A path split at its slashes, each element decoded. */
struct path {
	char text[PATH_BYTES];
	const char *elements[PATH_ELEMENTS_MAX];
	size_t count;
};

/**
 * Split what stands behind a prefix. A trailing slash is ignored.
 * @return 0; -EILSEQ; -ENAMETOOLONG
 */
int path_split(struct path *p, const char *raw);

#endif
