#include "tests/vectors/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "media/analysis/rtp_header.h"

static void exact_add(struct exact *s, bool has, double x)
{
	if (!has)
		return;
	if ((s->n & (s->n - 1)) == 0)
		s->all = realloc(s->all, (s->n ? 2 * s->n : 1) * sizeof(x));
	if (!s->all)
		abort();
	s->all[s->n++] = x;
}

static void observe(const struct rtp_observation *o, void *arg)
{
	struct capture_stream *s = arg;
	const struct rtp_sample *x = &o->sample;

	stream_detail_observe(o, s->detail);
	exact_add(&s->exact[DETAIL_IPDV], x->has_ipdv, x->ipdv_ms);
	exact_add(&s->exact[DETAIL_JITTER], x->has_ipdv, x->jitter_ms);
	exact_add(&s->exact[DETAIL_DELTA], x->has_delta, x->delta_ms);
	exact_add(&s->exact[DETAIL_PDV], x->has_pdv, x->pdv_ms);
}

static void observe_run(const struct rtp_run *run, void *arg)
{
	struct capture_stream *s = arg;
	const struct rtp_run_samples *x = run->samples;
	double pdv_ms[RTP_RUN_MAX];

	rtp_run_pdv_ms(x, pdv_ms);
	stream_detail_observe_run(run, s->detail);
	for (size_t i = 0; i < x->count; i++) {
		exact_add(&s->exact[DETAIL_IPDV], true, x->ipdv_ms[i]);
		exact_add(&s->exact[DETAIL_JITTER], true, x->jitter_ms[i]);
		exact_add(&s->exact[DETAIL_DELTA], true, x->delta_ms[i]);
		exact_add(&s->exact[DETAIL_PDV], true, pdv_ms[i]);
	}
}

static const struct rtp_observer observer = {.packet = observe,
					     .run = observe_run};

static void close_interval(struct capture_stream *s)
{
	struct interval *i = &s->interval[s->intervals];
	struct rtp_stream *r = s->stream;
	struct rtp_counters now;

	if (s->intervals >= CAPTURE_INTERVALS_MAX)
		abort();
	rtp_stream_counters(r, &now);
	rtp_stream_close_second(
		r, rtp_stream_second_start_ns(r) + CAPTURE_INTERVAL_NS,
		&i->second);
	i->values = r->score.values;
	i->received = now.received - s->received_before;
	i->te = r->te_packets - s->te_before;
	i->cn = r->cn_packets - s->cn_before;
	i->payload_bytes = r->payload_bytes - s->payload_before;
	i->has_fraction = r->strict.valid;
	if (r->strict.valid)
		i->fraction = rtp_strict_fraction(&r->strict);
	for (size_t k = 0; k < DETAIL_SERIES_COUNT; k++)
		series_close(&s->detail->series[k], &i->series[k]);
	s->received_before = now.received;
	s->te_before = r->te_packets;
	s->cn_before = r->cn_packets;
	s->payload_before = r->payload_bytes;
	s->intervals++;
}

static struct capture_stream *find_stream(struct capture *c,
					  const struct datagram *d,
					  uint32_t ssrc, int64_t ns)
{
	struct capture_stream *s;

	for (size_t i = 0; i < c->streams; i++) {
		s = &c->stream[i];
		if (s->ssrc == ssrc && s->sport == d->sport &&
		    s->dport == d->dport &&
		    !memcmp(&s->src, &d->src, sizeof(s->src)) &&
		    !memcmp(&s->dst, &d->dst, sizeof(s->dst)))
			return s;
	}
	if (c->streams >= CAPTURE_STREAMS_MAX)
		abort();
	s = &c->stream[c->streams++];
	s->src = d->src;
	s->dst = d->dst;
	s->sport = d->sport;
	s->dport = d->dport;
	s->ssrc = ssrc;
	s->first_ns = ns;
	s->stream = malloc(sizeof(*s->stream));
	s->rest = malloc(sizeof(*s->rest));
	s->interval = calloc(CAPTURE_INTERVALS_MAX, sizeof(*s->interval));
	s->detail = malloc(sizeof(*s->detail));
	if (!s->stream || !s->rest || !s->interval || !s->detail)
		abort();
	rtp_stream_init(s->stream, ssrc, ns, &c->map, s->rest);
	stream_detail_init(s->detail, s->stream);
	rtp_stream_observe(s->stream, &observer, s);
	return s;
}

static void take_rtp(struct capture *c, const struct datagram *d, int64_t ns)
{
	struct capture_stream *s;
	struct packet_record r;
	struct rtp_header h;

	if (rtp_header_parse(&h, d->payload, d->captured, d->bytes)) {
		c->invalid++;
		return;
	}
	rtp_header_record(&r, &h, PACKET_RTP_RECEIVED, ns);
	s = find_stream(c, d, h.ssrc, ns);
	while (ns - rtp_stream_second_start_ns(s->stream) >=
	       CAPTURE_INTERVAL_NS)
		close_interval(s);
	s->last_ns = ns;
	rtp_strict_update(&s->detail->no_probation, h.seq);
	rtp_stream_update(s->stream, &r);
}

static void take_rtcp(struct capture *c, const struct datagram *d, int64_t ns)
{
	struct rtcp_reader reader;
	struct rtcp_item item;

	if (rtcp_reader_init(&reader, d->payload, d->captured))
		return;
	while (rtcp_reader_next(&reader, &item)) {
		struct capture_report *r = &c->report[c->reports];

		if (c->reports >= CAPTURE_REPORTS_MAX)
			abort();
		r->ns = ns;
		r->item = item;
		r->has_rtt = rtcp_tap_item(&c->tap, &item, ns, &r->rtt_ms);
		c->reports += item.kind == RTCP_ITEM_REPORT ||
			      item.kind == RTCP_ITEM_XR_DLRR ||
			      item.kind == RTCP_ITEM_XR_VOIP;
	}
}

static bool is_media(const json_t *ports, const struct datagram *d)
{
	size_t i;
	json_t *v;

	json_array_foreach(ports, i, v)
	{
		if (json_integer_value(v) == d->sport ||
		    json_integer_value(v) == d->dport)
			return true;
	}
	return false;
}

static void take(struct capture *c, const struct frame *f, const json_t *ports)
{
	struct datagram datagram;
	const struct datagram *d = &datagram;

	c->frames++;
	if (datagram_parse(&datagram, f) != DATAGRAM_IS_UDP) {
		c->not_udp++;
		return;
	}
	if (!is_media(ports, d)) {
		c->non_media_udp++;
		return;
	}
	switch (datagram_classify(d->payload, d->captured)) {
	case DATAGRAM_RTP:
		take_rtp(c, d, f->ns);
		break;
	case DATAGRAM_RTCP:
		c->rtcp++;
		take_rtcp(c, d, f->ns);
		break;
	case DATAGRAM_STUN:
		c->stun++;
		break;
	case DATAGRAM_DTLS:
		c->dtls++;
		break;
	case DATAGRAM_UNKNOWN:
		c->invalid++;
		break;
	}
}

static void read_map(struct rtp_payload_map *map, json_t *from)
{
	const char *pt;
	json_t *v;

	json_object_foreach(from, pt, v)
	{
		rtp_payload_map_add(
			map, (uint8_t)strtol(pt, NULL, 10),
			json_string_value(json_object_get(v, "name")),
			(uint32_t)json_integer_value(
				json_object_get(v, "clock")));
	}
}

int capture_read(struct capture *c, const char *pcap_path,
		 const json_t *expected)
{
	const json_t *input = json_object_get(expected, "input");
	const json_t *ports = json_object_get(input, "media_ports");
	struct source source;
	struct reader reader;
	struct frame f;
	int fd = open(pcap_path, O_RDONLY | O_CLOEXEC);
	int err;

	memset(c, 0, sizeof(*c));
	read_map(&c->map, json_object_get(input, "pt_map"));
	if (fd < 0)
		return -errno;
	err = source_open(&source, fd);
	if (!err)
		err = reader_open(&reader, &source);
	while (!err && (err = reader_next(&reader, &f)) > 0) {
		take(c, &f, ports);
		err = 0;
	}
	reader_close(&reader);
	source_close(&source);
	close(fd);
	for (size_t i = 0; i < c->streams; i++) {
		close_interval(&c->stream[i]);
		stream_detail_finish(c->stream[i].detail);
	}
	return err;
}

void capture_free(struct capture *c)
{
	for (size_t i = 0; i < c->streams; i++) {
		free(c->stream[i].stream);
		free(c->stream[i].interval);
		free(c->stream[i].detail);
		for (size_t k = 0; k < DETAIL_SERIES_COUNT; k++)
			free(c->stream[i].exact[k].all);
	}
}
