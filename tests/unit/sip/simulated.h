/**
 * A loop that waits for nothing: this program's epoll_wait(), clock_gettime(),
 * gettimeofday() and timerfd_settime() take the place of libc's. Where the loop would sleep the
 * clock is set forward to its next timer, or to the next step of the test. So
 * half a minute of retransmissions takes milliseconds, and each is due to the
 * millisecond. Sockets are real; loopback delivers within the send.
 */
#ifndef OFFHOOK_TESTS_SIP_SIMULATED_H
#define OFFHOOK_TESTS_SIP_SIMULATED_H

#include <stddef.h>
#include <stdint.h>

/** What a test does at a time. */
struct simulated_step {
	int64_t at_ms;
	void (*do_h)(void *arg);
};

struct simulated_params {
	const struct simulated_step *steps; /* in order of time */
	size_t count;
	void (*idle_h)(void *arg); /* before each sleep of the loop */
	void *arg;
	int64_t until_ms; /* the loop is stopped then */
};

/** The clock stands still from here on, at 0 ms. */
void simulated_begin(void);
void simulated_end(void);
/** Run the loop of sip/ua.h. */
void simulated_run(const struct simulated_params *params);
int64_t simulated_ms(void);

#endif
