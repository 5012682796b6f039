#include "media/analysis/emodel.h"
#include "media/analysis/emodel_values.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "media/analysis/score.h"

static void near(double got, double want, double tolerance)
{
	if (fabs(got - want) > tolerance)
		fail_msg("got %.9g, expected %.9g", got, want);
}

/* G.107 Annex B: values of the Recommendation's table B.1. */
static void test_mos_of_r(void **state)
{
	(void)state;
	near(emodel_mos(EMODEL_NB, 50), 2.575, 1e-9);
	near(emodel_mos(EMODEL_NB, 60), 3.100, 1e-9);
	near(emodel_mos(EMODEL_NB, 70), 3.597, 1e-9);
	near(emodel_mos(EMODEL_NB, 80), 4.024, 1e-9);
	near(emodel_mos(EMODEL_NB, 90), 4.339, 1e-9);
	near(emodel_mos(EMODEL_NB, 100), 4.5, 0);
	near(emodel_mos(EMODEL_NB, 120), 4.5, 0);
	near(emodel_mos(EMODEL_NB, 0), 1, 0);
	near(emodel_mos(EMODEL_NB, -50), 1, 0);
	near(emodel_mos(EMODEL_WB, 129), 4.5, 1e-9);
	near(emodel_mos(EMODEL_WB, 116.1), 4.339, 1e-3);
}

static void test_mos_never_below_one_and_rises(void **state)
{
	double before = 1.0;

	(void)state;
	for (double r = -10; r <= 150; r += 0.01) {
		double mos = emodel_mos(EMODEL_NB, r);

		assert_true(mos >= before);
		before = mos;
	}
}

static void test_default_connection(void **state)
{
	struct emodel_params p;
	struct emodel_result e;

	(void)state;
	emodel_params_default(&p, EMODEL_NB);
	emodel_rate(&e, &p, EMODEL_NB);
	near(e.no, -61.1792, 1e-4);
	near(e.ro, 94.7688, 1e-4);
	near(e.is, 1.4136, 1e-4);
	near(e.idle, 0.1490, 1e-4);
	near(e.r, 93.2062, 1e-4); /* published as 93.2 */
	near(e.mos, 4.4094, 1e-4);
}

static void test_loss_never_improves(void **state)
{
	const struct emodel_codec *c = emodel_codec_by_name("G.711-PLC");
	struct score s;
	double before = 100;

	(void)state;
	for (double ppl = 0; ppl <= 100; ppl += 0.5) {
		score_rate(&s, c, ppl, 1.0, 0.0);
		assert_true(s.valid);
		assert_true(s.r <= before);
		before = s.r;
	}
}

static void test_score_outside_domain_is_flagged(void **state)
{
	const struct emodel_codec *c = emodel_codec_by_name("g.711-plc");
	struct score s;

	(void)state;
	score_rate(&s, c, 5, 80, 0);
	near(s.burst_r, 8, 0);
	assert_true(s.extrapolated);
	assert_true(s.valid && s.r >= 0);
	score_rate(&s, c, 100, 8, 3000);
	near(s.r, 0, 0);
	near(s.mos, 1, 0);
	score_rate(&s, c, -3, 1, 0);
	near(s.ppl, 0, 0);
	assert_false(s.extrapolated);
}

static void test_no_score_says_why(void **state)
{
	struct score s;

	(void)state;
	score_rate(&s, NULL, 0, 1, 0);
	assert_false(s.valid);
	assert_string_equal(s.reason, "no standardised Ie/Bpl");
	score_rate(&s, emodel_codec_by_name("G.722-64"), 0, 1, 0);
	assert_true(s.valid);
	assert_null(s.reason);
	score_rate(&s, emodel_codec_by_name("G.722-64"), 0.1, 1, 0);
	assert_false(s.valid);
	assert_non_null(s.reason);
}

static void test_codec_rows_have_sources(void **state)
{
	size_t n;
	const struct emodel_codec *c = emodel_codecs(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		assert_non_null(c[i].source);
		assert_ptr_equal(emodel_codec_by_name(c[i].name), &c[i]);
		if (c[i].provenance == EMODEL_DECLARED)
			assert_non_null(strstr(c[i].source, "declared"));
	}
}

static void test_second_looks_back_eight(void **state)
{
	static struct rtp_score s;
	static struct count_parts parts;
	static struct count_part more[MOS_PARTS];
	struct emodel_values values;
	double r;
	double mos;

	(void)state;
	memset(&s, 0, sizeof(s));
	count_parts_init(&parts, more);
	emodel_values_of(&values, "PCMU", 8000, NULL);
	rtp_score_set(&s, &values);
	assert_true(rtp_score_second(&s, &parts, true, 50, 5, &r, &mos));
	near(r, 93.206208 - 95 * 10 / 35.1, 1e-5);
	for (int i = 0; i < 7; i++)
		assert_true(
			rtp_score_second(&s, &parts, true, 50, 0, &r, &mos));
	near(r, 93.206208 - 95 * 1.25 / 26.35, 1e-5);
	assert_true(rtp_score_second(&s, &parts, true, 50, 0, &r, &mos));
	near(r, 93.206208, 1e-5);
	/* nothing received: no score; the loss is reported afterwards */
	assert_false(rtp_score_second(&s, &parts, false, 0, 0, &r, &mos));
	assert_true(rtp_score_second(&s, &parts, true, 100, 50, &r, &mos));
	assert_int_equal(s.mos.moments.n, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mos_of_r),
		cmocka_unit_test(test_mos_never_below_one_and_rises),
		cmocka_unit_test(test_default_connection),
		cmocka_unit_test(test_loss_never_improves),
		cmocka_unit_test(test_score_outside_domain_is_flagged),
		cmocka_unit_test(test_no_score_says_why),
		cmocka_unit_test(test_codec_rows_have_sources),
		cmocka_unit_test(test_second_looks_back_eight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
