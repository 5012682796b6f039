#include "agent/link/prompt_files.h"

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_DIGITS (2 * crypto_hash_sha256_BYTES)

/* Whether the text is 64 lower-case hex digits, and so safe in a path. */
static bool prompt_files_hash_valid(const char *sha256)
{
	return strlen(sha256) == HASH_DIGITS &&
	       strspn(sha256, "0123456789abcdef") == HASH_DIGITS;
}

/* Set the file's time to now. @return false: there is no such file */
static bool touch(const char *dir, const char *sha256)
{
	char path[PATH_MAX];

	return str_print(path, sizeof(path), "%s/%s", dir, sha256) >= 0 &&
	       utimensat(AT_FDCWD, path, NULL, 0) == 0;
}

/* @return the hash in a member whose file is missing; NULL: it is not */
static const char *missing_of(const json_t *action, const char *member,
			      const char *dir)
{
	const char *hash = json_string_value(json_object_get(action, member));

	return hash && prompt_files_hash_valid(hash) && !touch(dir, hash)
		       ? hash
		       : NULL;
}

/* The same for a map of uploads: those that the action's script plays, or the files of
 * client sipp. */
static const char *missing_of_map(const json_t *action, const char *member,
				  const char *dir)
{
	json_t *map = json_object_get(action, member);
	const char *missing = NULL;
	const char *name;
	json_t *value;

	json_object_foreach(map, name, value)
	{
		const char *one = missing_of(map, name, dir);

		if (!missing)
			missing = one;
	}
	return missing;
}

const char *prompt_files_missing(const json_t *spec, const char *dir)
{
	const json_t *step, *action;
	const char *missing = NULL;
	size_t i, k;

	json_array_foreach(json_object_get(spec, "steps"), i, step)
	{
		json_array_foreach(step, k, action)
		{
			const char *said =
				missing_of(action, "prompt_sha256", dir);
			const char *heard =
				missing_of(action, "expect_prompt_sha256", dir);
			const char *played =
				missing_of_map(action, "play_sha256", dir);
			const char *scenario =
				missing_of(action, "sipp_scenario_sha256", dir);
			const char *files = missing_of_map(
				action, "sipp_files_sha256", dir);

			if (!missing)
				missing = said       ? said
					  : heard    ? heard
					  : played   ? played
					  : scenario ? scenario
						     : files;
		}
	}
	return missing;
}

/* Find the file that was not used for longest. @return size of all files */
static uint64_t look(int dir_fd, DIR *dir, char oldest[HASH_DIGITS + 1])
{
	struct timespec time = {0};
	uint64_t total = 0;
	struct dirent *entry;
	struct stat st;

	oldest[0] = '\0';
	rewinddir(dir);
	while ((entry = readdir(dir)) != NULL) {
		if (!prompt_files_hash_valid(entry->d_name) ||
		    fstatat(dir_fd, entry->d_name, &st, 0))
			continue;
		total += (uint64_t)st.st_size;
		if (oldest[0] && (st.st_mtim.tv_sec > time.tv_sec ||
				  (st.st_mtim.tv_sec == time.tv_sec &&
				   st.st_mtim.tv_nsec >= time.tv_nsec)))
			continue;
		time = st.st_mtim;
		str_copy(oldest, HASH_DIGITS + 1, entry->d_name);
	}
	return total;
}

/* Remove files until there is room. A running job has its files open; if one is
 * removed that the job opens later, its next call fails. That takes 1 GiB of
 * other prompts meanwhile. */
static int make_room(const char *path, size_t len)
{
	DIR *dir = opendir(path);
	char oldest[HASH_DIGITS + 1];
	int err = 0;

	if (!dir)
		return -errno;
	while (err == 0 &&
	       look(dirfd(dir), dir, oldest) + len > PROMPTS_BYTES && oldest[0])
		err = unlinkat(dirfd(dir), oldest, 0) ? -errno : 0;
	closedir(dir);
	return err;
}

static int write_file(const char *dir, const char *sha256, const void *data,
		      size_t len)
{
	char part[PATH_MAX], path[PATH_MAX];
	int fd, err;

	if (str_print(part, sizeof(part), "%s/new", dir) < 0 ||
	    str_print(path, sizeof(path), "%s/%s", dir, sha256) < 0)
		return -ENAMETOOLONG;
	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = file_write_synced(fd, data, len);
	close(fd);
	if (err == 0 && rename(part, path))
		err = -errno;
	if (err)
		unlink(part);
	return err;
}

int prompt_files_keep(const char *dir, const char *sha256, const void *data,
		      size_t len)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char hex[HASH_DIGITS + 1];
	int err;

	if (len > PROMPT_FILE_BYTES)
		return -EFBIG;
	crypto_hash_sha256(hash, data, len);
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	if (strcmp(hex, sha256) != 0)
		return -EBADMSG;
	err = make_room(dir, len);
	return err ? err : write_file(dir, sha256, data, len);
}
