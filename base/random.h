/**
 * Random numbers from the kernel, fetched in blocks: for values that must be
 * unique or hard to guess (Call-IDs, tags, branches, SSRCs), several per call.
 * Each byte is used once and wiped. Keys are fetched from the kernel directly.
 * Thread: any; each thread has its own block.
 */
#ifndef OFFHOOK_BASE_RANDOM_H
#define OFFHOOK_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/** Fill dst. Blocks only shortly after boot. */
void random_fill(void *dst, size_t bytes);

/** @return a random number */
uint16_t random_u16(void);
uint32_t random_u32(void);
uint64_t random_u64(void);

#endif
