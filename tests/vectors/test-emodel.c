/* The E-model against all cases of emodel_vectors.json. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "media/analysis/emodel.h"
#include "media/analysis/emodel_values.h"
#include "tests/vectors/check.h"

#define TERM_TOLERANCE 1e-4
#define R_TOLERANCE    1e-4
#define MOS_TOLERANCE  1e-5

static double number(const json_t *o, const char *name, double otherwise)
{
	const json_t *v = json_object_get(o, name);

	return json_is_number(v) ? json_number_value(v) : otherwise;
}

static void set_params(struct emodel_params *p, const json_t *c)
{
	const json_t *o = json_object_get(c, "params");

	p->ppl = number(c, "Ppl", 0);
	p->burst_r = number(c, "BurstR", 1);
	p->ta_ms = number(c, "Ta", 0);
	p->t_ms = number(c, "T", 0);
	p->tr_ms = number(c, "Tr", 0);
	p->a = number(o, "A", p->a);
	p->telr = number(o, "TELR", p->telr);
	p->ps = number(o, "Ps", p->ps);
	p->pr = number(o, "Pr", p->pr);
	p->st = number(o, "sT", p->st);
	p->mt_ms = number(o, "mT", p->mt_ms);
}

static void check_terms(struct check *c, const json_t *want,
			const struct emodel_result *got)
{
	const struct {
		const char *name;
		double value;
	} terms[] = {
		{"No", got->no},     {"Ro", got->ro},
		{"Iolr", got->iolr}, {"Ist", got->ist},
		{"Iq", got->iq},     {"Is", got->is},
		{"Idte", got->idte}, {"Idle", got->idle},
		{"Idd", got->idd},   {"Id", got->id},
		{"A", got->a},       {"Ie_eff", got->ie_eff},
	};

	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
		if (json_object_get(want, terms[i].name))
			check_real(c, want, terms[i].name, terms[i].value,
				   TERM_TOLERANCE);
	}
	check_real(c, want, "R", got->r, R_TOLERANCE);
	check_real(c, want, "MOS", got->mos, MOS_TOLERANCE);
}

static void check_case(struct check *c, const json_t *vector)
{
	const char *name = json_string_value(json_object_get(vector, "codec"));
	const struct emodel_codec *codec = emodel_codec_by_name(name);
	const json_t *want = json_object_get(vector, "expect");
	struct emodel_params params;
	struct emodel_result got;
	char where[100];

	snprintf(where, sizeof(where), "case %lld %s",
		 (long long)json_integer_value(json_object_get(vector, "id")),
		 name);
	c->where = where;
	if (!codec) {
		check_fail(c, name, "no such codec");
		return;
	}
	check_real(c, vector, "Ie", codec->ie, 0);
	check_maybe(c, vector, "Bpl", codec->has_bpl, codec->bpl, 0);
	emodel_params_codec(&params, codec, 0);
	set_params(&params, vector);
	if (json_is_null(want)) {
		if (codec->has_bpl || params.ppl <= 0)
			check_fail(c, "expect", "a score is possible");
		return;
	}
	emodel_rate(&got, &params, codec->scale);
	check_terms(c, want, &got);
}

static void check_mapping(struct check *c, const json_t *row)
{
	double r = number(row, "R", 0);

	c->where = "r_to_mos";
	check_real(c, row, "MOS_NB", emodel_mos(EMODEL_NB, r), MOS_TOLERANCE);
	check_real(c, row, "MOS_WB", emodel_mos(EMODEL_WB, r), MOS_TOLERANCE);
	check_real(c, row, "MOS_FB", emodel_mos(EMODEL_FB, r), MOS_TOLERANCE);
}

int main(int argc, char **argv)
{
	struct check c = {0};
	json_error_t error;
	json_t *vectors;
	size_t i;
	json_t *v;

	if (argc != 2)
		return 2;
	vectors = json_load_file(argv[1], 0, &error);
	if (!vectors) {
		fprintf(stderr, "%s: %s\n", argv[1], error.text);
		return 2;
	}
	json_array_foreach(json_object_get(vectors, "cases"), i, v)
		check_case(&c, v);
	json_array_foreach(json_object_get(vectors, "r_to_mos"), i, v)
		check_mapping(&c, v);
	json_decref(vectors);
	printf("%u compared, %u differ\n", c.compared, c.failed);
	return c.failed || c.compared == 0;
}
