#include "agent/link/identity.h"

#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES 2048

static int parse(struct identity *ret, const char *text, size_t len)
{
	struct identity identity = {.key_pin = ""};
	json_t *object = json_loadb(text, len, 0, NULL);
	const char *pin = json_string_value(
		json_object_get(object, "controller_fingerprint"));
	const char *id = json_string_value(json_object_get(object, "agent_id"));
	const char *secret =
		json_string_value(json_object_get(object, "secret"));
	int err = -EBADMSG;

	if (id && secret && id[0] && secret[0] &&
	    (!pin || (key_pin_valid(pin) &&
		      str_copy(identity.key_pin, KEY_PIN_BYTES, pin) == 0)) &&
	    str_copy(identity.agent_id, IDENTITY_TEXT_BYTES, id) == 0 &&
	    str_copy(identity.secret, IDENTITY_TEXT_BYTES, secret) == 0) {
		*ret = identity;
		err = 0;
	}
	json_decref(object);
	explicit_bzero(&identity, sizeof(identity));
	return err;
}

int identity_load(struct identity *ret, const char *state_dir)
{
	char path[PATH_MAX], text[FILE_BYTES];
	struct stat st;
	ssize_t n;
	int fd, err = str_print(path, sizeof(path), "%s/credentials",
				state_dir);

	if (err < 0)
		return err;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0)
		err = -errno;
	else if (st.st_mode & 077)
		err = -EPERM;
	else
		err = 0;
	n = err ? 0 : read(fd, text, sizeof(text));
	if (n < 0)
		err = -errno;
	close(fd);
	if (err == 0)
		err = parse(ret, text, (size_t)n);
	explicit_bzero(text, sizeof(text));
	return err;
}

void identity_forget(const char *state_dir)
{
	char path[PATH_MAX];

	if (str_print(path, sizeof(path), "%s/credentials", state_dir) >= 0)
		(void)unlink(path); /* else they are refused later: 401 */
}

int identity_save(const struct identity *identity, const char *state_dir)
{
	json_t *object =
		json_pack("{s:s,s:s,s:s*}", "agent_id", identity->agent_id,
			  "secret", identity->secret, "controller_fingerprint",
			  identity->key_pin[0] ? identity->key_pin : NULL);
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	int dir_fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = -1, err = -ENOMEM;

	if (!text)
		goto out;
	err = dir_fd < 0 ? -errno : 0;
	if (err)
		goto out;
	unlinkat(dir_fd, "credentials.new", 0);
	fd = openat(dir_fd, "credentials.new",
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	err = fd < 0 ? -errno : file_write_synced(fd, text, strlen(text));
	if (err == 0 &&
	    renameat(dir_fd, "credentials.new", dir_fd, "credentials") != 0)
		err = -errno;
	if (err == 0 && fsync(dir_fd) != 0)
		err = -errno;
out:
	if (fd >= 0)
		close(fd);
	if (dir_fd >= 0)
		close(dir_fd);
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
	json_decref(object);
	return err;
}
