#include "control/server/store/store_secret.h"

#include "base/file.h"
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
	bool is_first; /* both are derived from the master key */
};

/* Text of a key file: a line of the master key, and one of the key for hashes. */
#define FILE_BYTES (2 * (MASTER_HEX + 1) + 1)

static int write_key_file(const char *key_file, const char *text)
{
	int err, fd = open(key_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			   0600);

	if (fd < 0)
		return -errno;
	err = file_write_synced(fd, text, strlen(text));
	close(fd);
	if (err)
		unlink(key_file);
	return err;
}

/* Make a master key in a file, and behind it in a second line a key for hashes.
 * @param hash_key  SECRET_HASH_BYTES bytes; NULL: hashes use the master key */
static int make_key_file(const char *key_file, const uint8_t *hash_key)
{
	uint8_t master[MASTER_BYTES];
	char text[FILE_BYTES] = "", *end = text;
	int err;

	randombytes_buf(master, sizeof(master));
	sodium_bin2hex(end, MASTER_HEX + 1, master, sizeof(master));
	end += MASTER_HEX;
	*end++ = '\n';
	if (hash_key) {
		sodium_bin2hex(end, MASTER_HEX + 1, hash_key,
			       SECRET_HASH_BYTES);
		end += MASTER_HEX;
		*end++ = '\n';
	}
	*end = '\0';
	err = write_key_file(key_file, text);
	sodium_memzero(master, sizeof(master));
	sodium_memzero(text, sizeof(text));
	return err;
}

int secrets_make_next(const struct secrets *former, const char *key_file)
{
	unlink(key_file);
	return make_key_file(key_file, former->hash_key);
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

static bool read_hex(uint8_t key[MASTER_BYTES], const char *hex)
{
	size_t len;

	return sodium_hex2bin(key, MASTER_BYTES, hex, MASTER_HEX, NULL, &len,
			      NULL) == 0 &&
	       len == MASTER_BYTES;
}

/* Derive the keys from the text of a file. @return 0; -EINVAL */
static int parse_key_file(struct secrets *s, const char *text, size_t len)
{
	uint8_t master[MASTER_BYTES];
	int err = 0;

	if (len < MASTER_HEX || !read_hex(master, text))
		return -EINVAL;
	crypto_kdf_derive_from_key(s->box_key, sizeof(s->box_key), KDF_BOX,
				   KDF_CONTEXT, master);
	/* a line end may follow the first line, "\r\n" too */
	s->is_first = len <= MASTER_HEX + 2;
	if (s->is_first)
		crypto_kdf_derive_from_key(s->hash_key, sizeof(s->hash_key),
					   KDF_HASH, KDF_CONTEXT, master);
	else if (text[MASTER_HEX] != '\n' || len < 2 * MASTER_HEX + 1 ||
		 !read_hex(s->hash_key, text + MASTER_HEX + 1))
		err = -EINVAL;
	sodium_memzero(master, sizeof(master));
	return err;
}

static int read_key_file(const char *key_file, struct secrets *s)
{
	char text[FILE_BYTES];
	struct stat st;
	ssize_t got;
	int fd, err = 0;

	fd = open(key_file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && (st.st_mode & refused_mode(key_file)))
		err = -EPERM;
	got = read(fd, text, sizeof(text));
	if (got < 0 && err == 0)
		err = -errno;
	close(fd);
	if (err == 0)
		err = parse_key_file(s, text, (size_t)got);
	sodium_memzero(text, sizeof(text));
	return err;
}

int secrets_load(struct secrets **ret, const char *key_file)
{
	struct secrets *s;
	int err;

	if (sodium_init() < 0)
		return -EIO;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	err = read_key_file(key_file, s);
	if (err == -ENOENT) {
		err = make_key_file(key_file, NULL);
		if (err == 0) {
			log_info("made the master key %s: keep a copy, the "
				 "database is of no use without it",
				 key_file);
			err = read_key_file(key_file, s);
		}
	}
	if (err) {
		log_error("master key %s: %s", key_file,
			  err == -EPERM    ? "others may read it (chmod 600)"
			  : err == -EINVAL ? "not 64 hex digits"
					   : strerror(-err));
		secrets_free(s);
		return err;
	}
	*ret = s;
	return 0;
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
	static const char text[] = "offhook master key";
	uint8_t hash[SECRET_HASH_BYTES];

	/* of a later key the key for hashes is that of the first one */
	crypto_generichash(
		hash, sizeof(hash), (const uint8_t *)text, sizeof(text) - 1,
		s->is_first ? s->hash_key : s->box_key,
		s->is_first ? sizeof(s->hash_key) : sizeof(s->box_key));
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
