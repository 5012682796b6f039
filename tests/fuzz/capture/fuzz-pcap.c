/*
 * Any bytes as a capture file, through the whole analyser, twice: with frames
 * that match learned headers, and with the same frames decoded one by one. The
 * figures must be the same. The first octet selects the options.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"

#define LINK_ETHERNET 1

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

/*
 * Give each frame other Ethernet addresses, so that none matches the headers of
 * another.
 */
static void take_apart(struct capture *c, const struct frame *f, uint32_t n)
{
	struct frame other = *f;
	uint8_t *copy = malloc(f->captured);

	if (!copy)
		abort();
	memcpy(copy, f->data, f->captured);
	memcpy(copy, &n, sizeof(n));
	other.data = copy;
	capture_take(c, &other);
	free(copy);
}

/* @return NULL: no memory */
static struct capture *read_all(const struct capture_options *options,
				const uint8_t *data, size_t size, bool apart)
{
	struct capture *c;
	struct source source;
	struct reader reader;
	struct frame f;
	uint32_t n = 0;
	int err;

	if (capture_new(&c, options))
		return NULL;
	source_open_memory(&source, data, size);
	err = reader_open(&reader, &source);
	while (!err && reader_next(&reader, &f) > 0) {
		if (apart && f.link == LINK_ETHERNET && f.captured >= 12)
			take_apart(c, &f, ++n);
		else
			capture_take(c, &f);
	}
	capture_finish(c);
	reader_close(&reader);
	source_close(&source);
	return c;
}

static bool is_same_total(struct capture_stream *a, struct capture_stream *b)
{
	struct stream_total x;
	struct stream_total y;

	rtp_stream_total(&a->stream, &x);
	rtp_stream_total(&b->stream, &y);
	return flow_key_equal(&a->key, &b->key) && a->first_ns == b->first_ns &&
	       a->last_ns == b->last_ns && a->untimed == b->untimed &&
	       x.packets == y.packets && x.bytes == y.bytes &&
	       x.received == y.received && x.lost == y.lost &&
	       x.duplicates == y.duplicates && x.reordered == y.reordered &&
	       x.stray == y.stray && x.jitter_ms.n == y.jitter_ms.n &&
	       x.jitter_ms.avg == y.jitter_ms.avg &&
	       x.jitter_ms.max == y.jitter_ms.max;
}

static void check_same(struct capture *a, struct capture *b)
{
	if (memcmp(capture_counters(a), capture_counters(b),
		   sizeof(struct capture_counters)) != 0 ||
	    capture_stream_count(a) != capture_stream_count(b))
		abort();
	for (size_t i = 0; i < capture_stream_count(a); i++) {
		if (!is_same_total(capture_stream(a, i), capture_stream(b, i)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct capture_options options = {
		.interval_ns = INT64_C(1000000000),
		.fixed_delay_ms = 60,
		.streams_max = 64,
	};
	struct capture *c;
	struct capture *apart;
	uint64_t sum = 0;

	if (size < 1)
		return 0;
	options.detailed = data[0] & 1;
	options.sdp_only = data[0] & 2;
	options.buffer =
		data[0] & 4 ? CAPTURE_BUFFER_ADAPTIVE : CAPTURE_BUFFER_FIXED;
	c = read_all(&options, data + 1, size - 1, false);
	apart = read_all(&options, data + 1, size - 1, true);
	if (c && apart) {
		check_same(c, apart);
		for (size_t i = 0; i < capture_stream_count(c); i++)
			check_stream(c, capture_stream(c, i), &options);
		if (capture_reports(c, touch, &sum) != 0)
			abort();
		capture_reporters(c, touch_reporter, &sum);
		capture_ssrc_changes(c, touch_flow, &sum);
	}
	capture_free(c);
	capture_free(apart);
	return 0;
}
