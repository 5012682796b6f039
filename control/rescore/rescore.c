#include "control/rescore/rescore.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "control/rescore/run_streams.h"
#include "media/analysis/emodel_values.h"

#define BUFFERS_BYTES 256

void rescore_options_init(struct rescore_options *o)
{
	struct buffer_setting *trial = o->trial;

	memset(o, 0, sizeof(*o));
	o->least_mos = 4.0;
	trial[0].kind = BUFFER_IDEAL;
	for (size_t i = 0; i < RESCORE_CURVE; i++)
		trial[RESCORE_FIRST_FIXED + i] = (struct buffer_setting){
			.kind = BUFFER_FIXED,
			.min_ms = (double)(i + 1),
		};
	trial[RESCORE_FIRST_USUAL] = (struct buffer_setting){
		.kind = BUFFER_FIXED,
		.min_ms = JB_FIXED_DELAY_MS,
	};
	trial[RESCORE_FIRST_USUAL + 1] = (struct buffer_setting){
		.kind = BUFFER_ADAPTIVE,
		.min_ms = JB_ADAPTIVE_MIN_MS,
		.max_ms = JB_ADAPTIVE_MAX_MS,
	};
	o->capture = (struct capture_options){
		.streams_max = CAPTURE_STREAMS_DEFAULT,
		.trials = trial,
		.trial_count = RESCORE_FIRST_ASKED,
	};
}

int rescore_options_buffers(struct rescore_options *o, const char *text,
			    char reason[static RESCORE_REASON_BYTES])
{
	char copy[BUFFERS_BYTES];
	char *rest = copy;
	char *word;

	if (str_copy(copy, sizeof(copy), text)) {
		str_print(reason, RESCORE_REASON_BYTES, "too long");
		return -EINVAL;
	}
	while ((word = strsep(&rest, ","))) {
		const char *why;

		if (o->asked == RESCORE_ASKED_MAX) {
			str_print(reason, RESCORE_REASON_BYTES,
				  "at most %d buffers", RESCORE_ASKED_MAX);
			return -EINVAL;
		}
		if (buffer_setting_parse(
			    &o->trial[RESCORE_FIRST_ASKED + o->asked], word,
			    &why)) {
			str_print(reason, RESCORE_REASON_BYTES, "%s", why);
			return -EINVAL;
		}
		o->asked++;
	}
	o->capture.trial_count = RESCORE_FIRST_ASKED + o->asked;
	return 0;
}

int rescore_options_codec(struct rescore_options *o, const char *name)
{
	const struct emodel_codec *row = emodel_codec_by_name(name);

	o->values = (struct emodel_values){0};
	if (row && row->provenance == EMODEL_STANDARD)
		o->values.standard = row;
	else if (row)
		o->values.declared = row;
	else
		emodel_values_of(&o->values, name, 0, NULL);
	if (!o->values.standard && !o->values.declared)
		return -ENOENT;
	o->codec = name;
	return 0;
}

static struct buffer_rating rating_of(const struct rescore *r,
				      const struct rescore_stream *s,
				      bool other_codec)
{
	return (struct buffer_rating){
		.values = other_codec ? &r->options->values : NULL,
		.network_ms = s->network_ms,
	};
}

static void add_row(const struct rescore *r, struct rescore_stream *s,
		    size_t trial, bool other_codec)
{
	const struct buffer_rating rating = rating_of(r, s, other_codec);
	struct rescore_row *row = &s->row[s->rows++];

	row->trial = trial;
	row->other_codec = other_codec;
	buffer_trials_outcome(&s->stream->trials, trial, &rating,
			      &row->outcome);
}

static void add_rows(const struct rescore *r, struct rescore_stream *s)
{
	const struct rescore_options *o = r->options;
	const bool other = o->codec != NULL;

	for (size_t i = 0; i < RESCORE_USUAL; i++)
		add_row(r, s, RESCORE_FIRST_USUAL + i, false);
	s->measured = s->rows;
	for (size_t i = 0; i < o->asked; i++)
		add_row(r, s, RESCORE_FIRST_ASKED + i, other);
	for (size_t i = 0; other && o->asked == 0 && i < RESCORE_USUAL; i++)
		add_row(r, s, RESCORE_FIRST_USUAL + i, true);
}

static void add_curve(struct rescore *r, struct rescore_stream *s)
{
	const struct buffer_rating rating =
		rating_of(r, s, r->options->codec != NULL);

	for (size_t i = 0; i < RESCORE_CURVE; i++) {
		struct buffer_outcome *o = &s->curve[i];

		buffer_trials_outcome(&s->stream->trials,
				      RESCORE_FIRST_FIXED + i, &rating, o);
		r->reached[i] += !s->stream->untimed && o->score.valid &&
				 o->score.mos >= r->options->least_mos;
	}
	buffer_trials_least(&s->stream->trials, &rating, r->options->least_mos,
			    &s->least);
}

/* Delay of the network: as asked for, as the run has measured it, or by the RTCP
 * of the capture. */
static void add_network(const struct rescore *r, struct rescore_stream *s)
{
	const json_t *run = json_object_get(
		json_object_get(s->run, "fixed_buffer"), "network_ms");
	double rtt_ms;

	if (r->options->has_network) {
		s->has_network = true;
		s->network_ms = r->options->network_ms;
	} else if (json_is_number(run)) {
		s->has_network = true;
		s->network_ms = json_number_value(run);
	} else if (packets_rtt_ms(s->part, s->stream->key.ssrc, &rtt_ms)) {
		s->has_network = true;
		s->network_ms = rtt_ms / 2.0;
	}
}

static int take_stream(struct rescore *r, struct rescore_stream *s,
		       const struct packets_part *part,
		       struct capture_stream *stream, rescore_stream_h *handler,
		       void *arg)
{
	memset(s, 0, sizeof(*s));
	s->part = part;
	s->stream = stream;
	s->run = r->streams ? run_streams_find(r->streams, part->name,
					       stream->key.ssrc)
			    : NULL;
	if (s->run && run_stream_sent(s->run)) {
		r->skipped++;
		return 0;
	}
	r->count++;
	add_network(r, s);
	add_rows(r, s);
	add_curve(r, s);
	return handler(s, arg);
}

int rescore_each(struct rescore *r, rescore_stream_h *handler, void *arg)
{
	struct rescore_stream *s = malloc(sizeof(*s));
	int err = s ? 0 : -ENOMEM;

	for (size_t i = 0; i < r->packets->count; i++) {
		const struct packets_part *part = &r->packets->part[i];
		size_t count =
			part->capture ? capture_stream_count(part->capture) : 0;

		for (size_t k = 0; !err && k < count; k++)
			err = take_stream(r, s, part,
					  capture_stream(part->capture, k),
					  handler, arg);
	}
	free(s);
	return err;
}

unsigned rescore_least_of_all(const struct rescore *r, size_t *ret_streams)
{
	unsigned least = 0;

	*ret_streams = 0;
	for (size_t i = 0; i < RESCORE_CURVE; i++) {
		if (r->reached[i] <= *ret_streams)
			continue;
		*ret_streams = r->reached[i];
		least = (unsigned)i + 1;
	}
	return least;
}

const char *rescore_codec_name(const struct rescore *r,
			       const struct rescore_stream *s,
			       const struct rescore_row *row)
{
	const struct codec_count_entry *own;

	if (row->other_codec)
		return r->options->codec;
	own = rtp_stream_codec(&s->stream->stream);
	return own ? own->name : "-";
}

char *rescore_sentence(const struct rescore *r, const struct rescore_stream *s)
{
	const struct buffer_least *l = &s->least;
	const double mos = r->options->least_mos;
	char *text = NULL;
	int len = -1;

	if (s->stream->untimed)
		return strdup("the capture has no times: no buffer can be "
			      "judged");
	switch (l->limit) {
	case BUFFER_LIMIT_NONE:
		len = asprintf(
			&text,
			"MOS %.2f takes a fixed buffer of %.0f ms, which "
			"gives %.2f",
			mos, l->delay_ms,
			s->curve[(size_t)l->delay_ms - 1].score.mos);
		break;
	case BUFFER_LIMIT_NO_SCORE:
		len = asprintf(&text, "no score: %s",
			       l->reason ? l->reason : "not computable");
		break;
	case BUFFER_LIMIT_CODEC:
		len = asprintf(&text,
			       "MOS %.2f is out of reach: the codec gives at "
			       "most %.2f without loss",
			       mos, l->limit_mos);
		break;
	case BUFFER_LIMIT_NETWORK:
		len = asprintf(&text,
			       "MOS %.2f is out of reach: the network's delay "
			       "of %.0f ms leaves %.2f",
			       mos, s->network_ms, l->limit_mos);
		break;
	case BUFFER_LIMIT_LOSS:
		len = asprintf(
			&text,
			"MOS %.2f is out of reach: what the network lost "
			"leaves %.2f",
			mos, l->limit_mos);
		break;
	case BUFFER_LIMIT_JITTER:
		len = asprintf(&text,
			       "MOS %.2f is out of reach by jitter: best is "
			       "%.2f, with a buffer of %.0f ms",
			       mos, l->best_mos, l->best_ms);
		break;
	}
	return len < 0 ? NULL : text;
}
