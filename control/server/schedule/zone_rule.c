#include "control/server/schedule/zone_rule.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#define DAY_S 86400

/* A name: three letters at least, or anything within < >. */
static bool take_name(const char **text)
{
	const char *at = *text;
	bool quoted = *at == '<';
	size_t len = 0;

	at += quoted;
	while (isalpha((unsigned char)at[len]) ||
	       (quoted && (isdigit((unsigned char)at[len]) || at[len] == '+' ||
			   at[len] == '-')))
		len++;
	if (len < 3 || (quoted && at[len] != '>'))
		return false;
	*text = at + len + quoted;
	return true;
}

static bool take_number(const char **text, int max, int *ret)
{
	const char *at = *text;
	int value = 0;

	if (!isdigit((unsigned char)*at))
		return false;
	for (; isdigit((unsigned char)*at); at++) {
		value = value * 10 + (*at - '0');
		if (value > max)
			return false;
	}
	*text = at;
	*ret = value;
	return true;
}

/* [+-]hh[:mm[:ss]] */
static bool take_time(const char **text, int hours_max, int32_t *ret)
{
	int sign = **text == '-' ? -1 : 1;
	int hours, minutes = 0, seconds = 0;

	if (**text == '-' || **text == '+')
		(*text)++;
	if (!take_number(text, hours_max, &hours))
		return false;
	if (**text == ':') {
		(*text)++;
		if (!take_number(text, 59, &minutes))
			return false;
		if (**text == ':') {
			(*text)++;
			if (!take_number(text, 59, &seconds))
				return false;
		}
	}
	*ret = sign * (hours * 3600 + minutes * 60 + seconds);
	return true;
}

/* Mm.w.d */
static bool take_month_day(const char **text, struct zone_change *c)
{
	c->kind = CHANGE_MONTH_DAY;
	if (!take_number(text, 12, &c->month) || c->month < 1 ||
	    *(*text)++ != '.')
		return false;
	if (!take_number(text, 5, &c->week) || c->week < 1 || *(*text)++ != '.')
		return false;
	return take_number(text, 6, &c->day);
}

static bool take_change(const char **text, struct zone_change *c)
{
	bool good;

	if (*(*text)++ != ',')
		return false;
	if (**text == 'M') {
		(*text)++;
		good = take_month_day(text, c);
	} else if (**text == 'J') {
		(*text)++;
		c->kind = CHANGE_JULIAN;
		good = take_number(text, 365, &c->day) && c->day >= 1;
	} else {
		c->kind = CHANGE_DAY;
		good = take_number(text, 365, &c->day);
	}
	c->time_s = 2 * 3600;
	if (good && **text == '/') {
		(*text)++;
		good = take_time(text, 167, &c->time_s);
	}
	return good;
}

int zone_rule_parse(struct zone_rule *ret, const char *text)
{
	struct zone_rule r = {.has_summer = false};

	/* POSIX counts westwards */
	if (!take_name(&text) || !take_time(&text, 24, &r.standard))
		return -EBADMSG;
	r.standard = -r.standard;
	r.summer = r.standard + 3600;
	if (*text) {
		r.has_summer = true;
		if (!take_name(&text))
			return -EBADMSG;
		if (*text != ',') {
			if (!take_time(&text, 24, &r.summer))
				return -EBADMSG;
			r.summer = -r.summer;
		}
		if (!take_change(&text, &r.begin) ||
		    !take_change(&text, &r.end) || *text)
			return -EBADMSG;
	}
	*ret = r;
	return 0;
}

/* Local midnight of a date, as seconds since 1970. */
static int64_t date_s(int year, int month, int day)
{
	struct tm tm = {
		.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};

	return (int64_t)timegm(&tm);
}

static bool is_leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* The local time of a change in a year. */
static int64_t change_s(const struct zone_change *c, int year)
{
	int64_t first, day;
	int weekday;

	if (c->kind != CHANGE_MONTH_DAY) {
		day = c->day;
		if (c->kind == CHANGE_JULIAN)
			day += is_leap(year) && c->day >= 60 ? 0 : -1;
		return date_s(year, 1, 1) + day * DAY_S + c->time_s;
	}
	first = date_s(year, c->month, 1);
	weekday = (int)((first / DAY_S + 4) % 7); /* 1970 began on Thursday */
	if (weekday < 0)
		weekday += 7;
	day = (c->day - weekday + 7) % 7 + (c->week - 1) * 7;
	if (c->week == 5 &&
	    first + day * DAY_S >= date_s(year, c->month + 1, 1))
		day -= 7;
	return first + day * DAY_S + c->time_s;
}

int32_t zone_rule_offset(const struct zone_rule *r, int64_t utc_s)
{
	time_t local = (time_t)(utc_s + r->standard);
	int64_t begin, end;
	struct tm tm;
	bool summer;
	int year;

	if (!r->has_summer || !gmtime_r(&local, &tm))
		return r->standard;
	year = tm.tm_year + 1900;
	begin = change_s(&r->begin, year) - r->standard;
	end = change_s(&r->end, year) - r->summer;
	summer = begin < end ? utc_s >= begin && utc_s < end
			     : utc_s >= begin || utc_s < end;
	return summer ? r->summer : r->standard;
}
