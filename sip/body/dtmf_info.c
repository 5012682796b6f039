#include "sip/body/dtmf_info.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

#define MS_MAX 60000u

struct text {
	const char *p;
	size_t len;
};

static struct text trimmed(struct text t)
{
	while (t.len && isspace((unsigned char)t.p[0])) {
		t.p++;
		t.len--;
	}
	while (t.len && isspace((unsigned char)t.p[t.len - 1]))
		t.len--;
	return t;
}

static bool is(struct text t, const char *name)
{
	return t.len == strlen(name) && strncasecmp(t.p, name, t.len) == 0;
}

/* Parse a number of up to five digits. */
static bool number(struct text t, uint64_t max, uint64_t *ret)
{
	char copy[8];

	if (t.len == 0 || t.len >= sizeof(copy))
		return false;
	memcpy(copy, t.p, t.len);
	copy[t.len] = '\0';
	return str_to_u64(copy, max, ret) == 0;
}

/* The text is the digit, or from 10 on its event code (RFC 4733 table 3). */
static char digit_of(struct text t)
{
	static const char codes[] = "*#ABCD";
	uint64_t code;

	if (t.len == 1) {
		char c = (char)toupper((unsigned char)t.p[0]);

		return c && strchr("0123456789*#ABCD", c) ? c : '\0';
	}
	return number(t, 15, &code) && code >= 10 ? codes[code - 10] : '\0';
}

/* Parse one line: "Signal=5" or "Duration=160" */
static void line_take(struct dtmf_info *info, struct text line)
{
	const char *equals = memchr(line.p, '=', line.len);
	struct text name = {line.p, 0};
	struct text value;
	uint64_t ms;

	if (!equals)
		return;
	name.len = (size_t)(equals - line.p);
	value.p = equals + 1;
	value.len = line.len - name.len - 1;
	name = trimmed(name);
	value = trimmed(value);
	if (is(name, "Signal"))
		info->digit = digit_of(value);
	else if (is(name, "Duration") && number(value, MS_MAX, &ms))
		info->ms = (unsigned)ms;
}

static void relay_parse(struct dtmf_info *info, const char *body, size_t len)
{
	while (len) {
		const char *end = memchr(body, '\n', len);
		size_t line = end ? (size_t)(end - body) : len;

		line_take(info, (struct text){body, line});
		line += end ? 1 : 0;
		body += line;
		len -= line;
	}
}

int dtmf_info_parse(struct dtmf_info *ret, const char *type, size_t type_len,
		    const char *body, size_t len)
{
	struct text name = trimmed((struct text){type, type_len});
	struct dtmf_info info = {.digit = '\0'};

	if (is(name, "application/dtmf-relay"))
		relay_parse(&info, body, len);
	else if (is(name, "application/dtmf"))
		info.digit = digit_of(trimmed((struct text){body, len}));
	else
		return -ENOTSUP;
	if (!info.digit)
		return -EBADMSG;
	*ret = info;
	return 0;
}
