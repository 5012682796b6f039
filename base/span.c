#include "base/span.h"

#include <string.h>
#include <strings.h>

#include "base/str.h"

struct span span_word(struct span *s)
{
	struct span word;

	while (s->p < s->end && *s->p == ' ')
		s->p++;
	word.p = s->p;
	while (s->p < s->end && *s->p != ' ')
		s->p++;
	word.end = s->p;
	return word;
}

struct span span_until(struct span *s, char separator)
{
	struct span part = {s->p, s->p};

	while (s->p < s->end && *s->p != separator)
		s->p++;
	part.end = s->p;
	if (s->p < s->end)
		s->p++;
	return part;
}

bool span_is(struct span s, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(s.end - s.p) == len && strncasecmp(s.p, text, len) == 0;
}

bool span_copy(char *dst, size_t size, struct span s)
{
	size_t len = (size_t)(s.end - s.p);

	if (len == 0 || len >= size)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (s.p[i] <= ' ' || s.p[i] > '~')
			return false;
	}
	memcpy(dst, s.p, len);
	dst[len] = '\0';
	return true;
}

bool span_number(struct span s, uint64_t max, uint64_t *ret)
{
	char text[24];

	return span_copy(text, sizeof(text), s) &&
	       str_to_u64(text, max, ret) == 0;
}
