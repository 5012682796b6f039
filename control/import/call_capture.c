#include "control/import/call_capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "capture/capture.h"
#include "capture/datagram.h"
#include "capture/fragments.h"
#include "capture/reader.h"
#include "capture/sdp.h"
#include "capture/segments.h"
#include "media/analysis/rtp_header.h"

#define FIXED_DELAY_MS 60.0 /* of `offhook analyze` */
#define CLOCK_FRAMES   256  /* between two looks at the clock */

struct reading {
	struct dialogs *dialogs;
	struct fragments fragments;
	struct segments segments;
	struct capture *streams;
	int64_t end_ns;                 /* monotonic; 0: none */
	const struct datagram *segment; /* that completed a message; NULL */
	int64_t ns;
};

static void take_message(struct reading *r, const uint8_t *data, size_t bytes,
			 const struct datagram *d, bool tcp)
{
	struct dialogs_input in = {
		.ns = r->ns,
		.data = (const char *)data,
		.bytes = bytes,
		.tcp = tcp,
	};

	if (d) {
		in.has_address = true;
		in.dst = d->dst;
		in.dport = d->dport;
	}
	dialogs_take(r->dialogs, &in);
}

static void take_tcp_message(const uint8_t *data, size_t bytes, bool cut,
			     void *arg)
{
	struct reading *r = arg;

	/* a message that is cut may be of another connection */
	take_message(r, data, bytes, cut ? NULL : r->segment, true);
}

static void take_udp(struct reading *r, const struct datagram *d)
{
	struct dialogs_rtp rtp;
	struct rtp_header h;

	if (sdp_is_sip(d->payload, d->captured)) {
		take_message(r, d->payload, d->captured, d, false);
		return;
	}
	if (datagram_classify(d->payload, d->captured) != DATAGRAM_RTP ||
	    rtp_header_parse(&h, d->payload, d->captured, d->bytes))
		return;
	rtp = (struct dialogs_rtp){
		.ns = r->ns,
		.src = d->src,
		.dst = d->dst,
		.sport = d->sport,
		.dport = d->dport,
		.pt = h.pt,
		.rtp_ticks = h.ts,
	};
	if (h.header_bytes < d->captured) {
		rtp.data = d->payload + h.header_bytes;
		rtp.bytes = d->captured - h.header_bytes;
	}
	dialogs_take_rtp(r->dialogs, &rtp);
}

static void take_datagram(struct reading *r, enum datagram_kind kind,
			  const struct datagram *d)
{
	if (kind == DATAGRAM_IS_UDP) {
		take_udp(r, d);
	} else if (kind == DATAGRAM_IS_TCP) {
		r->segment = d;
		segments_take(&r->segments, d, take_tcp_message, r);
		r->segment = NULL;
	}
}

static void take_fragmented(enum fragments_fate fate, enum datagram_kind kind,
			    struct datagram *d, int64_t ns, void *arg)
{
	struct reading *r = arg;

	(void)fate;
	(void)ns;
	take_datagram(r, kind, d);
}

static void take_frame(struct reading *r, const struct frame *f)
{
	enum datagram_kind kind;
	struct datagram d;

	r->ns = f->ns;
	capture_take(r->streams, f);
	kind = datagram_parse(&d, f);
	if (kind == DATAGRAM_IS_FRAGMENT)
		fragments_take(&r->fragments, &d, f->ns, take_fragmented, r);
	else
		take_datagram(r, kind, &d);
}

/* ---- streams ---- */

static bool is_received(const struct dialogs_call *c,
			const struct capture_stream *s)
{
	/* the first packet may overtake the INVITE's capture by a moment, and
	 * another call may use the port later */
	if (c->messages == 0 || s->first_ns < c->message[0].ns ||
	    s->first_ns > c->last_ns)
		return false;
	for (size_t i = 0; i < c->ports; i++)
		if (c->port[i].port == s->key.dport &&
		    memcmp(&c->port[i].address, &s->key.dst,
			   sizeof(s->key.dst)) == 0)
			return true;
	return false;
}

static void add_stream(struct dialogs_media *m, struct capture_stream *s)
{
	struct stream_total total;
	struct rtp_counters n;

	rtp_stream_counters(&s->stream, &n);
	rtp_stream_total(&s->stream, &total);
	m->seen = true;
	m->packets += n.packets;
	if (total.loss_pct > m->loss_pct)
		m->loss_pct = total.loss_pct;
	if (total.has_score && (!m->has_mos || total.mos_total < m->mos)) {
		m->has_mos = true;
		m->mos = total.mos_total;
	}
}

static void add_streams(struct reading *r, size_t streams_max)
{
	bool left_out = capture_counters(r->streams)->streams_left_out > 0;

	for (size_t i = 0; i < dialogs_call_count(r->dialogs); i++) {
		struct dialogs_call *c = dialogs_call(r->dialogs, i);

		c->media.streams_max = left_out ? streams_max : 0;
		for (size_t k = 0; k < capture_stream_count(r->streams); k++) {
			struct capture_stream *s =
				capture_stream(r->streams, k);

			if (is_received(c, s))
				add_stream(&c->media, s);
		}
	}
}

static bool is_late(const struct reading *r, unsigned frames)
{
	return r->end_ns && frames % CLOCK_FRAMES == 0 &&
	       clock_mono_ns() > r->end_ns;
}

static int read_frames(struct reading *r, struct source *source, char *reason)
{
	struct reader reader = {0};
	struct frame f;
	int err = reader_open(&reader, source);

	for (unsigned frames = 0; !err; frames++) {
		err = is_late(r, frames) ? -ETIME : reader_next(&reader, &f);
		if (err <= 0)
			break;
		take_frame(r, &f);
		err = 0;
	}
	if (err && err != -ETIME)
		str_print(reason, CALL_CAPTURE_REASON_BYTES, "%s",
			  reader.reason);
	reader_close(&reader);
	fragments_flush(&r->fragments, take_fragmented, r);
	segments_flush(&r->segments, take_tcp_message, r);
	return err && err != -ETIME ? -EBADMSG : err;
}

int call_capture_read(struct source *source,
		      const struct call_capture_limits *limits,
		      struct dialogs **ret,
		      char reason[static CALL_CAPTURE_REASON_BYTES])
{
	struct reading *r = calloc(1, sizeof(*r));
	const struct capture_options options = {
		.interval_ns = NS_PER_S,
		.fixed_delay_ms = FIXED_DELAY_MS,
		.buffer = CAPTURE_BUFFER_FIXED,
		.streams_max = limits && limits->streams_max
				       ? limits->streams_max
				       : CAPTURE_STREAMS_DEFAULT,
	};
	int err;

	if (!r)
		return -ENOMEM;
	r->end_ns = limits ? limits->end_ns : 0;
	err = dialogs_new(&r->dialogs);
	if (!err)
		err = capture_new(&r->streams, &options);
	if (!err) {
		err = read_frames(r, source, reason);
		capture_finish(r->streams);
		add_streams(r, options.streams_max);
	}
	if (err && err != -EBADMSG)
		r->dialogs = dialogs_free(r->dialogs);
	else
		*ret = r->dialogs;
	capture_free(r->streams);
	fragments_release(&r->fragments);
	segments_release(&r->segments);
	free(r);
	return err;
}
