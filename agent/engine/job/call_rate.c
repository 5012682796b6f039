#include "agent/engine/job/call_rate.h"

#include "base/clock.h"

#include <math.h>

int64_t call_rate_next_ns(int64_t at_ns, double per_second, uint32_t ramp_up_s)
{
	double at = (double)at_ns / (double)NS_PER_S;
	double ramp = ramp_up_s;
	double next, short_of;

	if (at >= ramp)
		return at_ns + (int64_t)((double)NS_PER_S / per_second);
	/* one more call: per_second * (next^2 - at^2) / (2 * ramp) = 1 */
	next = sqrt(at * at + 2 * ramp / per_second);
	if (next > ramp) { /* a part of it is due after the ramp */
		short_of =
			1 - per_second * (ramp * ramp - at * at) / (2 * ramp);
		next = ramp + short_of / per_second;
	}
	return (int64_t)llround(next * (double)NS_PER_S);
}
