#include "capture/segments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/analysis/random.h"
#include "tests/unit/capture/frames.h"

static const struct frame_fields fields = {
	.version = FRAME_IPV4, .protocol = 6, .sport = 5060, .dport = 5061};

/** The messages that were delivered, concatenated. */
struct got {
	char text[200000];
	size_t bytes;
	unsigned whole;
	unsigned cut;
};

static struct segments segments;
static struct got got;

static int setup(void **state)
{
	(void)state;
	memset(&got, 0, sizeof(got));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	segments_release(&segments);
	return 0;
}

static void take(const uint8_t *data, size_t bytes, bool cut, void *arg)
{
	(void)arg;
	assert_true(got.bytes + bytes <= sizeof(got.text));
	memcpy(got.text + got.bytes, data, bytes);
	got.bytes += bytes;
	if (cut)
		got.cut++;
	else
		got.whole++;
}

/* A TCP segment, through the frame parser. */
static void segment(const struct frame_fields *f, uint32_t seq,
		    const char *text, size_t bytes, size_t captured)
{
	static struct frame_builder b;
	struct frame_fields fields_of = *f;
	struct frame frame;
	struct datagram d;

	fields_of.tcp_seq = seq;
	frame_make(&b, &fields_of, text, bytes);
	frame = frame_of(&b, 0);
	frame.captured -= bytes - captured;
	assert_int_equal(datagram_parse(&d, &frame), DATAGRAM_IS_TCP);
	segments_take(&segments, &d, take, NULL);
}

static void send_text(uint32_t seq, const char *text)
{
	segment(&fields, seq, text, strlen(text), strlen(text));
}

static size_t message(char *to, size_t size, unsigned number, size_t body,
		      const char *length)
{
	size_t n = (size_t)snprintf(
		to, size,
		"INVITE sip:%u@example SIP/2.0\r\nVia: x\r\n%s: %zu\r\n\r\n",
		number, length, body);

	assert_true(n + body < size);
	memset(to + n, 'a' + (int)(number % 26), body);
	to[n + body] = '\0';
	return n + body;
}

/*
 * A message cut anywhere into two or three segments is delivered once, when it
 * is complete.
 */
static void test_message_in_pieces(void **state)
{
	char text[400];
	size_t n = message(text, sizeof(text), 1, 60, "Content-Length");

	(void)state;
	for (size_t i = 1; i < n; i++) {
		uint32_t seq = 0xffffff80u; /* the sequence number wraps
					     * within it */

		setup(NULL);
		segments_release(&segments);
		segment(&fields, seq, text, i, i);
		assert_int_equal(got.whole, 0);
		if (i > 40) {
			segment(&fields, seq + (uint32_t)i, text + i, 0, 0);
			segment(&fields, seq, text, i, i); /* duplicate */
		}
		segment(&fields, seq + (uint32_t)i, text + i, n - i, n - i);
		/* the first segment must be long enough to recognise SIP */
		if (i < 31)
			continue;
		assert_int_equal(got.whole, 1);
		assert_int_equal(got.cut, 0);
		assert_int_equal(got.bytes, n);
		assert_memory_equal(got.text, text, n);
	}
}

/*
 * Many messages in segments of any size, slightly out of order, some
 * retransmitted.
 */
static void test_many_in_any_order(void **state)
{
	static char all[60000];
	uint64_t seed = 5;

	(void)state;
	for (int round = 0; round < 200; round++) {
		uint32_t at[800];
		uint32_t bytes[800];
		size_t n = 0;
		size_t end = 0;
		unsigned messages = 1 + random_below(&seed, 30);

		for (unsigned i = 0; i < messages; i++) {
			end += message(all + end, sizeof(all) - end, i,
				       random_below(&seed, 1500),
				       i % 2 ? "l" : "content-length ");
			if (random_below(&seed, 4) == 0) {
				memcpy(all + end, "\r\n\r\n", 4);
				end += 4;
			}
		}
		for (uint32_t from = 0; from < end; n++) {
			at[n] = from;
			bytes[n] = 60 + random_below(&seed, 1400);
			if (bytes[n] > end - from)
				bytes[n] = (uint32_t)end - from;
			from += bytes[n];
		}
		setup(NULL);
		segments_release(&segments);
		for (size_t i = 1; i + 1 < n; i += 2) {
			if (random_below(&seed, 2) == 0)
				continue;
			uint32_t x = at[i], y = bytes[i];

			at[i] = at[i + 1];
			bytes[i] = bytes[i + 1];
			at[i + 1] = x;
			bytes[i + 1] = y;
		}
		for (size_t i = 0; i < n; i++) {
			segment(&fields, 1000 + at[i], all + at[i], bytes[i],
				bytes[i]);
			if (random_below(&seed, 5) == 0)
				segment(&fields, 1000 + at[i], all + at[i],
					bytes[i], bytes[i]);
		}
		assert_int_equal(got.whole, messages);
		assert_int_equal(got.cut, 0);
	}
}

static void test_what_is_missing_is_not_made_up(void **state)
{
	char text[400];
	size_t n = message(text, sizeof(text), 7, 100, "Content-Length");

	(void)state;
	/* the end never comes: what is there is delivered at the flush */
	segment(&fields, 1, text, 80, 80);
	segments_flush(&segments, take, NULL);
	assert_int_equal(got.cut, 1);
	assert_int_equal(got.bytes, 80);
	/* a gap: data after it is not joined to data before it */
	setup(NULL);
	segment(&fields, 1, text, 80, 80);
	segment(&fields, 101, text + 100, n - 100, n - 100);
	segments_flush(&segments, take, NULL);
	assert_int_equal(got.whole, 0);
	assert_int_equal(got.bytes, 80);
	/* but complete messages after the gap are delivered */
	setup(NULL);
	segment(&fields, 1, text, 80, 80);
	segment(&fields, 101, text + 100, n - 100, n - 100);
	segment(&fields, 1 + (uint32_t)n, text, n, n);
	segment(&fields, 500 + (uint32_t)n, text, n, n);
	segments_flush(&segments, take, NULL);
	assert_int_equal(got.whole, 1);
	assert_int_equal(got.cut, 1);
	/* a frame that the capture truncated */
	setup(NULL);
	segment(&fields, 1, text, n, 60);
	assert_int_equal(got.cut, 1);
	assert_int_equal(got.bytes, 60);
	/* FIN ends the connection */
	setup(NULL);
	struct frame_fields fin = fields;

	segment(&fields, 1, text, 80, 80);
	fin.tcp_flags = 0x11;
	segment(&fin, 81, text + 80, 0, 0);
	assert_int_equal(got.cut, 1);
	assert_int_equal(got.bytes, 80);
}

static void test_begins_anew(void **state)
{
	char text[400];
	size_t n = message(text, sizeof(text), 7, 100, "Content-Length");

	(void)state;
	/*
	 * nothing is delivered from the middle of a stream, but the next
	 * message is
	 */
	send_text(500, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	segment(&fields, 537, text, n, n);
	assert_int_equal(got.whole, 1);
	/* too many gaps: the next message is found nevertheless */
	for (uint32_t i = 0; i < 20; i++)
		segment(&fields, 10000 + 1000 * i, "rest of a message", 17, 17);
	segment(&fields, 90000, text, n, n);
	assert_int_equal(got.whole, 2);
	/*
	 * another connection between the same ports, with lower sequence
	 * numbers
	 */
	segment(&fields, 0x80000000u, text, n, n);
	assert_int_equal(got.whole, 3);
	/* data that is not SIP ends the stream */
	send_text(0x80000000u + (uint32_t)n, "GET / HTTP/1.1\r\nHost: x\r\n");
	segment(&fields, 0x80000000u + (uint32_t)n + 25, text, n, n);
	assert_int_equal(got.whole, 4);
}

static void test_lengths_that_cannot_be(void **state)
{
	(void)state;
	send_text(
		1,
		"OPTIONS sip:a@b SIP/2.0\r\nContent-Length: 99999999999\r\n\r\nx");
	assert_int_equal(got.cut, 1);
	setup(NULL);
	/* no sequence number at all: what is in the segment */
	send_text(1, "OPTIONS sip:a@b SIP/2.0\r\nVia: x\r\n\r\nv=0\r\n");
	assert_int_equal(got.whole, 1);
	/* two connections, and both directions, are kept apart */
	setup(NULL);
	struct frame_fields other = fields;

	other.reverse = true;
	segments_release(&segments);
	segment(&fields, 100, "SIP/2.0 200 OK\r\nl: 4\r\n\r\n", 24, 24);
	segment(&other, 124, "abcd", 4, 4);
	assert_int_equal(got.whole, 0);
	segment(&fields, 124, "efgh", 4, 4);
	assert_int_equal(got.whole, 1);
	assert_memory_equal(got.text + 24, "efgh", 4);
}

/* More connections than there is room for: the oldest is dropped. */
static void test_ceiling(void **state)
{
	char text[400];
	size_t n = message(text, sizeof(text), 7, 100, "Content-Length");
	struct frame_fields f = fields;

	(void)state;
	for (uint16_t port = 1024; port < 3024; port++) {
		f.sport = port;
		segment(&f, 1, text, 80, 80);
	}
	assert_true(got.cut >= 2000 - SEGMENT_SETS * SEGMENT_WAYS);
	segment(&f, 81, text + 80, n - 80, n - 80);
	assert_int_equal(got.whole, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_message_in_pieces, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_many_in_any_order, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_what_is_missing_is_not_made_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_begins_anew, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_lengths_that_cannot_be,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_ceiling, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
