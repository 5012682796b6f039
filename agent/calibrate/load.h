/**
 * Calls of this host with itself: two media engines, as two agents would have them,
 * whose sessions send each other G.711 in packets of 20 ms over loopback.
 * Thread: one, the loop thread of both engines.
 */
#ifndef OFFHOOK_AGENT_CALIBRATE_LOAD_H
#define OFFHOOK_AGENT_CALIBRATE_LOAD_H

#include "agent/calibrate/bounds.h"
#include "agent/calibrate/clock_check.h"

#include <stdbool.h>
#include <stdint.h>

struct load_params {
	uint32_t calls;    /* sessions of both engines, even, >= 2 */
	int64_t settle_ns; /* before that, for the start of the calls */
	int64_t length_ns;
	uint16_t port_min;
	uint16_t port_max;
	bool realtime;
};

struct load_result {
	double lateness_p99_ms; /* of the engine that was later */
	const char *scheduling; /* of the sending threads; static */
	uint64_t packets;       /* that had to arrive */
	uint64_t lost;
	uint64_t errors; /* not sent, dropped by the kernel, or not analysed */
	struct samples jitter_ms; /* J of each stream and second, sorted */
	struct samples rtt_ms;    /* sorted */
	struct clock_figures clock;
};

/**
 * Make the calls, measure, and end them. Blocks.
 * @param ret  load_result_clear() it, also after a failure
 * @return 0; -errno
 */
int load_run(struct load_result *ret, const struct load_params *params);

void load_result_clear(struct load_result *r);

#endif
