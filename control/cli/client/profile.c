#include "control/cli/client/profile.h"

#include "base/file.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_MAX_BYTES 64

/* Write the path of the folder. @return 0; -ENOENT neither variable is set */
static int folder_path(char *dst, size_t size)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	/* a relative path is invalid (XDG Base Directory Specification) */
	if (config && config[0] == '/')
		return str_print(dst, size, "%s/offhook", config) < 0 ? -ENOENT
								      : 0;
	if (!home || !home[0])
		return -ENOENT;
	return str_print(dst, size, "%s/.config/offhook", home) < 0 ? -ENOENT
								    : 0;
}

static int complain(char reason[static PROFILE_REASON_BYTES], const char *path,
		    int err)
{
	str_print(reason, PROFILE_REASON_BYTES, "%s: %s", path, strerror(-err));
	return err;
}

static json_t *empty(void)
{
	return json_pack("{s:s, s:{}}", "current", PROFILE_DEFAULT, "profiles");
}

/* Keys are in it: only its owner may read it. */
static int check_mode(int fd, const char *path,
		      char reason[static PROFILE_REASON_BYTES])
{
	struct stat st;

	if (fstat(fd, &st))
		return complain(reason, path, -errno);
	if (st.st_uid != geteuid()) {
		str_print(reason, PROFILE_REASON_BYTES,
			  "%s belongs to somebody else; remove it and log in "
			  "again: offhook login",
			  path);
		return -EPERM;
	}
	if (st.st_mode & 077) {
		str_print(reason, PROFILE_REASON_BYTES,
			  "%s holds keys and others may read it: chmod 600 %s",
			  path, path);
		return -EPERM;
	}
	return 0;
}

static int parse(json_t **ret, int fd, const char *path,
		 char reason[static PROFILE_REASON_BYTES])
{
	json_t *all = json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL);

	if (!json_is_object(json_object_get(all, "profiles"))) {
		json_decref(all);
		str_print(reason, PROFILE_REASON_BYTES,
			  "%s is damaged; remove it and log in again: offhook "
			  "login",
			  path);
		return -EINVAL;
	}
	*ret = all;
	return 0;
}

int profile_read(json_t **ret, char reason[static PROFILE_REASON_BYTES])
{
	char folder[PATH_MAX], path[PATH_MAX + 20];
	json_t *all = NULL;
	int fd = -1, err = folder_path(folder, sizeof(folder));

	reason[0] = '\0';
	if (!err) {
		str_print(path, sizeof(path), "%s/profiles.json", folder);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		err = fd < 0 ? -errno : 0;
	}
	/* nobody has logged in, or the account has no such folder */
	if (err == -ENOENT || err == -ENOTDIR || err == -EACCES) {
		*ret = empty();
		return *ret ? 0 : -ENOMEM;
	}
	if (err)
		return complain(reason, path, err);
	err = check_mode(fd, path, reason);
	if (!err)
		err = parse(&all, fd, path, reason);
	close(fd);
	if (!err)
		*ret = all;
	return err;
}

/* Make the folder and those above it. */
static int make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	if (mkdir(path, 0700) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	return chmod(path, 0700) ? -errno : 0;
}

static int replace(const char *path, const char *text)
{
	char temporary[PATH_MAX + 40];
	int fd, err;

	str_print(temporary, sizeof(temporary), "%s.XXXXXX", path);
	fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return -errno;
	err = file_write_synced(fd, text, strlen(text));
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(temporary, path))
		err = -errno;
	if (err)
		unlink(temporary);
	return err;
}

int profile_write(const json_t *all, char reason[static PROFILE_REASON_BYTES])
{
	char folder[PATH_MAX], path[PATH_MAX + 20] = "HOME is not set";
	int err = folder_path(folder, sizeof(folder));
	char *text = json_dumps(all, JSON_INDENT(2));

	if (!err) {
		str_print(path, sizeof(path), "%s/profiles.json", folder);
		err = text ? make_folders(folder) : -ENOMEM;
	}
	if (!err)
		err = replace(path, text);
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
	return err ? complain(reason, path, err) : 0;
}

json_t *profile_find(const json_t *all, const char *name)
{
	if (!name)
		name = json_string_value(json_object_get(all, "current"));
	return name ? json_object_get(json_object_get(all, "profiles"), name)
		    : NULL;
}

json_t *profile_of_url(const json_t *all, const char *url)
{
	const char *name;
	json_t *profile;

	json_object_foreach(json_object_get(all, "profiles"), name, profile)
	{
		const char *own =
			json_string_value(json_object_get(profile, "url"));

		if (own && strcmp(own, url) == 0)
			return profile;
	}
	return NULL;
}

bool profile_name_valid(const char *name)
{
	size_t len = 0;

	while (isalnum((unsigned char)name[len]) ||
	       (name[len] && strchr("._-", name[len])))
		len++;
	return len > 0 && !name[len] && len <= NAME_MAX_BYTES;
}
