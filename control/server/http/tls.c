#include "control/server/http/tls.h"

#include "base/log.h"
#include "control/server/http/pem_file.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 16u /* certificates that are sent */

struct pem {
	char *certificate; /* ours, then the chain */
	char *key;         /* secret */
	struct certificate_facts facts;
};

struct tls {
	char *certificate_file; /* constant */
	char *key_file;         /* constant */
	pthread_mutex_t lock;
	struct pem pem; /* with lock */
};

/* GnuTLS calls tls_retrieve() without an argument of ours. Set before the server
 * starts, and cleared after its end. */
static struct tls *serving;

/* One file may hold key and certificate, so both are wiped. */
static void text_release(char *text)
{
	if (!text)
		return;
	sodium_memzero(text, strlen(text));
	free(text);
}

static void pem_release(struct pem *pem)
{
	text_release(pem->key);
	text_release(pem->certificate);
	*pem = (struct pem){.key = NULL};
}

static gnutls_datum_t datum(char *text)
{
	return (gnutls_datum_t){.data = (unsigned char *)text,
				.size = (unsigned)strlen(text)};
}

/* @return certificates of a PEM text that was read before */
static unsigned chain_length(const gnutls_datum_t *pem)
{
	gnutls_x509_crt_t *list;
	unsigned count = 0;

	if (gnutls_x509_crt_list_import2(&list, &count, pem,
					 GNUTLS_X509_FMT_PEM, 0) < 0)
		return 0;
	for (unsigned i = 0; i < count; i++)
		gnutls_x509_crt_deinit(list[i]);
	gnutls_free(list);
	return count;
}

/* Say now what every handshake would fail for: no certificate, a damaged one, the key
 * of another one, more than are sent. */
static int pem_check(const struct tls *tls, const struct pem *pem)
{
	const gnutls_datum_t certificate = datum(pem->certificate);
	const gnutls_datum_t key = datum(pem->key);
	gnutls_certificate_credentials_t credentials;
	int err = gnutls_certificate_allocate_credentials(&credentials);

	if (err < 0)
		return -ENOMEM;
	err = gnutls_certificate_set_x509_key_mem(credentials, &certificate,
						  &key, GNUTLS_X509_FMT_PEM);
	gnutls_certificate_free_credentials(credentials);
	if (err >= 0 && chain_length(&certificate) > CHAIN_MAX) {
		log_error("%s has more than %u certificates",
			  tls->certificate_file, CHAIN_MAX);
		return -EINVAL;
	}
	if (err >= 0)
		return 0;
	log_error("%s and %s cannot be used for HTTPS: is the key that of the "
		  "certificate? (%s)",
		  tls->certificate_file, tls->key_file, gnutls_strerror(err));
	return -EINVAL;
}

static int pem_read(struct pem *ret, const struct tls *tls)
{
	struct pem pem = {.key = NULL};
	int err = pem_file_read(&pem.certificate, tls->certificate_file, false,
				"BEGIN CERTIFICATE");

	if (err == 0)
		err = pem_file_read(&pem.key, tls->key_file, true,
				    "PRIVATE KEY");
	if (err == 0)
		err = pem_check(tls, &pem);
	if (err == 0)
		err = certificate_facts(&pem.facts, pem.certificate);
	if (err)
		pem_release(&pem);
	else
		*ret = pem;
	return err;
}

int tls_new(struct tls **ret, const char *certificate_file,
	    const char *key_file)
{
	struct tls *tls = calloc(1, sizeof(*tls));
	int err = -ENOMEM;

	if (!tls)
		return -ENOMEM;
	pthread_mutex_init(&tls->lock, NULL);
	tls->certificate_file = strdup(certificate_file);
	tls->key_file = strdup(key_file);
	if (tls->certificate_file && tls->key_file)
		err = pem_read(&tls->pem, tls);
	if (err) {
		tls_free(tls);
		return err;
	}
	serving = tls;
	*ret = tls;
	return 0;
}

int tls_reload(struct tls *tls)
{
	struct pem pem, former;
	int err = pem_read(&pem, tls);

	if (err)
		return err;
	pthread_mutex_lock(&tls->lock);
	former = tls->pem;
	tls->pem = pem;
	pthread_mutex_unlock(&tls->lock);
	pem_release(&former);
	return 0;
}

void tls_facts(struct tls *tls, struct certificate_facts *ret)
{
	pthread_mutex_lock(&tls->lock);
	*ret = tls->pem.facts;
	pthread_mutex_unlock(&tls->lock);
}

bool tls_served_key_pin(char ret[static KEY_PIN_BYTES])
{
	struct certificate_facts facts;

	if (!serving)
		return false;
	tls_facts(serving, &facts);
	if (!facts.self_signed)
		return false;
	memcpy(ret, facts.key_pin, KEY_PIN_BYTES);
	return true;
}

struct tls *tls_free(struct tls *tls)
{
	if (!tls)
		return NULL;
	if (serving == tls)
		serving = NULL;
	pem_release(&tls->pem);
	pthread_mutex_destroy(&tls->lock);
	free(tls->certificate_file);
	free(tls->key_file);
	free(tls);
	return NULL;
}

/* Each handshake gets objects of its own, which GnuTLS releases: so a reload need not
 * know which handshakes are in progress. */
static int pem_import(struct pem *pem, gnutls_pcert_st *certificates,
		      unsigned *count, gnutls_privkey_t key)
{
	const gnutls_datum_t chain = datum(pem->certificate);
	const gnutls_datum_t secret = datum(pem->key);
	int err = gnutls_pcert_list_import_x509_raw(certificates, count, &chain,
						    GNUTLS_X509_FMT_PEM, 0);

	if (err < 0) {
		*count = 0;
		return err;
	}
	return gnutls_privkey_import_x509_raw(key, &secret, GNUTLS_X509_FMT_PEM,
					      NULL, 0);
}

int tls_retrieve(gnutls_session_t session,
		 const struct gnutls_cert_retr_st *info,
		 gnutls_pcert_st **ret_certificates, unsigned *ret_count,
		 gnutls_ocsp_data_st **ret_ocsp, unsigned *ret_ocsp_count,
		 gnutls_privkey_t *ret_key, unsigned *ret_flags)
{
	gnutls_pcert_st *certificates =
		gnutls_calloc(CHAIN_MAX, sizeof(*certificates));
	gnutls_privkey_t key = NULL;
	unsigned count = CHAIN_MAX;
	int err = GNUTLS_E_MEMORY_ERROR;

	(void)session;
	(void)info;
	if (certificates && gnutls_privkey_init(&key) == 0) {
		pthread_mutex_lock(&serving->lock);
		err = pem_import(&serving->pem, certificates, &count, key);
		pthread_mutex_unlock(&serving->lock);
	}
	if (err < 0) {
		for (unsigned i = 0; key && i < count; i++)
			gnutls_pcert_deinit(&certificates[i]);
		if (key)
			gnutls_privkey_deinit(key);
		gnutls_free(certificates);
		return -1;
	}
	*ret_certificates = certificates;
	*ret_count = count;
	*ret_ocsp = NULL;
	*ret_ocsp_count = 0;
	*ret_key = key;
	*ret_flags = GNUTLS_CERT_RETR_DEINIT_ALL;
	return 0;
}
