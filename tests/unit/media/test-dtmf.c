/* Digits as telephone-events: sending and receiving. */
#include "media/audio/dtmf_receive.h"
#include "media/audio/dtmf_send.h"

#include "base/clock.h"
#include "control/wire/job.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct dtmf_order order_of(const char *digits, uint16_t ms, uint16_t gap)
{
	struct dtmf_order o = {.duration_ms = ms, .gap_ms = gap};

	snprintf(o.digits, sizeof(o.digits), "%s", digits);
	return o;
}

static void test_order_check(void **state)
{
	struct dtmf_order o = order_of("19*#ad", 40, 40);

	(void)state;
	assert_int_equal(dtmf_order_check(&o), 0);
	assert_string_equal(o.digits, "19*#AD");
	o = order_of("", 100, 100);
	assert_int_equal(dtmf_order_check(&o), -EINVAL);
	o = order_of("1E", 100, 100);
	assert_int_equal(dtmf_order_check(&o), -EINVAL);
	o = order_of("1", DTMF_DURATION_MIN_MS - 1, 100);
	assert_int_equal(dtmf_order_check(&o), -EINVAL);
	o = order_of("1", DTMF_DURATION_MAX_MS + 1, 100);
	assert_int_equal(dtmf_order_check(&o), -EINVAL);
	o = order_of("1", 100, DTMF_GAP_MAX_MS + 1);
	assert_int_equal(dtmf_order_check(&o), -EINVAL);
	/* the longest digit fits 16 bits at 48 kHz */
	assert_true(DTMF_DURATION_MAX_MS * 48 <= UINT16_MAX);
}

/*
 * Every digit that the wire protocol accepts is accepted by the media engine,
 * at every limit.
 */
static void test_order_as_on_the_wire(void **state)
{
	static const char *const good[] = {"0123456789*#abcd", "1 40", "1 1300",
					   "1 100 40", "1 100 5000"};
	static const char *const bad[] = {
		"",  "1 39", "1 1301", "1 100 39", "1 100 5001",
		"x", "1  5", "1 ",     "1 2 3 4",  "1 -5"};
	struct wire_dtmf d;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct dtmf_order o;

		assert_int_equal(wire_dtmf_parse(good[i], &d), 0);
		o = order_of(d.digits, d.duration_ms, d.gap_ms);
		assert_int_equal(dtmf_order_check(&o), 0);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(wire_dtmf_parse(bad[i], &d), -EINVAL);
	assert_int_equal(WIRE_DIGITS_MAX, DTMF_DIGITS_MAX);
}

static void test_payload(void **state)
{
	static const uint8_t want[] = {11, 0x8a, 0x03, 0x20};
	const struct dtmf_payload p = {
		.event = 11, .end = true, .volume = 10, .duration = 800};
	struct dtmf_payload q;
	uint8_t data[DTMF_PAYLOAD_BYTES];

	(void)state;
	dtmf_payload_write(data, &p);
	assert_memory_equal(data, want, sizeof(want));
	assert_int_equal(dtmf_payload_parse(&q, data, 3), -EBADMSG);
	assert_int_equal(dtmf_payload_parse(&q, data, 4), 0);
	assert_int_equal(q.event, 11);
	assert_true(q.end);
	assert_int_equal(q.volume, 10);
	assert_int_equal(q.duration, 800);
	for (unsigned i = 0; i < DTMF_EVENTS; i++)
		assert_int_equal(dtmf_event_of(dtmf_digit_of(i)), i);
	assert_int_equal(dtmf_event_of('E'), -1);
	assert_int_equal(dtmf_event_of('\0'), -1);
}

/*
 * 110 ms at 20 ms: durations 160 .. 800, then 880 with the E bit three times.
 * The second digit does not start before 110 + 50 ms.
 */
static void test_send_places(void **state)
{
	static const uint16_t durations[] = {160, 320, 480, 640,
					     800, 880, 880, 880};
	struct dtmf_order o = order_of("1#", 110, 50);
	struct dtmf_send d = {0};
	struct dtmf_packet p;
	uint32_t ts = UINT32_MAX - 300; /* it wraps during the digit */
	uint32_t first = ts;
	int place = 0;

	(void)state;
	assert_false(dtmf_send_next(&d, 0, ts, 20, &p));
	assert_int_equal(dtmf_send_order(&d, &o, 8000), 0);
	assert_int_equal(dtmf_send_order(&d, &o, 8000), -EBUSY);
	for (; place < 8; place++, ts += 160) {
		assert_true(
			dtmf_send_next(&d, place * 20 * NS_PER_MS, ts, 20, &p));
		assert_int_equal(p.payload.event, 1);
		assert_int_equal(p.payload.duration, durations[place]);
		assert_int_equal(p.payload.end, place >= 5);
		assert_int_equal(p.marker, place == 0);
		assert_int_equal(p.ts, first);
		assert_int_equal(p.finished, place == 7);
		assert_false(p.last);
	}
	assert_int_equal(p.digit, '1');
	/* the next digit starts at 160 ms: exactly packet 8 */
	first = ts;
	for (; place < 16; place++, ts += 160) {
		assert_true(
			dtmf_send_next(&d, place * 20 * NS_PER_MS, ts, 20, &p));
		assert_int_equal(p.payload.event, 11);
		assert_int_equal(p.ts, first);
	}
	assert_true(p.last);
	assert_false(dtmf_send_next(&d, place * 20 * NS_PER_MS, ts, 20, &p));
	/* a new order keeps the gap */
	assert_int_equal(dtmf_send_order(&d, &o, 8000), 0);
	assert_true(dtmf_send_next(&d, place * 20 * NS_PER_MS, ts, 20, &p));
	assert_true(p.marker);
}

/*
 * The volume of an event is the power of the tones that are sent in-band: both
 * together (RFC 4733 section 2.3.4).
 */
static void test_send_volume(void **state)
{
	struct dtmf_order o = order_of("5", 1000, 40);
	struct dtmf_send d = {0};
	struct dtmf_packet p;
	int16_t pcm[8000];
	double power = 0;
	double dbm0;

	(void)state;
	dtmf_tones_read(pcm, 0, 8000, &o, 8000);
	for (size_t i = 0; i < 8000; i++)
		power += (double)pcm[i] * pcm[i] / 8000;
	/* a sine of full scale has 3.14 dBm0 (ITU-T G.711 table 5) */
	dbm0 = 10 * log10(power / (32767.0 * 32767.0 / 2)) + 3.14;
	print_message("tones: %.2f dBm0\n", dbm0);
	assert_int_equal(dtmf_send_order(&d, &o, 8000), 0);
	assert_true(dtmf_send_next(&d, 0, 0, 20, &p));
	assert_int_equal(p.payload.volume, lrint(-dbm0));
}

static void test_send_gap_is_audio(void **state)
{
	struct dtmf_order o = order_of("12", 40, 200);
	struct dtmf_send d = {0};
	struct dtmf_packet p;
	char places[32] = "";

	(void)state;
	assert_int_equal(dtmf_send_order(&d, &o, 48000), 0);
	for (int i = 0; i < 18; i++)
		places[i] = dtmf_send_next(&d, i * 20 * NS_PER_MS,
					   (uint32_t)i * 960, 20, &p)
				    ? (p.payload.end ? 'E' : 'e')
				    : '-';
	assert_string_equal(places, "eEEE--------eEEE--");
	assert_int_equal(p.payload.duration, 1920);
}

/*
 * A packet time longer than the digit: the end three times, with the exact
 * duration.
 */
static void test_send_long_packets(void **state)
{
	struct dtmf_order o = order_of("5", 50, 40);
	struct dtmf_send d = {0};
	struct dtmf_packet p;

	(void)state;
	assert_int_equal(dtmf_send_order(&d, &o, 8000), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(dtmf_send_next(&d, i * 120 * NS_PER_MS,
					   (uint32_t)i * 960, 120, &p));
		assert_true(p.payload.end);
		assert_int_equal(p.payload.duration, 400);
		assert_int_equal(p.marker, i == 0);
	}
	assert_true(p.last);
}

/* ---- receiving ---- */

struct arrival {
	uint8_t event;
	bool end;
	uint16_t duration;
	uint32_t ts;
	int ms;
	uint32_t ssrc;
};

/* "+5": a digit starts; "-5:100": it ends after 100 ms. */
static void hear(struct dtmf_receive *d, const struct arrival *list, size_t n,
		 char *log, size_t size)
{
	log[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		const struct dtmf_arrival a = {
			.payload = {.event = list[i].event,
				    .end = list[i].end,
				    .duration = list[i].duration},
			.ssrc = list[i].ssrc,
			.ts = list[i].ts,
			.clock_hz = 8000,
			.mono_ns = list[i].ms * NS_PER_MS,
		};
		struct dtmf_heard h;

		dtmf_receive_packet(d, &a, &h);
		for (size_t k = 0; k < h.count; k++) {
			size_t used = strlen(log);

			if (h.steps[k].ended)
				snprintf(log + used, size - used, "-%c:%g ",
					 h.steps[k].digit, h.steps[k].ms);
			else
				snprintf(log + used, size - used, "+%c ",
					 h.steps[k].digit);
		}
	}
}

#define HEAR(want, ...)                                             \
	do {                                                        \
		const struct arrival list[] = {__VA_ARGS__};        \
		struct dtmf_receive d = {0};                        \
		char log[256];                                      \
                                                                    \
		hear(&d, list, sizeof(list) / sizeof(list[0]), log, \
		     sizeof(log));                                  \
		assert_string_equal(log, want);                     \
	} while (0)

static void test_receive_plain(void **state)
{
	(void)state;
	HEAR("+5 -5:100 ", {5, 0, 160, 1000, 0, 1}, {5, 0, 320, 1000, 20, 1},
	     {5, 1, 800, 1000, 80, 1}, {5, 1, 800, 1000, 100, 1},
	     {5, 1, 800, 1000, 120, 1});
	/* the same digit twice: the timestamps differ */
	HEAR("+5 -5:20 +5 -5:20 ", {5, 1, 160, 0, 0, 1}, {5, 1, 160, 0, 20, 1},
	     {5, 1, 160, 800, 100, 1}, {5, 1, 160, 800, 120, 1});
}

static void test_receive_disturbed(void **state)
{
	(void)state;
	/* all but one packet lost */
	HEAR("+* -*:100 ", {10, 1, 800, 7, 0, 1});
	/* reordered: an older duration does not shorten it */
	HEAR("+1 -1:60 ", {1, 0, 320, 7, 0, 1}, {1, 0, 160, 7, 1, 1},
	     {1, 1, 480, 7, 40, 1}, {1, 0, 320, 7, 41, 1});
	/* the end was lost: the next digit ends it */
	HEAR("+1 -1:40 +2 -2:20 ", {1, 0, 320, 0, 0, 1},
	     {2, 1, 160, 1600, 200, 1});
	/* a late packet of the previous digit */
	HEAR("+1 -1:20 +2 -2:20 ", {1, 1, 160, 0, 0, 1},
	     {2, 0, 80, 1600, 200, 1}, {1, 1, 160, 0, 210, 1},
	     {2, 1, 160, 1600, 220, 1});
	/* across the wrap of the timestamp */
	HEAR("+1 -1:20 +2 -2:20 ", {1, 1, 160, UINT32_MAX - 10, 0, 1},
	     {2, 1, 160, 1600, 200, 1}, {1, 1, 160, UINT32_MAX - 10, 210, 1});
	/* another source */
	HEAR("+1 -1:20 +1 -1:20 ", {1, 1, 160, 7, 0, 1}, {1, 1, 160, 7, 20, 2});
	/* events that are not digits: modem tones */
	HEAR("", {36, 1, 800, 0, 0, 1}, {255, 1, 800, 100, 0, 1});
}

static void test_receive_segments(void **state)
{
	(void)state;
	/* RFC 4733 2.5.1.3: 9 s in two segments */
	HEAR("+7 -7:9000 ", {7, 0, 160, 0, 0, 1}, {7, 0, 65535, 0, 8190, 1},
	     {7, 0, 65535, 0, 8192, 1}, {7, 0, 160, 65535, 8210, 1},
	     {7, 1, 6465, 65535, 9000, 1}, {7, 1, 6465, 65535, 9020, 1});
}

static void test_receive_silence_ends(void **state)
{
	struct dtmf_receive d = {0};
	const struct arrival one[] = {{9, 0, 480, 0, 40, 1}};
	struct dtmf_heard h;
	char log[64];

	(void)state;
	hear(&d, one, 1, log, sizeof(log));
	assert_string_equal(log, "+9 ");
	dtmf_receive_time(&d, 40 * NS_PER_MS + DTMF_SILENCE_NS, &h);
	assert_int_equal(h.count, 0);
	dtmf_receive_time(&d, 41 * NS_PER_MS + DTMF_SILENCE_NS, &h);
	assert_int_equal(h.count, 1);
	assert_true(h.steps[0].ended);
	assert_true(h.steps[0].ms == 60.0);
	assert_true(h.steps[0].mono_ns == 40 * NS_PER_MS);
	dtmf_receive_time(&d, 10 * NS_PER_S, &h);
	assert_int_equal(h.count, 0);
	/* its packets may still arrive: it was already reported */
	hear(&d, one, 1, log, sizeof(log));
	assert_string_equal(log, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_check),
		cmocka_unit_test(test_order_as_on_the_wire),
		cmocka_unit_test(test_payload),
		cmocka_unit_test(test_send_places),
		cmocka_unit_test(test_send_volume),
		cmocka_unit_test(test_send_gap_is_audio),
		cmocka_unit_test(test_send_long_packets),
		cmocka_unit_test(test_receive_plain),
		cmocka_unit_test(test_receive_disturbed),
		cmocka_unit_test(test_receive_segments),
		cmocka_unit_test(test_receive_silence_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
