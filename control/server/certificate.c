#include "control/server/certificate.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/loopback.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/http/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Certificate and key together, so that no power cut leaves one without the other. */
#define OWN_FILE "tls.pem"

#define DAY_S INT64_C(86400)

/* Clients know the certificate by its key; a date would only cut them off. */
#define OWN_DAYS 3650

#define EXPIRY_WARNING_DAYS 30

/* RFC 5280 section 4.1.2.2: at most 20, positive */
#define SERIAL_BYTES 16

/* Appendix A.1: ub-common-name */
#define NAME_BYTES 65

/* ---- a certificate of its own ---- */

static int add_address(gnutls_x509_crt_t crt, const char *text)
{
	unsigned char address[sizeof(struct in6_addr)];
	const int family = strchr(text, ':') ? AF_INET6 : AF_INET;

	if (inet_pton(family, text, address) != 1)
		return GNUTLS_E_INVALID_REQUEST;
	return gnutls_x509_crt_set_subject_alt_name(
		crt, GNUTLS_SAN_IPADDRESS, address,
		family == AF_INET6 ? sizeof(struct in6_addr)
				   : sizeof(struct in_addr),
		GNUTLS_FSAN_APPEND);
}

static int add_name(gnutls_x509_crt_t crt, const char *name)
{
	return gnutls_x509_crt_set_subject_alt_name(
		crt, GNUTLS_SAN_DNSNAME, name, (unsigned)strlen(name),
		GNUTLS_FSAN_APPEND);
}

/* Agents know the certificate by its key. Browsers compare the host of the URL with
 * the names in it. */
static int add_names(gnutls_x509_crt_t crt, const char *listen)
{
	char host[NAME_BYTES] = "";
	int err;

	if (gethostname(host, sizeof(host) - 1) || !host[0])
		str_print(host, sizeof(host), "localhost");
	err = gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0,
					    host, (unsigned)strlen(host));
	if (err >= 0 && strcmp(host, "localhost") != 0)
		err = add_name(crt, host);
	if (err >= 0)
		err = add_name(crt, "localhost");
	if (err >= 0)
		err = add_address(crt, "127.0.0.1");
	if (err >= 0)
		err = add_address(crt, "::1");
	if (err >= 0 && !loopback_address(listen) &&
	    strcmp(listen, "0.0.0.0") != 0 && strcmp(listen, "::") != 0)
		err = add_address(crt, listen);
	return err;
}

static int fill(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key,
		const char *listen)
{
	const time_t now = (time_t)(clock_wall_ns() / NS_PER_S);
	unsigned char serial[SERIAL_BYTES];
	int err = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial));

	serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40);
#define SET(call) err = err < 0 ? err : (call)
	SET(gnutls_x509_crt_set_version(crt, 3));
	SET(gnutls_x509_crt_set_serial(crt, serial, sizeof(serial)));
	/* a day earlier for clocks that are slow */
	SET(gnutls_x509_crt_set_activation_time(crt, now - (time_t)DAY_S));
	SET(gnutls_x509_crt_set_expiration_time(
		crt, now + (time_t)(OWN_DAYS * DAY_S)));
	SET(add_names(crt, listen));
	SET(gnutls_x509_crt_set_basic_constraints(crt, 0, -1));
	SET(gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE));
	SET(gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_SERVER,
						0));
	SET(gnutls_x509_crt_set_key(crt, key));
	SET(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0));
#undef SET
	return err;
}

/* Make a key and a certificate signed with it.
 * @param pem, key_pem  out, to be released by gnutls_free() also on failure */
static int make(gnutls_datum_t *pem, gnutls_datum_t *key_pem,
		const char *listen)
{
	gnutls_x509_crt_t crt = NULL;
	gnutls_x509_privkey_t key = NULL;
	int err = gnutls_x509_privkey_init(&key);

	if (err >= 0)
		err = gnutls_x509_crt_init(&crt);
	if (err >= 0)
		err = gnutls_x509_privkey_generate(
			key, GNUTLS_PK_ECDSA,
			GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
	if (err >= 0)
		err = fill(crt, key, listen);
	if (err >= 0)
		err = gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, pem);
	if (err >= 0)
		err = gnutls_x509_privkey_export2_pkcs8(
			key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN,
			key_pem);
	if (crt)
		gnutls_x509_crt_deinit(crt);
	if (key)
		gnutls_x509_privkey_deinit(key);
	return err;
}

/* Replace a file: synced, and atomic in a crash. */
static int write_file(const char *path, const char *const texts[2], mode_t mode)
{
	char new_path[CONF_PATH_BYTES + 8];
	int fd, err = 0;

	str_print(new_path, sizeof(new_path), "%s.new", path);
	unlink(new_path);
	fd = open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, mode))
		err = -errno;
	for (size_t i = 0; err == 0 && i < 2; i++)
		err = file_write_synced(fd, texts[i], strlen(texts[i]));
	close(fd);
	if (err == 0 && rename(new_path, path))
		err = -errno;
	if (err) {
		unlink(new_path);
		return err;
	}
	return file_sync_folder_of(path);
}

static int make_own(const char *path, const char *listen)
{
	gnutls_datum_t pem = {.data = NULL}, key_pem = {.data = NULL};
	int err = make(&pem, &key_pem, listen);

	if (err < 0) {
		log_error("a certificate cannot be made: %s",
			  gnutls_strerror(err));
		err = -EINVAL;
	} else {
		const char *const texts[] = {(const char *)key_pem.data,
					     (const char *)pem.data};

		err = write_file(path, texts, 0600);
		if (err)
			log_error("%s: %s", path, strerror(-err));
		else
			log_info("made a certificate of this controller: %s",
				 path);
	}
	if (key_pem.data)
		sodium_memzero(key_pem.data, key_pem.size);
	gnutls_free(key_pem.data);
	gnutls_free(pem.data);
	return err;
}

/* ---- the one in use ---- */

/* Where the controller's own certificate is. @return 0; negative, logged */
static int own_path(char path[static CONF_PATH_BYTES],
		    const struct controller_conf *conf)
{
	int err = conf_path(path, CONF_PATH_BYTES, conf->state_dir, OWN_FILE);

	if (err >= 0)
		return 0;
	log_error("state_dir %s: %s", conf->state_dir, strerror(-err));
	return err;
}

static int read_certificate(struct tls **ret,
			    const struct controller_conf *conf, const char *own)
{
	if (conf->tls_certificate_file[0])
		return tls_new(ret, conf->tls_certificate_file,
			       conf->tls_key_file);
	return tls_new(ret, own, own);
}

static void warn_of_expiry(const struct certificate_facts *facts)
{
	const int64_t left = facts->expires_s - clock_wall_ns() / NS_PER_S;

	if (left < 0)
		log_warning("the certificate expired %lld days ago",
			    (long long)(-left / DAY_S));
	else if (left < EXPIRY_WARNING_DAYS * DAY_S)
		log_warning("the certificate expires in %lld days",
			    (long long)(left / DAY_S));
}

/* Log what clients need to know, and write it to fingerprint_file. */
static int publish(struct tls *tls, const struct controller_conf *conf)
{
	struct certificate_facts facts;
	const char *texts[2] = {"", ""};
	int err;

	tls_facts(tls, &facts);
	log_info("fingerprint of the certificate: %s", facts.key_pin);
	warn_of_expiry(&facts);
	if (!conf->fingerprint_file[0])
		return 0;
	if (facts.self_signed) {
		texts[0] = facts.key_pin;
		texts[1] = "\n";
	}
	err = write_file(conf->fingerprint_file, texts, 0644);
	if (err)
		log_error("fingerprint_file %s: %s", conf->fingerprint_file,
			  strerror(-err));
	return err;
}

int certificate_begin(struct tls **ret, const struct controller_conf *conf)
{
	char own[CONF_PATH_BYTES];
	struct tls *tls;
	int err = own_path(own, conf);

	if (err == 0 && !conf->tls_certificate_file[0] && access(own, F_OK)) {
		err = -errno;
		if (err == -ENOENT)
			err = make_own(own, conf->listen);
		else
			log_error("%s: %s", own, strerror(-err));
	}
	if (err == 0)
		err = read_certificate(&tls, conf, own);
	if (err)
		return err;
	err = publish(tls, conf);
	if (err)
		tls_free(tls);
	else
		*ret = tls;
	return err;
}

int certificate_reload(struct tls *tls, const struct controller_conf *conf)
{
	int err = tls_reload(tls);

	return err ? err : publish(tls, conf);
}

int fingerprint_command(const struct controller_conf *conf,
			const struct backup_options *o)
{
	struct certificate_facts facts;
	char own[CONF_PATH_BYTES];
	struct tls *tls;
	int err;

	(void)o;
	if (!controller_conf_tls(conf)) {
		log_error("TLS is off (tls): there is no certificate");
		return -ENOENT;
	}
	err = own_path(own, conf);
	if (err == 0 && !conf->tls_certificate_file[0] && access(own, F_OK) &&
	    errno == ENOENT) {
		log_error("%s is made at the first start of the controller",
			  own);
		return -ENOENT;
	}
	if (err == 0)
		err = read_certificate(&tls, conf, own);
	if (err)
		return err;
	tls_facts(tls, &facts);
	tls_free(tls);
	puts(facts.key_pin);
	return 0;
}
