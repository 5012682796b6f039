/**
 * The metrics of runs as the API shows them (docs/reference/api.md).
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_STATS_H
#define OFFHOOK_SERVER_STORE_STORE_STATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct store;

/* Data records in one answer. */
#define STATS_RECORDS_MAX 100000

struct stats_scope {
	bool test; /* id is a test's: all its runs */
	int64_t id;
};

/** List the series that exist. @return 0 and [{dir, role, stats_measure}];
 * -EIO;
 * -ENOMEM */
int store_stats_dimensions(struct store *s, const struct stats_scope *scope,
			   json_t **ret);

/**
 * Read one measure: a record per run, role, direction and reporting interval.
 * If several agents share a role their distributions are merged: counts,
 * extremes, average and deviation exactly, percentiles from their sketches. If
 * a sketch is missing the percentiles are null: they are never averaged.
 * @param role, dir  NULL: all
 * @return 0 and an array by time; -EMSGSIZE above STATS_RECORDS_MAX; -EIO;
 *         -ENOMEM
 */
int store_stats_data(struct store *s, const struct stats_scope *scope,
		     const char *measure, const char *role, const char *dir,
		     json_t **ret);

#endif
