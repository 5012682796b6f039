#include "agent/engine/report/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const char crypto_line[] = "\na=crypto:";
static const char key_start[] = "inline:";
static const char ice_line[] = "\na=ice-pwd:";

static bool base64(char c)
{
	return isalnum((unsigned char)c) || c == '+' || c == '/' || c == '=';
}

static char *hide(char *p, char *end)
{
	while (p < end && base64(*p))
		*p++ = '*';
	return p;
}

/* Overwrite all keys of one line. */
static void redact_line(char *p, char *end)
{
	const size_t skip = sizeof(key_start) - 1;

	while ((size_t)(end - p) > skip) {
		if (strncasecmp(p, key_start, skip) != 0)
			p++;
		else
			p = hide(p + skip, end);
	}
}

static bool begins(const char *text, const char *end, const char *line)
{
	size_t len = strlen(line);

	return (size_t)(end - text) > len && strncasecmp(text, line, len) == 0;
}

void redact_keys(char *text, size_t len)
{
	char *end = text + len;

	for (; text < end; text++) {
		if (begins(text, end, crypto_line)) {
			char *key = text + sizeof(crypto_line) - 1;
			char *eol = memchr(key, '\n', (size_t)(end - key));

			redact_line(key, eol ? eol : end);
		} else if (begins(text, end, ice_line)) {
			(void)hide(text + sizeof(ice_line) - 1, end);
		}
	}
}
