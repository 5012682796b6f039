#include "sip/message/start_line.h"

#include <string.h>
#include <strings.h>

#include "sip/error.h"

#define OUR_VERSION       "SIP/2.0"
#define OUR_VERSION_BYTES (sizeof(OUR_VERSION) - 1)
#define PREFIX            "SIP/"
#define PREFIX_BYTES      (sizeof(PREFIX) - 1)

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t digits_count(const char *p, size_t len)
{
	size_t n = 0;

	while (n < len && is_digit(p[n]))
		n++;
	return n;
}

/* SIP-Version = "SIP" "/" 1*DIGIT "." 1*DIGIT */
static bool is_version(const char *p, size_t len)
{
	size_t major, minor;

	if (len < PREFIX_BYTES || strncasecmp(p, PREFIX, PREFIX_BYTES) != 0)
		return false;
	p += PREFIX_BYTES;
	len -= PREFIX_BYTES;
	major = digits_count(p, len);
	if (major == 0 || major == len || p[major] != '.')
		return false;
	minor = digits_count(p + major + 1, len - major - 1);
	return minor > 0 && major + 1 + minor == len;
}

/* Find the version at the end of a request line. @return NULL: not one */
static const char *request_version(const char *text, size_t len,
				   size_t *ret_len)
{
	const char *lf = memchr(text, '\n', len);
	const char *end = lf, *start;

	if (!end || (len >= PREFIX_BYTES &&
		     strncasecmp(text, PREFIX, PREFIX_BYTES) == 0))
		return NULL;
	if (end > text && end[-1] == '\r')
		end--;
	for (start = end; start > text && !is_blank(start[-1]);)
		start--;
	if (start == text || !is_version(start, (size_t)(end - start)))
		return NULL;
	*ret_len = (size_t)(end - start);
	return start;
}

int start_line_copy(struct mbuf *mb, const uint8_t *data, size_t len,
		    bool *ret_other)
{
	size_t version_len = 0;
	const char *text = (const char *)data;
	const char *version = request_version(text, len, &version_len);
	size_t before = version ? (size_t)(version - text) : len;
	size_t after = before + version_len;
	bool other = version && (version_len != OUR_VERSION_BYTES ||
				 strncasecmp(version, OUR_VERSION,
					     OUR_VERSION_BYTES) != 0);
	int err;

	err = mbuf_write_mem(mb, data, before);
	if (!err && version)
		err = mbuf_write_str(mb, OUR_VERSION);
	if (!err && after < len)
		err = mbuf_write_mem(mb, data + after, len - after);
	mb->pos = 0;
	if (err)
		return neg(err);
	*ret_other = other;
	return 0;
}

bool start_line_is_response(const struct sip_msg *msg)
{
	const char *p = msg->ver.p + msg->ver.l;
	const char *end = (const char *)msg->mb->buf + msg->mb->end;
	size_t n;

	if (pl_strcasecmp(&msg->ver, OUR_VERSION))
		return false;
	while (p < end && is_blank(*p))
		p++;
	n = digits_count(p, (size_t)(end - p));
	return n == 3 && p + n < end &&
	       (is_blank(p[n]) || p[n] == '\r' || p[n] == '\n') &&
	       p[0] >= '1' && p[0] <= '6';
}
