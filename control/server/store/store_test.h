/**
 * Tests, beyond what record.h does.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_TEST_H
#define OFFHOOK_SERVER_STORE_STORE_TEST_H

#include <stdint.h>

struct store;

#define STORE_NAME_BYTES 256

/**
 * Find a test with an action that has a parameter of this value.
 * @param name  receives the test's name
 * @return 1; 0: there is none; -EIO
 */
int store_test_refers(struct store *s, const char *parameter, int64_t id,
		      char name[STORE_NAME_BYTES]);

/**
 * Find a test with an action that plays an upload of this name, or compares
 * with it: `prompt`, `expect_prompt`, and `play` in `sipclient_actions`.
 * @param name  receives the test's name
 * @return 1; 0: there is none; -EIO
 */
int store_test_plays(struct store *s, const char *upload,
		     char name[STORE_NAME_BYTES]);

#endif
