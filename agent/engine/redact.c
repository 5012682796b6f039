#include "agent/engine/internal.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char line_start[] = "\na=crypto:";
static const char key_start[] = "inline:";

static bool base64(char c)
{
	return isalnum((unsigned char)c) || c == '+' || c == '/' || c == '=';
}

/* All keys of one line. */
static void redact_line(char *p, char *end)
{
	const size_t skip = sizeof(key_start) - 1;

	while ((size_t)(end - p) > skip) {
		if (strncasecmp(p, key_start, skip) != 0) {
			p++;
			continue;
		}
		for (p += skip; p < end && base64(*p); p++)
			*p = '*';
	}
}

void redact_keys(char *text, size_t len)
{
	const size_t skip = sizeof(line_start) - 1;
	char *end = text + len;

	while ((size_t)(end - text) > skip) {
		char *eol;

		if (strncasecmp(text, line_start, skip) != 0) {
			text++;
			continue;
		}
		text += skip;
		eol = memchr(text, '\n', (size_t)(end - text));
		redact_line(text, eol ? eol : end);
	}
}
