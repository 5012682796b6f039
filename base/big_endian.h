/**
 * Numbers in network byte order, at any alignment.
 * Thread: any.
 */
#ifndef OFFHOOK_BASE_BIG_ENDIAN_H
#define OFFHOOK_BASE_BIG_ENDIAN_H

#include <stddef.h>
#include <stdint.h>

static inline uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/* Only the lower 16 bits are written. */
static inline void be16_put(uint8_t *p, size_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static inline void be32_put(uint8_t *p, uint32_t value)
{
	be16_put(p, value >> 16);
	be16_put(p + 2, value);
}

#endif
