/**
 * Run this host against itself, and say what it can prove here: how many calls leave in
 * time, and how exact jitter, round trip and loss are.
 * Docs: docs/reference/calibration.md
 * Thread: one.
 */
#ifndef OFFHOOK_AGENT_CALIBRATE_CALIBRATE_H
#define OFFHOOK_AGENT_CALIBRATE_CALIBRATE_H

#include "control/wire/calibration.h"

#include <stdbool.h>
#include <stdint.h>

#define CALIBRATE_SECONDS_MIN     2
#define CALIBRATE_SECONDS_MAX     3600
#define CALIBRATE_SECONDS_DEFAULT 60

/* Packets leave in time if the 99th percentile of their lateness is below this. */
#define CALIBRATE_LATENESS_MS 2.0

/** A load that was tried. */
struct calibrate_trial {
	uint32_t calls;
	double lateness_p99_ms;
	uint64_t packets;
	uint64_t lost;
	uint64_t errors; /* not sent, dropped by the kernel, or not analysed */
	bool passed;
};

struct calibrate_params {
	uint32_t seconds; /* CALIBRATE_SECONDS_MIN .. _MAX, about */
	uint16_t port_min;
	uint16_t port_max;
	bool realtime;
	/* after each trial; NULL: not told */
	void (*trial_h)(const struct calibrate_trial *trial, void *arg);
	void *arg;
};

/**
 * Search the highest load whose packets leave in time, then measure the errors with
 * half of it. Blocks. Raises the limit of open files as far as it is allowed.
 * @return 0, also with `calls` 0; -errno (ret untouched)
 */
int calibrate_run(struct wire_calibration *ret,
		  const struct calibrate_params *params);

/**
 * The next load to try.
 * @param passed  highest that passed; 0: none
 * @param failed  lowest that failed; 0: none
 * @param most    even, >= 2
 * @return even; 0: the search is over
 */
uint32_t calibrate_next(uint32_t passed, uint32_t failed, uint32_t most);

#endif
