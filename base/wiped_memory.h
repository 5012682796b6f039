/**
 * Free memory and overwrite it first: for what holds secrets, and as the allocator of libraries that
 * hold them (jansson, libcurl). The memory is that of malloc().
 * Thread: any.
 */
#ifndef OFFHOOK_BASE_WIPED_MEMORY_H
#define OFFHOOK_BASE_WIPED_MEMORY_H

#include <stddef.h>

/** As realloc(); wipes the memory that it leaves. */
void *wiped_realloc(void *p, size_t len);

/** Wipe and free. @param p  may be NULL */
void wiped_free(void *p);

#endif
