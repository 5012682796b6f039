#include "control/server/judge/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *records_add(struct records *r, size_t item_bytes, int *err)
{
	void *item;

	if (r->count >= JUDGE_RECORDS_MAX) {
		*err = -EMSGSIZE;
		return NULL;
	}
	if (r->count == r->allocated) {
		size_t more = r->allocated ? r->allocated * 2 : 16;
		void *items = reallocarray(r->items, more, item_bytes);

		if (!items) {
			*err = -ENOMEM;
			return NULL;
		}
		r->items = items;
		r->allocated = more;
	}
	item = (char *)r->items + r->count * item_bytes;
	memset(item, 0, item_bytes);
	r->count++;
	return item;
}
