#include "control/server/schedule/cron.h"

#include "base/str.h"
#include "control/server/schedule/zone.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define DAY_S    86400
#define DAYS_MAX (40 * 366) /* February 29 on a weekday comes every 40 years */

#define FIELD_BYTES 201 /* one may be nearly all of what the API takes */

struct field {
	const char *name;
	unsigned min;
	unsigned max;
	const char *names; /* three letters each, from `min`; or NULL */
};

static const struct field fields[] = {
	{"minute", 0, 59, NULL},
	{"hour", 0, 23, NULL},
	{"day of the month", 1, 31, NULL},
	{"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
	{"day of the week", 0, 7, "sunmontuewedthufrisat"},
};

#define FIELDS (sizeof(fields) / sizeof(*fields))

static const struct {
	const char *name, *text;
} shorthands[] = {
	{"@hourly", "0 * * * *"},   {"@daily", "0 0 * * *"},
	{"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
	{"@monthly", "0 0 1 * *"},  {"@yearly", "0 0 1 1 *"},
	{"@annually", "0 0 1 1 *"},
};

__attribute__((format(printf, 2, 3))) static int wrong(
	char reason[static CRON_REASON_BYTES], const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, CRON_REASON_BYTES, fmt, args);
	va_end(args);
	return -EINVAL;
}

/* A number or a name. @return 0; -EINVAL */
static int take_value(const struct field *f, const char **at, unsigned *ret,
		      char *reason)
{
	unsigned value = 0;

	if (isdigit((unsigned char)**at)) {
		for (; isdigit((unsigned char)**at) && value < 10000; (*at)++)
			value = value * 10 + (unsigned)(**at - '0');
		if (value < f->min || value > f->max)
			return wrong(reason, "%s: %u is not from %u to %u",
				     f->name, value, f->min, f->max);
		*ret = value;
		return 0;
	}
	for (unsigned i = 0; f->names && f->names[i]; i += 3) {
		if (strncasecmp(*at, f->names + i, 3) != 0 ||
		    isalnum((unsigned char)(*at)[3]))
			continue;
		*at += 3;
		*ret = f->min + i / 3;
		return 0;
	}
	return wrong(reason, "%s: %.40s is no number from %u to %u%s", f->name,
		     **at ? *at : "nothing", f->min, f->max,
		     f->names ? ", and no name of three letters" : "");
}

static int take_step(const struct field *f, const char **at, unsigned *ret,
		     char *reason)
{
	unsigned value = 0;

	*ret = 1;
	if (**at != '/')
		return 0;
	(*at)++;
	for (; isdigit((unsigned char)**at) && value < 10000; (*at)++)
		value = value * 10 + (unsigned)(**at - '0');
	if (value < 1 || value > f->max)
		return wrong(reason, "%s: the step must be from 1 to %u",
			     f->name, f->max);
	*ret = value;
	return 0;
}

/* Parse "*", "5" or "1-5"; "*" and a range may have a step. */
static int take_item(const struct field *f, const char **at, uint64_t *bits,
		     char *reason)
{
	unsigned low = f->min, high = f->max, step;
	bool single = false;
	int err = 0;

	if (**at == '*') {
		(*at)++;
	} else {
		err = take_value(f, at, &low, reason);
		high = low;
		single = **at != '-';
		if (!err && !single) {
			(*at)++;
			err = take_value(f, at, &high, reason);
		}
	}
	if (!err && high < low)
		err = wrong(reason,
			    "%s: %u-%u runs backwards; write %u-%u,%u-%u",
			    f->name, low, high, low, f->max, f->min, high);
	if (!err && single && **at == '/')
		err = wrong(reason, "%s: a step needs a range; write %u-%u/...",
			    f->name, low, f->max);
	if (!err)
		err = take_step(f, at, &step, reason);
	for (unsigned i = low; !err && i <= high; i += step)
		*bits |= UINT64_C(1) << i;
	return err;
}

static int parse_field(const struct field *f, const char *text, uint64_t *ret,
		       char *reason)
{
	uint64_t bits = 0;
	int err;

	while (!(err = take_item(f, &text, &bits, reason)) && *text == ',')
		text++;
	if (!err && *text)
		err = wrong(reason, "%s: %.40s is not understood", f->name,
			    text);
	*ret = bits;
	return err;
}

static bool bit(uint64_t bits, unsigned at)
{
	return bits >> at & 1;
}

/* False if no day of the expression ever comes, such as February 30. */
static bool has_a_day(const struct cron *c)
{
	static const unsigned longest[] = {0,  31, 29, 31, 30, 31, 30,
					   31, 31, 30, 31, 30, 31};

	for (unsigned month = 1; month <= 12; month++)
		for (unsigned day = 1; day <= longest[month]; day++)
			if (bit(c->months, month) && bit(c->days, day))
				return true;
	/* the weekday alone may match then */
	return !c->every_day && !c->every_weekday;
}

/* Copy the next word. @return false: no further word, or it is too long */
static bool next_word(const char **text, char word[static FIELD_BYTES])
{
	size_t len;

	*text += strspn(*text, " \t");
	len = strcspn(*text, " \t");
	if (!len || len >= FIELD_BYTES)
		return false;
	memcpy(word, *text, len);
	word[len] = '\0';
	*text += len;
	return true;
}

int cron_parse(struct cron *ret, const char *text,
	       char reason[static CRON_REASON_BYTES])
{
	char words[FIELDS][FIELD_BYTES];
	uint64_t bits[FIELDS] = {0};
	const char *at = text;
	int err = 0;

	for (size_t i = 0; i < sizeof(shorthands) / sizeof(*shorthands); i++)
		if (strcasecmp(text, shorthands[i].name) == 0)
			at = shorthands[i].text;
	if (*at == '@')
		return wrong(reason,
			     "%.40s is none of @hourly, @daily, "
			     "@weekly, @monthly, @yearly",
			     at);
	for (size_t i = 0; i < FIELDS; i++)
		if (!next_word(&at, words[i]))
			return wrong(reason,
				     "the %s is missing: five fields are "
				     "minute, hour, day of the month, month "
				     "and day of the week",
				     fields[i].name);
	if (at[strspn(at, " \t")])
		return wrong(reason, "there are more than five fields");
	for (size_t i = 0; !err && i < FIELDS; i++)
		err = parse_field(&fields[i], words[i], &bits[i], reason);
	if (err)
		return err;
	*ret = (struct cron){
		.minutes = bits[0],
		.hours = (uint32_t)bits[1],
		.days = (uint32_t)bits[2],
		.months = (uint16_t)bits[3],
		/* 7 is Sunday too */
		.weekdays = (uint8_t)((bits[4] | bits[4] >> 7) & 0x7f),
		.every_hour = words[1][0] == '*',
		.every_day = words[2][0] == '*',
		.every_weekday = words[4][0] == '*',
	};
	if (!has_a_day(ret))
		return wrong(reason, "no month of these has such a day");
	return 0;
}

/* ---- the next time ---- */

static bool day_matches(const struct cron *c, int64_t day)
{
	time_t midnight = (time_t)(day * DAY_S);
	bool in_days, in_weekdays;
	struct tm tm;

	if (!gmtime_r(&midnight, &tm) ||
	    !bit(c->months, (unsigned)tm.tm_mon + 1))
		return false;
	in_days = bit(c->days, (unsigned)tm.tm_mday);
	in_weekdays = bit(c->weekdays, (unsigned)tm.tm_wday);
	if (!c->every_day && !c->every_weekday)
		return in_days || in_weekdays;
	return in_days && in_weekdays;
}

/* Find the instants of a local time at which the expression is due. @return
 * count */
static unsigned instants(const struct cron *c, const struct zone *z,
			 int64_t local_s, int64_t ret[2])
{
	unsigned count = zone_instants(z, local_s, ret);

	if (c->every_hour)
		return count;
	/* the first of two instants; of a skipped time the instant of the
	 * change */
	return 1;
}

/* The earliest instant of a day that is after a given one. */
static void first_of_day(const struct cron *c, const struct zone *z,
			 int64_t day, int64_t after_s, int64_t *best)
{
	int64_t at[2];

	for (unsigned minute = 0; minute < 24 * 60; minute++) {
		unsigned count;

		if (!bit(c->hours, minute / 60) ||
		    !bit(c->minutes, minute % 60))
			continue;
		count = instants(c, z, day * DAY_S + minute * 60, at);
		for (unsigned i = 0; i < count; i++) {
			if (at[i] > after_s && at[i] < *best)
				*best = at[i];
		}
	}
}

static int64_t day_of(int64_t local_s)
{
	return local_s / DAY_S - (local_s % DAY_S < 0);
}

int cron_next(const struct cron *c, const struct zone *z, int64_t after_s,
	      int64_t *ret_s)
{
	int64_t today = day_of(after_s + zone_offset(z, after_s));
	int64_t best = INT64_MAX;

	/* when the clock is put back over midnight, two days overlap: check one
	 * more day on either side */
	for (int64_t day = today - 1; day < today + DAYS_MAX; day++) {
		bool had = best != INT64_MAX;

		if (day_matches(c, day))
			first_of_day(c, z, day, after_s, &best);
		if (had)
			break;
	}
	if (best == INT64_MAX)
		return -ENOENT;
	*ret_s = best;
	return 0;
}
