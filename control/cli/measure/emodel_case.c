#include "control/cli/measure/emodel_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "control/cli/measure/emodel.h"
#include "media/analysis/emodel_values.h"

const struct emodel_codec *emodel_case_codec(const char *name)
{
	const struct emodel_codec *codec = emodel_codec_by_name(name);
	struct emodel_values values;

	if (codec)
		return codec;
	emodel_values_of(&values, name, 0, NULL);
	return values.standard ? values.standard : values.declared;
}

bool emodel_case_standard(const struct emodel_case *c)
{
	const struct emodel_codec *codec = c->codec;

	return codec && codec->provenance == EMODEL_STANDARD &&
	       codec->scale == c->scale && codec->ie == c->params.ie &&
	       (c->params.ppl <= 0.0 || codec->bpl == c->params.bpl);
}

static const char *source(const struct emodel_case *c)
{
	const struct emodel_codec *codec = c->codec;

	if (codec && codec->scale == c->scale && codec->ie == c->params.ie &&
	    (c->params.ppl <= 0.0 || codec->bpl == c->params.bpl))
		return codec->source;
	return "declared by the user";
}

const char *emodel_model_name(enum emodel_scale scale)
{
	switch (scale) {
	case EMODEL_NB:
		return "G.107";
	case EMODEL_WB:
		return "G.107.1";
	case EMODEL_FB:
		break;
	}
	return "G.107.2-reduced";
}

/* Encode one score with those terms of R that its scale has. */
static json_t *json_result(const struct emodel_case *c,
			   const struct emodel_result *r)
{
	return json_pack(
		"{s:s, s:b, s:s, s:s, s:f, s:o, s:f, s:f, s:f, s:f, s:f, s:f,"
		" s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
		"model", emodel_model_name(c->scale), "standard",
		(int)emodel_case_standard(c), "provenance",
		emodel_case_standard(c) ? "standard" : "declared", "source",
		source(c), "Ie", c->params.ie, "Bpl",
		c->has_bpl ? json_real(c->params.bpl) : json_null(), "No",
		r->no, "Ro", r->ro, "Iolr", r->iolr, "Ist", r->ist, "Iq", r->iq,
		"Is", r->is, "Idte", r->idte, "Idle", r->idle, "Idd", r->idd,
		"Id", r->id, "A", r->a, "Ie_eff", r->ie_eff, "R", r->r, "MOS",
		r->mos);
}

json_t *emodel_case_error(const char *reason)
{
	return json_pack("{s:s}", "error", reason);
}

json_t *emodel_case_rate(const struct emodel_case *c)
{
	struct emodel_result r;
	json_t *o;

	if (c->params.ppl > 0.0 && !c->has_bpl)
		return emodel_case_error(
			"no Bpl published: loss not computable");
	emodel_rate(&r, &c->params, c->scale);
	if (!isfinite(r.r) || !isfinite(r.mos))
		return emodel_case_error(
			"the parameters are outside of the model");
	o = json_result(c, &r);
	return o ? o
		 : emodel_case_error("the parameters are outside of the model");
}

/* Read an optional member: a number in min..max.
 * @return false: it is something else, reason written */
static bool take_number(const json_t *from, const char *name, double min,
			double max, double *ret,
			char reason[EMODEL_REASON_BYTES])
{
	const json_t *v = json_object_get(from, name);
	double x;

	if (!v || json_is_null(v))
		return true;
	x = json_number_value(v);
	if (!json_is_number(v) || !(x >= min) || !(x <= max)) {
		snprintf(reason, EMODEL_REASON_BYTES,
			 "%s must be a number, %g to %g", name, min, max);
		return false;
	}
	*ret = x;
	return true;
}

/* @param strict  refuse members that are no parameter of the E-model */
static bool take_params(json_t *from, bool strict, struct emodel_params *p,
			char reason[EMODEL_REASON_BYTES])
{
	const struct {
		const char *name;
		double min;
		double max;
		double *value;
	} known[] = {
		{"SLR", -100, 100, &p->slr},   {"RLR", -100, 100, &p->rlr},
		{"STMR", -100, 200, &p->stmr}, {"LSTR", -100, 200, &p->lstr},
		{"Ds", -100, 100, &p->ds},     {"Dr", -100, 100, &p->dr},
		{"TELR", -100, 200, &p->telr}, {"WEPL", -6, 200, &p->wepl},
		{"T", 0, 1e5, &p->t_ms},       {"Ta", 0, 1e5, &p->ta_ms},
		{"Tr", 0, 1e5, &p->tr_ms},     {"qdu", 1e-3, 1000, &p->qdu},
		{"Ie", 0, 200, &p->ie},        {"Bpl", 1e-3, 1000, &p->bpl},
		{"Ppl", 0, 100, &p->ppl},      {"BurstR", 0, 1e6, &p->burst_r},
		{"Nc", -200, 0, &p->nc},       {"Nfor", -200, 0, &p->nfor},
		{"Ps", -100, 200, &p->ps},     {"Pr", -100, 200, &p->pr},
		{"A", -100, 100, &p->a},       {"sT", 0.01, 10, &p->st},
		{"mT", 1, 1e4, &p->mt_ms},
	};
	const size_t count = sizeof(known) / sizeof(known[0]);

	for (size_t i = 0; i < count; i++) {
		if (!take_number(from, known[i].name, known[i].min,
				 known[i].max, known[i].value, reason))
			return false;
	}
	if (!strict)
		return true;
	/* a typo must not silently compute something else */
	for (void *at = json_object_iter(from); at;
	     at = json_object_iter_next(from, at)) {
		const char *name = json_object_iter_key(at);
		size_t i = 0;

		while (i < count && strcmp(known[i].name, name) != 0)
			i++;
		if (i == count) {
			snprintf(reason, EMODEL_REASON_BYTES,
				 "params has no parameter %.60s", name);
			return false;
		}
	}
	return true;
}

bool emodel_case_model(const char *name, enum emodel_scale *ret)
{
	const struct {
		const char *name;
		enum emodel_scale scale;
	} models[] = {{"G.107", EMODEL_NB},           {"NB", EMODEL_NB},
		      {"G.107.1", EMODEL_WB},         {"WB", EMODEL_WB},
		      {"G.107.2-reduced", EMODEL_FB}, {"FB", EMODEL_FB}};

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		if (strcmp(models[i].name, name) == 0) {
			*ret = models[i].scale;
			return true;
		}
	}
	return false;
}

bool emodel_case_read(json_t *from, struct emodel_case *c,
		      char reason[EMODEL_REASON_BYTES])
{
	const char *name = json_string_value(json_object_get(from, "codec"));
	const char *model = json_string_value(json_object_get(from, "model"));
	const struct emodel_codec *codec =
		name ? emodel_case_codec(name) : NULL;
	const json_t *bpl = json_object_get(from, "Bpl");

	*c = (struct emodel_case){.scale = codec ? codec->scale : EMODEL_NB};
	if (!json_is_object(from)) {
		snprintf(reason, EMODEL_REASON_BYTES,
			 "a case must be an object");
		return false;
	}
	if (model && !emodel_case_model(model, &c->scale)) {
		snprintf(reason, EMODEL_REASON_BYTES, "there is no model %.60s",
			 model);
		return false;
	}
	if (codec && c->scale != codec->scale && !json_object_get(from, "Ie")) {
		snprintf(reason, EMODEL_REASON_BYTES,
			 "%s has no Ie for model %s", codec->name,
			 emodel_model_name(c->scale));
		return false;
	}
	if (!codec && !json_object_get(from, "Ie")) {
		snprintf(reason, EMODEL_REASON_BYTES,
			 name ? "there is no codec %.60s, and no Ie"
			      : "a case needs a codec or Ie",
			 name ? name : "");
		return false;
	}
	if (codec)
		emodel_params_codec(&c->params, codec, 0.0);
	if (!codec || c->scale != codec->scale)
		emodel_params_default(&c->params, c->scale);
	c->has_bpl = bpl ? json_is_number(bpl) : codec && codec->has_bpl;
	c->codec = codec;
	if (!take_params(from, false, &c->params, reason))
		return false;
	/* without T and Tr the echo path is as long as the speech path: T = Ta,
	 * Tr = 2 Ta */
	if (json_object_get(from, "Ta") && !json_object_get(from, "T"))
		c->params.t_ms = c->params.ta_ms;
	if (json_object_get(from, "Ta") && !json_object_get(from, "Tr"))
		c->params.tr_ms = 2 * c->params.ta_ms;
	if (json_object_get(from, "params"))
		return take_params(json_object_get(from, "params"), true,
				   &c->params, reason);
	return true;
}
