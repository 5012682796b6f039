#include "control/server/judge/text_test.h"

#include <string.h>

const char *const text_value_tests[] = {
	"is", "isnot", "startswith", "endswith", "has", "hasnot", NULL};
const char *const text_tests[] = {"is",        "isnot",      "startswith",
				  "endswith",  "has",        "hasnot",
				  "ispresent", "notpresent", NULL};

bool text_test_negated(enum text_test test)
{
	return test == TEXT_ISNOT || test == TEXT_HASNOT ||
	       test == TEXT_NOTPRESENT;
}

bool text_test_holds(enum text_test test, struct sip_part part,
		     const char *value)
{
	size_t len = strlen(value);

	if (!part.p) /* absent: the empty text */
		part.p = "";
	switch (test) {
	case TEXT_IS:
	case TEXT_ISNOT:
		return sip_part_is(part, value);
	case TEXT_STARTSWITH:
		return part.len >= len && memcmp(part.p, value, len) == 0;
	case TEXT_ENDSWITH:
		return part.len >= len &&
		       memcmp(part.p + part.len - len, value, len) == 0;
	case TEXT_HAS:
	case TEXT_HASNOT:
		return len == 0 || memmem(part.p, part.len, value, len);
	case TEXT_ISPRESENT:
	case TEXT_NOTPRESENT:
		return part.len > 0;
	}
	return false;
}
