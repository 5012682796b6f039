#include "sip/transport/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/str.h"
#include "sip/message/text.h"

static void context_destructor(void *arg)
{
	struct tls_context *context = arg;

	list_unlink(&context->le);
	SSL_CTX_free(context->ctx);
	mem_deref(context->key);
}

static const char *text_or_none(const char *text)
{
	return text ? text : "";
}

/* Write a reason: "cannot use the certificate FILE: no start line" */
static int file_refuse(char *reason, size_t size, const char *what,
		       const char *file)
{
	unsigned long code = ERR_peek_error();
	const char *why = ERR_reason_error_string(code);

	if (ERR_GET_LIB(code) == ERR_LIB_SYS)
		why = strerror(ERR_GET_REASON(code));
	str_print(reason, size, "cannot use the %s %s: %s", what, file,
		  why ? why : "it is not a PEM file of that kind");
	ERR_clear_error();
	return -EINVAL;
}

/* Trust all certificates of a PEM text. @return 0; -EINVAL one is unusable, or
 * there is none */
static int authorities_load(SSL_CTX *ctx, const char *pem)
{
	X509_STORE *store = SSL_CTX_get_cert_store(ctx);
	BIO *bio = BIO_new_mem_buf(pem, -1);
	bool added = true;
	int count = 0;
	X509 *cert;

	while (bio && added &&
	       (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		added = X509_STORE_add_cert(store, cert) == 1;
		X509_free(cert);
		count++;
	}
	BIO_free(bio);
	if (!added || count == 0)
		return -EINVAL;
	/* after the last certificate OpenSSL reports that none follows */
	if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		return -EINVAL;
	ERR_clear_error();
	return 0;
}

static int files_load(SSL_CTX *ctx, const struct sip_tls *p, char *reason,
		      size_t size)
{
	const char *key = p->key_file ? p->key_file : p->cert_file;

	ERR_clear_error();
	if (p->ca && authorities_load(ctx, p->ca))
		return file_refuse(reason, size, "CA certificates",
				   "that were given");
	if (!p->cert_file)
		return 0;
	if (SSL_CTX_use_certificate_chain_file(ctx, p->cert_file) != 1)
		return file_refuse(reason, size, "certificate", p->cert_file);
	if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
		return file_refuse(reason, size, "private key", key);
	return 0;
}

static const char *alert_text(int alert)
{
	switch (alert) { /* of TLS 1.3; OpenSSL 3.0 has no text for them */
	case SSL_AD_MISSING_EXTENSION:
		return "missing extension";
	case SSL_AD_CERTIFICATE_REQUIRED:
		return "certificate required";
	case SSL_AD_NO_APPLICATION_PROTOCOL:
		return "no application protocol";
	default:
		return SSL_alert_desc_string_long(alert);
	}
}

static void info_handler(const SSL *ssl, int where, int ret)
{
	const char **alert = SSL_get_app_data(ssl);

	/* 0 is close_notify: an orderly end. */
	if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT && alert &&
	    (ret & 0xff) != 0)
		*alert = alert_text(ret & 0xff);
}

static int context_fill(struct tls_context *context, const struct sip_tls *p,
			bool server, char *reason, size_t size)
{
	int mode = SSL_VERIFY_NONE;

	context->ctx =
		SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
	if (!context->ctx)
		return -ENOMEM;
	if (p->verify)
		mode = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
	SSL_CTX_set_verify(context->ctx, mode, NULL);
	SSL_CTX_set_mode(context->ctx,
			 SSL_MODE_ENABLE_PARTIAL_WRITE |
				 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				 SSL_MODE_AUTO_RETRY);
	/* No resumption: a test expects a full handshake for each connection. */
	SSL_CTX_set_session_cache_mode(context->ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_info_callback(context->ctx, info_handler);
	context->system_authorities = p->verify && !p->ca;
	return files_load(context->ctx, p, reason, size);
}

int tls_context_get(struct tls_context **ret, struct list *contexts,
		    const struct sip_tls *params, bool server, char *reason,
		    size_t size)
{
	struct tls_context *context;
	struct le *le;
	char *key;
	int err;

	if (server && !params->cert_file) {
		str_print(reason, size, "a TLS server needs a certificate");
		return -EINVAL;
	}
	err = text_print(&key, "%d%d|%s|%s|%s", server, params->verify,
			 text_or_none(params->ca),
			 text_or_none(params->cert_file),
			 text_or_none(params->key_file));
	if (err)
		return err;
	LIST_FOREACH(contexts, le)
	{
		context = le->data;
		if (strcmp(context->key, key) == 0) {
			mem_deref(key);
			*ret = mem_ref(context);
			return 0;
		}
	}
	context = mem_zalloc(sizeof(*context), context_destructor);
	if (!context) {
		mem_deref(key);
		return -ENOMEM;
	}
	context->key = key;
	err = context_fill(context, params, server, reason, size);
	if (err) {
		mem_deref(context);
		return err;
	}
	list_append(contexts, &context->le, context);
	*ret = context;
	return 0;
}

/* Verify the configured host, not a name found by look-up (RFC 5922). */
static bool name_expect(SSL *ssl, const char *name)
{
	/* SSL_set_tlsext_host_name() takes no const */
	char indicated[TLSEXT_MAXLEN_host_name + 1];
	struct sa sa;

	if (sa_set_str(&sa, name, 0) == 0)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl),
						     name) == 1;
	if (str_copy(indicated, sizeof(indicated), name) != 0)
		return false;
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return SSL_set1_host(ssl, name) == 1 &&
	       SSL_set_tlsext_host_name(ssl, indicated) == 1;
}

SSL *tls_session_new(struct tls_context *context, int fd, const char *name,
		     const char **alert)
{
	SSL *ssl;

	/* Missing files are no error here: verification fails and gives the reason. */
	if (context->system_authorities &&
	    !SSL_CTX_set_default_verify_paths(context->ctx))
		return NULL;
	context->system_authorities = false;
	ssl = SSL_new(context->ctx);
	if (!ssl)
		return NULL;
	SSL_set_app_data(ssl, (void *)alert);
	if (SSL_set_fd(ssl, fd) != 1 || (name && !name_expect(ssl, name))) {
		SSL_free(ssl);
		return NULL;
	}
	if (name)
		SSL_set_connect_state(ssl);
	else
		SSL_set_accept_state(ssl);
	return ssl;
}

void tls_failure(const SSL *ssl, const char *alert, char *dst, size_t size)
{
	long verified = SSL_get_verify_result(ssl);
	unsigned long code = ERR_peek_error();
	const char *why = code ? ERR_reason_error_string(code) : NULL;

	if (verified != X509_V_OK &&
	    SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE)
		str_print(dst, size, "the peer's certificate is refused: %s",
			  X509_verify_cert_error_string(verified));
	else if (alert)
		str_print(dst, size, "the peer sent the alert \"%s\"", alert);
	else
		str_print(dst, size, "%s", why ? why : "the peer hung up");
	ERR_clear_error();
}
