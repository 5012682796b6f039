/**
 * Files below state_dir, by name: those that rows name, or those of an archive.
 * Thread: the owner of the list.
 */
#ifndef OFFHOOK_SERVER_BACKUP_FILE_LIST_H
#define OFFHOOK_SERVER_BACKUP_FILE_LIST_H

#include "control/server/backup/archive.h"

struct kept_file {
	char name[ARCHIVE_NAME_BYTES]; /* such as appimages/7 */
	int64_t size;
	char hash[ARCHIVE_HASH_BYTES];
};

struct file_list {
	struct kept_file *files;
	size_t count;
	size_t allocated;
};

/** Append a file; a database_file_h. @param list  struct file_list
 * @return 0; -ENOMEM; -ENAMETOOLONG */
int file_list_add(const char *name, int64_t size, const char *hash, void *list);

/** Sort by name, before file_list_find(). */
void file_list_sort(struct file_list *list);

/** @return borrowed; NULL: it is not in the sorted list */
const struct kept_file *file_list_find(const struct file_list *list,
				       const char *name);

void file_list_release(struct file_list *list);

#endif
