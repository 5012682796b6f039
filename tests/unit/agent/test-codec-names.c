/* The controller may not know media: what it takes and what agents can do are
 * two tables, and here they are one. */
#include "control/wire/job.h"
#include "media/audio/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_what_is_taken_can_be_done(void **state)
{
	(void)state;
	for (size_t i = 0; wire_codec_names[i]; i++)
		assert_non_null(codec_by_name(wire_codec_names[i]));
}

static void test_what_can_be_done_is_taken(void **state)
{
	const struct codec *codec;

	(void)state;
	for (size_t i = 0; (codec = codec_at(i)) != NULL; i++) {
		size_t k = 0;

		while (wire_codec_names[k] &&
		       strcmp(wire_codec_names[k], codec->name) != 0)
			k++;
		if (!wire_codec_names[k])
			fail_msg("%s is not taken", codec->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_taken_can_be_done),
		cmocka_unit_test(test_what_can_be_done_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
