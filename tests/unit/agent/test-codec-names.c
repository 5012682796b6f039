/*
 * The table of codec names (base) and the codecs (media/audio) agree. Every
 * codec has E-model values.
 */
#include "base/codec_names.h"
#include "media/analysis/emodel_values.h"
#include "media/audio/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_each_name_has_its_codec(void **state)
{
	const struct codec_name *name;

	(void)state;
	for (size_t i = 0; (name = codec_name_at(i)); i++) {
		const struct codec *codec = codec_by_name(name->name);

		assert_non_null(codec);
		assert_string_equal(codec->rtpmap, name->encoding);
		assert_int_equal(codec->sample_hz, name->sample_hz);
		assert_int_equal(codec->channels, name->channels);
		assert_int_equal(strcmp(codec->name, name->name) != 0,
				 name->is_alias);
	}
}

static void test_each_codec_has_its_name(void **state)
{
	const struct codec *codec;

	(void)state;
	for (size_t i = 0; (codec = codec_at(i)); i++) {
		if (!codec_name_find(codec->name))
			fail_msg("%s has no row in codec_names.c", codec->name);
	}
}

static void test_each_codec_has_a_score(void **state)
{
	const struct codec *codec;

	(void)state;
	for (size_t i = 0; (codec = codec_at(i)); i++) {
		struct emodel_values values;

		emodel_values_of(&values, codec->rtpmap, codec->clock_hz, NULL);
		if (!values.standard && !values.declared)
			fail_msg("%s has no Ie", codec->name);
	}
}

static void test_names_are_listed(void **state)
{
	char text[128], little[8];

	(void)state;
	assert_true(codec_names_print(text, sizeof(text), " and ") > 0);
	assert_string_equal(text, "PCMU, PCMA, G722, opus, GSM, L16/8000, "
				  "L16/16000 and L16/44100");
	assert_true(codec_names_print(little, sizeof(little), ", ") < 0);
	assert_true(codec_name_same(codec_name_find("l16"),
				    codec_name_find("L16/16000")));
	assert_false(codec_name_same(codec_name_find("L16"),
				     codec_name_find("L16/8000")));
	assert_null(codec_name_find("G729"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_name_has_its_codec),
		cmocka_unit_test(test_each_codec_has_its_name),
		cmocka_unit_test(test_each_codec_has_a_score),
		cmocka_unit_test(test_names_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
