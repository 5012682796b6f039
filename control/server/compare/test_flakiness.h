/**
 * Whether a test is flaky, and what its failed runs have in common
 * (docs/reference/flakiness.md).
 * Thread: the owner of the store; reads it only.
 */
#ifndef OFFHOOK_SERVER_COMPARE_TEST_FLAKINESS_H
#define OFFHOOK_SERVER_COMPARE_TEST_FLAKINESS_H

#include <jansson.h>
#include <stdint.h>

struct store;

/**
 * Read the last runs of a test, and compare those that failed with those that
 * passed if the test is flaky.
 * @param ret  new {flaky, changes, failed, passed, sentence, common} (the last
 *             two: control/server/flakiness/flaky_cause.h)
 * @return 0; -ENOENT there is no such test; -ENOMEM; -EIO
 */
int test_flakiness(struct store *store, int64_t test_id, json_t **ret);

#endif
