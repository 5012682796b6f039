/**
 * The part of a job that one of several engines carries out (docs/internals/engine.md):
 * what is numbered is dealt out in turn, so that engine k of N has the numbers k, k + N,
 * k + 2N, ... Two engines have nothing in common, and all of them together everything.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_WIRE_SHARE_H
#define OFFHOOK_WIRE_SHARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Most engines of a job. */
#define WIRE_ENGINES_MAX 8u

struct wire_share {
	uint32_t index; /* k, from 0 */
	uint32_t of;    /* N, 1 to WIRE_ENGINES_MAX; 1: the whole job */
};

/** Encode a share. @return a new object; NULL: out of memory */
json_t *wire_share_encode(const struct wire_share *share);

/** Decode a share. @param object  NULL: the whole job
 * @return 0; -EINVAL (ret untouched) */
int wire_share_decode(struct wire_share *ret, const json_t *object);

/** Whether others carry out other parts of the job. */
static inline bool wire_share_divided(const struct wire_share *share)
{
	return share->of > 1;
}

/** @return the engine's part of `total` calls, or of a limit of `total`. The parts
 * of all engines add up to it. */
static inline uint32_t wire_share_count(const struct wire_share *share,
					uint32_t total)
{
	return total / share->of + (share->index < total % share->of);
}

/** The number that the share has at a place, counted from 0. Wraps at 2^32. */
static inline uint32_t wire_share_number(const struct wire_share *share,
					 uint32_t place)
{
	return place * share->of + share->index;
}

#endif
