#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

int str_copy(char *dst, size_t size, const char *src)
{
	size_t len = strlen(src);

	if (size == 0)
		return -ENAMETOOLONG;
	if (len >= size) {
		dst[0] = '\0';
		return -ENAMETOOLONG;
	}
	memcpy(dst, src, len + 1);
	return 0;
}

int str_print(char *dst, size_t size, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(dst, size, fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= size)
		return -ENAMETOOLONG;
	return len;
}

int str_join(char *dst, size_t size, const char *first, ...)
{
	va_list texts;
	size_t used = 0;
	bool cut = size == 0;

	va_start(texts, first);
	for (const char *text = first; text && !cut;
	     text = va_arg(texts, const char *)) {
		size_t len = strlen(text);

		cut = len >= size - used;
		if (cut)
			len = size - used - 1;
		memcpy(dst + used, text, len);
		used += len;
	}
	va_end(texts);
	if (size > 0)
		dst[used] = '\0';
	return cut ? -ENAMETOOLONG : (int)used;
}

const char *str_hexadecimal(char dst[static STR_HEX_BYTES], uint64_t number,
			    unsigned int digits)
{
	dst[digits] = '\0';
	while (digits > 0) {
		dst[--digits] = "0123456789abcdef"[number & 0xf];
		number >>= 4;
	}
	return dst;
}

const char *str_decimal(char dst[static STR_DECIMAL_BYTES], uint64_t number)
{
	static const char pairs[] = "00010203040506070809101112131415161718"
				    "19202122232425262728293031323334353637"
				    "38394041424344454647484950515253545556"
				    "57585960616263646566676869707172737475"
				    "76777879808182838485868788899091929394"
				    "9596979899";
	char text[STR_DECIMAL_BYTES];
	char *end = text + sizeof(text);
	char *at = end;

	*--at = '\0';
	while (number >= 10) {
		at -= 2;
		memcpy(at, pairs + 2 * (number % 100), 2);
		number /= 100;
	}
	if (number > 0 || *at == '\0')
		*--at = (char)('0' + number);
	memcpy(dst, at, (size_t)(end - at));
	return dst;
}

int str_to_u64(const char *text, uint64_t max, uint64_t *ret)
{
	char *end;
	unsigned long long value;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end != '\0')
		return -EINVAL;
	if (errno == ERANGE || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

int str_to_double(const char *text, double *ret)
{
	char *end;
	double value;

	if (text[0] == '\0' || isspace((unsigned char)text[0]))
		return -EINVAL;
	value = strtod(text, &end);
	if (*end != '\0' || !isfinite(value))
		return -EINVAL;
	*ret = value;
	return 0;
}

void uuid_make(char text[static UUID_TEXT_BYTES])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t b[16];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		abort(); /* on Linux >= 3.17 a request for 16 bytes is always
			  * answered completely */
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	/* used for every request: formatting takes several times as long */
	for (size_t i = 0; i < sizeof(b); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*text++ = '-';
		*text++ = hex[b[i] >> 4];
		*text++ = hex[b[i] & 15];
	}
	*text = '\0';
}

bool uuid_valid(const char *text)
{
	for (size_t i = 0; i < UUID_TEXT_BYTES - 1; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return false;
	}
	return text[UUID_TEXT_BYTES - 1] == '\0';
}

bool str_has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	while (*words) {
		size_t n = strcspn(words, " ");

		if (n == len && len > 0 && memcmp(words, word, n) == 0)
			return true;
		words += n;
		words += strspn(words, " ");
	}
	return false;
}

size_t str_utf8_len(const char *text, size_t size)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t len = p[0] < 0x80   ? 1
		     : p[0] < 0xc2 ? 0
		     : p[0] < 0xe0 ? 2
		     : p[0] < 0xf0 ? 3
		     : p[0] < 0xf5 ? 4
				   : 0;

	if (len > size)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* overlong, surrogates, above U+10FFFF */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

void str_utf8_repair(char *text)
{
	size_t left = strlen(text);

	while (left) {
		size_t len = str_utf8_len(text, left);

		if (!len)
			*text = '?';
		text += len ? len : 1;
		left -= len ? len : 1;
	}
}

bool str_listed(const char *const *list, const char *text)
{
	for (size_t i = 0; list[i]; i++) {
		if (strcmp(list[i], text) == 0)
			return true;
	}
	return false;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t str_distance(const char *a, const char *b)
{
	size_t rows[3][STR_DISTANCE_MAX + 1], m = strlen(a), n = strlen(b);

	if (m > STR_DISTANCE_MAX || n > STR_DISTANCE_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= m; i++) {
		size_t *now = rows[i % 3], *before = rows[(i + 2) % 3];

		now[0] = i;
		for (size_t j = 1; j <= n; j++) {
			now[j] = before[j - 1] + (a[i - 1] != b[j - 1]);
			now[j] = least(now[j], before[j] + 1);
			now[j] = least(now[j], now[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				now[j] = least(now[j],
					       rows[(i + 1) % 3][j - 2] + 1);
		}
	}
	return rows[m % 3][n];
}
