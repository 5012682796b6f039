/**
 * Computes digest responses, for clients and servers.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_MESSAGE_DIGEST_HASH_H
#define OFFHOOK_SIP_MESSAGE_DIGEST_HASH_H

#include <stdbool.h>

#include "sip/digest_algorithm.h"

struct digest_request_params;

#define DIGEST_HEX_BYTES 129 /* a digest of 64 bytes in hex */

struct digest_input {
	enum digest_algorithm algorithm;
	bool sess;
	const char *username;
	const char *realm;
	const char *password;
	const char *nonce;
	const char *qop;    /* NULL: none */
	const char *nc;     /* with a qop */
	const char *cnonce; /* with a qop, or sess */
	const struct digest_request_params *request;
};

/** The name in algorithm=, without -sess. @return static text */
const char *digest_algorithm_name(enum digest_algorithm algorithm);
/** Compute the response (RFC 7616 3.4.1 to 3.4.3). @return 0; -ENOMEM;
 * -EPROTONOSUPPORT MD5 is disabled in this process (FIPS) */
int digest_response(char response[static DIGEST_HEX_BYTES],
		    const struct digest_input *in);

#endif
