/* Reproducible randomness for property tests (xorshift64*, Vigna 2016). */
#ifndef OFFHOOK_TESTS_UNIT_ANALYSIS_RANDOM_H
#define OFFHOOK_TESTS_UNIT_ANALYSIS_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

/* A number in [0, n-1]. */
static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((random_next(state) >> 32) * n >> 32);
}

/* A number in [0, 1). */
static inline double random_unit(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

#endif
