#include "control/rescore/rescore.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "control/wire/json.h"
#include "control/wire/text.h"

struct list {
	struct rescore *r;
	json_t *streams;
};

json_t *rescore_key_json(const struct flow_key *k)
{
	char src[ADDRESS_TEXT_BYTES];
	char dst[ADDRESS_TEXT_BYTES];
	char ssrc[9];

	address_groups(&k->src, src);
	address_groups(&k->dst, dst);
	snprintf(ssrc, sizeof(ssrc), "%08" PRIx32, k->ssrc);
	return json_pack("{s:s, s:i, s:s, s:i, s:s}", "src", src, "sport",
			 (int)k->sport, "dst", dst, "dport", (int)k->dport,
			 "ssrc", ssrc);
}

static json_t *json_outcome(const struct buffer_outcome *o, bool untimed)
{
	static const char *const scales[] = {"nb", "wb", "fb"};
	const struct score *s = &o->score;
	json_t *j;

	if (untimed)
		return json_pack("{s:n, s:n, s:s}", "r_factor", "mos",
				 "no_score", "the capture has no times");
	j = json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "discarded",
		      (json_int_t)o->discarded, "discarded_pct",
		      o->discarded_pct, "buffer_ms", o->buffer_ms, "ta_ms",
		      o->ta_ms, "ppl", s->ppl, "burst_ratio", o->burst_r,
		      "r_factor", json_real_or_null(s->valid, s->r), "mos",
		      json_real_or_null(s->valid, s->mos));
	if (!s->valid) {
		json_object_set_new(j, "no_score", wire_text(s->reason));
		return j;
	}
	json_object_set_new(j, "mos_scale",
			    json_string(scales[s->codec->scale]));
	json_object_set_new(j, "values", wire_text(s->codec->name));
	json_object_set_new(j, "extrapolated", json_boolean(s->extrapolated));
	if (s->codec->provenance == EMODEL_DECLARED)
		json_object_set_new(j, "mos_declared",
				    wire_text(s->codec->source));
	return j;
}

static json_t *json_rows(const struct rescore *r,
			 const struct rescore_stream *s, size_t from, size_t to)
{
	json_t *rows = json_array();

	for (size_t i = from; i < to; i++) {
		const struct rescore_row *row = &s->row[i];
		json_t *o = json_outcome(&row->outcome, s->stream->untimed);
		char buffer[BUFFER_SETTING_BYTES];

		buffer_setting_text(&r->options->trial[row->trial], buffer);
		json_object_set_new(o, "jitter_buffer", json_string(buffer));
		json_object_set_new(o, "codec",
				    wire_text(rescore_codec_name(r, s, row)));
		json_array_append_new(rows, o);
	}
	return rows;
}

static json_t *json_curve(const struct rescore_stream *s)
{
	json_t *curve = json_array();

	for (size_t i = 0; !s->stream->untimed && i < RESCORE_CURVE; i++) {
		const struct buffer_outcome *o = &s->curve[i];

		json_array_append_new(
			curve,
			json_pack("{s:f, s:I, s:o}", "ms", o->buffer_ms,
				  "discarded", (json_int_t)o->discarded, "mos",
				  json_real_or_null(o->score.valid,
						    o->score.mos)));
	}
	return curve;
}

static json_t *json_least(const struct rescore *r,
			  const struct rescore_stream *s)
{
	static const char *const limits[] = {
		[BUFFER_LIMIT_NONE] = NULL,
		[BUFFER_LIMIT_NO_SCORE] = "no_score",
		[BUFFER_LIMIT_CODEC] = "codec",
		[BUFFER_LIMIT_NETWORK] = "network_delay",
		[BUFFER_LIMIT_LOSS] = "loss",
		[BUFFER_LIMIT_JITTER] = "jitter",
	};
	const struct buffer_least *l = &s->least;
	const bool untimed = s->stream->untimed;
	char *sentence = rescore_sentence(r, s);
	json_t *o = json_pack(
		"{s:f, s:o, s:o, s:o, s:o}", "mos", r->options->least_mos, "ms",
		json_real_or_null(!untimed && l->limit == BUFFER_LIMIT_NONE,
				  l->delay_ms),
		"best_ms",
		json_real_or_null(!untimed && l->has_best, l->best_ms),
		"best_mos",
		json_real_or_null(!untimed && l->has_best, l->best_mos),
		"limit",
		untimed            ? json_string("no_times")
		: limits[l->limit] ? json_string(limits[l->limit])
				   : json_null());

	json_object_set_new(o, "sentence", wire_text(sentence));
	free(sentence);
	return o;
}

static json_t *json_stream_of(const struct rescore *r,
			      const struct rescore_stream *s)
{
	const struct rescore_row own = {.other_codec = false};
	struct rtp_counters n;
	json_t *o;

	rtp_stream_counters(&s->stream->stream, &n);
	o = json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:o}", "interface",
		      s->part->name[0] ? wire_text(s->part->name) : json_null(),
		      "key", rescore_key_json(&s->stream->key), "codec",
		      wire_text(rescore_codec_name(r, s, &own)), "packets",
		      (json_int_t)n.packets, "expected", (json_int_t)n.expected,
		      "lost", (json_int_t)n.lost, "network_ms",
		      json_real_or_null(s->has_network, s->network_ms));
	json_object_set_new(o, "measured", json_rows(r, s, 0, s->measured));
	json_object_set_new(o, "rescored",
			    json_rows(r, s, s->measured, s->rows));
	json_object_set_new(o, "curve", json_curve(s));
	json_object_set_new(o, "least", json_least(r, s));
	if (s->run)
		json_object_set_new(
			o, "run",
			json_pack("{s:O?, s:O?}", "fixed_buffer",
				  json_object_get(s->run, "fixed_buffer"),
				  "adaptive_buffer",
				  json_object_get(s->run, "adaptive_buffer")));
	return o;
}

static int add_stream(const struct rescore_stream *s, void *arg)
{
	const struct list *l = arg;

	return json_array_append_new(l->streams, json_stream_of(l->r, s))
		       ? -ENOMEM
		       : 0;
}

json_t *rescore_json(struct rescore *r)
{
	struct list l = {r, json_array()};
	unsigned least;
	size_t reach;

	if (rescore_each(r, add_stream, &l)) {
		json_decref(l.streams);
		return NULL;
	}
	least = rescore_least_of_all(r, &reach);
	return json_pack("{s:O?, s:o, s:{s:f, s:o, s:I, s:I}, s:I}", "run",
			 json_object_get(r->run, "id"), "streams", l.streams,
			 "least", "mos", r->options->least_mos, "ms",
			 least ? json_integer(least) : json_null(),
			 "streams_reached", (json_int_t)reach, "streams",
			 (json_int_t)r->count, "packets_left_out",
			 (json_int_t)packets_left_out(r->packets));
}
