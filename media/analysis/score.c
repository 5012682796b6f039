#include "media/analysis/score.h"

#include <math.h>
#include <stddef.h>

void score_rate(struct score *ret, const struct emodel_codec *codec, double ppl,
		double burst_r, double ta_ms)
{
	struct score s = {.ppl = ppl > 0.0 ? ppl : 0.0};
	struct emodel_params params;
	struct emodel_result result;

	s.extrapolated = emodel_clamp_burst_r(&burst_r) || s.ppl > 20.0 ||
			 ta_ms > 500.0 || (burst_r > 2.0 && s.ppl >= 2.0);
	s.burst_r = burst_r;
	s.codec = codec;
	if (!codec) {
		s.reason = "no standardised Ie/Bpl";
	} else if (s.ppl > 0.0 && !codec->has_bpl) {
		s.reason = "no Bpl published: loss not computable";
	} else {
		emodel_params_codec(&params, codec, ta_ms);
		params.ppl = s.ppl;
		params.burst_r = burst_r;
		emodel_rate(&result, &params, codec->scale);
		s.valid = true;
		s.r = fmax(result.r, 0.0);
		s.mos = result.mos;
	}
	*ret = s;
}

void score_rate_values(struct score *ret, const struct emodel_values *values,
		       double ppl, double burst_r, double ta_ms)
{
	const char *reason = NULL;
	const struct emodel_codec *codec =
		emodel_values_pick(values, ppl, &reason);

	score_rate(ret, codec, ppl, burst_r, ta_ms);
	if (!codec)
		ret->reason = reason;
}

void score_total(const struct score *s, struct stream_total *ret)
{
	static const char *const scales[] = {"nb", "wb", "fb"};

	ret->has_score = s->valid;
	ret->r_factor = s->r;
	ret->mos_total = s->mos;
	ret->no_score_reason = s->reason;
	if (!s->valid)
		return;
	ret->has_mos_wb = score_mos_wb(s->codec, s->r, &ret->mos_wb);
	ret->score_scale = scales[s->codec->scale];
	if (s->codec->provenance == EMODEL_DECLARED)
		ret->score_declared = s->codec->source;
}

bool score_mos_wb(const struct emodel_codec *codec, double r, double *ret)
{
	if (!codec || codec->scale == EMODEL_FB)
		return false;
	*ret = emodel_mos(EMODEL_WB, r);
	return true;
}

/* Add the MOS of a second. */
static void mos_histogram_add(struct mos_histogram *h,
			      struct count_parts *parts, double mos)
{
	double bucket = (mos - 1.0) * 100.0;
	size_t i = bucket > 0.0 ? (size_t)bucket : 0;

	if (i >= MOS_BUCKETS)
		i = MOS_BUCKETS - 1;
	moments_add(&h->moments, mos);
	count_part_add(parts, h->parts, i);
}

static double mos_at(const struct mos_histogram *h, struct count_parts *parts,
		     uint64_t rank)
{
	uint64_t seen = 0;
	double x = h->moments.max;

	for (size_t i = 0; i < MOS_BUCKETS; i++) {
		uint8_t part = h->parts[i / COUNT_PART_BUCKETS];

		if (part)
			seen += count_part_at(parts, part)
					->counts[i % COUNT_PART_BUCKETS];
		if (seen > rank) {
			x = 1.0 + ((double)i + 0.5) / 100.0;
			break;
		}
	}
	if (rank == 0)
		return h->moments.min;
	if (rank + 1 >= h->moments.n)
		return h->moments.max;
	return fmin(fmax(x, h->moments.min), h->moments.max);
}

static double mos_percentile(const struct mos_histogram *h,
			     struct count_parts *parts, double p)
{
	double rank = p * (double)(h->moments.n - 1);
	uint64_t k = (uint64_t)rank;
	double low = mos_at(h, parts, k);

	return low + (rank - (double)k) * (mos_at(h, parts, k + 1) - low);
}

void mos_histogram_distribution(struct distribution *ret,
				const struct mos_histogram *h,
				struct count_parts *parts)
{
	*ret = (struct distribution){.n = h->moments.n};
	if (h->moments.n == 0)
		return;
	ret->min = h->moments.min;
	ret->max = h->moments.max;
	ret->avg = h->moments.mean;
	ret->median = mos_percentile(h, parts, 0.5);
	ret->p75 = mos_percentile(h, parts, 0.75);
	ret->p90 = mos_percentile(h, parts, 0.9);
	ret->p95 = mos_percentile(h, parts, 0.95);
	ret->stddev = moments_stddev(&h->moments);
}

void rtp_score_set(struct rtp_score *s, const struct emodel_values *values)
{
	s->values = *values;
	s->last = NULL;
}

/* Select the row of a second and its R without loss. */
static bool pick(struct rtp_score *s, double ppl)
{
	const char *reason;
	const struct emodel_codec *codec =
		emodel_values_pick(&s->values, ppl, &reason);
	struct score score;

	if (codec && codec != s->last) {
		score_rate(&score, codec, 0.0, 1.0, 0.0);
		s->r_base = score.r;
	}
	s->last = codec;
	return codec != NULL;
}

bool rtp_score_second(struct rtp_score *s, struct count_parts *parts,
		      bool known, int64_t expected, int64_t lost, double *ret_r,
		      double *ret_mos)
{
	int64_t sum_expected = 0;
	int64_t sum_lost = 0;
	double ppl;
	double r;

	s->expected[s->next] = expected;
	s->lost[s->next] = lost;
	s->next = (uint8_t)((s->next + 1) % RTP_SCORE_SECONDS);
	for (size_t i = 0; i < RTP_SCORE_SECONDS; i++) {
		sum_expected += s->expected[i];
		sum_lost += s->lost[i];
	}
	if (!known || sum_expected <= 0)
		return false;
	ppl = sum_lost > 0 ? 100.0 * (double)sum_lost / (double)sum_expected
			   : 0.0;
	if (!pick(s, ppl))
		return false;
	/* loss changes only one term of R: Ie,eff */
	r = s->r_base + s->last->ie -
	    emodel_ie_eff(s->last->scale, s->last->ie, s->last->bpl, ppl, 1.0);
	*ret_r = fmax(r, 0.0);
	*ret_mos = emodel_mos(s->last->scale, r);
	mos_histogram_add(&s->mos, parts, *ret_mos);
	return true;
}
