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

/** Likewise, by a parameter with this text. */
int store_test_names(struct store *s, const char *parameter, const char *text,
		     char name[STORE_NAME_BYTES]);

#endif
