/**
 * The part of a job that one of several agents (a shard, docs/internals/orchestration.md) or
 * one of several engines of an agent (docs/internals/engine.md) carries out: what is numbered
 * is dealt out in turn, so that part k of N has the numbers k, k + N, k + 2N, ... No number
 * belongs to two parts, and each belongs to one.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_WIRE_SHARE_H
#define OFFHOOK_WIRE_SHARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Most engines of an agent's job. */
#define WIRE_ENGINES_MAX 8u
/* Most shards of a role. */
#define WIRE_SHARDS_MAX 8u

struct wire_share {
	uint32_t index; /* k, from 0 */
	uint32_t of;    /* N; 1: the whole job */
};

/* The parameter `agents`: over how many agents the calls of a role are divided. */
struct wire_agents {
	uint32_t least; /* different agents, at least */
	uint32_t most;  /* as many shards; 1: not divided */
};

/** Parse the parameter: 4, "4" or "2-8". @return 0; -EINVAL (ret untouched) */
int wire_agents_parse(struct wire_agents *ret, const json_t *value);

/** Encode a share. @return a new object; NULL: out of memory */
json_t *wire_share_encode(const struct wire_share *share);

/** Decode a share. @param object  NULL: the whole job @param max  of parts
 * @return 0; -EINVAL (ret untouched) */
int wire_share_decode(struct wire_share *ret, const json_t *object,
		      uint32_t max);

/** The share of the whole that a part of a part has.
 * @param outer  that is divided further @param inner  the part of it */
static inline struct wire_share wire_share_within(
	const struct wire_share *outer, const struct wire_share *inner)
{
	return (struct wire_share){
		.index = inner->index * outer->of + outer->index,
		.of = outer->of * inner->of,
	};
}

/** Whether others carry out other parts of the job. */
static inline bool wire_share_divided(const struct wire_share *share)
{
	return share->of > 1;
}

/** @return the share's part of `total` calls, or of a limit of `total`. The parts
 * of all shares add up to it. */
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
