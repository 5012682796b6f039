#include "capture/capture.h"

#include "base/prefetch.h"
#include "capture/candidates.h"
#include "capture/datagram.h"
#include "capture/endpoints.h"
#include "capture/fragments.h"
#include "capture/measure.h"
#include "capture/reports.h"
#include "capture/sdp.h"
#include "capture/segments.h"
#include "media/analysis/rtp_header.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct capture {
	struct capture_options options;
	bool filter_each; /* the filter may differ within a stream */
	struct capture_counters counters;
	struct flow_table table; /* of streams, by key and SSRC */
	struct capture_stream **stream;
	size_t allocated;
	struct capture_stream *last; /* stream of the previous packet */
	struct header_layouts layouts;
	struct rtp_payload_map statics; /* static types of RFC 3551 */
	struct endpoints endpoints;
	struct candidates candidates;
	struct fragments fragments;
	struct segments segments;
	struct reports reports;
	struct chain_file intervals;
	struct measure_memory memory;
};

int capture_new(struct capture **ret, const struct capture_options *options)
{
	struct capture *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->options = *options;
	c->filter_each = options->filter && !filter_is_by_flow(options->filter);
	measure_memory_init(&c->memory, options);
	flow_table_init(&c->table, options->streams_max);
	sdp_add_static(&c->statics);
	endpoints_init(&c->endpoints);
	chain_file_init(&c->intervals, sizeof(struct capture_interval),
			CAPTURE_INTERVALS_MAX);
	reports_init(&c->reports, options->detailed, &c->memory.samples);
	*ret = c;
	return 0;
}

struct capture *capture_free(struct capture *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; i < c->table.count; i++)
		measure_free(c->stream[i], &c->memory);
	measure_memory_release(&c->memory);
	free(c->stream);
	flow_table_release(&c->table);
	endpoints_release(&c->endpoints);
	candidates_release(&c->candidates);
	fragments_release(&c->fragments);
	segments_release(&c->segments);
	reports_release(&c->reports);
	chain_file_release(&c->intervals);
	free(c);
	return NULL;
}

static bool is_known(const struct capture *c, const struct datagram *d)
{
	return endpoints_known(&c->endpoints, &d->dst, d->dport) ||
	       endpoints_known(&c->endpoints, &d->src, d->sport);
}

/* Payload types as the receiver's SDP has them, then the sender's SDP, then
 * RFC 3551. */
static void make_map(const struct capture *c, const struct flow_key *key,
		     struct rtp_payload_map *ret)
{
	const struct rtp_payload_map *from[] = {
		endpoints_map(&c->endpoints, &key->dst, key->dport),
		endpoints_map(&c->endpoints, &key->src, key->sport),
		&c->statics,
	};

	memset(ret, 0, sizeof(*ret));
	for (size_t k = 0; k < sizeof(from) / sizeof(from[0]); k++) {
		for (size_t i = 0; from[k] && i < from[k]->count; i++)
			rtp_payload_map_copy(ret, &from[k]->entries[i]);
	}
	for (size_t i = 0; i < ret->count; i++)
		emodel_declarations_apply(c->options.declarations,
					  ret->entries[i].codec,
					  &ret->entries[i].values);
}

/* A new SDP came, which may be about this stream. */
static void renew_map(const struct capture *c, struct capture_stream *s)
{
	struct rtp_payload_map map;

	s->generation = c->endpoints.generation;
	make_map(c, &s->key, &map);
	if (memcmp(&map, &s->map, sizeof(map)) == 0)
		return;
	s->map = map;
	rtp_stream_set_map(&s->stream, &s->map);
}

static bool reserve_stream(struct capture *c)
{
	size_t n = c->allocated ? 2 * c->allocated : 64;
	struct capture_stream **stream;

	if (c->table.count < c->allocated)
		return true;
	stream = realloc(c->stream, n * sizeof(struct capture_stream *));
	if (!stream)
		return false;
	c->stream = stream;
	c->allocated = n;
	return true;
}

/* @return NULL: streams_max is reached, or no memory */
static struct capture_stream *add_stream(struct capture *c,
					 const struct flow_key *key, int64_t ns,
					 bool announced)
{
	struct capture_stream *s;
	uint32_t i;

	if (c->table.count >= c->options.streams_max || !reserve_stream(c))
		return NULL;
	s = measure_new(&c->options, &c->memory);
	if (!s)
		return NULL;
	i = flow_table_add(&c->table, key);
	if (i == FLOW_NONE) {
		measure_free(s, &c->memory);
		return NULL;
	}
	c->stream[i] = s;
	s->key = *key;
	s->successor = s;
	s->announced = announced;
	s->generation = c->endpoints.generation;
	make_map(c, key, &s->map);
	measure_start(s, &c->options, ns);
	if (!c->last)
		c->last = s;
	return s;
}

static void take_candidate(struct capture *c, const struct flow_key *key,
			   const struct packet_record *r, bool timed)
{
	struct candidate *found;
	struct capture_stream *s;

	c->counters.non_media_udp++;
	if (c->options.sdp_only)
		return;
	found = candidates_take(&c->candidates, key, r);
	if (!found)
		return;
	s = add_stream(c, key, found->record[0].mono_ns, false);
	c->counters.non_media_udp -= found->packets;
	if (!s)
		c->counters.streams_left_out += found->packets;
	for (uint32_t i = 0; s && i < found->packets; i++)
		measure_take(s, &found->record[i], &c->options, &c->intervals);
	if (s)
		s->untimed = !timed;
	candidates_drop(found);
}

/* Load the cache lines of the streams that are expected next. */
static void prefetch_next(const struct capture_stream *s)
{
	const struct capture_stream *next = s->successor;
	const struct capture_stream *after = next->successor;

	rtp_stream_prefetch_run(&next->stream);
	rtp_stream_prefetch(&after->stream);
	prefetch(after, offsetof(struct capture_stream, stream));
}

/* Streams send at the same rate: the packet after a stream's packet usually belongs
 * to the same stream as the last time. */
static struct capture_stream *find_stream(struct capture *c,
					  const struct flow_key *key)
{
	struct capture_stream *s;
	uint32_t i;

	if (!c->last)
		return NULL;
	s = c->last->successor;
	if (!flow_key_equal(&s->key, key)) {
		i = flow_table_find(&c->table, key);
		if (i == FLOW_NONE)
			return NULL;
		s = c->stream[i];
		c->last->successor = s;
	}
	c->last = s;
	prefetch_next(s);
	return s;
}

static void take_packet(struct capture *c, struct capture_stream *s,
			const struct packet_record *r, bool timed)
{
	if (s->generation != c->endpoints.generation)
		renew_map(c, s);
	if (!timed)
		s->untimed = true;
	measure_take(s, r, &c->options, &c->intervals);
}

/* The shortcut of header_match.h, for the expected stream. @return false: parse the
 * frame */
static bool take_repeated(struct capture *c, const struct frame *f)
{
	struct capture_stream *s = c->last->successor;
	struct packet_record r;

	if (!header_match_record(&s->headers, f, &r))
		return false;
	c->last = s;
	prefetch_next(s);
	take_packet(c, s, &r, f->timed);
	return true;
}

/* @param f  data is NULL if the datagram was reassembled */
static void take_rtp(struct capture *c, struct datagram *d,
		     const struct frame *f)
{
	struct capture_stream *s;
	struct packet_record r;
	struct rtp_header h;
	struct flow_key *key = &d->flow;

	if (rtp_header_parse(&h, d->payload, d->captured, d->bytes)) {
		if (is_known(c, d))
			c->counters.invalid++;
		else
			c->counters.non_media_udp++;
		return;
	}
	rtp_header_record(&r, &h, PACKET_RTP_RECEIVED, f->ns);
	key->ssrc = h.ssrc;
	s = find_stream(c, key);
	if (!s && !is_known(c, d)) {
		take_candidate(c, key, &r, f->timed);
		return;
	}
	if (!s)
		s = add_stream(c, key, f->ns, true);
	if (!s) {
		c->counters.streams_left_out++;
		return;
	}
	if (f->data)
		header_match_learn(&s->headers, &c->layouts, f, d);
	take_packet(c, s, &r, f->timed);
}

static void learn(const struct sdp_media *media, void *arg)
{
	struct capture *c = arg;

	endpoints_learn(&c->endpoints, media);
}

static void take_message(const uint8_t *data, size_t bytes, bool cut, void *arg)
{
	struct capture *c = arg;

	c->counters.sip++;
	c->counters.sdp += sdp_scan((const char *)data, bytes, cut, learn, c);
}

static void take_sip(struct capture *c, const struct datagram *d)
{
	if (sdp_is_sip(d->payload, d->captured))
		take_message(d->payload, d->captured,
			     d->captured < d->bytes || d->fragment, c);
}

static bool is_left_out(struct capture *c, const struct datagram *d, bool tcp)
{
	if (!c->options.filter || filter_matches(c->options.filter, d, tcp))
		return false;
	c->counters.left_out++;
	return true;
}

static void take_tcp(struct capture *c, const struct datagram *d)
{
	if (!is_left_out(c, d, true))
		segments_take(&c->segments, d, take_message, c);
}

static void take_udp(struct capture *c, struct datagram *d,
		     const struct frame *f)
{
	enum datagram_class class = datagram_classify(d->payload, d->captured);

	if (is_left_out(c, d, false))
		return;
	switch (class) {
	case DATAGRAM_RTP:
		take_rtp(c, d, f);
		return;
	case DATAGRAM_RTCP:
		if (!is_known(c, d) &&
		    (c->options.sdp_only ||
		     !reports_is_rtcp(d->payload, d->captured)))
			break;
		c->counters.rtcp++;
		if (d->captured == d->bytes)
			reports_take(&c->reports, d->payload, d->captured,
				     f->ns);
		return;
	case DATAGRAM_STUN:
		if (!is_known(c, d))
			break;
		c->counters.stun++;
		return;
	case DATAGRAM_DTLS:
		if (!is_known(c, d))
			break;
		c->counters.dtls++;
		return;
	case DATAGRAM_UNKNOWN:
		take_sip(c, d);
		if (!is_known(c, d))
			break;
		c->counters.invalid++;
		return;
	}
	c->counters.non_media_udp++;
}

/* A fragmented datagram. If a part is missing it does not count as media, as the
 * receiver did not get it either; an SDP in it is used all the same. */
static void take_fragmented(enum fragments_fate fate, enum datagram_kind kind,
			    struct datagram *d, int64_t ns, void *arg)
{
	struct capture *c = arg;
	const struct frame f = {.ns = ns, .timed = true};

	if (kind == DATAGRAM_IS_UDP && fate == FRAGMENTS_GIVEN_UP) {
		if (!is_left_out(c, d, false))
			take_sip(c, d);
	} else if (kind == DATAGRAM_IS_UDP)
		take_udp(c, d, &f);
	else if (kind == DATAGRAM_IS_TCP)
		take_tcp(c, d);
	else
		c->counters.not_udp++;
}

/* Not inlined, so that the shortcut in capture_take() saves no registers. */
__attribute__((noinline)) static void take_other(struct capture *c,
						 const struct frame *f)
{
	struct datagram d;

	switch (datagram_parse(&d, f)) {
	case DATAGRAM_IS_UDP:
		take_udp(c, &d, f);
		return;
	case DATAGRAM_IS_TCP:
		take_tcp(c, &d);
		break;
	case DATAGRAM_IS_FRAGMENT:
		c->counters.fragments++;
		fragments_take(&c->fragments, &d, f->ns, take_fragmented, c);
		return;
	case DATAGRAM_BAD_LINK:
		c->counters.bad_link++;
		c->counters.bad_link_type = f->link;
		break;
	case DATAGRAM_IS_OTHER:
		break;
	}
	c->counters.not_udp++;
}

void capture_take(struct capture *c, const struct frame *f)
{
	c->counters.frames++;
	if (!c->last || c->filter_each || !take_repeated(c, f))
		take_other(c, f);
}

void capture_finish(struct capture *c)
{
	fragments_flush(&c->fragments, take_fragmented, c);
	segments_flush(&c->segments, take_message, c);
	c->counters.fragmented = c->fragments.whole;
	c->counters.incomplete = c->fragments.incomplete;
	for (size_t i = 0; i < c->table.count; i++)
		measure_finish(c->stream[i], &c->options, &c->intervals);
	reports_count(&c->reports, &c->counters);
}

void capture_tick(struct capture *c, int64_t end_ns,
		  capture_interval_h *handler, void *arg)
{
	for (size_t i = 0; i < c->table.count; i++) {
		struct capture_interval interval;

		if (rtp_stream_second_start_ns(&c->stream[i]->stream) >= end_ns)
			continue;
		measure_tick(c->stream[i], end_ns, &interval);
		handler(c->stream[i], &interval, arg);
	}
}

/* ---- live capture: remove streams that ended ---- */

/* Put the remaining streams into a new table. @return false: no memory */
static bool keep_streams(struct capture *c, struct flow_table *kept,
			 int64_t before_ns, capture_stream_h *handler,
			 void *arg)
{
	size_t left = 0;

	for (size_t i = 0; i < c->table.count; i++) {
		struct capture_stream *s = c->stream[i];

		if (s->last_ns >= before_ns &&
		    flow_table_add(kept, &s->key) == FLOW_NONE)
			return false;
	}
	for (size_t i = 0; i < c->table.count; i++) {
		struct capture_stream *s = c->stream[i];

		if (s->last_ns >= before_ns) {
			s->successor = s;
			c->stream[left++] = s;
			continue;
		}
		measure_finish(s, &c->options, &c->intervals);
		handler(s, arg);
		measure_free(s, &c->memory);
	}
	return true;
}

static void mark_used(struct flow_table *used, const struct address *address,
		      unsigned port)
{
	const struct flow_key key = {.src = *address, .sport = (uint16_t)port};

	if (flow_table_find(used, &key) == FLOW_NONE)
		flow_table_add(used, &key);
}

/* Forget the ports that no stream uses. The port above one of RTP is RTCP's. */
static void expire_endpoints(struct capture *c)
{
	struct flow_table used;

	flow_table_init(&used, 4 * c->options.streams_max);
	for (size_t i = 0; i < c->table.count; i++) {
		const struct flow_key *k = &c->table.keys[i];

		for (unsigned rtcp = 0; rtcp < 2; rtcp++) {
			mark_used(&used, &k->src, k->sport + rtcp);
			mark_used(&used, &k->dst, k->dport + rtcp);
		}
	}
	endpoints_keep(&c->endpoints, &used);
	flow_table_release(&used);
}

void capture_expire(struct capture *c, int64_t before_ns,
		    capture_stream_h *handler, void *arg)
{
	struct flow_table kept;

	flow_table_init(&kept, c->options.streams_max);
	if (keep_streams(c, &kept, before_ns, handler, arg)) {
		flow_table_release(&c->table);
		c->table = kept;
		c->last = kept.count ? c->stream[0] : NULL;
	} else { /* no memory: nothing is removed */
		flow_table_release(&kept);
	}
	if (endpoints_crowded(&c->endpoints))
		expire_endpoints(c);
	reports_expire(&c->reports);
}

/* ---- results ---- */

const struct capture_counters *capture_counters(const struct capture *c)
{
	return &c->counters;
}

size_t capture_stream_count(const struct capture *c)
{
	return c->table.count;
}

struct capture_stream *capture_stream(struct capture *c, size_t i)
{
	return c->stream[i];
}

int capture_intervals(struct capture *c, const struct capture_stream *s,
		      chain_file_h *handler, void *arg)
{
	return s->detail ? chain_file_walk(&c->intervals, &s->detail->intervals,
					   handler, arg)
			 : 0;
}

int capture_reports(struct capture *c, chain_file_h *handler, void *arg)
{
	return chain_file_walk(&c->reports.file, &c->reports.chain, handler,
			       arg);
}

uint64_t capture_left_out(const struct capture *c)
{
	return c->intervals.left_out + c->reports.file.left_out;
}

void capture_reporters(struct capture *c, capture_reporter_h *handler,
		       void *arg)
{
	reports_walk(&c->reports, handler, arg);
}

void capture_ssrc_changes(struct capture *c, capture_flow_h *handler, void *arg)
{
	struct flow_table flows;
	uint64_t *changes = calloc(c->table.count + 1, sizeof(*changes));

	flow_table_init(&flows, c->table.count);
	for (size_t i = 0; changes && i < c->table.count; i++) {
		struct flow_key key = c->table.keys[i];
		uint32_t at;

		key.ssrc = 0;
		at = flow_table_find(&flows, &key);
		if (at == FLOW_NONE)
			flow_table_add(&flows, &key);
		else
			changes[at]++;
	}
	for (size_t i = 0; changes && i < flows.count; i++) {
		if (changes[i] > 0)
			handler(&flows.keys[i], changes[i], arg);
	}
	flow_table_release(&flows);
	free(changes);
}
