/**
 * The E-model: transmission rating R and MOS.
 * Source: ITU-T G.107 (06/2015), G.107.1 (06/2019), codec values from G.113
 * Thread: any; pure functions and constant tables.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_EMODEL_H
#define OFFHOOK_MEDIA_ANALYSIS_EMODEL_H

#include <stdbool.h>
#include <stddef.h>

/** Ratings of different scales are not comparable: publish the scale with the
 * number. */
enum emodel_scale {
	EMODEL_NB, /* G.107: R up to 100 */
	EMODEL_WB, /* G.107.1: R up to 129 */
	EMODEL_FB, /* G.107.2 in reduced form: informative only */
};

enum emodel_provenance {
	EMODEL_STANDARD, /* Ie and Bpl printed in G.113 */
	EMODEL_DECLARED, /* not standardised: declared by us or a user, see
			  * source */
};

/** Equipment impairment of a codec. */
struct emodel_codec {
	const char *name;
	enum emodel_scale scale;
	double ie;
	bool has_bpl; /* false: packet loss cannot be scored */
	double bpl;
	enum emodel_provenance provenance;
	const char *source;   /* table and edition, or other origin; static, or
			       * owned by the declarations */
	double look_ahead_ms; /* algorithmic, part of the delay */
};

/** Input parameters, named as in the Recommendation (G.107 Table 2). */
struct emodel_params {
	double slr, rlr, stmr, lstr, ds, dr, telr, wepl;
	double t_ms, ta_ms, tr_ms;
	double qdu;
	double ie, bpl;
	double ppl;     /* %, 0..100 */
	double burst_r; /* values below 1 count as 1; call
			 * emodel_clamp_burst_r() first */
	double nc, nfor, ps, pr;
	double a;
	double st, mt_ms;
};

/** All terms (G.107 clause 7); terms that the scale does not have are 0. */
struct emodel_result {
	double no, ro, iolr, ist, iq, is;
	double idte, idle, idd, id;
	double ie_eff;
	double a;
	double r; /* not clamped */
	double mos;
};

/** Defaults of the Recommendation for the scale: G.107 Table 2. */
void emodel_params_default(struct emodel_params *ret, enum emodel_scale scale);

/** Defaults with the values of a codec.
 * @param ta_ms  one-way delay on all three paths (T = Ta, Tr = 2 Ta) */
void emodel_params_codec(struct emodel_params *ret,
			 const struct emodel_codec *codec, double ta_ms);

/** Compute R and MOS with all terms (G.107 clause 7). */
void emodel_rate(struct emodel_result *ret, const struct emodel_params *params,
		 enum emodel_scale scale);

/** Ie,eff only (G.107 equation 7-29; without loss it is ie). */
double emodel_ie_eff(enum emodel_scale scale, double ie, double bpl, double ppl,
		     double burst_r);

/** Clamp BurstR to 1..8, the range of G.107 Table 3.
 * @return it was outside */
bool emodel_clamp_burst_r(double *burst_r);

/** MOS from R: Annex B (G.107.1 Annex A for WB).
 * @return 1..4.5 */
double emodel_mos(enum emodel_scale scale, double r);

#endif
