#include "base/wiped_memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void *wiped_realloc(void *p, size_t len)
{
	const size_t before = p ? malloc_usable_size(p) : 0;
	void *moved;

	if (len <= before && len > 0)
		return p;
	moved = malloc(len ? len : 1);
	if (!moved)
		return NULL;
	if (p) {
		memcpy(moved, p, before < len ? before : len);
		wiped_free(p);
	}
	return moved;
}

void wiped_free(void *p)
{
	if (!p)
		return;
	explicit_bzero(p, malloc_usable_size(p));
	free(p);
}
