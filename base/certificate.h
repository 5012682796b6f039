/**
 * X.509 certificates: what tells one from another.
 */
#ifndef OFFHOOK_BASE_CERTIFICATE_H
#define OFFHOOK_BASE_CERTIFICATE_H

#include "base/key_pin.h"

#include <stdbool.h>
#include <stdint.h>

struct certificate_facts {
	char key_pin[KEY_PIN_BYTES];
	bool self_signed;  /* no authority vouches for it */
	int64_t expires_s; /* seconds since 1970 */
};

/**
 * Read the first certificate of a PEM text.
 * Thread: any; no state.
 * @return 0; -EINVAL there is none, or it is damaged; -ENOMEM
 */
int certificate_facts(struct certificate_facts *ret, const char *pem);

#endif
