#include "control/server/difference/mask.h"

#include "base/buf.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Parts of a header field value. */
#define PORT   1u  /* of a URI */
#define HOST   2u  /* of a URI */
#define USER   4u  /* of a URI */
#define WHOLE  8u  /* the field is not compared */
#define SENTBY 16u /* of Via: host and port */
#define TOKENS 32u /* words that look random: is_random() */
#define AGENT  64u /* host and port of a Warning */

/* The table of what is volatile in header fields. A field that is not here has
 * TOKENS and PORT. */
static const struct header_rule {
	const char *name;
	const char *compact;
	unsigned parts;
	const char *params; /* parameters whose values are volatile */
} headers[] = {
	/* RFC 3261 */
	{"Accept", NULL, 0, ""},
	{"Allow", NULL, 0, ""},
	{"Authorization", NULL, 0,
	 "nonce cnonce nc response opaque username uri"},
	{"Authentication-Info", NULL, 0, "nextnonce rspauth cnonce nc"},
	{"Call-ID", "i", WHOLE, ""},
	{"Contact", "m", PORT | HOST | USER,
	 "+sip.instance reg-id pub-gruu temp-gruu received ob rinstance"},
	{"Content-Length", "l", WHOLE, ""},
	{"Content-Type", "c", 0, "boundary"},
	{"CSeq", NULL, WHOLE, ""},
	{"Date", NULL, WHOLE, ""},
	{"From", "f", PORT, "tag"},
	{"In-Reply-To", NULL, WHOLE, ""},
	{"Proxy-Authenticate", NULL, 0, "nonce opaque"},
	{"Proxy-Authorization", NULL, 0,
	 "nonce cnonce nc response opaque username uri"},
	{"Record-Route", NULL, PORT, "ftag did nat vsf vst ts ck"},
	{"Route", NULL, PORT, "ftag did nat vsf vst ts ck"},
	{"Server", NULL, 0, ""},
	{"Supported", "k", 0, ""},
	{"Timestamp", NULL, WHOLE, ""},
	{"To", "t", PORT, "tag"},
	{"User-Agent", NULL, 0, ""},
	{"Via", "v", SENTBY, "branch received rport i keep"},
	{"Warning", NULL, AGENT, ""},
	{"WWW-Authenticate", NULL, 0, "nonce opaque"},
	/* extensions: RFC 3262, 3265, 3515, 3891, 3892, 3903, 4028, 4474 */
	{"Allow-Events", "u", 0, ""},
	{"Event", "o", 0, "id"},
	{"Identity", "y", WHOLE, ""},
	{"Identity-Info", "n", PORT, ""},
	{"P-Charging-Vector", NULL, 0, "icid-value icid-generated-at orig-ioi"},
	{"RAck", NULL, WHOLE, ""},
	{"Refer-To", "r", PORT | HOST | USER, "Replaces"},
	{"Referred-By", "b", PORT | HOST | USER, "cid"},
	{"Replaces", NULL, WHOLE, ""},
	{"RSeq", NULL, WHOLE, ""},
	{"Session-Expires", "x", 0, ""},
	{"Session-ID", NULL, WHOLE, ""},
	{"SIP-ETag", NULL, WHOLE, ""},
	{"SIP-If-Match", NULL, WHOLE, ""},
	{"Subject", "s", 0, ""},
	{"Subscription-State", NULL, 0, "expires"},
};

static const struct header_rule *rule_of(const char *name)
{
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		if (strcasecmp(headers[i].name, name) == 0 ||
		    (headers[i].compact &&
		     strcasecmp(headers[i].compact, name) == 0))
			return &headers[i];
	return NULL;
}

const char *mask_header_name(const char *name)
{
	const struct header_rule *rule = rule_of(name);

	return rule ? rule->name : name;
}

/* ---- words ---- */

static size_t word_len(const char *p)
{
	size_t len = 0;

	while (isalnum((unsigned char)p[len]) ||
	       (p[len] && strchr("-_.~+", p[len])))
		len++;
	return len;
}

/* A number of nine digits or more (a time, a counter), or a word of 16
 * characters or more with letters and digits (an id, a hash). */
static bool is_random(const char *p, size_t len)
{
	size_t digits = 0, letters = 0;

	for (size_t i = 0; i < len; i++) {
		digits += isdigit((unsigned char)p[i]) != 0;
		letters += isalpha((unsigned char)p[i]) != 0;
	}
	return (digits >= 9 && !letters) ||
	       (len >= 16 && digits >= 2 && letters);
}

static bool listed(const char *params, const char *name, size_t len)
{
	char word[32];

	if (!len || len >= sizeof(word))
		return false;
	for (size_t i = 0; i < len; i++)
		word[i] = name[i];
	word[len] = '\0';
	for (const char *p = params; *p;) {
		size_t own = strcspn(p, " ");

		if (own == len && strncasecmp(p, word, len) == 0)
			return true;
		p += own + strspn(p + own, " ");
	}
	return false;
}

static size_t quoted_len(const char *p)
{
	size_t len = 1;

	while (p[len] && p[len] != '"')
		len += p[len] == '\\' && p[len + 1] ? 2 : 1;
	return p[len] ? len + 1 : len;
}

/* ---- a value ---- */

/* Mask user, host and port of a URI behind its scheme. @return bytes read */
static int mask_uri(struct buf *b, const char *p, unsigned parts, size_t *used)
{
	size_t len = strcspn(p, ">;,? \t\""), at = 0, host = 0, port;
	int err = 0;

	for (size_t i = 0; i < len; i++)
		if (p[i] == '@')
			at = i + 1;
	host = at;
	port = p[host] == '[' ? strcspn(p + host, "]") + 1
			      : strcspn(p + host, ":>;,? \t\"");
	if (host + port > len)
		port = len - host;
	if (at)
		err = parts & USER ? buf_texts(b, "*@", NULL)
				   : buf_add(b, p, at);
	if (!err)
		err = parts & HOST ? buf_add(b, "*", 1)
				   : buf_add(b, p + host, port);
	if (!err && !(parts & PORT))
		err = buf_add(b, p + host + port, len - host - port);
	*used = len;
	return err;
}

/* Mask the value of a parameter "name=value". */
static int mask_param(struct buf *b, const char *p, size_t name, size_t *used)
{
	size_t len = name + 1;

	len += p[len] == '"' ? quoted_len(p + len) : strcspn(p + len, ";,> \t");
	*used = len;
	return buf_add(b, p, name) || buf_add(b, "=*", 2) ? -ENOMEM : 0;
}

static int mask_word(struct buf *b, const char *p,
		     const struct header_rule *rule, size_t *used)
{
	size_t len = word_len(p);

	if (!len) {
		*used = *p == '"' && !(rule->parts & TOKENS) ? quoted_len(p)
							     : 1;
		return buf_add(b, p, *used);
	}
	if (p[len] == '=' && listed(rule->params, p, len))
		return mask_param(b, p, len, used);
	if (p[len] == ':' && (listed("sip sips", p, len))) {
		size_t uri = 0;
		int err = buf_add(b, p, len + 1);

		if (!err)
			err = mask_uri(b, p + len + 1, rule->parts, &uri);
		*used = len + 1 + uri;
		return err;
	}
	*used = len;
	if (listed(rule->params, p, len) && p[len] != '=') /* "rport", "ob" */
		return buf_add(b, "*", 1);
	if (rule->parts & TOKENS && is_random(p, len))
		return buf_add(b, "*", 1);
	return buf_add(b, p, len);
}

/* "SIP/2.0/UDP host:port;branch=...", several separated by commas. */
static int mask_via(struct buf *b, const char *value,
		    const struct header_rule *rule)
{
	const char *p = value;
	int err = 0;

	while (!err && *p) {
		size_t len = strcspn(p, " \t,;"), used;

		err = buf_add(b, p, len);
		p += len;
		if (!err && (*p == ' ' || *p == '\t')) { /* sent-by */
			err = buf_texts(b, " *", NULL);
			p += strspn(p, " \t");
			p += strcspn(p, ";, \t");
		}
		p += strspn(p, " \t");
		while (!err && *p && *p != ',') {
			err = mask_word(b, p, rule, &used);
			p += used;
		}
		if (!err && *p == ',') {
			err = buf_texts(b, ", ", NULL);
			p++;
			p += strspn(p, " \t");
		}
	}
	return err;
}

/* "305 agent "text"": the code and the text (RFC 3261 20.43). */
static int mask_warning(struct buf *b, const char *value)
{
	size_t code = strcspn(value, " ");
	const char *text = strchr(value, '"');
	int err = buf_add(b, value, code);

	return err ? err : buf_texts(b, " * ", text ? text : "", NULL);
}

int mask_header(struct buf *b, const char *name, const char *value)
{
	static const struct header_rule other = {"", NULL, TOKENS | PORT,
						 "tag"};
	const struct header_rule *rule = rule_of(name);
	int err = 0;

	rule = rule ? rule : &other;
	if (rule->parts & WHOLE)
		return 0;
	if (rule->parts & SENTBY) {
		err = mask_via(b, value, rule);
	} else if (rule->parts & AGENT) {
		err = mask_warning(b, value);
	} else {
		while (!err && *value) {
			size_t used = 1;

			err = mask_word(b, value, rule, &used);
			value += used;
		}
	}
	return err ? err : 1;
}

/* ---- session descriptions ---- */

enum sdp_mask {
	SDP_OMIT,    /* the line is not compared */
	SDP_NAME,    /* only the name of the attribute */
	SDP_FIRST,   /* the name and the first word of the value */
	SDP_ADDRESS, /* the address, of lines that we have sent */
	SDP_PORT,    /* the port of m=, except 0 (refused) */
	SDP_KEY,     /* the key of a=crypto (RFC 4568) */
};

/* The table of what is volatile in session descriptions. */
static const struct {
	const char *begins;
	enum sdp_mask mask;
} sdp_lines[] = {
	{"o=", SDP_OMIT},
	{"c=", SDP_ADDRESS},
	{"m=", SDP_PORT},
	{"a=crypto:", SDP_KEY},
	{"a=rtcp:", SDP_NAME},
	{"a=fingerprint:", SDP_FIRST},
	{"a=ice-ufrag:", SDP_NAME},
	{"a=ice-pwd:", SDP_NAME},
	{"a=tls-id:", SDP_NAME},
	{"a=candidate:", SDP_OMIT},
	{"a=remote-candidates:", SDP_OMIT},
	{"a=end-of-candidates", SDP_OMIT},
	{"a=ssrc", SDP_OMIT},
	{"a=msid", SDP_OMIT},
	{"a=cname:", SDP_OMIT},
};

/* "m=audio 40000 RTP/AVP 0 8": the port becomes "*" unless it is 0. */
static int mask_port(struct buf *b, const char *line, size_t len)
{
	const char *p = memchr(line, ' ', len), *end;
	size_t rest;
	int err;

	if (!p)
		return buf_add(b, line, len);
	p++;
	rest = len - (size_t)(p - line);
	end = memchr(p, ' ', rest);
	if (!end || (end - p == 1 && *p == '0'))
		return buf_add(b, line, len);
	err = buf_add(b, line, (size_t)(p - line));
	if (!err)
		err = buf_add(b, "*", 1);
	return err ? err : buf_add(b, end, len - (size_t)(end - line));
}

static int mask_key(struct buf *b, const char *line, size_t len)
{
	const char *key = memmem(line, len, "inline:", 7);
	int err;

	if (!key)
		return buf_add(b, line, len);
	err = buf_add(b, line, (size_t)(key - line));
	return err ? err : buf_texts(b, "inline:*", NULL);
}

static size_t before(const char *line, size_t len, char end)
{
	const char *p = memchr(line, end, len);

	return p ? (size_t)(p - line) : len;
}

int mask_sdp_line(struct buf *b, const char *line, size_t len, bool ours)
{
	int err = 0;
	size_t i;

	for (i = 0; i < sizeof(sdp_lines) / sizeof(*sdp_lines); i++)
		if (strncmp(line, sdp_lines[i].begins,
			    strlen(sdp_lines[i].begins)) == 0)
			break;
	if (i == sizeof(sdp_lines) / sizeof(*sdp_lines)) {
		err = buf_add(b, line, len);
		return err ? err : 1;
	}
	switch (sdp_lines[i].mask) {
	case SDP_OMIT:
		return 0;
	case SDP_NAME:
		err = buf_texts(b, sdp_lines[i].begins, "*", NULL);
		break;
	case SDP_FIRST:
		err = buf_add(b, line, before(line, len, ' '));
		break;
	case SDP_ADDRESS:
		if (ours)
			return 0;
		err = buf_add(b, line, len);
		break;
	case SDP_PORT:
		err = mask_port(b, line, len);
		break;
	case SDP_KEY:
		err = mask_key(b, line, len);
		break;
	}
	return err ? err : 1;
}
