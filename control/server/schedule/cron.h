/**
 * Cron expressions: minute, hour, day of the month, month, day of the week.
 * `*`, lists, ranges, steps, names of months and weekdays, and @hourly, @daily,
 * @midnight, @weekly, @monthly, @yearly, @annually. As in crontab(5) a day must
 * be in either day field if neither begins with `*`, else in both.
 * Source: POSIX.1-2017 crontab; steps, names and @ as in crontab(5) of Debian
 * Thread: any; pure.
 */
#ifndef OFFHOOK_SERVER_SCHEDULE_CRON_H
#define OFFHOOK_SERVER_SCHEDULE_CRON_H

#include <stdbool.h>
#include <stdint.h>

#define CRON_REASON_BYTES 160

struct zone;

struct cron {
	uint64_t minutes; /* a bit each */
	uint32_t hours;
	uint32_t days;    /* bits 1 to 31 */
	uint16_t months;  /* bits 1 to 12 */
	uint8_t weekdays; /* bits 0 to 6, Sunday first */
	bool every_hour;  /* the field begins with `*`; likewise the others */
	bool every_day;
	bool every_weekday;
};

/**
 * @param reason  filled on -EINVAL: names the field and the error
 * @return 0; -EINVAL
 */
int cron_parse(struct cron *ret, const char *text,
	       char reason[static CRON_REASON_BYTES]);

/**
 * Find the next time after an instant. If the hour field is not `*`, each time
 * happens once a day: a time that the wall clock skips happens when the clock
 * is put forward, a time that it shows twice happens the first time. If the
 * hour field is `*`, the expression is due whenever the wall clock shows it.
 * @param after_s  seconds since 1970
 * @return 0; -ENOENT there is none within 40 years
 */
int cron_next(const struct cron *c, const struct zone *z, int64_t after_s,
	      int64_t *ret_s);

#endif
