/**
 * Prefetch memory that will be written soon, so that its cache lines are loaded
 * together instead of one after another. A hint: any address is allowed.
 * Thread: any.
 */
#ifndef OFFHOOK_BASE_PREFETCH_H
#define OFFHOOK_BASE_PREFETCH_H

#include <stddef.h>

#define PREFETCH_LINE 64

static inline void prefetch(const void *at, size_t bytes)
{
	const char *p = at;

	for (size_t i = 0; i < bytes; i += PREFETCH_LINE)
		__builtin_prefetch(p + i, 1);
	__builtin_prefetch(p + bytes - 1, 1);
}

#endif
