#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "control/cli/measure/analyze_stream_json.h"
#include "control/cli/measure/tap.h"
#include "control/rescore/rescore.h"
#include "control/wire/json.h"

static json_int_t count(uint64_t n)
{
	return (json_int_t)n;
}

static void set_ns(json_t *o, const char *name, int64_t ns)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, ns);
	json_object_set_new(o, name, json_string(text));
}

/* Print one line; takes over the reference. */
static int print(FILE *out, json_t *o)
{
	int err = o && json_dumpf(o, out, JSON_COMPACT | JSON_DECIMAL) == 0
			  ? 0
			  : -ENOMEM;

	json_decref(o);
	fputc('\n', out);
	return err;
}

/* @param codec  "": unknown */
static json_t *begin(const char *type, const struct capture_stream *s,
		     const char *codec)
{
	return json_pack("{s:s, s:o, s:b, s:s*}", "type", type, "key",
			 rescore_key_json(&s->key), "announced", s->announced,
			 "codec", codec[0] ? codec : NULL);
}

int tap_print_interval(FILE *out, const struct capture_stream *s,
		       const struct capture_interval *i)
{
	const struct stream_second *n = &i->second;
	bool declared = i->has_declared;
	bool scored = declared || i->has_score;
	json_t *o = begin("interval", s, i->codec);

	if (!o)
		return -ENOMEM;
	set_ns(o, "start_ns", n->start_ns);
	json_object_set_new(o, "duration_ms",
			    json_real((double)n->duration_ns / 1e6));
	json_object_set_new(o, "packets", json_integer(count(n->packets)));
	json_object_set_new(o, "bytes", json_integer(count(n->bytes)));
	json_object_set_new(o, "expected", json_integer(count(n->expected)));
	json_object_set_new(o, "lost", json_integer(n->lost));
	json_object_set_new(o, "duplicates",
			    json_integer(count(n->duplicates)));
	json_object_set_new(o, "reordered", json_integer(count(n->reordered)));
	json_object_set_new(
		o, "jitter_ms",
		json_real_or_null(n->has_jitter && !s->untimed, n->jitter_ms));
	json_object_set_new(
		o, "r",
		json_real_or_null(scored, declared ? i->declared_r : i->r));
	json_object_set_new(
		o, "mos",
		json_real_or_null(scored, declared ? i->declared_mos : i->mos));
	return print(out, o);
}

static void set_counts(json_t *o, const struct stream_total *t)
{
	const struct {
		const char *name;
		uint64_t n;
	} counts[] = {
		{"packets", t->packets},       {"bytes", t->bytes},
		{"received", t->received},     {"expected", t->expected},
		{"duplicates", t->duplicates}, {"reordered", t->reordered},
		{"stray", t->stray},
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		json_object_set_new(o, counts[i].name,
				    json_integer(count(counts[i].n)));
	json_object_set_new(o, "lost", json_integer(t->lost));
	json_object_set_new(o, "loss_pct", json_real(t->loss_pct));
	json_object_set_new(o, "burst_ratio", json_real(t->burst_ratio));
}

int tap_print_stream(FILE *out, struct capture_stream *s,
		     const struct capture_options *options)
{
	struct detail_score behind;
	struct stream_total t;
	json_t *o;

	rtp_stream_total(&s->stream, &t);
	o = begin("stream", s, t.codec);
	if (!o)
		return -ENOMEM;
	capture_stream_score(s, options, &behind);
	set_ns(o, "first_ns", s->first_ns);
	set_ns(o, "last_ns", s->last_ns);
	set_counts(o, &t);
	json_object_set_new(o, "jitter_ms", json_distribution(&t.jitter_ms));
	json_object_set_new(o, "r", json_real_or_null(t.has_score, t.r_factor));
	json_object_set_new(o, "mos",
			    json_real_or_null(t.has_score, t.mos_total));
	if (t.no_score_reason)
		json_object_set_new(o, "no_score_reason",
				    json_string(t.no_score_reason));
	json_object_set_new(
		o, "mos_behind_buffer",
		json_real_or_null(behind.score.valid, behind.score.mos));
	return print(out, o);
}

int tap_print_state(FILE *out, struct capture *c, const struct tap_counters *n,
		    int64_t end_ns)
{
	const struct capture_counters *k = capture_counters(c);
	json_t *o = json_pack(
		"{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"type", "tap", "frames", count(n->frames), "dropped",
		count(n->dropped), "streams", count(capture_stream_count(c)),
		"sip", count(k->sip), "sdp", count(k->sdp), "rtcp",
		count(k->rtcp), "stun", count(k->stun), "dtls", count(k->dtls),
		"invalid", count(k->invalid), "non_media_udp",
		count(k->non_media_udp), "streams_left_out",
		count(k->streams_left_out));

	if (!o)
		return -ENOMEM;
	set_ns(o, "end_ns", end_ns);
	return print(out, o);
}

static void print_reporter(uint32_t ssrc, const struct distribution *rtt,
			   void *arg)
{
	char name[9];

	snprintf(name, sizeof(name), "%08" PRIx32, ssrc);
	print(arg, json_pack("{s:s, s:s, s:o}", "type", "reporter", "ssrc",
			     name, "rtt_ms", json_distribution(rtt)));
}

void tap_print_reporters(FILE *out, struct capture *c)
{
	capture_reporters(c, print_reporter, out);
}
