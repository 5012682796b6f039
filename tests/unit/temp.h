/**
 * A temporary directory for one test, and its content at the end.
 */
#ifndef TESTS_UNIT_TEMP_H
#define TESTS_UNIT_TEMP_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/** Return the path of a file in it; valid until the next call. */
static inline const char *temp_path(struct temp *t, const char *name)
{
	snprintf(t->path, sizeof(t->path), "%s/%s", t->dir, name);
	return t->path;
}

static inline int temp_remove_entry(const char *path, const struct stat *st,
				    int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/** Remove the directory with its content. */
static inline void temp_remove(struct temp *t)
{
	if (nftw(t->dir, temp_remove_entry, 8, FTW_DEPTH | FTW_PHYS))
		abort();
}

#endif
