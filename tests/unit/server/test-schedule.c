/* Expected times are from a calendar and from `TZ=... date -d @SECONDS`. */
#include "base/clock.h"
#include "base/str.h"
#include "control/server/request/fields.h"
#include "control/server/schedule/cron.h"
#include "control/server/schedule/zone.h"
#include "control/server/schedule/zone_rule.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BERLIN    "CET-1CEST,M3.5.0,M10.5.0/3"
#define NEW_YORK  "EST5EDT,M3.2.0,M11.1.0"
#define LORD_HOWE "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"
#define SYDNEY    "AEST-10AEDT,M10.1.0,M4.1.0/3"
#define SANTIAGO  "<-04>4<-03>,M9.1.6/24,M4.1.6/24"

/*
 * A TZif file without a transition table: only its rule (the footer) applies.
 */
static struct zone *zone_of(const char *rule)
{
	uint8_t bytes[300] = {0};
	struct zone *z = NULL;
	size_t len = 0;

	for (int block = 0; block < 2; block++) {
		memcpy(bytes + len, "TZif2", 5);
		bytes[len + 39] = 1; /* one local time type */
		bytes[len + 43] = 1; /* one byte of abbreviations */
		len += 44 + 6 + 1;
	}
	len += (size_t)snprintf((char *)bytes + len, 150, "\n%s\n", rule);
	assert_int_equal(zone_parse(&z, bytes, len), 0);
	return z;
}

static int64_t seconds(const char *text)
{
	int64_t ms;

	assert_true(time_parse(text, &ms));
	return ms / 1000;
}

/* Expect the next times of a cron expression after an instant (UTC). */
static void expect(const char *cron, const char *rule, const char *after,
		   const char *const *times)
{
	struct zone *z = zone_of(rule);
	char reason[CRON_REASON_BYTES], text[CLOCK_TEXT_BYTES];
	int64_t at = seconds(after);
	struct cron c;

	assert_int_equal(cron_parse(&c, cron, reason), 0);
	for (; *times; times++) {
		assert_int_equal(cron_next(&c, z, at, &at), 0);
		clock_format(text, at * NS_PER_S);
		if (strcmp(text, *times) != 0)
			fail_msg("%s in %s: %s, not %s", cron, rule, text,
				 *times);
	}
	zone_free(z);
}

#define TIMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_fields(void **state)
{
	(void)state;
	expect("* * * * *", "UTC0", "2025-12-31 23:58:59",
	       TIMES("2025-12-31 23:59:00", "2026-01-01 00:00:00"));
	expect("*/20 * * * *", "UTC0", "2026-01-01 00:00:00",
	       TIMES("2026-01-01 00:20:00", "2026-01-01 00:40:00",
		     "2026-01-01 01:00:00"));
	expect("5,10-12,50-59/4 3 * * *", "UTC0", "2026-01-01 00:00:00",
	       TIMES("2026-01-01 03:05:00", "2026-01-01 03:10:00",
		     "2026-01-01 03:11:00", "2026-01-01 03:12:00",
		     "2026-01-01 03:50:00", "2026-01-01 03:54:00",
		     "2026-01-01 03:58:00", "2026-01-02 03:05:00"));
	expect("0 9 * JAN,mar Mon-fri", "UTC0", "2026-01-30 09:00:00",
	       TIMES("2026-03-02 09:00:00", "2026-03-03 09:00:00"));
	expect("0 0 * * 5-7", "UTC0", "2026-01-01 00:00:00", /* a Thursday */
	       TIMES("2026-01-02 00:00:00", "2026-01-03 00:00:00",
		     "2026-01-04 00:00:00", "2026-01-09 00:00:00"));
	expect("@weekly", "UTC0", "2026-01-01 00:00:00",
	       TIMES("2026-01-04 00:00:00", "2026-01-11 00:00:00"));
	expect("@Yearly", "UTC0", "2026-01-01 00:00:00",
	       TIMES("2027-01-01 00:00:00"));
	expect("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,"
	       "24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39 4 * * *",
	       "UTC0", "2026-01-01 04:38:00",
	       TIMES("2026-01-01 04:39:00", "2026-01-02 04:00:00"));
	expect(" 7\t5   * * * ", "UTC0", "2026-01-01 05:07:00",
	       TIMES("2026-01-02 05:07:00"));
}

static void test_months_have_lengths(void **state)
{
	(void)state;
	expect("0 0 31 * *", "UTC0", "2026-01-31 00:00:00",
	       TIMES("2026-03-31 00:00:00", "2026-05-31 00:00:00",
		     "2026-07-31 00:00:00", "2026-08-31 00:00:00"));
	expect("0 0 29 2 *", "UTC0", "2026-01-01 00:00:00",
	       TIMES("2028-02-29 00:00:00", "2032-02-29 00:00:00"));
	expect("0 0 29 2 *", "UTC0", "2096-02-29 00:00:00",
	       TIMES("2104-02-29 00:00:00")); /* 2100 is not a leap year */
	expect("0 0 30 2,4 *", "UTC0", "2026-01-01 00:00:00",
	       TIMES("2026-04-30 00:00:00", "2027-04-30 00:00:00"));
}

static void test_either_day_field(void **state)
{
	(void)state;
	/* on the 13th and on Fridays */
	expect("0 0 13 * fri", "UTC0", "2026-02-06 00:00:00",
	       TIMES("2026-02-13 00:00:00", "2026-02-20 00:00:00",
		     "2026-02-27 00:00:00", "2026-03-06 00:00:00",
		     "2026-03-13 00:00:00"));
	/*
	 * a field that begins with * restricts the other: Fridays on odd days
	 */
	expect("0 0 */2 * fri", "UTC0", "2026-02-06 00:00:00",
	       TIMES("2026-02-13 00:00:00", "2026-02-27 00:00:00"));
	expect("0 0 30 2 fri", "UTC0", "2026-01-01 00:00:00",
	       TIMES("2026-02-06 00:00:00", "2026-02-13 00:00:00"));
}

static void test_clock_put_forward(void **state)
{
	(void)state;
	/* 2026-03-29, 02:00 becomes 03:00 = 01:00 UTC */
	expect("30 2 * * *", BERLIN, "2026-03-27 12:00:00",
	       TIMES("2026-03-28 01:30:00", "2026-03-29 01:00:00",
		     "2026-03-30 00:30:00"));
	/* several skipped times fire together */
	expect("*/20 2 * * *", BERLIN, "2026-03-28 02:00:00",
	       TIMES("2026-03-29 01:00:00", "2026-03-30 00:00:00"));
	expect("0 2-3 * * *", BERLIN, "2026-03-28 12:00:00",
	       TIMES("2026-03-29 01:00:00", "2026-03-30 00:00:00",
		     "2026-03-30 01:00:00"));
	/* an hourly job runs in every hour that exists */
	expect("30 * * * *", BERLIN, "2026-03-28 23:40:00",
	       TIMES("2026-03-29 00:30:00", "2026-03-29 01:30:00"));
	expect("15 2 8 3 *", NEW_YORK, "2026-01-01 00:00:00",
	       TIMES("2026-03-08 07:00:00", "2027-03-08 07:15:00"));
	/* a shift of half an hour */
	expect("15 2 * * *", LORD_HOWE, "2026-10-03 00:00:00",
	       TIMES("2026-10-03 15:30:00", "2026-10-04 15:15:00"));
	/* a shift at midnight: 2026-09-06 begins at 01:00 */
	expect("0 0 * * *", SANTIAGO, "2026-09-04 12:00:00",
	       TIMES("2026-09-05 04:00:00", "2026-09-06 04:00:00",
		     "2026-09-07 03:00:00"));
}

static void test_clock_put_back(void **state)
{
	(void)state;
	/* 2026-10-25, 03:00 becomes 02:00 = 01:00 UTC */
	expect("30 2 * * *", BERLIN, "2026-10-24 12:00:00",
	       TIMES("2026-10-25 00:30:00", "2026-10-26 01:30:00"));
	expect("*/30 2 * * *", BERLIN, "2026-10-24 12:00:00",
	       TIMES("2026-10-25 00:00:00", "2026-10-25 00:30:00",
		     "2026-10-26 01:00:00"));
	expect("30 * * * *", BERLIN, "2026-10-24 23:40:00",
	       TIMES("2026-10-25 00:30:00", "2026-10-25 01:30:00",
		     "2026-10-25 02:30:00"));
	expect("45 1 * * *", LORD_HOWE, "2026-04-04 00:00:00",
	       TIMES("2026-04-04 14:45:00", "2026-04-05 15:15:00"));
	expect("30 2 * * *", SYDNEY, "2026-04-03 20:00:00",
	       TIMES("2026-04-04 15:30:00", "2026-04-05 16:30:00"));
	/* a shift across midnight: 2026-04-05 00:00 becomes 2026-04-04 23:00 */
	expect("30 23 * * *", SANTIAGO, "2026-04-04 00:00:00",
	       TIMES("2026-04-04 02:30:00", "2026-04-05 02:30:00",
		     "2026-04-06 03:30:00"));
	expect("30 * * * *", SANTIAGO, "2026-04-05 02:00:00",
	       TIMES("2026-04-05 02:30:00", "2026-04-05 03:30:00",
		     "2026-04-05 04:30:00"));
}

static void test_wrong_expressions(void **state)
{
	static const struct {
		const char *text, *reason;
	} cases[] = {
		{"", "minute is missing"},
		{"* * * *", "day of the week is missing"},
		{"* * * * * *", "more than five"},
		{"@sometimes", "none of @hourly"},
		{"@reboot", "none of @hourly"},
		{"60 * * * *", "minute: 60 is not from 0 to 59"},
		{"* 24 * * *", "hour: 24"},
		{"* * 0 * *", "day of the month: 0"},
		{"* * 32 * *", "day of the month: 32"},
		{"* * * 13 *", "month: 13"},
		{"* * * * 8", "day of the week: 8"},
		{"* * * foo *", "month: foo"},
		{"* * * january *", "month: january"},
		{"* * * * mon1", "day of the week: mon1"},
		{"mon * * * *", "minute: mon"},
		{"5-2 * * * *", "write 5-59,0-2"},
		{"5/15 * * * *", "write 5-59/"},
		{"*/0 * * * *", "step"},
		{"*/ * * * *", "step"},
		{"*/60 * * * *", "step"},
		{"1, * * * *", "minute: nothing"},
		{",1 * * * *", "minute: ,1"},
		{"1- * * * *", "minute: nothing"},
		{"-1 * * * *", "minute: -1"},
		{"1-2-3 * * * *", "minute: -3 is not understood"},
		{"** * * * *", "minute: * is not understood"},
		{"99999999999999999999 * * * *", "minute: 9999"},
		{"0 0 L * *", "day of the month: L"},
		{"0 0 30 2 *", "no month"},
		{"0 0 31 2,4,6,9,11 *", "no month"},
		{"0 0 31 4 */2", "no month"},
		{"1\n2 * * * *", "minute: \n2 is not understood"},
	};
	char reason[CRON_REASON_BYTES];
	struct cron c;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int err = cron_parse(&c, cases[i].text, reason);

		if (err != -EINVAL || !strstr(reason, cases[i].reason))
			fail_msg("%s: %s", cases[i].text,
				 err ? reason : "accepted");
	}
}

static void test_rules_of_zones(void **state)
{
	static const char *const wrong[] = {
		"",
		"C",
		"CET",
		"CET-1CEST",
		"CET-1CEST,M3.5.0",
		"CET-1CEST,M13.5.0,M10.5.0",
		"CET-1CEST,M3.6.0,M10.5.0",
		"CET-1CEST,M3.5.7,M10.5.0",
		"CET-25",
		"<+1-1",
		"CET-1CEST,J0,J1",
		"CET-1CEST,366,1",
		"CET-1 ",
		"CET-1CEST,M3.5.0,M10.5.0/168",
		"CET-1CEST,M3.5.0,M10.5.0x",
	};
	struct zone_rule r;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (zone_rule_parse(&r, wrong[i]) != -EBADMSG)
			fail_msg("%s", wrong[i]);
	assert_int_equal(zone_rule_parse(&r, "XST3XDT,J60/2,J300"), 0);
	assert_int_equal(zone_rule_offset(&r, seconds("2028-03-01 04:59:59")),
			 -3 * 3600); /* March 1, in a leap year too */
	assert_int_equal(zone_rule_offset(&r, seconds("2028-03-01 05:00:00")),
			 -2 * 3600);
	assert_int_equal(zone_rule_parse(&r, "XST3XDT,59/2,299"), 0);
	assert_int_equal(zone_rule_offset(&r, seconds("2028-02-29 05:00:00")),
			 -2 * 3600);
	/* negative hours: on the day before */
	assert_int_equal(zone_rule_parse(&r, "<-02>2<-01>,M3.5.0/-1,M10.5.0/0"),
			 0);
	assert_int_equal(zone_rule_offset(&r, seconds("2026-03-29 00:59:59")),
			 -2 * 3600);
	assert_int_equal(zone_rule_offset(&r, seconds("2026-03-29 01:00:00")),
			 -1 * 3600);
}

static void test_zones_of_the_system(void **state)
{
	static const struct {
		const char *name, *at;
		int32_t offset;
	} cases[] = {
		{"UTC", "2026-07-01 00:00:00", 0},
		{"Europe/Berlin", "1980-04-06 00:59:59", 3600},
		{"Europe/Berlin", "1980-04-06 01:00:00", 7200},
		{"Europe/Berlin", "2026-07-01 00:00:00", 7200},
		{"Europe/Berlin", "2080-12-01 00:00:00", 3600},
		{"America/New_York", "2090-07-01 00:00:00", -4 * 3600},
		{"Asia/Kolkata", "2026-07-01 00:00:00", 19800},
		{"Etc/GMT+5", "2026-07-01 00:00:00", -5 * 3600},
		{"Africa/Casablanca", "2026-03-01 00:00:00", 0},
		{"Africa/Casablanca", "2026-05-01 00:00:00", 3600},
	};
	struct zone *z;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(zone_load(&z, cases[i].name), 0);
		if (zone_offset(z, seconds(cases[i].at)) != cases[i].offset)
			fail_msg("%s, %s", cases[i].name, cases[i].at);
		zone_free(z);
	}
}

static void test_names_lead_nowhere_else(void **state)
{
	static const struct {
		const char *name;
		int err;
	} cases[] = {
		{"", -EINVAL},
		{"/etc/passwd", -EINVAL},
		{"../../../etc/passwd", -EINVAL},
		{"Europe/../UTC", -EINVAL},
		{"Europe//Berlin", -EINVAL},
		{"Europe/", -EINVAL},
		{"Europe", -ENOENT},
		{"Europe/Atlantis", -ENOENT},
		{"Europe/Berlin/x", -ENOENT},
		{"right/UTC/x", -ENOENT},
	};
	struct zone *z = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (zone_load(&z, cases[i].name) != cases[i].err || z)
			fail_msg("%s", cases[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_months_have_lengths),
		cmocka_unit_test(test_either_day_field),
		cmocka_unit_test(test_clock_put_forward),
		cmocka_unit_test(test_clock_put_back),
		cmocka_unit_test(test_wrong_expressions),
		cmocka_unit_test(test_rules_of_zones),
		cmocka_unit_test(test_zones_of_the_system),
		cmocka_unit_test(test_names_lead_nowhere_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
