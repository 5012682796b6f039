/**
 * Memory that is overwritten when it is freed, for libraries that hold secrets and let their user choose the
 * allocator (jansson, libcurl). It comes from malloc(), so free() takes it, too, but does not wipe it.
 * Thread: any.
 */
#ifndef OFFHOOK_BASE_WIPED_MEMORY_H
#define OFFHOOK_BASE_WIPED_MEMORY_H

#include <stddef.h>

/** As malloc(), calloc(), realloc() and strdup(); realloc wipes what it leaves. */
void *wiped_malloc(size_t len);
void *wiped_calloc(size_t count, size_t len);
void *wiped_realloc(void *p, size_t len);
char *wiped_strdup(const char *text);

/** Wipe and free. @param p  may be NULL */
void wiped_free(void *p);

#endif
