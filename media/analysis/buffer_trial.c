#include "media/analysis/buffer_trial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* ---- settings ---- */

static bool is_delay(const char *text, double longest_ms, double *ret)
{
	return str_to_double(text, ret) == 0 && *ret >= 1.0 &&
	       *ret <= longest_ms;
}

/* @param range  "20-200" */
static int parse_range(struct buffer_setting *s, const char *range,
		       const char **ret_reason)
{
	char copy[BUFFER_SETTING_BYTES];
	char *dash;

	if (str_copy(copy, sizeof(copy), range) == 0 &&
	    (dash = strchr(copy, '-'))) {
		*dash++ = '\0';
		if (is_delay(copy, BUFFER_ADAPTIVE_LONGEST_MS, &s->min_ms) &&
		    is_delay(dash, BUFFER_ADAPTIVE_LONGEST_MS, &s->max_ms) &&
		    s->min_ms <= s->max_ms)
			return 0;
	}
	*ret_reason = "adaptive:MIN-MAX takes 1 to 500 ms, MIN not above MAX";
	return -EINVAL;
}

int buffer_setting_parse(struct buffer_setting *ret, const char *text,
			 const char **ret_reason)
{
	struct buffer_setting s = {
		.kind = BUFFER_ADAPTIVE,
		.min_ms = JB_ADAPTIVE_MIN_MS,
		.max_ms = JB_ADAPTIVE_MAX_MS,
	};

	if (strncmp(text, "adaptive:", 9) == 0) {
		if (parse_range(&s, text + 9, ret_reason))
			return -EINVAL;
	} else if (strncmp(text, "fixed:", 6) == 0) {
		s = (struct buffer_setting){.kind = BUFFER_FIXED};
		if (!is_delay(text + 6, JB_FIXED_MAX_MS, &s.min_ms)) {
			*ret_reason = "fixed:MS takes 1 to 200 ms";
			return -EINVAL;
		}
	} else if (strcmp(text, "adaptive") != 0) {
		*ret_reason = "a buffer is fixed:MS, adaptive or "
			      "adaptive:MIN-MAX";
		return -EINVAL;
	}
	*ret = s;
	return 0;
}

void buffer_setting_text(const struct buffer_setting *setting,
			 char ret[static BUFFER_SETTING_BYTES])
{
	switch (setting->kind) {
	case BUFFER_IDEAL:
		snprintf(ret, BUFFER_SETTING_BYTES, "ideal");
		break;
	case BUFFER_FIXED:
		snprintf(ret, BUFFER_SETTING_BYTES, "fixed:%g",
			 setting->min_ms);
		break;
	case BUFFER_ADAPTIVE:
		snprintf(ret, BUFFER_SETTING_BYTES, "adaptive:%g-%g",
			 setting->min_ms, setting->max_ms);
		break;
	}
}

/* ---- packets ---- */

void buffer_trials_init(struct buffer_trials *t,
			const struct rtp_stream *stream,
			const struct buffer_setting *settings,
			struct buffer_trial *trial, size_t count)
{
	*t = (struct buffer_trials){stream, count, trial};
	for (size_t i = 0; i < count; i++) {
		const struct buffer_setting *s = &settings[i];

		memset(&trial[i], 0, sizeof(trial[i]));
		trial[i].setting = *s;
		jb_fixed_init(&trial[i].fixed, s->min_ms);
		jb_adaptive_init_range(&trial[i].adaptive, s->min_ms,
				       s->max_ms);
		pattern_init(&trial[i].pattern);
	}
}

static double period_ms(const struct rtp_stream *stream)
{
	const struct rtp_timing *t = &stream->timing;

	return t->clock_hz ? t->period_ticks * 1000.0 / t->clock_hz : 20.0;
}

/* Whether the buffer plays a packet; one that it cannot judge is played. */
static bool plays(struct buffer_trial *b, const struct rtp_observation *o,
		  double packet_ms)
{
	const struct rtp_sample *s = &o->sample;

	switch (b->setting.kind) {
	case BUFFER_IDEAL:
		break;
	case BUFFER_FIXED:
		if (o->verdict == RTP_VERY_LATE) {
			jb_fixed_very_late(&b->fixed);
			return false;
		}
		if (!s->has_pdv)
			break;
		if (s->reference)
			jb_fixed_epoch(&b->fixed);
		return jb_fixed_update(&b->fixed, s->transit_ms) == JB_PLAYED;
	case BUFFER_ADAPTIVE:
		if (o->verdict == RTP_VERY_LATE) {
			jb_adaptive_very_late(&b->adaptive);
			return false;
		}
		if (!s->has_pdv)
			break;
		if (s->reference)
			jb_adaptive_epoch(&b->adaptive);
		return jb_adaptive_update(&b->adaptive, s->transit_ms,
					  packet_ms) == JB_PLAYED;
	}
	return true;
}

static void observe(const struct rtp_observation *o, void *arg)
{
	struct buffer_trials *t = arg;
	const double packet_ms = period_ms(t->stream);

	if (o->verdict == RTP_PENDING || o->verdict == RTP_DUPLICATE)
		return;
	for (size_t i = 0; i < t->count; i++) {
		struct buffer_trial *b = &t->trial[i];

		pattern_add(&b->pattern, o->ext, o->new_segment,
			    plays(b, o, packet_ms));
	}
}

static uint32_t plays_run(struct buffer_trial *b, const struct jb_run *run,
			  double packet_ms)
{
	switch (b->setting.kind) {
	case BUFFER_FIXED:
		return jb_fixed_run(&b->fixed, run);
	case BUFFER_ADAPTIVE:
		return jb_adaptive_run(&b->adaptive, run, packet_ms);
	case BUFFER_IDEAL:
		break;
	}
	return UINT32_MAX >> (32 - run->count);
}

/* observe() for each packet. */
static void observe_run(const struct rtp_run *run, void *arg)
{
	struct buffer_trials *t = arg;
	const struct jb_run transit = jb_run_of(run->samples);
	const double packet_ms = period_ms(t->stream);

	if (transit.count == 0)
		return;
	for (size_t i = 0; i < t->count; i++) {
		struct buffer_trial *b = &t->trial[i];

		pattern_add_run(&b->pattern, run->ext, (uint32_t)transit.count,
				plays_run(b, &transit, packet_ms));
	}
}

const struct rtp_observer buffer_trials_observer = {
	.packet = observe,
	.run = observe_run,
};

void buffer_trials_finish(struct buffer_trials *t)
{
	for (size_t i = 0; i < t->count; i++)
		pattern_finish(&t->trial[i].pattern);
}

/* ---- scores ---- */

static const struct emodel_values *values_of(const struct buffer_trials *t,
					     const struct buffer_rating *rating)
{
	return rating->values ? rating->values : rtp_stream_values(t->stream);
}

void buffer_trials_outcome(const struct buffer_trials *t, size_t i,
			   const struct buffer_rating *rating,
			   struct buffer_outcome *ret)
{
	const struct buffer_trial *b = &t->trial[i];
	const struct loss_pattern *p = &b->pattern;
	struct buffer_outcome o = {.expected = p->packets};
	struct detail_score score;

	switch (b->setting.kind) {
	case BUFFER_IDEAL:
		break;
	case BUFFER_FIXED:
		o.discarded = b->fixed.late + b->fixed.early;
		o.buffer_ms = b->fixed.delay_ms;
		break;
	case BUFFER_ADAPTIVE:
		o.discarded = b->adaptive.late;
		o.buffer_ms = jb_adaptive_delay_ms(&b->adaptive);
		break;
	}
	if (p->packets > 0)
		o.discarded_pct =
			100.0 * (double)o.discarded / (double)p->packets;
	o.burst_r = loss_runs_burst_r(&p->runs, p->packets);
	detail_score_values(values_of(t, rating), period_ms(t->stream), p,
			    rating->network_ms + o.buffer_ms, &score);
	o.ta_ms = score.ta_ms;
	o.score = score.score;
	*ret = o;
}

/* Take the fixed buffers into account.
 * @return the shortest that reaches the MOS; t->count: none */
static size_t take_fixed(const struct buffer_trials *t,
			 const struct buffer_rating *rating, double mos,
			 struct buffer_least *ret)
{
	size_t least = t->count;

	for (size_t i = 0; i < t->count; i++) {
		struct buffer_outcome o;

		if (t->trial[i].setting.kind != BUFFER_FIXED)
			continue;
		buffer_trials_outcome(t, i, rating, &o);
		if (!o.score.valid) {
			ret->reason = o.score.reason;
			continue;
		}
		if (!ret->has_best || o.score.mos > ret->best_mos) {
			ret->has_best = true;
			ret->best_ms = o.buffer_ms;
			ret->best_mos = o.score.mos;
		}
		if (least == t->count && o.score.mos >= mos)
			least = i;
	}
	return least;
}

void buffer_trials_least(const struct buffer_trials *t,
			 const struct buffer_rating *rating, double mos,
			 struct buffer_least *ret)
{
	struct buffer_least l = {.limit = BUFFER_LIMIT_JITTER};
	const struct emodel_values *values = values_of(t, rating);
	const struct loss_pattern none = {0};
	const double packet_ms = period_ms(t->stream);
	struct detail_score codec;
	struct detail_score network;
	struct buffer_outcome loss;
	size_t least = take_fixed(t, rating, mos, &l);

	detail_score_values(values, packet_ms, &none, 0.0, &codec);
	detail_score_values(values, packet_ms, &none, rating->network_ms,
			    &network);
	buffer_trials_outcome(t, 0, rating, &loss);
	if (least < t->count) {
		l.limit = BUFFER_LIMIT_NONE;
		l.delay_ms = t->trial[least].setting.min_ms;
		l.reason = NULL;
	} else if (codec.score.valid && codec.score.mos < mos) {
		l.limit = BUFFER_LIMIT_CODEC;
		l.limit_mos = codec.score.mos;
	} else if (network.score.valid && network.score.mos < mos) {
		l.limit = BUFFER_LIMIT_NETWORK;
		l.limit_mos = network.score.mos;
	} else if (!loss.score.valid) {
		l.limit = BUFFER_LIMIT_NO_SCORE;
		l.reason = loss.score.reason;
	} else if (loss.score.mos < mos) {
		l.limit = BUFFER_LIMIT_LOSS;
		l.limit_mos = loss.score.mos;
	} else if (!l.has_best) {
		l.limit = BUFFER_LIMIT_NO_SCORE;
	}
	if (l.limit != BUFFER_LIMIT_NO_SCORE)
		l.reason = NULL;
	*ret = l;
}
