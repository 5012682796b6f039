#include "agent/link/join_token.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int read_first_line(struct agent_conf *conf)
{
	FILE *f = fopen(conf->join_token_file, "re");
	int err = 0;

	if (!f)
		return errno == ENOENT ? 0 : -errno;
	if (!fgets(conf->join_token, sizeof(conf->join_token), f) && ferror(f))
		err = -EIO;
	fclose(f);
	conf->join_token[strcspn(conf->join_token, "\r\n")] = '\0';
	return err;
}

int join_token_resolve(struct agent_conf *conf, const char *given,
		       struct conf_error *error)
{
	int err = 0;

	if (given[0]) {
		err = str_copy(conf->join_token, sizeof(conf->join_token),
			       given);
		if (err)
			snprintf(error->text, sizeof(error->text),
				 "--join-token: too long");
	} else if (conf->join_token_file[0]) {
		err = read_first_line(conf);
		if (err)
			snprintf(error->text, sizeof(error->text),
				 "%s: cannot be read: %s",
				 conf->join_token_file, strerror(-err));
	}
	return err;
}
