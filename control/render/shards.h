/**
 * The shards of roles that several agents carried out (`shards` of a run,
 * docs/reference/report.md), for the formats.
 * Pure; thread: any.
 */
#ifndef OFFHOOK_RENDER_SHARDS_H
#define OFFHOOK_RENDER_SHARDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SHARD_COLUMNS    8
#define SHARD_CELL_BYTES 32
/* A row of the table of shards: "caller", "3 of 4", "fra-1", "lost", "10", "12.5", "0.3", "1.1". */
struct shard_cells {
	/* in the order of the columns; into the shard and the members below */
	const char *all[SHARD_COLUMNS];
	char shard[SHARD_CELL_BYTES];
	char calls[SHARD_CELL_BYTES];
	char calls_per_second[SHARD_CELL_BYTES];
	char start[SHARD_CELL_BYTES]; /* ms after the first one; "" unknown */
	char error[SHARD_CELL_BYTES]; /* of the clocks, ms; "" unknown */
};

/** @param ret  not to be copied: it has pointers into itself; valid as long as `shard` */
void shard_cells_of(struct shard_cells *ret, const json_t *shard);

/* How far apart the shards of a role began. */
struct shard_skew {
	const char *role; /* borrowed from shards */
	double skew_ms;
	double error_ms; /* at most: of the first and of the last one */
};

/**
 * Find the skew of the next role.
 * @param at  in/out: where the roles before end, from 0
 * @return false: no further role began two shards (ret undefined)
 */
bool shard_skew_next(struct shard_skew *ret, const json_t *shards, size_t *at);

#endif
