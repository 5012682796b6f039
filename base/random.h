/**
 * Random numbers of the kernel, fetched in blocks: for what must be unique or
 * hard to guess (Call-IDs, tags, branches, SSRCs), several times a call. Each
 * byte is handed out once and wiped. Keys are fetched from the kernel directly.
 * Thread: any; each has a block of its own.
 */
#ifndef OFFHOOK_BASE_RANDOM_H
#define OFFHOOK_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/** Fill dst. Blocks only in the first moments after a boot. */
void random_fill(void *dst, size_t bytes);

uint16_t random_u16(void);
uint32_t random_u32(void);
uint64_t random_u64(void);

#endif
