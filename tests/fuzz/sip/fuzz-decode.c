/*
 * Decode a datagram with decode_message() and with libre, and each header value
 * alone with both. The results must be equal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/sip/decode_same.h"

#define TEXT_MAX 4096 /* libre's regular expressions are slow */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *differs)
{
	if (!differs)
		return;
	fprintf(stderr, "differs: %s\n", differs);
	abort();
}

/* Parse the value of each line, and each line as a whole. */
static void lines_check(const char *text, size_t size)
{
	const char *end = text + size;

	while (text < end) {
		const char *lf = memchr(text, '\n', (size_t)(end - text));
		const char *stop = lf ? lf : end;
		const char *colon = memchr(text, ':', (size_t)(stop - text));

		while (colon && ++colon < stop && *colon == ' ')
			;
		if (colon && colon < stop)
			check(parse_same(colon, (size_t)(stop - colon)));
		if (stop > text)
			check(parse_same(text, (size_t)(stop - text)));
		text = stop + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy;

	if (size == 0 || size > TEXT_MAX)
		return 0;
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	check(decode_same(data, size, NULL));
	lines_check(copy, size);
	free(copy);
	return 0;
}
