#include "base/random.h"

#include <string.h>
#include <sys/random.h>

#define BLOCK_BYTES 512

static _Thread_local struct {
	uint8_t bytes[BLOCK_BYTES];
	size_t left; /* unused bytes, at the start; the used ones are zero */
} block;

static void kernel_fill(uint8_t *dst, size_t bytes)
{
	while (bytes > 0) {
		ssize_t got = getrandom(dst, bytes, 0);

		if (got <= 0)
			continue; /* interrupted by a signal */
		dst += got;
		bytes -= (size_t)got;
	}
}

void random_fill(void *dst, size_t bytes)
{
	if (bytes > BLOCK_BYTES) {
		kernel_fill(dst, bytes);
		return;
	}
	if (bytes > block.left) {
		kernel_fill(block.bytes, BLOCK_BYTES);
		block.left = BLOCK_BYTES;
	}
	block.left -= bytes;
	memcpy(dst, block.bytes + block.left, bytes);
	explicit_bzero(block.bytes + block.left, bytes);
}

uint16_t random_u16(void)
{
	uint16_t value;

	random_fill(&value, sizeof(value));
	return value;
}

uint32_t random_u32(void)
{
	uint32_t value;

	random_fill(&value, sizeof(value));
	return value;
}

uint64_t random_u64(void)
{
	uint64_t value;

	random_fill(&value, sizeof(value));
	return value;
}
