/**
 * A user agent on the simulated clock, and a peer whose script is a list of
 * steps in the same thread: the times at which messages reach its socket.
 */
#ifndef OFFHOOK_TESTS_SIP_LAB_H
#define OFFHOOK_TESTS_SIP_LAB_H

#include "simulated.h"
#include "world.h"

#define SEEN_MAX 64

struct seen {
	int64_t ms;
	char start[32];
};

struct lab {
	struct world world;
	int listen_fd; /* the peer's TCP listener; -1: none */
	struct seen seen[SEEN_MAX];
	unsigned count;
	int64_t none_ms; /* since when there has been no transaction; -1:
			  * there is one */
	int64_t closed_ms;
	bool had_one;
	bool open;
};

extern struct lab lab;

/** Begin a case. @param tcp  over TCP, to the peer's listener */
void lab_open(bool tcp);
/** Run until this time. @param steps  of the peer and the user agent */
void lab_run(const struct simulated_step *steps, size_t count,
	     int64_t until_ms);
void lab_close(void);
/** Clean up after a failure, so that the next case starts afresh. */
int lab_teardown(void **state);
#define LAB_TEST(name) cmocka_unit_test_teardown(name, lab_teardown)

void lab_assert_ms(int64_t ms, int64_t wanted);
/** Messages that begin with this text arrived at these times, and at no others.
 * @param wanted  ms after after_ms, separated by blanks */
void lab_assert_times(const char *start, int64_t after_ms, const char *wanted);

#endif
