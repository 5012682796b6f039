/**
 * How much faster the sender's clock runs than ours: Theil-Sen slope over the
 * minima of the relative transit time, one a second of media time, of the
 * longest stretch with one timing reference.
 * Source: Moon, Skelly, Towsley, INFOCOM 1999 (minima); Sen 1968 (slope);
 * docs/measurement.md "Clock skew"
 * Thread: the owner's; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_SKEW_H
#define OFFHOOK_MEDIA_ANALYSIS_SKEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKEW_WINDOWS_MIN 5
/* More windows than this: two become one, and windows twice as long. */
#define SKEW_WINDOWS_MAX 512
#define SKEW_SCRATCH     (SKEW_WINDOWS_MAX * (SKEW_WINDOWS_MAX - 1) / 2)

struct skew_epoch {
	double window_ms;
	int64_t window; /* index of the last point's window */
	double last_ms; /* newest media time */
	size_t n;
	struct {
		double media_ms;
		double transit_ms;
	} point[SKEW_WINDOWS_MAX];
};

struct skew {
	bool started;
	struct skew_epoch now;
	struct skew_epoch longest;
};

void skew_init(struct skew *s);

/** One packet. @param epoch  it is the first with a new timing reference */
void skew_add(struct skew *s, bool epoch, double media_ms, double transit_ms);

/**
 * @param scratch  SKEW_SCRATCH doubles
 * @param ret_ppm  positive: the sender is fast
 * @return false: fewer than SKEW_WINDOWS_MIN windows
 */
bool skew_ppm(const struct skew *s, double *scratch, double *ret_ppm);

#endif
