/**
 * What a host measured of itself (docs/reference/calibration.md): a file of the agent,
 * a member of its requests, and a column of the controller have this one form.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_WIRE_CALIBRATION_H
#define OFFHOOK_WIRE_CALIBRATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define WIRE_CALIBRATION_TEXT_BYTES 64

/* Most calls that a calibration may state: one engine's on each side. */
#define WIRE_CALIBRATION_CALLS_MAX 20000

struct wire_calibration {
	char time[WIRE_CALIBRATION_TEXT_BYTES]; /* YYYY-MM-DD HH:MM:SS, UTC */
	char version[WIRE_CALIBRATION_TEXT_BYTES]; /* of the agent */
	char kernel[WIRE_CALIBRATION_TEXT_BYTES];
	char scheduling
		[WIRE_CALIBRATION_TEXT_BYTES]; /* of the sending thread */
	char limited_by[WIRE_CALIBRATION_TEXT_BYTES]; /* why not more calls */
	uint32_t processors;
	double duration_s;
	uint32_t calls; /* at a time; 0: not even the fewest */
	double lateness_p99_ms;
	/* the rest was measured with this many calls; 0: not measured */
	uint32_t bounds_calls;
	uint64_t packets; /* expected to arrive */
	uint64_t lost;
	double jitter_median_ms;
	double jitter_max_ms;
	double rtt_median_ms;
	double rtt_max_ms;
	double clock_resolution_ns;
	double clock_step_ms;
	double clock_drift_ppm;
	/* The error bounds. Unknown where too little was measured */
	bool has_jitter_bound;
	double jitter_bound_ms;
	bool has_rtt_bound;
	double rtt_bound_ms;
	bool has_loss_bound;
	double loss_bound_pct;
};

/** @return new object; NULL: out of memory */
json_t *wire_calibration_encode(const struct wire_calibration *c);

/**
 * Read one, of an agent or a file. Members that are not known are left out.
 * @param ret_member  optional: the member that is wrong; static; "": not an object
 * @return 0; -EINVAL (ret untouched)
 */
int wire_calibration_decode(struct wire_calibration *ret, const json_t *object,
			    const char **ret_member);

#endif
