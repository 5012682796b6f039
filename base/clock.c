#include "base/clock.h"

#include <stddef.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int64_t clock_mono_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t clock_wall_offset_ns(void)
{
	int64_t best_ns = INT64_MAX;
	int64_t offset_ns = 0;

	for (int i = 0; i < 3; i++) {
		int64_t before_ns = clock_mono_ns();
		int64_t wall_ns = clock_wall_ns();
		int64_t after_ns = clock_mono_ns();

		if (after_ns - before_ns < best_ns) {
			best_ns = after_ns - before_ns;
			offset_ns = wall_ns - before_ns - best_ns / 2;
		}
	}
	return offset_ns;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

struct date {
	unsigned year;
	unsigned month; /* 1-12 */
	unsigned day;   /* 1-31 */
};

/* The Gregorian calendar repeats every 400 years, which have 146097 days. Years
 * begin in March here, so that the leap day is the last. strftime() looks up
 * locale and time zone: it took a tenth of a listing's time. */
static void date_of(struct date *ret, int64_t days_since_1970)
{
	const int64_t days = days_since_1970 + 719468; /* since 0000-03-01 */
	const int64_t era = floor_div(days, 146097);
	const unsigned day = (unsigned)(days - era * 146097);
	const unsigned year =
		(day - day / 1460 + day / 36524 - day / 146096) / 365;
	const unsigned in_year = day - (365 * year + year / 4 - year / 100);
	const unsigned month = (5 * in_year + 2) / 153; /* 0: March */

	ret->day = in_year - (153 * month + 2) / 5 + 1;
	ret->month = month < 10 ? month + 3 : month - 9;
	ret->year = (unsigned)(era * 400 + year + (ret->month <= 2));
}

static void put_digits(char *text, unsigned value, size_t count)
{
	while (count > 0) {
		text[--count] = (char)('0' + value % 10);
		value /= 10;
	}
}

void clock_format_ms(char text[static CLOCK_TEXT_BYTES], int64_t wall_ms)
{
	const int64_t seconds = floor_div(wall_ms, 1000);
	const int64_t day = floor_div(seconds, 86400);
	const unsigned second = (unsigned)(seconds - day * 86400);
	struct date date;

	date_of(&date, day);
	put_digits(text, date.year, 4);
	text[4] = '-';
	put_digits(text + 5, date.month, 2);
	text[7] = '-';
	put_digits(text + 8, date.day, 2);
	text[10] = ' ';
	put_digits(text + 11, second / 3600, 2);
	text[13] = ':';
	put_digits(text + 14, second / 60 % 60, 2);
	text[16] = ':';
	put_digits(text + 17, second % 60, 2);
	text[19] = '\0';
}

void clock_format(char text[static CLOCK_TEXT_BYTES], int64_t wall_ns)
{
	clock_format_ms(text, floor_div(wall_ns, NS_PER_MS));
}

uint64_t clock_ms_until(int64_t at_ns, int64_t now_ns)
{
	return at_ns > now_ns ? (uint64_t)((at_ns - now_ns + NS_PER_MS - 1) /
					   NS_PER_MS)
			      : 0;
}
