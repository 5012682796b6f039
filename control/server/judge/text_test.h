/** The operators that conditions test a text with (API 4.3, SIP). Thread: any */
#ifndef OFFHOOK_SERVER_JUDGE_TEXT_TEST_H
#define OFFHOOK_SERVER_JUDGE_TEXT_TEST_H

#include "control/server/judge/sip_text.h"

enum text_test {
	TEXT_IS,
	TEXT_ISNOT,
	TEXT_STARTSWITH,
	TEXT_ENDSWITH,
	TEXT_HAS,
	TEXT_HASNOT,
	TEXT_ISPRESENT,
	TEXT_NOTPRESENT,
};

/* By enum text_test, NULL-terminated; the first without the last two. */
extern const char *const text_value_tests[];
extern const char *const text_tests[];

/** isnot, hasnot, notpresent: text_test_holds() must be false. */
bool text_test_negated(enum text_test test);

/** True if the positive form holds. A text that is not empty is present. */
bool text_test_holds(enum text_test test, struct sip_part part,
		     const char *value);

#endif
