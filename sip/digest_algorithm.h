/**
 * Hash algorithms of digest authentication.
 */
#ifndef OFFHOOK_SIP_DIGEST_ALGORITHM_H
#define OFFHOOK_SIP_DIGEST_ALGORITHM_H

/* The weakest first (RFC 8760 section 2.1, the registry of RFC 7616). */
enum digest_algorithm {
	DIGEST_MD5,
	DIGEST_SHA256,
	DIGEST_SHA512_256,
};

#endif
