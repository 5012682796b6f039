/**
 * The fingerprint of a certificate: SHA-256 of its public key, written as libcurl
 * takes it (CURLOPT_PINNEDPUBLICKEY): "sha256//" and base64. A certificate that is
 * renewed for the same key keeps it.
 */
#ifndef OFFHOOK_BASE_KEY_PIN_H
#define OFFHOOK_BASE_KEY_PIN_H

#include <stdbool.h>

/* 8 characters, 44 of base64 (32 bytes), the end */
#define KEY_PIN_BYTES 53

/** Whether a text is one fingerprint. Thread: any. */
bool key_pin_valid(const char *text);

#endif
