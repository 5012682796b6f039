#include "media/analysis/emodel.h"

#include <math.h>

/* The constant of Ie,eff is 95 in G.107.1, too. */
#define IE_MAX    95.0
#define IE_MAX_FB 132.0

#define R_MAX_WB 129.0
#define R_MAX_FB 148.0

void emodel_params_default(struct emodel_params *ret, enum emodel_scale scale)
{
	*ret = (struct emodel_params){
		.slr = 8,
		.rlr = 2,
		.stmr = 15,
		.lstr = 18,
		.ds = 3,
		.dr = 3,
		.telr = 65,
		.wepl = 110,
		.qdu = 1,
		.bpl = 4.3,
		.burst_r = 1,
		.nc = -70,
		.nfor = -64,
		.ps = 35,
		.pr = 35,
		.st = 1,
		.mt_ms = 100,
	};
	if (scale == EMODEL_WB)
		ret->nfor = -96; /* docs/reference/measurement.md "Wideband" */
}

void emodel_params_codec(struct emodel_params *ret,
			 const struct emodel_codec *codec, double ta_ms)
{
	emodel_params_default(ret, codec->scale);
	ret->ie = codec->ie;
	ret->bpl = codec->bpl;
	ret->ta_ms = ta_ms;
	ret->t_ms = ta_ms;
	ret->tr_ms = 2 * ta_ms;
}

double emodel_ie_eff(enum emodel_scale scale, double ie, double bpl, double ppl,
		     double burst_r)
{
	double max = scale == EMODEL_FB ? IE_MAX_FB : IE_MAX;

	if (ppl <= 0.0)
		return ie;
	if (burst_r < 1.0)
		burst_r = 1.0;
	return ie + (max - ie) * ppl / (ppl / burst_r + bpl);
}

bool emodel_clamp_burst_r(double *burst_r)
{
	double r = *burst_r;

	*burst_r = fmin(fmax(r, 1.0), 8.0); /* G.107 Table 3 */
	return r < 1.0 || r > 8.0;
}

static double power_sum(double a, double b, double c, double d)
{
	return 10.0 * log10(pow(10.0, a / 10) + pow(10.0, b / 10) +
			    pow(10.0, c / 10) + pow(10.0, d / 10));
}

/* Sum of all noise sources at the 0 dBr point (7-3 to 7-8). */
static double noise_sum(const struct emodel_params *p)
{
	double olr = p->slr + p->rlr;
	double room_s = p->ps - olr - p->ds - 14;
	double nos = p->ps - p->slr - p->ds - 100 + 0.004 * room_s * room_s;
	double pre = p->pr + 10.0 * log10(1 + pow(10.0, (10 - p->lstr) / 10));
	double nor = p->rlr - 121 + pre + 0.008 * (pre - 35) * (pre - 35);

	return power_sum(p->nc, nos, nor, p->nfor + p->rlr);
}

/* Simultaneous impairments (7-8 to 7-17). */
static void simultaneous(struct emodel_result *e, const struct emodel_params *p)
{
	double x = p->slr + p->rlr + 0.2 * (64 + e->no - p->rlr);
	double s = -10.0 * log10(pow(10.0, -p->stmr / 10) +
				 exp(-p->t_ms / 4) * pow(10.0, -p->telr / 10));
	double q = 37 - 15 * log10(p->qdu);
	double g = 1.07 + 0.258 * q + 0.0602 * q * q;
	double y = (e->ro - 100) / 15 + 46 / 8.4 - g / 9;
	double z = 46.0 / 30 - g / 40;

	e->iolr = 20 * (pow(1 + pow(x / 8, 8), 1.0 / 8) - x / 8);
	e->ist = 12 * pow(1 + pow((s - 13) / 6, 8), 1.0 / 8) -
		 28 * pow(1 + pow((s + 1) / 19.4, 35), 1.0 / 35) -
		 13 * pow(1 + pow((s - 3) / 33, 13), 1.0 / 13) + 29;
	e->iq = 15 * log10(1 + pow(10, y) + pow(10, z));
	e->is = e->iolr + e->ist + e->iq;
}

/* Impairment of too long a delay (7-27, 7-28); clause 7.4. */
static double absolute_delay(const struct emodel_params *p)
{
	double x;
	double k = 6 * p->st;

	if (p->ta_ms <= p->mt_ms)
		return 0.0;
	x = log10(p->ta_ms / p->mt_ms) / log10(2);
	return 25 * (pow(1 + pow(x, k), 1 / k) -
		     3 * pow(1 + pow(x / 3, k), 1 / k) + 2);
}

/* square root term of both echo impairments (7-22, 7-25) */
static double echo_root(double limit, double rating, double square)
{
	double half = (limit - rating) / 2;

	return half + sqrt(half * half + square);
}

static double terv(const struct emodel_params *p, enum emodel_scale scale)
{
	double t = p->t_ms;
	double v = p->telr - 40 * log10((1 + t / 10) / (1 + t / 150)) +
		   6 * exp(-0.3 * t * t);

	if (scale == EMODEL_WB)
		v += t < 100 ? 0.08 * t + 10 : 18; /* K of G.107.1 */
	return v;
}

/* Delay impairments (7-18 to 7-28). */
static void delayed(struct emodel_result *e, const struct emodel_params *p,
		    enum emodel_scale scale)
{
	double v = terv(p, scale);
	double rle = 10.5 * (p->wepl + 7) * pow(p->tr_ms + 1, -0.25);
	double roe = -1.5 * (e->no - p->rlr);

	if (scale == EMODEL_NB && p->stmr < 9)
		v += e->ist / 2;
	if (p->t_ms >= 1) {
		double slope = scale == EMODEL_WB ? 3.0 : 2.5;
		double re = 80 + slope * (v - 14);

		e->idte = (echo_root(roe, re, 100) - 1) * (1 - exp(-p->t_ms));
	}
	if (scale == EMODEL_NB && p->stmr > 20)
		e->idte = sqrt(e->idte * e->idte + e->ist * e->ist);
	e->idle = echo_root(e->ro, rle, 169);
	e->idd = absolute_delay(p) * (scale == EMODEL_WB ? 1.29 : 1.0);
	e->id = e->idte + e->idle + e->idd;
}

void emodel_rate(struct emodel_result *ret, const struct emodel_params *params,
		 enum emodel_scale scale)
{
	struct emodel_result e = {0};

	e.ie_eff = emodel_ie_eff(scale, params->ie, params->bpl, params->ppl,
				 params->burst_r);
	e.a = params->a;
	switch (scale) {
	case EMODEL_NB:
		e.no = noise_sum(params);
		e.ro = 15 - 1.5 * (params->slr + e.no);
		simultaneous(&e, params);
		delayed(&e, params, scale);
		break;
	case EMODEL_WB:
		e.no = noise_sum(params);
		e.ro = R_MAX_WB;
		delayed(&e, params, scale);
		break;
	case EMODEL_FB:
		e.ro = R_MAX_FB;
		e.idd = absolute_delay(params) * 1.48;
		e.id = e.idd;
		break;
	}
	e.r = e.ro - e.is - e.id - e.ie_eff + e.a;
	e.mos = emodel_mos(scale, e.r);
	*ret = e;
}

/* Factor from a scale's R to the narrowband one of Annex B. */
static double r_factor(enum emodel_scale scale)
{
	switch (scale) {
	case EMODEL_WB:
		return 1.29;
	case EMODEL_FB:
		return 1.48;
	case EMODEL_NB:
		break;
	}
	return 1.0;
}

double emodel_mos(enum emodel_scale scale, double r)
{
	r /= r_factor(scale);
	if (r <= 0.0)
		return 1.0;
	if (r >= 100.0)
		return 4.5;
	/* below 6.5 the polynomial dips under 1 */
	return fmax(1.0, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6);
}
