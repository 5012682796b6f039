/* Any bytes as a capture file, through the whole analyser. The first octet
 * chooses the options. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "capture/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int touch(const void *record, void *arg)
{
	(void)record;
	++*(uint64_t *)arg;
	return 0;
}

static void touch_reporter(uint32_t ssrc, const struct distribution *rtt,
			   void *arg)
{
	(void)ssrc;
	*(uint64_t *)arg += rtt->n;
}

static void touch_flow(const struct flow_key *flow, uint64_t changes, void *arg)
{
	(void)flow;
	*(uint64_t *)arg += changes;
}

static void check_stream(struct capture *c, struct capture_stream *s,
			 const struct capture_options *options)
{
	struct rtp_counters n;
	struct detail_score score;
	struct stream_total total;
	struct distribution d;
	uint64_t count = 0;

	rtp_stream_counters(&s->stream, &n);
	if (n.packets != n.received + n.duplicates + n.stray + n.pending)
		abort();
	capture_stream_score(s, options, &score);
	rtp_stream_total(&s->stream, &total);
	if (!s->detail)
		return;
	if (capture_intervals(c, s, touch, &count) != 0 ||
	    count != s->detail->intervals.count)
		abort();
	for (size_t k = 0; k < DETAIL_SERIES_COUNT; k++)
		samples_distribution(&s->detail->samples[k],
				     &s->detail->figures.series[k].all, &d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct capture_options options = {
		.interval_ns = INT64_C(1000000000),
		.fixed_delay_ms = 60,
		.streams_max = 64,
	};
	struct capture *c;
	struct source source;
	struct reader reader;
	struct frame f;
	uint64_t sum = 0;
	int err;

	if (size < 1)
		return 0;
	options.detailed = data[0] & 1;
	options.sdp_only = data[0] & 2;
	options.buffer =
		data[0] & 4 ? CAPTURE_BUFFER_ADAPTIVE : CAPTURE_BUFFER_FIXED;
	if (capture_new(&c, &options))
		return 0;
	source_open_memory(&source, data + 1, size - 1);
	err = reader_open(&reader, &source);
	while (!err && reader_next(&reader, &f) > 0)
		capture_take(c, &f);
	capture_finish(c);
	for (size_t i = 0; i < capture_stream_count(c); i++)
		check_stream(c, capture_stream(c, i), &options);
	if (capture_reports(c, touch, &sum) != 0)
		abort();
	capture_reporters(c, touch_reporter, &sum);
	capture_ssrc_changes(c, touch_flow, &sum);
	reader_close(&reader);
	source_close(&source);
	capture_free(c);
	return 0;
}
