#include "control/server/store/store_secret.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MASTER_BYTES crypto_kdf_KEYBYTES
#define MASTER_HEX   (2 * MASTER_BYTES)
#define NONCE_BYTES  crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_BYTES    crypto_aead_xchacha20poly1305_ietf_ABYTES
#define TOKEN_RAW    32
#define KDF_CONTEXT  "offhook1" /* crypto_kdf_CONTEXTBYTES */
#define KDF_HASH     1
#define KDF_BOX      2

struct secrets {
	uint8_t hash_key[SECRET_HASH_BYTES];
	uint8_t box_key[crypto_aead_xchacha20poly1305_ietf_KEYBYTES];
};

static int make_key_file(const char *key_file)
{
	uint8_t master[MASTER_BYTES];
	char hex[MASTER_HEX + 2];
	int fd, err = 0;

	fd = open(key_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	randombytes_buf(master, sizeof(master));
	sodium_bin2hex(hex, MASTER_HEX + 1, master, sizeof(master));
	hex[MASTER_HEX] = '\n';
	if (write(fd, hex, MASTER_HEX + 1) != MASTER_HEX + 1 || fsync(fd))
		err = errno ? -errno : -EIO;
	close(fd);
	if (err)
		unlink(key_file);
	sodium_memzero(master, sizeof(master));
	sodium_memzero(hex, sizeof(hex));
	return err;
}

/* Bits of the file's mode that are refused. A credential of systemd is protected by its
 * folder; where it has an access control list, its mode shows that list's mask as the
 * rights of the group. */
static mode_t refused_mode(const char *key_file)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	size_t len = folder ? strlen(folder) : 0;

	if (len && strncmp(key_file, folder, len) == 0 && key_file[len] == '/')
		return S_IRWXO;
	return S_IRWXG | S_IRWXO;
}

/* Read the hex text of the key: its digits and a newline. */
static int read_key_file(const char *key_file, uint8_t master[MASTER_BYTES])
{
	char hex[MASTER_HEX + 2];
	struct stat st;
	ssize_t got;
	size_t len;
	int fd, err = 0;

	fd = open(key_file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && (st.st_mode & refused_mode(key_file)))
		err = -EPERM;
	got = read(fd, hex, sizeof(hex));
	close(fd);
	if (err == 0 && (got < (ssize_t)MASTER_HEX ||
			 sodium_hex2bin(master, MASTER_BYTES, hex, MASTER_HEX,
					NULL, &len, NULL) != 0 ||
			 len != MASTER_BYTES))
		err = -EINVAL;
	sodium_memzero(hex, sizeof(hex));
	return err;
}

int secrets_load(struct secrets **ret, const char *key_file)
{
	uint8_t master[MASTER_BYTES];
	struct secrets *s;
	int err;

	if (sodium_init() < 0)
		return -EIO;
	err = read_key_file(key_file, master);
	if (err == -ENOENT) {
		err = make_key_file(key_file);
		if (err == 0) {
			log_info("made the master key %s: keep a copy, the "
				 "database is of no use without it",
				 key_file);
			err = read_key_file(key_file, master);
		}
	}
	if (err) {
		log_error("master key %s: %s", key_file,
			  err == -EPERM    ? "others may read it (chmod 600)"
			  : err == -EINVAL ? "not 64 hex digits"
					   : strerror(-err));
		return err;
	}
	s = calloc(1, sizeof(*s));
	if (s) {
		crypto_kdf_derive_from_key(s->hash_key, sizeof(s->hash_key),
					   KDF_HASH, KDF_CONTEXT, master);
		crypto_kdf_derive_from_key(s->box_key, sizeof(s->box_key),
					   KDF_BOX, KDF_CONTEXT, master);
		*ret = s;
	}
	sodium_memzero(master, sizeof(master));
	return s ? 0 : -ENOMEM;
}

struct secrets *secrets_free(struct secrets *s)
{
	if (s)
		sodium_memzero(s, sizeof(*s));
	free(s);
	return NULL;
}

void secrets_check(const struct secrets *s,
		   char check[static SECRETS_CHECK_BYTES])
{
	uint8_t hash[SECRET_HASH_BYTES];

	secret_hash(s, "offhook master key", hash);
	sodium_bin2hex(check, SECRETS_CHECK_BYTES, hash,
		       (SECRETS_CHECK_BYTES - 1) / 2);
}

void secret_token(char token[static SECRET_TOKEN_BYTES])
{
	uint8_t raw[TOKEN_RAW];

	randombytes_buf(raw, sizeof(raw));
	sodium_bin2base64(token, SECRET_TOKEN_BYTES, raw, sizeof(raw),
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(raw, sizeof(raw));
}

void secret_hash(const struct secrets *s, const char *token,
		 uint8_t hash[static SECRET_HASH_BYTES])
{
	crypto_generichash(hash, SECRET_HASH_BYTES, (const uint8_t *)token,
			   strlen(token), s->hash_key, sizeof(s->hash_key));
}

bool secret_matches(const struct secrets *s, const char *token,
		    const uint8_t hash[static SECRET_HASH_BYTES])
{
	uint8_t own[SECRET_HASH_BYTES];

	secret_hash(s, token, own);
	return sodium_memcmp(own, hash, sizeof(own)) == 0;
}

int secret_seal(const struct secrets *s, const char *purpose, const void *plain,
		size_t len, uint8_t **ret, size_t *ret_len)
{
	unsigned long long cipher_len;
	uint8_t *box;

	box = malloc(NONCE_BYTES + len + TAG_BYTES);
	if (!box)
		return -ENOMEM;
	randombytes_buf(box, NONCE_BYTES);
	crypto_aead_xchacha20poly1305_ietf_encrypt(
		box + NONCE_BYTES, &cipher_len, plain, len,
		(const uint8_t *)purpose, strlen(purpose), NULL, box,
		s->box_key);
	*ret = box;
	*ret_len = NONCE_BYTES + (size_t)cipher_len;
	return 0;
}

int secret_open(const struct secrets *s, const char *purpose, const void *box,
		size_t box_len, char **ret, size_t *ret_len)
{
	const uint8_t *bytes = box;
	unsigned long long len;
	char *plain;
	size_t room;

	if (box_len < NONCE_BYTES + TAG_BYTES)
		return -EBADMSG;
	room = box_len - NONCE_BYTES - TAG_BYTES;
	plain = malloc(room + 1);
	if (!plain)
		return -ENOMEM;
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(
		    (uint8_t *)plain, &len, NULL, bytes + NONCE_BYTES,
		    box_len - NONCE_BYTES, (const uint8_t *)purpose,
		    strlen(purpose), bytes, s->box_key) != 0) {
		free(plain);
		return -EBADMSG;
	}
	plain[len] = '\0';
	*ret = plain;
	*ret_len = (size_t)len;
	return 0;
}

char *secret_wipe_free(char *plain, size_t len)
{
	if (plain)
		sodium_memzero(plain, len);
	free(plain);
	return NULL;
}
