/* A capture without end: intervals on demand, streams that end. */
#include "capture/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "capture/endpoints.h"
#include "capture/filter.h"
#include "tests/unit/capture/frames.h"

#define S  INT64_C(1000000000)
#define MS INT64_C(1000000)

static const struct capture_options options = {
	.interval_ns = S,
	.fixed_delay_ms = 60.0,
	.streams_max = 4,
};

/* Packet n of a stream to port 5000 + i, 20 ms after the previous one. */
static void send_frames(struct capture *c, unsigned i, unsigned n, int64_t ns)
{
	struct frame_fields f = {.version = FRAME_IPV4,
				 .protocol = 17,
				 .sport = 4000,
				 .dport = (uint16_t)(5000 + i)};
	uint8_t rtp[172] = {0x80, 0, (uint8_t)(n >> 8), (uint8_t)n};
	uint32_t ts = __builtin_bswap32(160 * n);
	struct frame_builder b = {.at = 0};
	struct frame frame;

	memcpy(rtp + 4, &ts, sizeof(ts));
	rtp[11] = (uint8_t)i;
	frame_make(&b, &f, rtp, sizeof(rtp));
	frame = frame_of(&b, ns);
	capture_take(c, &frame);
}

struct seen {
	unsigned count;
	uint64_t packets;
	int64_t lost;
	uint16_t dport;
};

static void take_interval(struct capture_stream *s,
			  const struct capture_interval *i, void *arg)
{
	struct seen *seen = arg;

	seen->count++;
	seen->packets += i->second.packets;
	seen->lost += i->second.lost;
	seen->dport = s->key.dport;
	assert_true(i->second.packets == 0 || i->has_score);
}

static void take_gone(struct capture_stream *s, void *arg)
{
	struct seen *seen = arg;
	struct stream_total total;

	rtp_stream_total(&s->stream, &total);
	seen->count++;
	seen->packets += total.packets;
	seen->lost += total.lost;
	seen->dport = s->key.dport;
}

static void test_intervals_add_up(void **state)
{
	struct capture *c = NULL;
	struct seen seen = {0};

	(void)state;
	assert_int_equal(capture_new(&c, &options), 0);
	for (unsigned n = 0; n < 50; n++) {
		if (n != 20)
			send_frames(c, 1, n, S + n * 20 * MS);
	}
	capture_tick(c, S, take_interval, &seen);
	assert_int_equal(seen.count, 0); /* it started later */
	capture_tick(c, 2 * S, take_interval, &seen);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.packets, 49);
	assert_int_equal(seen.lost, 1);
	send_frames(c, 1, 50, 2 * S);
	capture_tick(c, 3 * S, take_interval, &seen);
	assert_int_equal(seen.packets, 50);
	capture_tick(c, 4 * S, take_interval, &seen);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.packets, 50);
	capture_free(c);
}

static void test_streams_go_and_make_room(void **state)
{
	struct capture *c = NULL;
	struct seen gone = {0};

	(void)state;
	assert_int_equal(capture_new(&c, &options), 0);
	for (unsigned n = 0; n < 30; n++) {
		for (unsigned i = 0; i < 5; i++)
			send_frames(c, i, n,
				    (i == 2 ? 90 * S : S) + n * 20 * MS);
	}
	assert_int_equal(capture_stream_count(c), 4);
	assert_int_equal(capture_counters(c)->streams_left_out, 30);
	capture_expire(c, 60 * S, take_gone, &gone);
	assert_int_equal(gone.count, 3);
	assert_int_equal(gone.packets, 90);
	assert_int_equal(capture_stream_count(c), 1);
	/* the remaining stream continues; new streams find room */
	for (unsigned n = 30; n < 60; n++) {
		send_frames(c, 2, n, 91 * S + n * 20 * MS);
		send_frames(c, 4, n, 91 * S + n * 20 * MS);
	}
	assert_int_equal(capture_stream_count(c), 2);
	assert_int_equal(capture_stream(c, 0)->key.dport, 5002);
	memset(&gone, 0, sizeof(gone));
	capture_expire(c, INT64_MAX, take_gone, &gone);
	assert_int_equal(gone.count, 2);
	assert_int_equal(gone.packets, 90);
	assert_int_equal(gone.lost, 0);
	assert_int_equal(capture_stream_count(c), 0);
	capture_expire(c, INT64_MAX, take_gone, &gone);
	for (unsigned n = 0; n < 10; n++)
		send_frames(c, 1, n, 99 * S + n * 20 * MS);
	assert_int_equal(capture_stream_count(c), 1);
	capture_free(c);
}

static void test_the_filter_is_asked(void **state)
{
	struct capture_options filtered = options;
	char reason[FILTER_REASON_BYTES];
	struct capture *c = NULL;
	struct filter *f = NULL;

	(void)state;
	assert_int_equal(filter_new(&f, "dst port 5001", reason), 0);
	filtered.filter = f;
	assert_int_equal(capture_new(&c, &filtered), 0);
	for (unsigned n = 0; n < 10; n++) {
		send_frames(c, 1, n, S + n * 20 * MS);
		send_frames(c, 2, n, S + n * 20 * MS);
	}
	assert_int_equal(capture_stream_count(c), 1);
	assert_int_equal(capture_stream(c, 0)->key.dport, 5001);
	assert_int_equal(capture_counters(c)->left_out, 10);
	capture_free(c);
	filter_free(f);
}

/*
 * The filter sees each packet of a stream. It may test what differs between
 * them: here the low octet of the sequence number.
 */
static void test_the_filter_sees_each_packet(void **state)
{
	struct capture_options filtered = options;
	char reason[FILTER_REASON_BYTES];
	struct capture *c = NULL;
	struct filter *f = NULL;

	(void)state;
	assert_int_equal(filter_new(&f, "udp[11] < 30", reason), 0);
	filtered.filter = f;
	assert_int_equal(capture_new(&c, &filtered), 0);
	for (unsigned n = 0; n < 40; n++)
		send_frames(c, 1, n, S + n * 20 * MS);
	assert_int_equal(capture_counters(c)->left_out, 10);
	capture_free(c);
	filter_free(f);
}

static void test_endpoints_that_are_used_stay(void **state)
{
	struct endpoints e;
	struct flow_table used;
	struct sdp_media m = {.port = 0};
	struct flow_key key = {.sport = 0};

	(void)state;
	endpoints_init(&e);
	flow_table_init(&used, 10);
	address_set_ipv4(&m.address, (const uint8_t[]){10, 0, 0, 1});
	for (unsigned n = 0; n < ENDPOINTS_MAX / 4; n++) {
		assert_false(endpoints_crowded(&e));
		address_set_ipv4(&m.address,
				 (const uint8_t[]){10, 0, (uint8_t)(n >> 8),
						   (uint8_t)n});
		m.port = 4000;
		m.rtcp_port = 4001;
		m.map.count = 0;
		rtp_payload_map_add(&m.map, 0, "PCMU", 8000);
		endpoints_learn(&e, &m);
	}
	assert_true(endpoints_crowded(&e));
	key.src = m.address;
	key.sport = 4000;
	flow_table_add(&used, &key);
	endpoints_keep(&e, &used);
	assert_false(endpoints_crowded(&e));
	assert_true(endpoints_known(&e, &m.address, 4000));
	assert_int_equal(endpoints_map(&e, &m.address, 4000)->count, 1);
	assert_false(endpoints_known(&e, &m.address, 4001));
	endpoints_learn(&e, &m);
	assert_true(endpoints_known(&e, &m.address, 4001));
	flow_table_release(&used);
	endpoints_release(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intervals_add_up),
		cmocka_unit_test(test_streams_go_and_make_room),
		cmocka_unit_test(test_the_filter_is_asked),
		cmocka_unit_test(test_the_filter_sees_each_packet),
		cmocka_unit_test(test_endpoints_that_are_used_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
