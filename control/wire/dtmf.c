#include "control/wire/dtmf.h"

#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* The limits of media/dtmf.h; a unit test compares them. */
#define DURATION_MIN_MS 40
#define DURATION_MAX_MS 1300
#define GAP_MAX_MS      5000
#define DEFAULT_MS      100
#define WAIT_MS_MAX     600000u
#define NUMBERS_MAX     2

/* Parse "1234# 120 80". @return count of numbers after the digits; -EINVAL */
static int digits_parse(const char *text,
			char digits[static WIRE_DIGITS_MAX + 1],
			uint64_t numbers[static NUMBERS_MAX], uint64_t max)
{
	size_t len = strcspn(text, " ");
	int count = 0;

	if (len == 0 || len > WIRE_DIGITS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		digits[i] = (char)toupper((unsigned char)text[i]);
		if (!strchr("0123456789*#ABCD", digits[i]))
			return -EINVAL;
	}
	digits[len] = '\0';
	for (text += len; *text; text += len) {
		char word[16] = "";

		text++; /* the blank */
		len = strcspn(text, " ");
		if (count == NUMBERS_MAX || len == 0 || len >= sizeof(word))
			return -EINVAL;
		memcpy(word, text, len);
		if (str_to_u64(word, max, &numbers[count++]))
			return -EINVAL;
	}
	return count;
}

int wire_dtmf_parse(const char *text, struct wire_dtmf *ret)
{
	uint64_t numbers[NUMBERS_MAX] = {DEFAULT_MS, DEFAULT_MS};
	struct wire_dtmf d = {.digits = ""};

	if (digits_parse(text, d.digits, numbers, GAP_MAX_MS) < 0 ||
	    numbers[0] < DURATION_MIN_MS || numbers[0] > DURATION_MAX_MS ||
	    numbers[1] < DURATION_MIN_MS)
		return -EINVAL;
	d.duration_ms = (uint16_t)numbers[0];
	d.gap_ms = (uint16_t)numbers[1];
	*ret = d;
	return 0;
}

int wire_dtmf_expect_parse(const char *text, struct wire_dtmf_expect *ret)
{
	uint64_t numbers[NUMBERS_MAX] = {0, 0};
	struct wire_dtmf_expect d = {.digits = ""};
	int count = digits_parse(text, d.digits, numbers, WAIT_MS_MAX);

	if (count < 0 || count > 1)
		return -EINVAL;
	d.has_wait = count == 1;
	d.wait_ms = (uint32_t)numbers[0];
	*ret = d;
	return 0;
}
