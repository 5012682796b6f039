/**
 * R and MOS from network loss: of a second (over the last 8), and of a whole
 * stream; with a reason if there is none.
 * Source: ITU-T G.107 clause 7.5 and Annex B; docs/reference/measurement.md
 * "Scores"
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_SCORE_H
#define OFFHOOK_MEDIA_ANALYSIS_SCORE_H

#include <stdbool.h>
#include <stdint.h>

#include "media/analysis/distribution.h"
#include "media/analysis/emodel.h"
#include "media/analysis/emodel_values.h"

/** Number of seconds on which R and MOS of a second are based. */
#define RTP_SCORE_SECONDS 8

struct score {
	bool valid;
	double r; /* >= 0 */
	double mos;
	double ppl;         /* packet loss used, % */
	double burst_r;     /* burst ratio used, clamped to 1..8 */
	bool extrapolated;  /* outside the domain of G.107 Table 3 */
	const char *reason; /* static, why there is no score; NULL if valid */
	const struct emodel_codec *codec; /* values used; NULL: none */
};

/**
 * Compute the score of a codec.
 * @param codec    NULL: no score
 * @param ppl      %; negative values count as 0
 * @param burst_r  clamped to 1..8
 * @param ta_ms    one-way delay; T = Ta, Tr = 2 Ta
 */
void score_rate(struct score *ret, const struct emodel_codec *codec, double ppl,
		double burst_r, double ta_ms);

/** The same, with the row for this packet loss. */
void score_rate_values(struct score *ret, const struct emodel_values *values,
		       double ppl, double burst_r, double ta_ms);

/** Copy the score of a whole stream to: has_score, r_factor, mos_total,
 * no_score_reason, mos_wb, score_scale, score_declared. */
void score_total(const struct score *s, struct stream_total *ret);

/**
 * MOS on the wideband scale, on which narrowband and wideband codecs can be
 * compared. A narrowband R is used unchanged: G.113 Appendix IV gives
 * narrowband codecs Ie,WB = Ie + 35.8, which is the difference of Ro between
 * the scales.
 * Source: G.107.1 Annex A
 * @return false: no codec, or one of the fullband scale
 */
bool score_mos_wb(const struct emodel_codec *codec, double r, double *ret);

/** MOS of every second: 1..5 in steps of 0.01. Percentiles are off by at most
 * 0.005; the other figures are exact. All zero: empty. */
#define MOS_BUCKETS 400
#define MOS_PARTS   COUNT_PARTS_OF(MOS_BUCKETS)
struct mos_histogram {
	struct moments moments;
	uint8_t parts[MOS_PARTS]; /* numbers in struct count_parts */
};

/** Compute the figures of a histogram.
 * @param parts  of rtp_score_second() */
void mos_histogram_distribution(struct distribution *ret,
				const struct mos_histogram *h,
				struct count_parts *parts);

/** Scores of the seconds of one stream. All zero: a stream without codec. */
struct rtp_score {
	struct emodel_values values;
	const struct emodel_codec *last; /* row used for the last second; NULL:
					  * none */
	double r_base;                   /* its R without loss, Ta = 0 */
	int64_t expected[RTP_SCORE_SECONDS];
	int64_t lost[RTP_SCORE_SECONDS];
	uint8_t next;
	struct mos_histogram mos;
};

/** Set or change the values of the codec. */
void rtp_score_set(struct rtp_score *s, const struct emodel_values *values);

/**
 * Close a second: record its loss and score the last 8.
 * @param parts  of the distribution of MOS
 * @param known  something was received or reported in it: otherwise no score
 * @return true, *ret_r and *ret_mos written, s->last the row; false: no score
 */
bool rtp_score_second(struct rtp_score *s, struct count_parts *parts,
		      bool known, int64_t expected, int64_t lost, double *ret_r,
		      double *ret_mos);

#endif
