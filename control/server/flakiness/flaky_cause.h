/**
 * What the failed runs of a flaky test have in common and the passed ones have
 * not (docs/reference/flakiness.md). Pure.
 * Thread: any; the owner of the history.
 */
#ifndef OFFHOOK_SERVER_FLAKINESS_FLAKY_CAUSE_H
#define OFFHOOK_SERVER_FLAKINESS_FLAKY_CAUSE_H

#include <jansson.h>

struct flaky_history;

/* The chance, at most, that something is named though runs fail at random. */
#define FLAKY_LEVEL 0.01

/* Attributes that the same runs have, named together. */
#define FLAKY_COMMON_MAX 3

/**
 * Find what is far more frequent among failed runs than among passed ones.
 * Fisher's exact test, one-sided, of each value; corrected for the attributes
 * and values that were looked at.
 * @param ret  new {sentence, common: [{attribute, role, value, failed,
 *             failed_of, passed, passed_of, p}]}; nothing is named: sentence
 *             null, common []
 * @return 0; -ENOMEM
 */
int flaky_cause(const struct flaky_history *h, json_t **ret);

#endif
