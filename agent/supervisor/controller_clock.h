/**
 * The controller's clock, as its answers tell it: each was written between the sending of the
 * request and the receipt of the answer, so the clock is known within half of that time. Several
 * controllers have one clock, each of them within an error that it tells.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_CONTROLLER_CLOCK_H
#define OFFHOOK_AGENT_SUPERVISOR_CONTROLLER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct controller_clock {
	bool known;
	int64_t offset_ns; /* the controller's wall clock minus our monotonic one */
	int64_t error_ns; /* at most, when it was read */
	int64_t read_ns;  /* monotonic */
};

/**
 * Take the time of an answer, unless an earlier one is better known still.
 * @param sent_ns    monotonic, when the request was sent
 * @param done_ns    when the answer was there, >= sent_ns
 * @param server_us  clock of the controller, in whole milliseconds rounded down
 * @param server_error_us  how far that may be from the clock of all controllers, >= 0
 */
void controller_clock_read(struct controller_clock *c, int64_t sent_ns,
			   int64_t done_ns, int64_t server_us,
			   int64_t server_error_us);

/** The error that it may have at a time, as clocks drift apart.
 * @param at_ns  monotonic, also before it was read @return ns */
int64_t controller_clock_error_ns(const struct controller_clock *c,
				  int64_t at_ns);

#endif
