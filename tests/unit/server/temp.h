/**
 * A directory for one test, and what stands in it at the end.
 */
#ifndef OFFHOOK_TESTS_SERVER_TEMP_H
#define OFFHOOK_TESTS_SERVER_TEMP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEMP_PATH_BYTES 320

struct temp {
	char dir[64];
	char path[TEMP_PATH_BYTES];
};

static inline void temp_make(struct temp *t)
{
	strcpy(t->dir, "/tmp/offhook-unit-XXXXXX");
	if (!mkdtemp(t->dir))
		abort();
}

/** Path of a file in it; valid until the next call. */
static inline const char *temp_path(struct temp *t, const char *name)
{
	snprintf(t->path, sizeof(t->path), "%s/%s", t->dir, name);
	return t->path;
}

static inline void temp_remove(struct temp *t)
{
	DIR *dir = opendir(t->dir);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL)
		unlink(temp_path(t, entry->d_name));
	if (dir)
		closedir(dir);
	rmdir(t->dir);
}

#endif
