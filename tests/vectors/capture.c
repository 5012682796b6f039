#include "tests/vectors/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "media/analysis/rtp_header.h"

static void series_add(struct series *s, double x)
{
	if ((s->n & (s->n - 1)) == 0)
		s->all = realloc(s->all, (s->n ? 2 * s->n : 1) * sizeof(x));
	if (!s->all)
		abort();
	s->all[s->n++] = x;
}

static void observe(const struct rtp_observation *o, void *arg)
{
	struct capture_stream *s = arg;

	if (o->verdict != RTP_PENDING && o->verdict != RTP_DUPLICATE)
		s->pt_packets[packet_pt(o->record)]++;
	if (o->sample.has_ipdv) {
		series_add(&s->series[SERIES_IPDV], o->sample.ipdv_ms);
		series_add(&s->series[SERIES_JITTER], o->sample.jitter_ms);
	}
	if (o->sample.has_delta)
		series_add(&s->series[SERIES_DELTA], o->sample.delta_ms);
	if (o->sample.has_pdv)
		series_add(&s->series[SERIES_PDV], o->sample.pdv_ms);
}

static void distribution_copy(struct distribution *ret, const double *from,
			      size_t n)
{
	double *copy = malloc((n + 1) * sizeof(*copy));

	if (!copy)
		abort();
	memcpy(copy, from, n * sizeof(*copy));
	distribution_of_samples(ret, copy, n);
	free(copy);
}

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
	i->received = now.received - s->received_before;
	i->te = r->te_packets - s->te_before;
	i->cn = r->cn_packets - s->cn_before;
	i->payload_bytes = r->payload_bytes - s->payload_before;
	i->has_fraction = r->strict.valid;
	if (r->strict.valid)
		i->fraction = rtp_strict_fraction(&r->strict);
	for (size_t k = 0; k < SERIES_COUNT; k++) {
		struct series *x = &s->series[k];

		distribution_copy(&i->series[k],
				  x->all ? x->all + x->interval_from : NULL,
				  x->n - x->interval_from);
		x->interval_from = x->n;
	}
	s->received_before = now.received;
	s->te_before = r->te_packets;
	s->cn_before = r->cn_packets;
	s->payload_before = r->payload_bytes;
	s->intervals++;
}

static struct capture_stream *find_stream(struct capture *c,
					  const struct datagram *d,
					  uint32_t ssrc)
{
	struct capture_stream *s;

	for (size_t i = 0; i < c->streams; i++) {
		s = &c->stream[i];
		if (s->ssrc == ssrc && s->sport == d->sport &&
		    s->dport == d->dport && !strcmp(s->src, d->src) &&
		    !strcmp(s->dst, d->dst))
			return s;
	}
	if (c->streams >= CAPTURE_STREAMS_MAX)
		abort();
	s = &c->stream[c->streams++];
	memcpy(s->src, d->src, sizeof(s->src));
	memcpy(s->dst, d->dst, sizeof(s->dst));
	s->sport = d->sport;
	s->dport = d->dport;
	s->ssrc = ssrc;
	s->first_ns = d->ns;
	s->stream = malloc(sizeof(*s->stream));
	s->interval = calloc(CAPTURE_INTERVALS_MAX, sizeof(*s->interval));
	if (!s->stream || !s->interval)
		abort();
	rtp_stream_init(s->stream, ssrc, d->ns, &c->map);
	rtp_strict_init(&s->no_probation, 0);
	return s;
}

static void take_rtp(struct capture *c, const struct datagram *d)
{
	struct capture_stream *s;
	struct packet_record r;
	struct rtp_header h;

	if (rtp_header_parse(&h, d->payload, d->captured, d->bytes)) {
		c->invalid++;
		return;
	}
	rtp_header_record(&r, &h, PACKET_RTP_RECEIVED, d->ns);
	s = find_stream(c, d, h.ssrc);
	while (d->ns - rtp_stream_second_start_ns(s->stream) >=
	       CAPTURE_INTERVAL_NS)
		close_interval(s);
	s->last_ns = d->ns;
	rtp_strict_update(&s->no_probation, h.seq);
	rtp_stream_update_observed(s->stream, &r, observe, s);
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

static void take(struct capture *c, const struct datagram *d,
		 const json_t *ports)
{
	c->frames++;
	if (!d->udp) {
		c->not_udp++;
		return;
	}
	if (!is_media(ports, d)) {
		c->non_media_udp++;
		return;
	}
	switch (datagram_classify(d->payload, d->captured)) {
	case DATAGRAM_RTP:
		take_rtp(c, d);
		break;
	case DATAGRAM_RTCP:
		c->rtcp++;
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
	struct pcap p;
	struct datagram d;
	int err;

	memset(c, 0, sizeof(*c));
	read_map(&c->map, json_object_get(input, "pt_map"));
	err = pcap_open(&p, pcap_path);
	if (err)
		return err;
	while ((err = pcap_next(&p, &d)) > 0)
		take(c, &d, ports);
	pcap_close(&p);
	for (size_t i = 0; i < c->streams; i++)
		close_interval(&c->stream[i]);
	return err;
}

void capture_free(struct capture *c)
{
	for (size_t i = 0; i < c->streams; i++) {
		free(c->stream[i].stream);
		free(c->stream[i].interval);
		for (size_t k = 0; k < SERIES_COUNT; k++)
			free(c->stream[i].series[k].all);
	}
}
