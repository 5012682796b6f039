#include "control/server/schedule/cron.h"
#include "control/server/schedule/schedule.h"
#include "control/server/schedule/zone.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

struct schedule_times {
	bool has_cron;
	struct cron cron;
	struct zone *zone;
};

struct schedule_times *schedule_times_free(struct schedule_times *t)
{
	if (t) {
		zone_free(t->zone);
		free(t);
	}
	return NULL;
}

static int load_zone(struct schedule_times *t, const char *name,
		     char reason[static SCHEDULE_REASON_BYTES])
{
	int err = zone_load(&t->zone, name);

	if (err == -EINVAL || err == -ENOENT)
		str_print(reason, SCHEDULE_REASON_BYTES,
			  "is no time zone such as UTC or Europe/Berlin (the "
			  "names are those of tzdata)");
	else if (err == -EBADMSG)
		str_print(reason, SCHEDULE_REASON_BYTES,
			  "has a file that is not understood");
	return err == -ENOENT || err == -EBADMSG ? -EINVAL : err;
}

int schedule_times_new(struct schedule_times **ret, const char *cron,
		       const char *zone,
		       char reason[static SCHEDULE_REASON_BYTES],
		       bool *ret_cron)
{
	struct schedule_times *t = calloc(1, sizeof(*t));
	int err = 0;

	if (!t)
		return -ENOMEM;
	t->has_cron = cron;
	*ret_cron = false;
	if (cron)
		err = cron_parse(&t->cron, cron, reason);
	if (err)
		*ret_cron = true;
	else
		err = load_zone(t, zone, reason);
	if (err) {
		schedule_times_free(t);
		return err;
	}
	*ret = t;
	return 0;
}

int64_t schedule_times_next(const struct schedule_times *t, int64_t after)
{
	int64_t at;

	if (!t->has_cron || cron_next(&t->cron, t->zone, after / 1000, &at))
		return 0;
	return at * 1000;
}
