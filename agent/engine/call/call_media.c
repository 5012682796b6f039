#include "agent/engine/call/call_internal.h"

#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* With the payload where the call is recorded from its beginning. */
static enum media_capture capture_of(const struct calls *calls,
				     const struct wire_action *a)
{
	if (!a->rtp_capture || !calls->settings->artifact_dir[0])
		return MEDIA_CAPTURE_NONE;
	return call_record_wanted(calls, a) ? MEDIA_CAPTURE_WHOLE
					    : MEDIA_CAPTURE_HEADERS;
}

int calls_media_params(const struct calls *calls, const struct wire_action *a,
		       struct calls_media_files *files,
		       struct media_session_params *ret)
{
	/* a client with media of its own sends them; we only tap */
	bool tapped = a->client != WIRE_CLIENT_NATIVE;
	int err;

	*ret = (struct media_session_params){
		.codec_count = a->codec_count,
		.ptime_ms = a->ptime_ms,
		.opus_fmtp = a->opus_fmtp,
		.silence_suppression = a->silence_suppression,
		/* a stream has no peer to negotiate telephone-event with */
		.no_events = a->dtmf_mode != WIRE_DTMF_RTPEVENT ||
			     a->type == WIRE_ACTION_STREAM,
		.audio = call_audio_wanted(calls, a),
		.capture = capture_of(calls, a),
		.tapped = tapped,
		.shared = a->media_shared,
	};
	memcpy(ret->codecs, a->codecs, sizeof(ret->codecs));
	err = engine_address(&ret->bind, calls->settings->bind,
			     a->stream.local_port);
	if (tapped)
		files->prompt[0] = '\0';
	else if (!err)
		err = engine_prompt(calls->settings, a, files->prompt,
				    sizeof(files->prompt));
	if (!err)
		err = engine_expected(calls->settings, a, files->expected,
				      sizeof(files->expected));
	if (err)
		return err;
	ret->prompt_file = files->prompt[0] ? files->prompt : NULL;
	ret->expect_file = files->expected[0] ? files->expected : NULL;
	return 0;
}

int call_media_new(struct call *c)
{
	struct media_session_params params;
	struct calls_media_files files;
	int err = calls_media_params(c->calls, c->action, &files, &params);

	if (err)
		return err;
	params.user = c;
	/* a client with media of its own does STUN, TURN and ICE itself */
	if (!params.tapped)
		nat_servers_params(&params.nat, c->calls->accounts, c->action);
	err = call_security_params(c, &params);
	if (err)
		return err;
	err = media_session_new(&c->media, c->calls->media, &params);
	if (!err)
		call_record_begin_all(c);
	return err;
}

void call_media_tap(struct call *c, const struct sip_call_info *info)
{
	int err = c->media ? media_session_tap(c->media, info->client_rtp,
					       info->client_rtcp)
			   : 0;

	if (err)
		report_event(c->calls->report,
			     wire_event_flaw(report_time(c->calls->report,
							 info->mono_ns),
					     "media_tap", 1, strerror(-err)));
}

/* The first packet may be due shortly after the call is established. The end is
 * then later by as much, so that the number of packets fits the duration. */
#define START_LATE_MAX_NS (200 * NS_PER_MS)

int64_t call_planned_end_ns(const struct call *c)
{
	int64_t late_ns = c->media_applied ? media_session_start_ns(c->media) -
						     c->established_ns
					   : 0;

	if (late_ns < 0 || late_ns > START_LATE_MAX_NS)
		late_ns = 0;
	return c->established_ns + late_ns + c->duration_ns;
}

void call_media_deadline(struct call *c)
{
	if (c->media_applied && c->established_ns &&
	    c->duration_ns != INT64_MAX)
		media_session_send_until(c->media, call_planned_end_ns(c));
}

/* Whether the error is the agent's (no memory, no descriptor). Others are due to
 * the peer's SDP, which was checked before but for limits of the media engine,
 * such as the number of addresses at a TURN server. */
static bool is_ours(int err)
{
	return err == -ENOMEM || err == -ENOBUFS || err == -EMFILE ||
	       err == -ENFILE || err == -EAGAIN || err == -EIO;
}

void call_media_flaw(struct call *c, int err)
{
	struct report *report = c->calls->report;

	report_event(report,
		     wire_event_flaw(report_time(report, clock_mono_ns()),
				     "media_apply", 1, strerror(-err)));
}

int call_media_apply(struct call *c, const struct media_negotiated *negotiated,
		     int64_t at_ns)
{
	int err;

	if (!c->media || c->closed)
		return 0;
	err = media_session_apply(c->media, negotiated);
	if (err && !is_ours(err))
		return err;
	if (err) {
		call_media_flaw(c, err);
		return 0;
	}
	c->media_applied = true;
	if (!c->settled_ns)
		c->settled_ns = at_ns;
	call_security_applied(c, negotiated, at_ns);
	call_media_deadline(c);
	return 0;
}

static void first_packet_report(struct call *c, struct first_packet *first,
				enum ua_state state, int64_t from_ns)
{
	int64_t before_ns = from_ns - first->mono_ns;
	char text[64];

	first->waits = false;
	snprintf(text, sizeof(text), "the first packet came %.3f ms before",
		 (double)before_ns / (double)NS_PER_MS);
	call_state(c, before_ns > 0 ? from_ns : first->mono_ns, state,
		   before_ns > 0 ? text : NULL);
}

/* RTP does not pass the proxies and may arrive before a 200 or its ACK. Then it is
 * reported when the call is established; early media, where a provisional
 * response completed offer/answer, is reported at once. */
static void packet_came(struct call *c, struct first_packet *first,
			enum ua_state state, int64_t mono_ns)
{
	bool early = !c->answered_ns || c->settled_ns < c->answered_ns;

	first->mono_ns = mono_ns;
	if (early)
		first_packet_report(c, first, state, c->settled_ns);
	else if (c->established_ns)
		first_packet_report(c, first, state, c->established_ns);
	else if (c->closed)
		first_packet_report(c, first, state, mono_ns);
	else
		first->waits = true;
}

static void first_packets_report(struct call *c, int64_t from_ns)
{
	if (c->first_rtp.waits)
		first_packet_report(c, &c->first_rtp, UA_CALL_RTPESTAB,
				    from_ns);
	if (c->first_rtcp.waits)
		first_packet_report(c, &c->first_rtcp, UA_CALL_RTCP, from_ns);
}

void call_media_established(struct call *c)
{
	first_packets_report(c, c->established_ns);
}

void call_media_closed(struct call *c)
{
	first_packets_report(c, 0);
}

static void take_source(struct call *c, const struct stream_source *source)
{
	size_t used = c->sources.used;
	struct writer w;

	writer_init(&w, &c->sources);
	w.follows = used > 0;
	wire_source_write(&w, source, report_wall_offset_ns(c->calls->report));
	if (!w.err)
		return;
	c->sources.used = used;
	log_error("call=%s the figures of a source are lost: %s", c->name,
		  strerror(-w.err));
}

/* With more calls at a time than were calibrated nothing is known about the errors. Other
 * engines of the job have as many. */
static bool bounds_hold(const struct calls *calls)
{
	const struct engine_settings *s = calls->settings;

	return s->has_calibration && (uint64_t)calls->up_most * s->share.of <=
					     s->calibration.bounds_calls;
}

static void take_total(struct call *c, const struct media_record *record)
{
	struct buf *text = &c->streams[record->outgoing];
	struct writer w;

	text->used = 0;
	writer_init(&w, text);
	wire_stream_begin(&w, &record->u.total, record->outgoing);
	if (bounds_hold(c->calls))
		wire_stream_bounds(&w, &record->u.total, record->outgoing,
				   &c->calls->settings->calibration);
	if (!record->outgoing)
		wire_stream_sources(&w, &c->sources);
	if (!w.err)
		return;
	text->used = 0;
	log_error("call=%s the totals of a stream are lost: %s", c->name,
		  strerror(-w.err));
}

void call_media_first(struct call *c, const struct media_record *record)
{
	if (record->kind == MEDIA_RECORD_FIRST_RTP)
		packet_came(c, &c->first_rtp, UA_CALL_RTPESTAB,
			    record->mono_ns);
	else
		packet_came(c, &c->first_rtcp, UA_CALL_RTCP, record->mono_ns);
}

void call_media_figures(struct call *c, const struct media_record *record)
{
	if (record->kind == MEDIA_RECORD_SOURCE)
		take_source(c, &record->u.source);
	else
		take_total(c, record);
}
