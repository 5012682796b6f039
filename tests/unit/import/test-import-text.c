/* The text of all messages of an import has a ceiling. */
#include "control/import/dialogs.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MESSAGE_BYTES (1024 * 1024)

static void test_text_has_a_ceiling(void **state)
{
	const unsigned most = DIALOGS_TEXT_MAX / MESSAGE_BYTES;
	char *text = malloc(MESSAGE_BYTES);
	struct dialogs_input in = {.data = text, .bytes = MESSAGE_BYTES};
	struct dialogs *d;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', MESSAGE_BYTES);
	assert_int_equal(dialogs_new(&d), 0);
	for (unsigned i = 1; i <= most + 3; i++) {
		int head = snprintf(
			text, MESSAGE_BYTES,
			"%s sip:b@h SIP/2.0\r\n"
			"From: <sip:a@h>;tag=a\r\nTo: <sip:b@h>%s\r\n"
			"Call-ID: c1\r\nCSeq: %u %s\r\n\r\n",
			i == 1 ? "INVITE" : "MESSAGE", i == 1 ? "" : ";tag=b",
			i, i == 1 ? "INVITE" : "MESSAGE");

		text[head] = 'x';
		in.ns = i * NS_PER_S;
		dialogs_take(d, &in);
	}
	assert_int_equal(dialogs_call_count(d), 1);
	assert_int_equal(dialogs_call(d, 0)->messages, most);
	assert_int_equal(dialogs_left_out(d), 3);
	dialogs_free(d);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_has_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
