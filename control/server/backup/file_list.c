#include "control/server/backup/file_list.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int file_list_add(const char *name, int64_t size, const char *hash, void *list)
{
	struct file_list *l = list;
	struct kept_file *f;

	if (l->count == l->allocated) {
		size_t more = l->allocated ? 2 * l->allocated : 64;

		f = reallocarray(l->files, more, sizeof(*f));
		if (!f)
			return -ENOMEM;
		l->files = f;
		l->allocated = more;
	}
	f = &l->files[l->count];
	f->size = size;
	if (str_copy(f->name, sizeof(f->name), name) ||
	    str_copy(f->hash, sizeof(f->hash), hash))
		return -ENAMETOOLONG;
	l->count++;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct kept_file *)a)->name,
		      ((const struct kept_file *)b)->name);
}

void file_list_sort(struct file_list *list)
{
	if (list->count > 0)
		qsort(list->files, list->count, sizeof(*list->files), by_name);
}

static int compare_name(const void *name, const void *file)
{
	return strcmp(name, ((const struct kept_file *)file)->name);
}

const struct kept_file *file_list_find(const struct file_list *list,
				       const char *name)
{
	if (list->count == 0)
		return NULL;
	return bsearch(name, list->files, list->count, sizeof(*list->files),
		       compare_name);
}

void file_list_release(struct file_list *list)
{
	free(list->files);
	*list = (struct file_list){.files = NULL};
}
