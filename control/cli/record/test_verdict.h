/**
 * The states of tests (passed, failed, flaky) for `test list` and `test show`.
 * Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RECORD_TEST_VERDICT_H
#define OFFHOOK_CONTROL_CLI_RECORD_TEST_VERDICT_H

#include <jansson.h>

struct client;

/** Set the `state` of each test. @param tests  in/out: array of tests
 * @return 0; exit status, the complaint was printed */
int test_verdict_add_states(struct client *c, json_t *tests);

/**
 * Say whether one test is flaky, and what its failed runs have in common: with
 * --json as `flakiness` beside the test, as the API has it; else as `state` and
 * `flaky` (a sentence; null: it is not flaky) of the test.
 * @param body  in/out: {test, ...}
 * @return as test_verdict_add_states()
 */
int test_verdict_add(struct client *c, json_t *body);

#endif
