/**
 * Clock skew: how much faster the sender's clock runs than ours. It is the
 * Theil-Sen slope over the minima of the relative transit time, one per second
 * of media time, of the longest part with one timing reference.
 * Source: Moon, Skelly, Towsley, INFOCOM 1999 (minima); Sen 1968 (slope);
 * docs/reference/measurement.md "Clock skew"
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_SKEW_H
#define OFFHOOK_MEDIA_ANALYSIS_SKEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/analysis/rtp_timing.h"

#define SKEW_WINDOWS_MIN 5
/* Maximum of windows. When it is reached, each two windows become one of twice
 * the length. */
#define SKEW_WINDOWS_CAPTURE 512
#define SKEW_WINDOWS_LIVE    64
/* Number of slopes between the points of this many windows. */
#define SKEW_SCRATCH(windows) ((windows) * ((windows)-1) / 2)

/** The packet with the smallest transit time of a window. */
struct skew_point {
	double media_ms;
	double transit_ms;
};

/** Packets with one timing reference. */
struct skew_epoch {
	double window_ms;
	double end_ms;            /* end of the newest window, media time */
	double last_ms;           /* newest media time */
	struct skew_point newest; /* of the newest window, if there is one */
	size_t n;                 /* number of points of the windows before
				   * it */
	struct skew_point *point;
};

struct skew {
	bool started;
	size_t windows_max;
	struct skew_epoch now;
	struct skew_epoch longest; /* of the earlier epochs */
};

/**
 * Initialise.
 * @param points       windows_max, borrowed
 * @param others       the same, not written before the timing reference
 *                     changes
 * @param windows_max  even, > SKEW_WINDOWS_MIN
 */
void skew_init(struct skew *s, struct skew_point *points,
	       struct skew_point *others, size_t windows_max);

/** One packet.
 * @param epoch  it is the first with a new timing reference */
void skew_add(struct skew *s, bool epoch, double media_ms, double transit_ms);

/** The packets of a run. */
void skew_add_run(struct skew *s, const struct rtp_run_samples *r);

/**
 * Compute the clock skew.
 * @param scratch  SKEW_SCRATCH(windows_max) doubles
 * @param ret_ppm  positive: the sender is fast
 * @return false: fewer than SKEW_WINDOWS_MIN windows, or all packets arrived at
 *         once
 */
bool skew_ppm(const struct skew *s, double *scratch, double *ret_ppm);

#endif
