/**
 * HTTP Basic credentials (RFC 7617).
 *
 * MHD_basic_auth_get_username_password() of libmicrohttpd 0.9.75 is not used:
 * it refuses "basic", although the scheme is case-insensitive (RFC 9110 section
 * 11.1); it accepts invalid base64 ("dTp*cA==" becomes "u:@p"); and it ends a
 * password at a NUL byte, so that "p" and "p\0..." are equal.
 * tests/unit/server/test-basic.c has these cases.
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
