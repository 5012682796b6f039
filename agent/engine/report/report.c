#include "agent/engine/report/report.h"

#include "agent/engine/report/live.h"
#include "agent/engine/report/sample_collector.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "control/wire/artifact.h"
#include "control/wire/job_limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A stream's second ends a second after the time of its sample and is received some
 * milliseconds later; only then its interval can be closed. */
#define CLOSE_GRACE_NS (3 * NS_PER_S)
/* Of the text of a flaw: a sentence with the figures that explain it. */
#define FLAW_BYTES 800

static const struct wire_share whole_job = {.index = 0, .of = 1};

struct report {
	/* constant after report_new() */
	struct wire_channel *channel;
	report_ended_h *ended_h;
	void *arg;

	/* constant after report_start() */
	struct report_params params;
	int64_t wall_offset_ns; /* taken once: one time line for the job */

	struct sample_collector *collect;
	struct outbox *outbox;
	struct buf item; /* of report_begin() */
	struct live live;
	double progress_sent;
	int64_t closed_s;    /* as told by report_closed() */
	const char *outcome; /* NULL: none yet */
	char reason[WIRE_REASON_BYTES];
};

int report_new(struct report **ret, struct wire_channel *channel,
	       report_ended_h *ended_h, void *arg)
{
	struct report *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->channel = channel;
	r->ended_h = ended_h;
	r->arg = arg;
	r->params = (struct report_params){.run = "-",
					   .artifact_dir = "",
					   .share = &whole_job,
					   .shard = &whole_job};
	buf_init(&r->item, WIRE_FRAME_BYTES);
	err = outbox_new(&r->outbox);
	if (err) {
		report_free(r);
		return err;
	}
	*ret = r;
	return 0;
}

struct report *report_free(struct report *r)
{
	if (r) {
		sample_collector_free(r->collect);
		outbox_free(r->outbox);
		buf_release(&r->item);
		free(r);
	}
	return NULL;
}

int report_start(struct report *r, const struct report_params *params)
{
	r->params = *params;
	r->wall_offset_ns = clock_wall_offset_ns();
	return sample_collector_new(&r->collect, params->role,
				    params->interval_s);
}

bool report_started(const struct report *r)
{
	return r->collect != NULL;
}

/* @param message  taken over; NULL: out of memory
 * @return as wire_channel_send() */
static int message_send(struct report *r, json_t *message)
{
	int err = message ? wire_channel_send(r->channel, message) : -ENOMEM;

	json_decref(message);
	return err;
}

/* ---- the outcome ---- */

void report_end_job(struct report *r, const char *outcome, const char *fmt, ...)
{
	va_list args;

	if (r->outcome)
		return;
	r->outcome = outcome;
	va_start(args, fmt);
	vsnprintf(r->reason, sizeof(r->reason), fmt, args);
	str_utf8_repair(r->reason); /* may be a peer's text, and cut */
	va_end(args);
	log_info("run=%s the job ends: %s%s%s", r->params.run, outcome,
		 r->reason[0] ? ": " : "", r->reason);
	r->ended_h(r->arg);
}

bool report_ended(const struct report *r)
{
	return r->outcome != NULL;
}

const char *report_outcome(const struct report *r)
{
	return r->outcome;
}

int report_finish(struct report *r)
{
	return message_send(r, json_pack("{s:s, s:s, s:s}", "type", "finish",
					 "outcome", r->outcome, "reason",
					 r->reason));
}

/* ---- events and samples ---- */

struct wire_time report_time(const struct report *r, int64_t mono_ns)
{
	return (struct wire_time){
		.mono_ns = mono_ns,
		.wall_us = (mono_ns + r->wall_offset_ns) / NS_PER_US,
	};
}

int64_t report_wall_offset_ns(const struct report *r)
{
	return r->wall_offset_ns;
}

struct writer report_begin(struct report *r)
{
	struct writer w;

	r->item.used = 0;
	writer_init(&w, &r->item);
	return w;
}

void report_end(struct report *r, enum outbox_kind kind, const struct writer *w)
{
	outbox_add(r->outbox, kind, w->err ? NULL : w->buf->data, w->buf->used);
}

void report_dropped(struct report *r, enum outbox_kind kind)
{
	outbox_add(r->outbox, kind, NULL, 0);
}

static void report_json(struct report *r, enum outbox_kind kind, json_t *item)
{
	struct writer w = report_begin(r);

	writer_json(&w, NULL, item);
	report_end(r, kind, &w);
	json_decref(item);
}

void report_event(struct report *r, json_t *event)
{
	report_json(r, OUTBOX_EVENTS, event);
}

static int share_add(json_t *event, const struct wire_share *share,
		     const char *member, const char *of)
{
	if (!wire_share_divided(share))
		return 0;
	return json_object_set_new(event, member,
				   json_integer(share->index + 1)) ||
	       json_object_set_new(event, of, json_integer(share->of));
}

void report_engine_event(struct report *r, json_t *event)
{
	if (event && (share_add(event, r->params.share, "engine", "engines") ||
		      share_add(event, r->params.shard, "shard", "shards"))) {
		json_decref(event);
		event = NULL;
	}
	report_event(r, event);
}

void report_flaw(struct report *r, const char *name, uint64_t count,
		 const char *text)
{
	const struct wire_share *share = r->params.share;
	const struct wire_share *shard = r->params.shard;
	char whose[FLAW_BYTES], whole[FLAW_BYTES];

	if (!count)
		return;
	if (wire_share_divided(share)) {
		str_print(whose, sizeof(whose), "%s (engine %u of %u)", text,
			  share->index + 1, share->of);
		text = whose;
	}
	if (wire_share_divided(shard)) {
		str_print(whole, sizeof(whole), "%s (shard %u of %u)", text,
			  shard->index + 1, shard->of);
		text = whole;
	}
	report_engine_event(r, wire_event_flaw(report_time(r, clock_mono_ns()),
					       name, count, text));
}

void report_state(struct report *r, int64_t mono_ns, enum ua_state state,
		  const char *account, const char *call, const char *text)
{
	struct writer w = report_begin(r);

	wire_event_state(&w, report_time(r, mono_ns), state, account, call,
			 text);
	report_end(r, OUTBOX_EVENTS, &w);
}

void report_sample(struct report *r, bool outgoing, enum measure m,
		   int64_t mono_ns, double value)
{
	sample_collector_add(r->collect, outgoing, m,
			     mono_ns + r->wall_offset_ns, value);
}

static json_t *calls_encode(const struct report_calls_params *calls)
{
	return calls->known ? json_pack("[f, f]", calls->up, calls->per_s)
			    : json_null();
}

void report_calls_second(struct report *r, int64_t mono_ns,
			 const struct report_calls_params calls[static 2])
{
	if (wire_share_divided(r->params.share)) {
		report_json(r, OUTBOX_SERIES,
			    json_pack("{s:I, s:o, s:o}", "second",
				      (json_int_t)(mono_ns / NS_PER_S), "in",
				      calls_encode(&calls[0]), "out",
				      calls_encode(&calls[1])));
		return;
	}
	for (int dir = 0; dir < 2; dir++) {
		if (!calls[dir].known)
			continue;
		report_sample(r, dir == 1, MEASURE_calls_active, mono_ns,
			      calls[dir].up);
		report_sample(r, dir == 1, MEASURE_calls_per_sec, mono_ns,
			      calls[dir].per_s);
	}
}

void report_stream_second(struct report *r, bool outgoing,
			  const struct stream_second *second)
{
	sample_collector_second(r->collect, outgoing, second,
				r->wall_offset_ns);
	live_second(&r->live, outgoing, second);
}

void report_audio_second(struct report *r, bool outgoing,
			 const struct audio_second *second)
{
	sample_collector_audio(r->collect, outgoing, second, r->wall_offset_ns);
}

/* ---- messages ---- */

void report_send(struct report *r, json_t *message)
{
	int err = message_send(r, message);

	if (err && err != -EPIPE)
		log_error("message to the supervisor lost: %s", strerror(-err));
	/* The read handler notices a broken socket and cancels the job. */
}

void report_live(struct report *r, unsigned calls_active)
{
	if (calls_active > 0)
		report_send(r, live_encode(&r->live, calls_active));
}

void report_progress(struct report *r, double progress)
{
	if (progress <= r->progress_sent)
		return;
	r->progress_sent = progress;
	report_send(r, json_pack("{s:s, s:f}", "type", "progress", "progress",
				 progress));
}

static void point_handler(json_t *point, void *arg)
{
	report_json(arg, OUTBOX_SERIES, point);
}

/* Say that the points of all intervals that begin before a time were sent: those who
 * add up the points of several engines wait for it. */
static void report_closed(struct report *r, int64_t wall_ns)
{
	int64_t t_s = wall_ns / NS_PER_S / r->params.interval_s *
		      r->params.interval_s;

	if (!wire_share_divided(r->params.share) || t_s <= r->closed_s)
		return;
	r->closed_s = t_s;
	report_json(r, OUTBOX_SERIES,
		    json_pack("{s:I}", "closed", (json_int_t)t_s));
}

void report_tick(struct report *r, int64_t now_ns)
{
	int64_t wall_ns = now_ns + r->wall_offset_ns - CLOSE_GRACE_NS;

	sample_collector_close(r->collect, wall_ns, point_handler, r);
	report_closed(r, wall_ns);
	(void)report_flush(r);
}

void report_close(struct report *r)
{
	sample_collector_close(r->collect, INT64_MAX, point_handler, r);
	report_flaw(r, "samples_dropped", sample_collector_dropped(r->collect),
		    "samples are missing in the statistics");
	report_flaw(r, "points_dropped",
		    outbox_dropped(r->outbox, OUTBOX_SERIES),
		    "data points were dropped: the queue was full");
	report_flaw(r, "events_dropped",
		    outbox_dropped(r->outbox, OUTBOX_EVENTS),
		    "events were dropped: the queue was full");
	report_flaw(r, "sip_dropped", outbox_dropped(r->outbox, OUTBOX_SIP),
		    "SIP messages were dropped: the queue was full");
}

int report_flush(struct report *r)
{
	return outbox_flush(r->outbox, r->channel);
}

/* ---- artifacts ---- */

int report_artifact_path(const struct report *r, const char *name, char *dst,
			 size_t size)
{
	if (!r->params.artifact_dir[0])
		return -ENOTSUP;
	if (!wire_artifact_name_valid(name))
		return -EINVAL;
	return str_print(dst, size, "%s/%s" WIRE_ARTIFACT_PART,
			 r->params.artifact_dir, name) < 0
		       ? -ENAMETOOLONG
		       : 0;
}

int report_artifact(struct report *r, const char *name)
{
	if (!r->params.artifact_dir[0])
		return -ENOTSUP;
	if (!wire_artifact_name_valid(name))
		return -EINVAL;
	return message_send(
		r, json_pack("{s:s, s:s}", "type", "artifact", "name", name));
}
