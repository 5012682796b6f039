#include "media/security/dtls_internal.h"

#include "base/str.h"
#include "media/security/dtls_reassembly.h"
#include "media/security/srtp_keys.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#define LINK_MTU       1200 /* of a path with tunnels; IPv6 guarantees 1280 */
#define PROFILES_BYTES 160
#define EXPORTER_LABEL "EXTRACTOR-dtls_srtp" /* RFC 5764 4.2 */

/* RFC 5764 4.1.2, RFC 7714 14.2; OpenSSL's names */
static const char *const profiles[MEDIA_SRTP_SUITE_COUNT] = {
	[MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80] = "SRTP_AES128_CM_SHA1_80",
	[MEDIA_SRTP_AES_CM_128_HMAC_SHA1_32] = "SRTP_AES128_CM_SHA1_32",
	[MEDIA_SRTP_AEAD_AES_128_GCM] = "SRTP_AEAD_AES_128_GCM",
	[MEDIA_SRTP_AEAD_AES_256_GCM] = "SRTP_AEAD_AES_256_GCM",
};

struct dtls {
	SSL *ssl;
	BIO *in;
	struct dtls_reassembly *messages; /* the peer's */
	struct dtls_output output;
	bool client;
	struct media_fingerprint peer;
	enum dtls_state state;
	char reason[DTLS_REASON_BYTES];
	struct media_crypto tx;
	struct media_crypto rx;
};

static void fail(struct dtls *d, const char *why)
{
	d->state = DTLS_FAILED;
	str_print(d->reason, sizeof(d->reason), "%s", why);
}

static bool peer_check(struct dtls *d)
{
	X509 *cert = SSL_get1_peer_certificate(d->ssl);
	struct media_fingerprint found;
	int err;

	if (!cert)
		return false;
	err = dtls_fingerprint(&found, cert, d->peer.hash);
	X509_free(cert);
	return !err && found.len == d->peer.len &&
	       CRYPTO_memcmp(found.bytes, d->peer.bytes, found.len) == 0;
}

static int suite_of(enum media_srtp_suite *ret, const char *profile)
{
	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++) {
		if (profiles[i] && strcmp(profiles[i], profile) == 0) {
			*ret = (enum media_srtp_suite)i;
			return 0;
		}
	}
	return -ENOENT;
}

/* RFC 5764 4.2: client key, server key, client salt, server salt */
static int keys_export(struct dtls *d)
{
	uint8_t all[2 * MEDIA_SRTP_KEY_BYTES_MAX];
	const SRTP_PROTECTION_PROFILE *profile =
		SSL_get_selected_srtp_profile(d->ssl);
	const struct srtp_suite_info *info;
	struct media_crypto *client = d->client ? &d->tx : &d->rx;
	struct media_crypto *server = d->client ? &d->rx : &d->tx;
	enum media_srtp_suite suite;
	size_t key, salt;

	if (!profile || suite_of(&suite, profile->name))
		return -ENOENT;
	info = srtp_suite_info(suite);
	key = info->key_bytes;
	salt = info->salt_bytes;
	if (SSL_export_keying_material(d->ssl, all, 2 * (key + salt),
				       EXPORTER_LABEL, strlen(EXPORTER_LABEL),
				       NULL, 0, 0) != 1)
		return -EIO;
	client->suite = suite;
	server->suite = suite;
	memcpy(client->key, all, key);
	memcpy(server->key, all + key, key);
	memcpy(client->key + key, all + 2 * key, salt);
	memcpy(server->key + key, all + 2 * key + salt, salt);
	OPENSSL_cleanse(all, sizeof(all));
	return 0;
}

static void finish(struct dtls *d)
{
	if (!peer_check(d))
		fail(d, "the peer's certificate is not that of the "
			"fingerprint in its SDP");
	else if (keys_export(d))
		fail(d, "no SRTP protection profile was agreed on");
	else
		d->state = DTLS_DONE;
}

static void go_on(struct dtls *d)
{
	int r, why;

	if (d->state != DTLS_UNDER_WAY)
		return;
	ERR_clear_error();
	r = SSL_do_handshake(d->ssl);
	if (r == 1) {
		finish(d);
		return;
	}
	why = SSL_get_error(d->ssl, r);
	if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
		const char *text = ERR_reason_error_string(ERR_peek_error());

		fail(d, text ? text : "the peer closed the handshake");
	}
	ERR_clear_error();
}

/* "A:B:C", the suites that OpenSSL has. @return false: there are none */
static bool profiles_text(char *dst, const struct dtls_params *params)
{
	size_t used = 0;

	for (size_t i = 0; i < params->suite_count; i++) {
		const char *name = profiles[params->suites[i]];
		int n;

		if (!name)
			continue;
		n = str_print(dst + used, PROFILES_BYTES - used, "%s%s",
			      used ? ":" : "", name);
		if (n < 0)
			return false;
		used += (size_t)n;
	}
	return used > 0;
}

static int bios_set(struct dtls *d, const struct dtls_identity *id)
{
	BIO *in = BIO_new(BIO_s_mem());
	BIO *out = BIO_new(id->method);

	if (!in || !out) {
		BIO_free(in);
		BIO_free(out);
		return -ENOMEM;
	}
	BIO_set_mem_eof_return(in, -1); /* empty: try again later */
	BIO_set_data(out, &d->output);
	SSL_set_bio(d->ssl, in, out); /* owns both */
	d->in = in;
	return 0;
}

static void record_arrived(const uint8_t *record, size_t bytes, void *arg)
{
	struct dtls *d = arg;
	uint8_t rest[64];

	/* drop what OpenSSL did not read of the last record */
	(void)BIO_reset(d->in);
	if (d->state == DTLS_FAILED ||
	    BIO_write(d->in, record, (int)bytes) != (int)bytes)
		return;
	if (d->state == DTLS_UNDER_WAY) {
		go_on(d);
		return;
	}
	/* our last flight was lost and the peer repeats its own: SSL_read()
	 * sends ours again */
	ERR_clear_error();
	(void)SSL_read(d->ssl, rest, sizeof(rest));
	ERR_clear_error();
}

int dtls_new(struct dtls **ret, const struct dtls_identity *id,
	     const struct dtls_params *params)
{
	char names[PROFILES_BYTES];
	struct dtls *d;
	int err;

	if (!profiles_text(names, params))
		return -EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->output = (struct dtls_output){params->send, params->arg};
	d->client = params->client;
	d->peer = params->peer;
	err = dtls_reassembly_new(&d->messages, d->client, record_arrived, d);
	if (!err) {
		d->ssl = SSL_new(id->context);
		err = d->ssl ? bios_set(d, id) : -ENOMEM;
	}
	if (!err && (SSL_set_tlsext_use_srtp(d->ssl, names) != 0 ||
		     DTLS_set_link_mtu(d->ssl, LINK_MTU) != 1))
		err = -EIO; /* SSL_set_tlsext_use_srtp() returns 0 for success */
	if (err) {
		ERR_clear_error();
		dtls_free(d);
		return err;
	}
	if (d->client)
		SSL_set_connect_state(d->ssl);
	else
		SSL_set_accept_state(d->ssl);
	go_on(d);
	*ret = d;
	return 0;
}

struct dtls *dtls_free(struct dtls *d)
{
	if (!d)
		return NULL;
	SSL_free(d->ssl);
	dtls_reassembly_free(d->messages);
	OPENSSL_cleanse(d, sizeof(*d));
	free(d);
	return NULL;
}

unsigned dtls_input(struct dtls *d, const uint8_t *data, size_t bytes)
{
	uint64_t before = dtls_reassembly_refused(d->messages);

	if (d->state != DTLS_FAILED)
		dtls_reassembly_input(d->messages, data, bytes);
	return (unsigned)(dtls_reassembly_refused(d->messages) - before);
}

void dtls_give_up(struct dtls *d)
{
	const char *last = dtls_reassembly_reason(d->messages);

	if (d->state != DTLS_UNDER_WAY)
		return;
	fail(d, "the peer does not finish the DTLS handshake");
	if (last)
		str_print(d->reason, sizeof(d->reason),
			  "the peer does not finish the DTLS handshake; %llu "
			  "times what came was refused, last %s",
			  (unsigned long long)dtls_reassembly_refused(
				  d->messages),
			  last);
}

void dtls_tick(struct dtls *d)
{
	if (d->state != DTLS_UNDER_WAY)
		return;
	ERR_clear_error();
	if (DTLSv1_handle_timeout(d->ssl) < 0)
		fail(d, "the peer does not answer the DTLS handshake");
	ERR_clear_error();
}

enum dtls_state dtls_state(const struct dtls *d)
{
	return d->state;
}

const char *dtls_reason(const struct dtls *d)
{
	return d->reason;
}

int dtls_keys(const struct dtls *d, struct media_crypto *ret_tx,
	      struct media_crypto *ret_rx)
{
	if (d->state != DTLS_DONE)
		return -EINVAL;
	*ret_tx = d->tx;
	*ret_rx = d->rx;
	return 0;
}
