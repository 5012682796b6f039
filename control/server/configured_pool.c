#include "control/server/configured_pool.h"

#include "base/log.h"
#include "conf/controller_conf.h"
#include "control/server/store/store_pool.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* Ours have 43. A shorter one than this can be guessed at /agent/register. */
#define TOKEN_MIN 16
/* as of the agent's join_token */
#define TOKEN_BYTES CONF_TEXT_BYTES

static const char *token_refused(const char *token)
{
	if (strlen(token) < TOKEN_MIN)
		return "the token in its first line has fewer than 16 "
		       "characters";
	for (const char *c = token; *c; c++) {
		if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
			return "the token in its first line has a blank or a "
			       "non-ASCII character in it";
	}
	return NULL;
}

/* @return 0; -EINVAL a line that is too long; -errno */
static int token_read(char token[static TOKEN_BYTES], const char *path)
{
	FILE *f = fopen(path, "re");
	size_t len;
	int err = 0;

	token[0] = '\0';
	if (!f)
		return -errno;
	if (!fgets(token, TOKEN_BYTES, f)) {
		token[0] = '\0';
		if (ferror(f))
			err = -EIO;
	}
	len = strcspn(token, "\r\n");
	if (!err && !token[len] && len == TOKEN_BYTES - 1)
		err = -EINVAL;
	token[len] = '\0';
	fclose(f);
	return err;
}

int configured_pool_begin(const struct controller_conf *conf,
			  struct store *store)
{
	const char *path = conf->join_token_file, *refused;
	char token[TOKEN_BYTES];
	int err;

	if (!path[0])
		return 0;
	err = token_read(token, path);
	refused = err ? strerror(-err) : token_refused(token);
	if (refused) {
		log_error("join_token_file %s: %s", path, refused);
		err = err ? err : -EINVAL;
	} else {
		err = store_pool_token(store, conf->join_pool, token);
	}
	sodium_memzero(token, sizeof(token));
	if (refused)
		return err;
	if (err > 0)
		log_info("agent pool %s: has the join token of %s",
			 conf->join_pool, path);
	else if (err < 0)
		log_error("agent pool %s: its join token cannot be set: %s",
			  conf->join_pool,
			  err == -EEXIST ? "another pool has this token"
					 : strerror(-err));
	return err < 0 ? err : 0;
}
