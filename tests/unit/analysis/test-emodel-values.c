#include "media/analysis/emodel_values.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "media/analysis/stream.h"

#define S INT64_C(1000000000)

static const char *name_of(const struct emodel_codec *codec)
{
	return codec ? codec->name : "-";
}

static void assert_values(const char *encoding, uint32_t clock_hz,
			  const char *fmtp, const char *standard,
			  const char *declared)
{
	struct emodel_values v;

	emodel_values_of(&v, encoding, clock_hz, fmtp);
	assert_string_equal(name_of(v.standard), standard);
	assert_string_equal(name_of(v.declared), declared);
	assert_false(v.prefer_declared);
}

static void test_encoding_names_one_mode(void **state)
{
	(void)state;
	assert_values("pcmu", 8000, NULL, "G.711-PLC", "-");
	assert_values("GSM", 8000, "", "GSM-FR", "GSM-FR-declared");
	assert_values("G722", 8000, NULL, "G.722-64", "G.722-64-declared");
	assert_values("OPUS", 48000, "useinbandfec=1", "-", "opus");
	assert_values("L16", 8000, NULL, "-", "L16-8");
	assert_values("L16", 44100, NULL, "-", "L16-48");
	assert_values("L16", 11025, NULL, "-", "-");
	assert_values("speex", 8000, NULL, "-", "-");
	assert_values("telephone-event", 8000, "0-15", "-", "-");
}

static void test_format_parameters_name_the_mode(void **state)
{
	(void)state;
	assert_values("AMR", 8000, NULL, "-", "AMR-12.2");
	assert_values("AMR", 8000, "octet-align=1; mode-set=7", "-",
		      "AMR-12.2");
	assert_values("AMR", 8000, "mode-set=0,2,4", "-", "AMR-7.4");
	assert_values("AMR", 8000, "mode-set=0,2", "-", "-");
	assert_values("AMR-WB", 16000, "max-red=0", "-", "-");
	assert_values("AMR-WB", 16000, "mode-set=0,1,2;mode-change-period=2",
		      "AMR-WB-12.65", "AMR-WB-12.65-declared");
	assert_values("amr-wb", 16000, " Mode-Set=8 ", "AMR-WB-23.85",
		      "AMR-WB-23.85-declared");
	assert_values("G723", 8000, "annexa=no;bitrate=5.3", "G.723.1-5.3",
		      "-");
	assert_values("G723", 8000, "bitrate=6.3", "G.723.1-6.3+VAD", "-");
	assert_values("G729", 8000, "annexb=no", "G.729A+VAD", "-");
	assert_values("G7221", 16000, "bitrate=24000", "G.722.1-24", "-");
	assert_values("EVS", 16000, "br=9.6-24.4; bw=swb", "EVS-SWB-24.4", "-");
	/* text that is not a parameter, or an empty one */
	assert_values("AMR-WB", 16000, "xmode-set=2", "-", "-");
	assert_values("AMR-WB", 16000, "mode-set=", "-", "-");
	assert_values("AMR-WB", 16000, ";; =;mode-set", "-", "-");
}

static void test_declared_where_the_standard_has_none(void **state)
{
	const char *reason = NULL;
	struct emodel_values v;

	(void)state;
	emodel_values_of(&v, "G722", 8000, NULL);
	assert_ptr_equal(emodel_values_pick(&v, 0, &reason), v.standard);
	assert_ptr_equal(emodel_values_pick(&v, 0.1, &reason), v.declared);
	/* the same Ie: no step at the first lost packet */
	assert_true(v.standard->ie == v.declared->ie);
	emodel_values_of(&v, "G726-24", 8000, NULL);
	assert_null(emodel_values_pick(&v, 0.1, &reason));
	assert_string_equal(reason, "no Bpl published: loss not computable");
	memset(&v, 0, sizeof(v));
	assert_null(emodel_values_pick(&v, 0, &reason));
	assert_string_equal(reason, "no standardised Ie/Bpl");
}

static void test_users_declare(void **state)
{
	static struct emodel_declarations d;
	const char *reason = NULL;
	struct emodel_values v;

	(void)state;
	memset(&d, 0, sizeof(d));
	assert_int_equal(emodel_declare(&d,
					"opus=12.5,10,FB,measured in May; "
					"PCMU=G.711-noPLC;speex=30",
					&reason),
			 0);
	assert_int_equal(d.count, 3);
	emodel_values_of(&v, "opus", 48000, NULL);
	emodel_declarations_apply(&d, "Opus", &v);
	assert_true(v.prefer_declared);
	assert_true(v.declared->ie == 12.5 && v.declared->bpl == 10.0);
	assert_int_equal(v.declared->scale, EMODEL_FB);
	assert_int_equal(v.declared->provenance, EMODEL_DECLARED);
	assert_string_equal(v.declared->source, "measured in May");
	assert_string_equal(v.declared->name, "opus");
	/* a codec of the standard keeps the standard's values */
	emodel_values_of(&v, "PCMU", 8000, NULL);
	emodel_declarations_apply(&d, "PCMU", &v);
	assert_string_equal(emodel_values_pick(&v, 1, &reason)->name,
			    "G.711-noPLC");
	assert_int_equal(v.standard->provenance, EMODEL_STANDARD);
	/*
	 * without Bpl: no score under loss, and no other values in their place
	 */
	emodel_values_of(&v, "speex", 8000, NULL);
	emodel_declarations_apply(&d, "speex", &v);
	assert_non_null(emodel_values_pick(&v, 0, &reason));
	assert_null(emodel_values_pick(&v, 1, &reason));
	assert_string_equal(reason, "no Bpl declared: loss not computable");
	/* a later declaration replaces an earlier one of the same codec only */
	assert_int_equal(emodel_declare(&d, "OPUS=1", &reason), 0);
	assert_int_equal(d.count, 3);
	emodel_values_of(&v, "G729", 8000, NULL);
	emodel_declarations_apply(&d, "G729", &v);
	emodel_declarations_apply(NULL, "G729", &v);
	assert_string_equal(name_of(v.standard), "G.729A+VAD");
}

static void test_declarations_refused(void **state)
{
	static const char *const bad[] = {
		"opus",
		"=1",
		"opus=",
		"opus=x",
		"opus=-1",
		"opus=201",
		"opus=nan",
		"opus=1,0",
		"opus=1,x",
		"opus=1,2,xb",
		"opus=1,2,",
		"opus=1 2",
		"a-name-of-more-than-15-characters=1",
	};
	static struct emodel_declarations d;
	char text[400];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *reason = NULL;
		int want = strcmp(bad[i], "opus=1,2,") == 0 ? 0 : -EINVAL;

		memset(&d, 0, sizeof(d));
		if (emodel_declare(&d, bad[i], &reason) != want)
			fail_msg("%s", bad[i]);
		if (want)
			assert_non_null(reason);
	}
	memset(&d, 0, sizeof(d));
	memset(text, 'x', sizeof(text));
	memcpy(text, "opus=1,2,fb,", 12);
	text[399] = '\0';
	assert_int_equal(emodel_declare(&d, text, &(const char *){NULL}),
			 -EINVAL);
	memset(&d, 0, sizeof(d));
	for (char c = 'a'; c <= 'a' + EMODEL_DECLARATIONS_MAX; c++) {
		char one[4] = {c, '=', '1', 0};

		assert_int_equal(emodel_declare(&d, one, &(const char *){NULL}),
				 c - 'a' < EMODEL_DECLARATIONS_MAX ? 0
								   : -EINVAL);
	}
}

/*
 * A live second and a whole stream of a codec that no standard knows are marked
 * as declared.
 */
static void test_live_score_is_marked(void **state)
{
	static struct rtp_stream s;
	static struct rtp_rest rest;
	static struct rtp_payload_map map;
	struct stream_second second;
	struct stream_total total;

	(void)state;
	memset(&map, 0, sizeof(map));
	rtp_payload_map_add(&map, 96, "opus", 48000);
	rtp_stream_init(&s, 1, 0, &map, &rest);
	for (int i = 0; i < 50; i++) {
		struct packet_record r = {.mono_ns = i * S / 50,
					  .rtp_ts = (uint32_t)i * 960,
					  .seq = (uint16_t)i,
					  .marker_pt = 96};

		if (i != 20)
			rtp_stream_update(&s, &r);
	}
	rtp_stream_close_second(&s, S, &second);
	rtp_stream_total(&s, &total);
	assert_true(second.has_mos && total.has_score);
	assert_string_equal(total.score_scale, "fb");
	assert_non_null(strstr(total.score_declared, "EVS-SWB 48"));
	/* 148 - 10.2 - (132 - 10.2) * 2 / (2 + 9.6) */
	assert_true(fabs(total.r_factor - 116.8) < 1e-9);
	assert_true(fabs(second.r_factor - total.r_factor) < 1e-9);
	assert_false(total.has_mos_wb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encoding_names_one_mode),
		cmocka_unit_test(test_format_parameters_name_the_mode),
		cmocka_unit_test(test_declared_where_the_standard_has_none),
		cmocka_unit_test(test_users_declare),
		cmocka_unit_test(test_declarations_refused),
		cmocka_unit_test(test_live_score_is_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
