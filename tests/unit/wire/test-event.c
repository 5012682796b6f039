#include "control/wire/call_end.h"
#include "control/wire/event.h"
#include "control/wire/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct wire_time when = {.wall_us = 1700000000000001,
				      .mono_ns = 42};

static void is_json(json_t *object, const char *expected)
{
	char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
	json_decref(object);
}

/* A writer's text with one item. */
static struct writer written(struct buf *text)
{
	struct writer w;

	buf_init(text, 1 << 16);
	writer_init(&w, text);
	return w;
}

/**
 * Parse what was written.
 * @return a new reference
 */
static json_t *read_back(struct writer *w)
{
	json_t *o;

	assert_int_equal(w->err, 0);
	o = json_loadb(w->buf->data, w->buf->used, JSON_REJECT_DUPLICATES,
		       NULL);
	assert_non_null(o);
	buf_release(w->buf);
	return o;
}

static json_t *stream_of(const struct stream_total *total, bool outgoing)
{
	struct buf begun, text;
	struct writer w = written(&begun);

	wire_stream_begin(&w, total, outgoing);
	assert_int_equal(w.err, 0);
	w = written(&text);
	wire_stream_finish(&w, &begun, NULL);
	buf_release(&begun);
	return read_back(&w);
}

static json_t *message_of(const struct wire_sip_message *m)
{
	struct buf text;
	struct writer w = written(&text);

	wire_sip_message_write(&w, when, m);
	return read_back(&w);
}

static void test_state(void **state)
{
	struct buf text;
	struct writer w = written(&text);

	(void)state;
	wire_event_state(&w, when, UA_CALL_RINGING, "1001", "caller-1", NULL);
	is_json(read_back(&w),
		"{\"account\":\"1001\",\"call\":\"caller-1\",\"kind\":\"state\","
		"\"mono\":42,\"state\":\"CALL_RINGING\",\"t\":1700000000000001}");
}

static void test_call_unknown_figures_are_absent(void **state)
{
	const struct wire_event_call call = {
		.call = "caller-2",
		.account = "1001",
		.outgoing = true,
		.peer = "sip:1002@x",
		.call_id = "abc",
		.has_pdd = true,
		.pdd_ms = 12.5,
		.end = "rejected",
		.code = 486,
		.reason = "Busy Here",
	};
	struct buf text;
	struct writer w = written(&text);

	(void)state;
	wire_event_call(&w, when, &call);
	is_json(read_back(&w),
		"{\"account\":\"1001\",\"call\":\"caller-2\",\"call_id\":\"abc\","
		"\"code\":486,\"direction\":\"out\",\"end\":\"rejected\","
		"\"established\":false,\"expected_end\":false,"
		"\"kind\":\"call\",\"mono\":42,"
		"\"pdd_ms\":12.5,\"peer\":\"sip:1002@x\",\"reason\":\"Busy Here\","
		"\"streams\":[],\"t\":1700000000000001}");
}

static void bounds_are(const struct stream_total *total, bool outgoing,
		       const struct wire_calibration *c, const char *text)
{
	struct buf buffer;
	struct writer w = written(&buffer);

	writer_open(&w, NULL, '{');
	wire_stream_bounds(&w, total, outgoing, c);
	writer_close(&w, '}');
	is_json(read_back(&w), text);
}

/* Each beside the figure that it is of; what the peer counted has none of ours. */
static void test_stream_bounds(void **state)
{
	const struct stream_total total = {
		.has_loss = true, .jitter_ms = {.n = 1}, .rtt_ms = {.n = 1}};
	const struct stream_total nothing = {.codec = "PCMU"};
	const struct wire_calibration unknown = {.calls = 1};
	const struct wire_calibration c = {.has_jitter_bound = true,
					   .jitter_bound_ms = 0.25,
					   .has_rtt_bound = true,
					   .rtt_bound_ms = 0.5,
					   .has_loss_bound = true};

	(void)state;
	bounds_are(&total, false, &c,
		   "{\"jitter_bound_ms\":0.25,\"loss_bound_pct\":0.0,"
		   "\"rtt_bound_ms\":0.5}");
	bounds_are(&total, true, &c, "{\"rtt_bound_ms\":0.5}");
	bounds_are(&nothing, false, &c, "{}");
	bounds_are(&total, false, &unknown, "{}");
}

/* A stream's sources and its audio are members of the stream. */
static void test_call_with_streams(void **state)
{
	const struct stream_total total = {.codec = "PCMU",
					   .no_score_reason = "x"};
	const struct stream_source source = {.ssrc = 1, .no_score_reason = "y"};
	struct wire_event_call call = {.call = "caller-1", .end = "local"};
	json_t *audio = json_pack("{s:i}", "packets", 3);
	struct buf sources, text;
	struct writer w = written(&sources);
	json_t *event, *streams, *in;

	(void)state;
	wire_source_write(&w, &source, 0);
	wire_source_write(&w, &source, 0);
	assert_int_equal(w.err, 0);
	w = written(&call.streams[0]);
	wire_stream_begin(&w, &total, false);
	wire_stream_sources(&w, &sources);
	assert_int_equal(w.err, 0);
	w = written(&call.streams[1]);
	wire_stream_begin(&w, &total, true);
	assert_int_equal(w.err, 0);
	call.audio[0] = audio;
	w = written(&text);
	wire_event_call(&w, when, &call);
	event = read_back(&w);
	streams = json_object_get(event, "streams");
	in = json_array_get(streams, 0);
	assert_int_equal(json_array_size(streams), 2);
	assert_string_equal(text_of(in, "dir"), "in");
	assert_int_equal(json_array_size(json_object_get(in, "sources")), 2);
	assert_true(json_equal(json_object_get(in, "audio"), audio));
	assert_string_equal(text_of(json_array_get(streams, 1), "dir"), "out");
	json_decref(event);
	json_decref(audio);
	buf_release(&sources);
	buf_release(&call.streams[0]);
	buf_release(&call.streams[1]);
}

static void test_stream_without_reports(void **state)
{
	const struct stream_total total = {
		.ssrc = 0xbeef,
		.codec = "PCMU",
		.clock_hz = 8000,
		.has_ptime = true,
		.ptime_ms = 30,
		.packets = 3,
		.bytes = 516,
		.no_score_reason = "no report of the peer",
	};

	(void)state;
	is_json(stream_of(&total, true),
		"{\"bytes\":516,\"clock_hz\":8000,\"codec\":\"PCMU\",\"dir\":\"out\","
		"\"duplicates\":0,\"no_score\":\"no report of the peer\","
		"\"packets\":3,\"ptime_ms\":30.0,\"reordered\":0,\"ssrc\":\"0000beef\",\"stray\":0}");
}

/* How far the peer's reports reach, and an explained negative loss. */
static void test_stream_reported(void **state)
{
	struct stream_total total = {
		.has_loss = true,
		.expected = 907,
		.received = 954,
		.lost = -47,
		.lost_by = STREAM_LOST_RR,
		.has_reach = true,
		.reporter_ssrc = 0xabc,
		.reported_ext_seq = 66000,
		.unreported = 93,
	};
	json_t *o = stream_of(&total, true);
	json_t *report = json_object_get(o, "last_report");

	(void)state;
	assert_string_equal(text_of(report, "ssrc"), "00000abc");
	assert_int_equal(json_integer_value(json_object_get(report, "ext_seq")),
			 66000);
	assert_int_equal(
		json_integer_value(json_object_get(report, "sent_ext_seq")),
		66093);
	assert_int_equal(
		json_integer_value(json_object_get(report, "unreported")), 93);
	assert_string_equal(text_of(o, "lost_by"), "rr");
	assert_non_null(strstr(text_of(o, "lost_note"), "47 packets more"));
	json_decref(o);
	total.lost = 10;
	total.lost_by = STREAM_LOST_XR;
	o = stream_of(&total, true);
	assert_string_equal(text_of(o, "lost_by"), "xr");
	assert_null(json_object_get(o, "lost_note"));
	json_decref(o);
	total.has_reach = false;
	o = stream_of(&total, true);
	assert_null(json_object_get(o, "last_report"));
	assert_null(json_object_get(o, "lost_by"));
	json_decref(o);
}

static void test_source_of_a_stream(void **state)
{
	const struct stream_source source = {
		.ssrc = 0xbeef,
		.codec = "PCMU",
		.first_ns = 1000000,
		.last_ns = 2500000,
		.packets = 9,
		.has_loss = true,
		.received = 9,
		.expected = 12,
		.lost = 3,
		.loss_pct = 25,
		.has_jitter = true,
		.jitter_avg_ms = 0.5,
		.jitter_max_ms = 1.5,
		.no_score_reason = "no standardised Ie/Bpl",
	};
	struct buf text;
	struct writer w = written(&text);

	(void)state;
	wire_source_write(&w, &source, 7000000);
	is_json(read_back(&w),
		"{\"codec\":\"PCMU\",\"duplicates\":0,\"expected\":12,\"first_t\":8000,"
		"\"jitter_avg_ms\":0.5,\"jitter_max_ms\":1.5,\"last_t\":9500,"
		"\"loss_pct\":25.0,\"lost\":3,\"no_score\":\"no standardised Ie/Bpl\","
		"\"packets\":9,\"received\":9,\"ssrc\":\"0000beef\"}");
}

static void test_stream_quality(void **state)
{
	const struct stream_total total = {
		.ssrc = 1,
		.codec = "iLBC",
		.has_score = true,
		.r_factor = 81,
		.mos_total = 4,
		.has_mos_wb = true,
		.mos_wb = 3,
		.score_scale = "nb",
		.score_declared = "declared: by whom",
		.has_quality = true,
		.out_of_order = 2,
		.has_gap = true,
		.gap_max_ms = 80.5,
		.has_skew = true,
		.skew_ppm = -12.5,
		.fixed = {.known = true,
			  .discarded = 3,
			  .delay_ms = 60,
			  .burst_lost = 2,
			  .burst_density_pct = 50,
			  .gap_density_pct = 1,
			  .burst_duration_ms = 40,
			  .gap_duration_ms = 900,
			  .burst_ratio = 1.5,
			  .has_score = true,
			  .ta_ms = 95.25,
			  .has_network = true,
			  .network_ms = 15,
			  .r_factor = 70,
			  .mos = 3.5},
		.adaptive = {.known = true, .delay_ms = 25},
		.has_lateness = true,
		.lateness_max_ms = 0.5,
	};

	(void)state;
	is_json(stream_of(&total, false),
		"{\"adaptive_buffer\":{\"burst_density_pct\":0.0,"
		"\"burst_duration_ms\":0.0,\"burst_lost\":0,"
		"\"burst_ratio\":0.0,\"delay_ms\":25.0,\"discarded\":0,"
		"\"gap_density_pct\":0.0,\"gap_duration_ms\":0.0},"
		"\"bytes\":0,\"codec\":\"iLBC\",\"dir\":\"in\","
		"\"duplicates\":0,"
		"\"fixed_buffer\":{\"burst_density_pct\":50.0,"
		"\"burst_duration_ms\":40.0,\"burst_lost\":2,"
		"\"burst_ratio\":1.5,\"delay_ms\":60.0,\"discarded\":3,"
		"\"gap_density_pct\":1.0,\"gap_duration_ms\":900.0,"
		"\"mos\":3.5,\"network_ms\":15.0,\"r_factor\":70.0,"
		"\"ta_ms\":95.25},"
		"\"gap_max_ms\":80.5,\"lateness_max_ms\":0.5,"
		"\"mos_declared\":\"declared: by whom\",\"mos_scale\":\"nb\","
		"\"mos_total\":4.0,\"mos_wb_total\":3.0,\"out_of_order\":2,"
		"\"packets\":0,\"r_factor\":81.0,\"reordered\":0,"
		"\"skew_ppm\":-12.5,\"ssrc\":\"00000001\",\"stray\":0}");
}

/*
 * Refused packets are known for the received direction only, not for the sent
 * one.
 */
static void test_stream_encrypted(void **state)
{
	const struct stream_total total = {
		.ssrc = 1,
		.codec = "PCMU",
		.no_score_reason = "x",
		.srtp_suite = "AEAD_AES_128_GCM",
		.srtp_refused = 5,
		.srtp_replayed = 2,
	};

	(void)state;
	is_json(stream_of(&total, false),
		"{\"bytes\":0,\"codec\":\"PCMU\",\"dir\":\"in\","
		"\"duplicates\":0,\"no_score\":\"x\",\"packets\":0,"
		"\"reordered\":0,\"srtp_auth_failed\":5,"
		"\"srtp_replayed\":2,\"srtp_suite\":\"AEAD_AES_128_GCM\","
		"\"ssrc\":\"00000001\",\"stray\":0}");
	is_json(stream_of(&total, true),
		"{\"bytes\":0,\"codec\":\"PCMU\",\"dir\":\"out\","
		"\"duplicates\":0,\"no_score\":\"x\",\"packets\":0,"
		"\"reordered\":0,\"srtp_suite\":\"AEAD_AES_128_GCM\","
		"\"ssrc\":\"00000001\",\"stray\":0}");
}

static void test_sip_message_bytes(void **state)
{
	const struct wire_sip_message text = {
		.transport = "udp",
		.local = "127.0.0.1:1",
		.peer = "127.0.0.1:2",
		.data = "OK\r\n?",
		.len = 4,
	};
	struct wire_sip_message bytes = text;
	static const char *const encoded[] = {"/w==", "/wA=", "/wAB"};
	json_t *object;

	(void)state;
	is_json(message_of(&text),
		"{\"data\":\"OK\\r\\n\",\"dir\":\"received\",\"local\":"
		"\"127.0.0.1:1\",\"mono\":42,\"peer\":\"127.0.0.1:2\","
		"\"t\":1700000000000001,\"transport\":\"udp\"}");
	bytes.data = "\xff\0\1";
	for (size_t i = 0; i < 3; i++) {
		bytes.len = i + 1;
		object = message_of(&bytes);
		assert_string_equal(
			json_string_value(json_object_get(object, "encoding")),
			"base64");
		assert_string_equal(
			json_string_value(json_object_get(object, "data")),
			encoded[i]);
		json_decref(object);
	}
}

static void test_call_end_of_an_older_agent(void **state)
{
	static const struct {
		const char *event;
		bool asked;
	} rows[] = {
		{"{\"end\":\"local\",\"expected_end\":true}", true},
		{"{\"end\":\"local\",\"expected_end\":false}", false},
		{"{\"end\":\"failed\",\"expected_end\":true}", true},
		{"{\"end\":\"failed\"}", false},
		{"{\"end\":\"remote\"}", true},
		{"{\"end\":\"cancelled\",\"expected_end\":1}", true},
		{"{}", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *event = json_loads(rows[i].event, 0, NULL);

		assert_non_null(event);
		assert_int_equal(wire_call_ended_as_asked(event),
				 rows[i].asked);
		json_decref(event);
	}
}

/* What is not known is absent, and a 0 that is known is there. */
static void test_generator_has_what_is_known(void **state)
{
	struct wire_event_generator e = {
		.interval_s = 1.5,
		.packets_sent = 75,
		.starts_missed = 2,
		.generator = {.steal_pct = 7, .throttled = 3},
	};

	(void)state;
	is_json(wire_event_generator(when, &e),
		"{\"interval_s\":1.5,\"kind\":\"generator\",\"mono\":42,"
		"\"packets_received\":0,\"packets_sent\":75,"
		"\"receive_queue_drops\":0,\"ring_drops\":0,"
		"\"starts_missed\":2,\"t\":1700000000000001}");
	e.generator = (struct wire_generator){
		.known = WIRE_GENERATOR_SENT | WIRE_GENERATOR_LOOP |
			 WIRE_GENERATOR_STEAL | WIRE_GENERATOR_THROTTLED |
			 WIRE_GENERATOR_WAIT,
		.packets_late = 4,
		.send_lateness_p99_ms = 0.5,
		.clock_step_ms = -2.5,
	};
	is_json(wire_event_generator(when, &e),
		"{\"clock_step_ms\":-2.5,\"interval_s\":1.5,"
		"\"kind\":\"generator\",\"loop_lateness_max_ms\":0.0,"
		"\"loop_lateness_p99_ms\":0.0,\"mono\":42,\"packets_late\":4,"
		"\"packets_received\":0,\"packets_sent\":75,"
		"\"processor_pct\":0.0,\"processor_wait_pct\":0.0,"
		"\"receive_queue_drops\":0,\"ring_drops\":0,"
		"\"send_lateness_max_ms\":0.0,\"send_lateness_p99_ms\":0.5,"
		"\"starts_missed\":2,\"steal_pct\":0.0,\"t\":1700000000000001,"
		"\"throttled\":0,\"throttled_ms\":0.0}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_state),
		cmocka_unit_test(test_call_unknown_figures_are_absent),
		cmocka_unit_test(test_call_end_of_an_older_agent),
		cmocka_unit_test(test_stream_bounds),
		cmocka_unit_test(test_call_with_streams),
		cmocka_unit_test(test_stream_without_reports),
		cmocka_unit_test(test_stream_reported),
		cmocka_unit_test(test_source_of_a_stream),
		cmocka_unit_test(test_stream_quality),
		cmocka_unit_test(test_stream_encrypted),
		cmocka_unit_test(test_sip_message_bytes),
		cmocka_unit_test(test_generator_has_what_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
