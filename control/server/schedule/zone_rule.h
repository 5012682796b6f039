/**
 * The rule of a time zone for all times after its table: the TZ text at the end
 * of a TZif file, such as "CET-1CEST,M3.5.0,M10.5.0/3".
 * Source: POSIX.1-2017 8.3, RFC 8536 3.3.1 (hours from -167 to 167)
 * Thread: any; pure.
 */
#ifndef OFFHOOK_SERVER_SCHEDULE_ZONE_RULE_H
#define OFFHOOK_SERVER_SCHEDULE_ZONE_RULE_H

#include <stdbool.h>
#include <stdint.h>

/* A day of each year, and the local time of the change on it. */
struct zone_change {
	enum {
		CHANGE_JULIAN,    /* day 1 to 365, February 29 never counts */
		CHANGE_DAY,       /* day 0 to 365 */
		CHANGE_MONTH_DAY, /* weekday of a week of a month */
	} kind;
	int day;  /* of the week: 0 is Sunday */
	int week; /* 5: the last one */
	int month;
	int32_t time_s;
};

struct zone_rule {
	int32_t standard; /* seconds ahead of UTC */
	bool has_summer;
	int32_t summer;
	struct zone_change begin; /* of summer time, in standard time */
	struct zone_change end;   /* in summer time */
};

/** @return 0; -EBADMSG */
int zone_rule_parse(struct zone_rule *ret, const char *text);

/** Seconds ahead of UTC at an instant. */
int32_t zone_rule_offset(const struct zone_rule *r, int64_t utc_s);

#endif
