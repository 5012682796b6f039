#include "control/server/session/password.h"

#include "base/log.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

_Static_assert(USER_PASSWORD_BYTES >= crypto_pwhash_STRBYTES,
	       "a hash fits into its column");

const char *password_refused(const char *name, const char *password)
{
	size_t len = strlen(password);

	if (len < PASSWORD_MIN)
		return "must have at least 10 characters";
	if (len > PASSWORD_MAX)
		return "must have at most 1024 bytes";
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)password[i] < ' ' || password[i] == 0x7f)
			return "must not have control characters";
	if (strcasecmp(name, password) == 0)
		return "must not be the name";
	if (strspn(password, (const char[]){password[0], '\0'}) == len)
		return "must not be one character alone";
	return NULL;
}

int password_hash(const char *password, char hash[static USER_PASSWORD_BYTES])
{
	return crypto_pwhash_str(hash, password, strlen(password),
				 crypto_pwhash_OPSLIMIT_INTERACTIVE,
				 crypto_pwhash_MEMLIMIT_INTERACTIVE)
		       ? -ENOMEM
		       : 0;
}

/* Hash of an unknown password, of the same cost. */
static const char nobody[] =
	"$argon2id$v=19$m=65536,t=2,p=1$c29tZSBzYWx0IG9mIG91cnM$"
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

bool password_matches(const char *hash, const char *password)
{
	bool matches = crypto_pwhash_str_verify(hash ? hash : nobody, password,
						strlen(password)) == 0;

	return matches && hash;
}

static int read_line(char *text, size_t size, const char *prompt)
{
	struct termios kept, silent;
	bool terminal = tcgetattr(STDIN_FILENO, &kept) == 0;
	bool got;

	if (terminal) {
		fputs(prompt, stderr);
		silent = kept;
		silent.c_lflag &= ~(tcflag_t)ECHO;
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
	}
	got = fgets(text, (int)size, stdin) != NULL;
	if (terminal) {
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &kept);
		fputs("\n", stderr);
	}
	if (!got)
		return -EINVAL;
	text[strcspn(text, "\r\n")] = '\0';
	return 0;
}

static int ask(char password[static PASSWORD_MAX + 2])
{
	char again[PASSWORD_MAX + 2];
	int err = read_line(password, PASSWORD_MAX + 2, "Password: ");

	if (err || !isatty(STDIN_FILENO))
		return err;
	err = read_line(again, sizeof(again), "Once more: ");
	if (err == 0 && strcmp(password, again) != 0) {
		log_error("the two passwords differ");
		err = -EINVAL;
	}
	sodium_memzero(again, sizeof(again));
	return err;
}

int password_set(struct store *s, const char *name, const char *rights)
{
	char hash[USER_PASSWORD_BYTES], password[PASSWORD_MAX + 2];
	const char *refused;
	int64_t id;
	int err;

	if (!name[0] || strlen(name) >= USER_NAME_BYTES) {
		log_error("the name must have 1 to %d bytes",
			  USER_NAME_BYTES - 1);
		return -EINVAL;
	}
	err = ask(password);
	if (err)
		return err;
	refused = password_refused(name, password);
	if (refused) {
		log_error("the password %s", refused);
		err = -EINVAL;
	} else {
		err = password_hash(password, hash);
	}
	sodium_memzero(password, sizeof(password));
	if (err == 0)
		err = store_user_put(s, name, hash, rights, &id);
	return err;
}
