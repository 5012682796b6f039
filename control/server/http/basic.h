/**
 * HTTP Basic credentials (RFC 7617).
 * Thread: any; pure.
 */
#ifndef OFFHOOK_SERVER_HTTP_BASIC_H
#define OFFHOOK_SERVER_HTTP_BASIC_H

#define BASIC_BYTES 512

struct basic {
	char text[BASIC_BYTES]; /* user, 0, password, 0 */
	const char *user;
	const char *password;
};

/**
 * Decode the value of an Authorization header.
 * @param value  may be NULL
 * @return 0; -EINVAL other scheme, broken base64, no colon, control
 *         characters, too long
 */
int basic_parse(struct basic *ret, const char *value);

#endif
