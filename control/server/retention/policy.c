#include "control/server/retention/policy.h"

bool retention_limits_anything(const struct retention_policy *policy)
{
	for (unsigned k = 0; k < RETENTION_KINDS; k++)
		if (policy->limits[k].age_ms || policy->limits[k].bytes)
			return true;
	return policy->thin_ms != 0;
}

static bool over_limit(const struct retention_limit *limit, int64_t age_ms,
		       int64_t stored)
{
	return (limit->age_ms && age_ms >= limit->age_ms) ||
	       (limit->bytes && stored > limit->bytes);
}

unsigned retention_due(const struct retention_policy *policy, int64_t now_ms,
		       const struct retention_run *run,
		       int64_t stored[RETENTION_KINDS])
{
	const int64_t age_ms = now_ms - run->stopped_at;
	unsigned due = 0;

	if (run->keep)
		return 0;
	if (over_limit(&policy->limits[RETENTION_RUN], age_ms,
		       stored[RETENTION_RUN])) {
		for (unsigned k = 0; k < RETENTION_KINDS; k++)
			stored[k] -= run->bytes[k];
		return 1u << RETENTION_RUN;
	}
	for (unsigned k = 0; k < RETENTION_RUN; k++) {
		if (!run->bytes[k] ||
		    !over_limit(&policy->limits[k], age_ms, stored[k]))
			continue;
		due |= 1u << k;
		stored[k] -= run->bytes[k];
		stored[RETENTION_RUN] -= run->bytes[k];
	}
	if (policy->thin_ms && run->dense && age_ms >= policy->thin_ms &&
	    !(due & 1u << RETENTION_METRICS))
		due |= RETENTION_THIN;
	return due;
}
