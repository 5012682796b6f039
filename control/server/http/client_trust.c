#include "control/server/http/client_trust.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/server/http/pem_file.h"
#include "control/server/http/tls.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CHAIN_MAX 16u /* certificates of a client */

/* RFC 1035 section 2.3.4; X.520 allows 64 for a common name. */
#define NAME_BYTES 256

/* What a handshake needs to name the authorities of a file to the client. */
struct offer {
	char *pem; /* the text of the file */
	gnutls_certificate_credentials_t credentials;
	/* Sessions that began with it may still use it, so it lives as long as the server. */
	struct offer *former;
};

struct client_trust {
	char *ca_file; /* constant */
	pthread_mutex_t lock;
	/* with lock */
	gnutls_x509_trust_list_t list;
	struct offer *offer;
	int64_t minute_ns; /* when the first line of this minute was written */
	unsigned lines;    /* of this minute */
	unsigned omitted;  /* since the last line */
};

/* @param pem  taken over, also on failure */
static int offer_new(struct offer **ret, char *pem)
{
	struct offer *offer = calloc(1, sizeof(*offer));
	const gnutls_datum_t text = {.data = (unsigned char *)pem,
				     .size = (unsigned)strlen(pem)};

	if (!offer ||
	    gnutls_certificate_allocate_credentials(&offer->credentials) < 0) {
		free(offer);
		free(pem);
		return -ENOMEM;
	}
	gnutls_certificate_set_retrieve_function3(offer->credentials,
						  tls_retrieve);
	if (gnutls_certificate_set_x509_trust_mem(offer->credentials, &text,
						  GNUTLS_X509_FMT_PEM) < 0) {
		gnutls_certificate_free_credentials(offer->credentials);
		free(offer);
		free(pem);
		return -ENOMEM; /* list_read() has parsed the same text */
	}
	offer->pem = pem;
	*ret = offer;
	return 0;
}

static void offers_release(struct offer *offer)
{
	while (offer) {
		struct offer *former = offer->former;

		gnutls_certificate_free_credentials(offer->credentials);
		free(offer->pem);
		free(offer);
		offer = former;
	}
}

static int list_read(gnutls_x509_trust_list_t *ret, char **ret_pem,
		     const char *path)
{
	gnutls_x509_trust_list_t list;
	gnutls_datum_t text;
	char *pem;
	int count, err = pem_file_read(&pem, path, false, "BEGIN CERTIFICATE");

	if (err)
		return err;
	if (gnutls_x509_trust_list_init(&list, 0) < 0) {
		free(pem);
		return -ENOMEM;
	}
	text = (gnutls_datum_t){.data = (unsigned char *)pem,
				.size = (unsigned)strlen(pem)};
	count = gnutls_x509_trust_list_add_trust_mem(list, &text, NULL,
						     GNUTLS_X509_FMT_PEM, 0, 0);
	if (count <= 0) {
		log_error("agent_ca_file %s: no certificate in it can be read "
			  "(%s)",
			  path, gnutls_strerror(count));
		gnutls_x509_trust_list_deinit(list, 1);
		free(pem);
		return -EINVAL;
	}
	*ret = list;
	*ret_pem = pem;
	return 0;
}

int client_trust_new(struct client_trust **ret, const char *ca_file)
{
	struct client_trust *trust = calloc(1, sizeof(*trust));
	char *pem;
	int err = -ENOMEM;

	if (!trust)
		return -ENOMEM;
	pthread_mutex_init(&trust->lock, NULL);
	trust->ca_file = strdup(ca_file);
	if (trust->ca_file)
		err = list_read(&trust->list, &pem, ca_file);
	if (err == 0)
		err = offer_new(&trust->offer, pem);
	if (err)
		client_trust_free(trust);
	else
		*ret = trust;
	return err;
}

int client_trust_reload(struct client_trust *trust)
{
	gnutls_x509_trust_list_t list, former;
	struct offer *offer = NULL;
	char *pem;
	int err = list_read(&list, &pem, trust->ca_file);

	if (err)
		return err;
	/* only this thread writes trust->offer; without a change, none is added */
	if (strcmp(pem, trust->offer->pem) == 0)
		free(pem);
	else
		err = offer_new(&offer, pem);
	if (err) {
		log_error("agent_ca_file %s: %s", trust->ca_file,
			  strerror(-err));
		gnutls_x509_trust_list_deinit(list, 1);
		return err;
	}
	pthread_mutex_lock(&trust->lock);
	former = trust->list;
	trust->list = list;
	if (offer) {
		offer->former = trust->offer;
		trust->offer = offer;
	}
	pthread_mutex_unlock(&trust->lock);
	gnutls_x509_trust_list_deinit(former, 1);
	return 0;
}

struct client_trust *client_trust_free(struct client_trust *trust)
{
	if (!trust)
		return NULL;
	if (trust->list)
		gnutls_x509_trust_list_deinit(trust->list, 1);
	pthread_mutex_destroy(&trust->lock);
	free(trust->ca_file);
	offers_release(trust->offer);
	free(trust);
	return NULL;
}

bool client_trust_may_log(struct client_trust *trust, int64_t now_ns,
			  unsigned *ret_omitted)
{
	bool may;

	pthread_mutex_lock(&trust->lock);
	if (trust->lines == 0 || now_ns - trust->minute_ns >= 60 * NS_PER_S) {
		trust->minute_ns = now_ns;
		trust->lines = 0;
	}
	may = trust->lines < CLIENT_TRUST_LINES;
	if (may) {
		*ret_omitted = trust->omitted;
		trust->omitted = 0;
		trust->lines++;
	} else {
		trust->omitted++;
	}
	pthread_mutex_unlock(&trust->lock);
	return may;
}

int client_trust_ask(struct client_trust *trust, gnutls_session_t session)
{
	int err;

	pthread_mutex_lock(&trust->lock);
	err = gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE,
				     trust->offer->credentials);
	pthread_mutex_unlock(&trust->lock);
	if (err < 0)
		return -ENOMEM;
	gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
	return 0;
}

/* @return certificates read; 0: there are none, or they cannot be read */
static unsigned chain_read(gnutls_x509_crt_t chain[static CHAIN_MAX],
			   gnutls_session_t session, unsigned max)
{
	unsigned count = 0, sent = 0;
	const gnutls_datum_t *raw =
		gnutls_certificate_get_peers(session, &sent);

	for (; raw && count < sent && count < max; count++) {
		if (gnutls_x509_crt_init(&chain[count]) < 0)
			break;
		if (gnutls_x509_crt_import(chain[count], &raw[count],
					   GNUTLS_X509_FMT_DER) < 0) {
			gnutls_x509_crt_deinit(chain[count]);
			break;
		}
	}
	return count;
}

static void chain_release(gnutls_x509_crt_t *chain, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		gnutls_x509_crt_deinit(chain[i]);
}

enum client_certificate client_trust_verify(struct client_trust *trust,
					    gnutls_session_t session)
{
	char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
	gnutls_typed_vdata_st wanted = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
					.data = (unsigned char *)purpose};
	gnutls_x509_crt_t chain[CHAIN_MAX];
	unsigned sent = 0, status = 0;
	unsigned count = chain_read(chain, session, CHAIN_MAX);
	int err;

	if (count == 0) {
		(void)gnutls_certificate_get_peers(session, &sent);
		return sent ? CLIENT_CERTIFICATE_UNTRUSTED
			    : CLIENT_CERTIFICATE_MISSING;
	}
	pthread_mutex_lock(&trust->lock);
	err = gnutls_x509_trust_list_verify_crt2(trust->list, chain, count,
						 &wanted, 1, 0, &status, NULL);
	pthread_mutex_unlock(&trust->lock);
	chain_release(chain, count);
	if (err < 0)
		return CLIENT_CERTIFICATE_UNTRUSTED;
	/* Who signed it comes first: of a foreign one the date is of no use. */
	if (status & ~(unsigned)(GNUTLS_CERT_INVALID | GNUTLS_CERT_EXPIRED |
				 GNUTLS_CERT_NOT_ACTIVATED))
		return CLIENT_CERTIFICATE_UNTRUSTED;
	if (status & GNUTLS_CERT_EXPIRED)
		return CLIENT_CERTIFICATE_EXPIRED;
	if (status & GNUTLS_CERT_NOT_ACTIVATED)
		return CLIENT_CERTIFICATE_EARLY;
	return status ? CLIENT_CERTIFICATE_UNTRUSTED : CLIENT_CERTIFICATE_VALID;
}

/* An embedded NUL makes the length differ: such a name is nobody's. */
static bool same(const char *text, size_t len, const char *name)
{
	return len == strlen(name) && strncasecmp(text, name, len) == 0;
}

static bool crt_is_named(gnutls_x509_crt_t crt, const char *name)
{
	char text[NAME_BYTES];
	size_t len = sizeof(text);

	if (gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0,
					  0, text, &len) >= 0 &&
	    same(text, len, name))
		return true;
	for (unsigned i = 0;; i++) {
		int type;

		len = sizeof(text);
		type = gnutls_x509_crt_get_subject_alt_name(crt, i, text, &len,
							    NULL);
		if (type == GNUTLS_E_SHORT_MEMORY_BUFFER)
			continue; /* longer than any agent's name */
		if (type < 0)
			return false;
		if (type == GNUTLS_SAN_DNSNAME && same(text, len, name))
			return true;
	}
}

bool client_trust_is_named(gnutls_session_t session, const char *name)
{
	gnutls_x509_crt_t chain[CHAIN_MAX];
	unsigned count = chain_read(chain, session, 1);
	bool named = count > 0 && crt_is_named(chain[0], name);

	chain_release(chain, count);
	return named;
}
