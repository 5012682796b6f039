/**
 * A loop on a simulated clock: this program's epoll_wait(), clock_gettime(),
 * gettimeofday() and timerfd_settime() replace libc's. Where the loop would
 * sleep, the clock advances to its next timer or to the next step of the test.
 * Half a minute of retransmissions thus takes milliseconds, and each is due to
 * the millisecond. Sockets are real; loopback delivers within the send call.
 */
#ifndef OFFHOOK_TESTS_SIP_SIMULATED_H
#define OFFHOOK_TESTS_SIP_SIMULATED_H

#include <stddef.h>
#include <stdint.h>

/** An action of the test at a given time. */
struct simulated_step {
	int64_t at_ms;
	void (*do_h)(void *arg);
};

struct simulated_params {
	const struct simulated_step *steps; /* sorted by time */
	size_t count;
	void (*idle_h)(void *arg); /* before each sleep of the loop */
	void *arg;
	int64_t until_ms; /* the loop stops at this time */
};

/** Stop the clock at 0 ms. simulated_end() returns to the real one. */
void simulated_begin(void);
void simulated_end(void);
/** Run the loop of sip/ua.h. */
void simulated_run(const struct simulated_params *params);
int64_t simulated_ms(void);

#endif
