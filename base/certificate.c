#include "base/certificate.h"

#include "base/str.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <string.h>

#define SHA256_BYTES 32

/* The hash of the key as it stands in the certificate (SubjectPublicKeyInfo). */
static int key_pin_of(char ret[static KEY_PIN_BYTES], gnutls_x509_crt_t crt)
{
	unsigned char hash[SHA256_BYTES];
	const gnutls_datum_t hashed = {.data = hash, .size = sizeof(hash)};
	gnutls_datum_t key = {.data = NULL}, text = {.data = NULL};
	gnutls_pubkey_t pubkey;
	int err = gnutls_pubkey_init(&pubkey);

	if (err < 0)
		return err;
	err = gnutls_pubkey_import_x509(pubkey, crt, 0);
	if (err >= 0)
		err = gnutls_pubkey_export2(pubkey, GNUTLS_X509_FMT_DER, &key);
	if (err >= 0)
		err = gnutls_hash_fast(GNUTLS_DIG_SHA256, key.data, key.size,
				       hash);
	if (err >= 0)
		err = gnutls_base64_encode2(&hashed, &text);
	if (err >= 0)
		str_print(ret, KEY_PIN_BYTES, "sha256//%.*s", (int)text.size,
			  (const char *)text.data);
	gnutls_free(text.data);
	gnutls_free(key.data);
	gnutls_pubkey_deinit(pubkey);
	return err;
}

int certificate_facts(struct certificate_facts *ret, const char *pem)
{
	const gnutls_datum_t text = {.data = (unsigned char *)(uintptr_t)pem,
				     .size = (unsigned)strlen(pem)};
	struct certificate_facts facts = {.self_signed = false};
	gnutls_x509_crt_t crt;
	int err = gnutls_x509_crt_init(&crt);

	if (err < 0)
		return -ENOMEM;
	err = gnutls_x509_crt_import(crt, &text, GNUTLS_X509_FMT_PEM);
	if (err >= 0)
		err = key_pin_of(facts.key_pin, crt);
	if (err >= 0) {
		facts.self_signed = gnutls_x509_crt_check_issuer(crt, crt);
		facts.expires_s = gnutls_x509_crt_get_expiration_time(crt);
		*ret = facts;
	}
	gnutls_x509_crt_deinit(crt);
	return err >= 0 ? 0 : err == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -EINVAL;
}
