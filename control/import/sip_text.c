#include "control/import/sip_text.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

/* RFC 3261 section 7.3.3 and the registry of header fields */
static const struct {
	char compact;
	const char *name;
} compacts[] = {
	{'v', "Via"},
	{'f', "From"},
	{'t', "To"},
	{'i', "Call-ID"},
	{'l', "Content-Length"},
	{'c', "Content-Type"},
	{'m', "Contact"},
	{'k', "Supported"},
	{'s', "Subject"},
	{'o', "Event"},
	{'u', "Allow-Events"},
	{'r', "Refer-To"},
	{'x', "Session-Expires"},
	{'b', "Referred-By"},
	{'e', "Content-Encoding"},
};

static const char *full_name(const char *name)
{
	if (name[0] == '\0' || name[1] != '\0')
		return name;
	for (size_t i = 0; i < sizeof(compacts) / sizeof(compacts[0]); i++)
		if (compacts[i].compact == (name[0] | 0x20))
			return compacts[i].name;
	return name;
}

/* Copy [p, end) without blanks around it. @return false: it does not fit */
static bool copy_trimmed(char *dst, size_t size, const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	while (end > p && strchr(" \t\r\n", end[-1]))
		end--;
	if ((size_t)(end - p) >= size)
		return false;
	memcpy(dst, p, (size_t)(end - p));
	dst[end - p] = '\0';
	return true;
}

static const char *line_end(const char *p)
{
	return p + strcspn(p, "\n");
}

static const char *next_line(const char *end)
{
	return *end ? end + 1 : end;
}

/* Join folded lines: line ends and the blanks behind them become one space. */
static void unfold(char *value)
{
	char *to = value;

	for (const char *p = value; *p;) {
		if (!strchr("\t\r\n", *p)) {
			*to++ = *p++;
			continue;
		}
		p += strspn(p, " \t\r\n");
		*to++ = ' ';
	}
	*to = '\0';
}

void sip_text_headers(const char *text, sip_text_header_h *handler, void *arg)
{
	const char *p = next_line(line_end(text));

	while (*p && *p != '\r' && *p != '\n') {
		const char *end = line_end(p);
		const char *colon = memchr(p, ':', (size_t)(end - p));
		char name[64], value[SIP_TEXT_BYTES];
		bool fits;

		while (*end && (end[1] == ' ' || end[1] == '\t'))
			end = line_end(end + 1);
		if (colon && copy_trimmed(name, sizeof(name), p, colon)) {
			fits = copy_trimmed(value, sizeof(value), colon + 1,
					    end);
			if (fits)
				unfold(value);
			if (!handler(full_name(name), fits ? value : NULL, arg))
				return;
		}
		p = next_line(end);
	}
}

struct search {
	const char *name;
	unsigned n;
	char *ret;
	bool found;
};

static bool search_header(const char *name, const char *value, void *arg)
{
	struct search *s = arg;

	if (!value || strcasecmp(name, s->name) != 0 || s->n-- > 0)
		return true;
	s->found = str_copy(s->ret, SIP_TEXT_BYTES, value) == 0;
	return false;
}

bool sip_text_header(const char *text, const char *name, unsigned n,
		     char ret[static SIP_TEXT_BYTES])
{
	struct search s = {.name = name, .n = n, .ret = ret};

	sip_text_headers(text, search_header, &s);
	return s.found;
}

const char *sip_text_body(const char *text)
{
	const char *body = strstr(text, "\r\n\r\n");

	if (body)
		return body + 4;
	body = strstr(text, "\n\n");
	return body ? body + 2 : "";
}

/* user[:password]@host[:port] up to parameters. */
static bool read_address(const char *p, struct sip_name *ret)
{
	const char *end = p + strcspn(p, ">?;, \t\r\n\"");
	const char *at = memchr(p, '@', (size_t)(end - p));
	const char *host, *host_end;
	unsigned long port;

	if (!at) { /* ";" may stand in the user part, as in tel parameters */
		const char *close = p + strcspn(p, ">?, \t\r\n\"");

		at = memchr(p, '@', (size_t)(close - p));
		end = at ? at + strcspn(at, ">?;, \t\r\n\"") : end;
	}
	if (at) {
		const char *user_end = p + strcspn(p, ":;@");

		if (!copy_trimmed(ret->user, sizeof(ret->user), p, user_end))
			return false;
	}
	host = at ? at + 1 : p;
	host_end = *host == '[' ? host + strcspn(host, "]")
				: host + strcspn(host, ":>?;, \t\r\n\"");
	if (*host == '[')
		host++;
	if (host_end < host || host_end > end ||
	    !copy_trimmed(ret->host, sizeof(ret->host), host, host_end))
		return false;
	host_end += *host_end == ']';
	if (*host_end == ':') {
		port = strtoul(host_end + 1, NULL, 10);
		ret->port = port <= UINT16_MAX ? (uint16_t)port : 0;
	}
	return ret->host[0] != '\0';
}

bool sip_text_name(const char *value, struct sip_name *ret)
{
	struct sip_name n = {.port = 0};
	const char *open = strchr(value, '<');
	const char *uri = open ? open + 1 : value;
	const char *tag;
	bool good;

	if (open) {
		const char *from = value + strspn(value, " \"");
		const char *to = open;

		while (to > from && strchr(" \"", to[-1]))
			to--;
		if (!copy_trimmed(n.display, sizeof(n.display), from, to))
			return false;
	}
	uri += strspn(uri, " ");
	if (strncasecmp(uri, "sip:", 4) == 0)
		good = read_address(uri + 4, &n);
	else if (strncasecmp(uri, "sips:", 5) == 0)
		good = read_address(uri + 5, &n);
	else if (strncasecmp(uri, "tel:", 4) == 0)
		good = copy_trimmed(n.user, sizeof(n.user), uri + 4,
				    uri + 4 + strcspn(uri + 4, ">;, "));
	else
		return false;
	tag = open ? strchr(open, '>') : value;
	tag = tag ? strstr(tag, ";tag=") : NULL;
	if (tag && !copy_trimmed(n.tag, sizeof(n.tag), tag + 5,
				 tag + 5 + strcspn(tag + 5, ";, \t\r\n")))
		return false;
	if (good)
		*ret = n;
	return good;
}

/* ---- SDP ---- */

/* RFC 3551 section 6, tables 4 and 5, the audio ones */
static const struct {
	uint8_t pt;
	const char *name;
} statics[] = {
	{0, "PCMU"},  {3, "GSM"},        {4, "G723"},       {8, "PCMA"},
	{9, "G722"},  {10, "L16/44100"}, {11, "L16/44100"}, {13, "CN"},
	{15, "G728"}, {18, "G729"},      {5, "DVI4"},       {6, "DVI4"},
	{7, "LPC"},   {12, "QCELP"},     {14, "MPA"},       {19, "CN"},
};

static void read_formats(struct sip_audio *a, const char *p, const char *end)
{
	while (p < end && a->codecs < SIP_TEXT_CODECS_MAX) {
		struct sip_codec *c = &a->codec[a->codecs];
		char *rest;
		unsigned long pt = strtoul(p, &rest, 10);

		if (rest == p || rest > end || pt > 127)
			return;
		*c = (struct sip_codec){.pt = (uint8_t)pt};
		str_print(c->name, sizeof(c->name), "payload type %lu", pt);
		for (size_t i = 0; i < sizeof(statics) / sizeof(statics[0]);
		     i++)
			if (statics[i].pt == pt) {
				str_copy(c->name, sizeof(c->name),
					 statics[i].name);
				c->named = true;
			}
		a->codecs++;
		p = rest + strspn(rest, " ");
	}
}

/* m=audio 4000[/2] RTP/AVP 0 8 101 */
static void begin_audio(struct sip_audio *a, const char *p, const char *end)
{
	const char *blank;
	unsigned long port = strtoul(p, NULL, 10);

	a->port = port <= UINT16_MAX ? (uint16_t)port : 0;
	blank = memchr(p, ' ', (size_t)(end - p));
	if (!blank)
		return;
	p = blank + 1;
	blank = memchr(p, ' ', (size_t)(end - p));
	if (!blank)
		return;
	if (memmem(p, (size_t)(blank - p), "UDP/TLS/", 8))
		a->keys = SIP_TEXT_DTLS;
	/* a fingerprint of the session may have said DTLS already */
	else if (a->keys != SIP_TEXT_DTLS &&
		 memmem(p, (size_t)(blank - p), "SAVP", 4))
		a->keys = SIP_TEXT_SDES_MANDATORY;
	read_formats(a, blank + 1, end);
}

static void read_connection(struct sip_audio *a, const char *p, const char *end)
{
	char text[ADDRESS_TEXT_BYTES];
	uint8_t four[4];

	if (end - p < 8 || !copy_trimmed(text, sizeof(text), p + 7,
					 p + 7 + strcspn(p + 7, "/ \r\n")))
		return;
	if (p[5] == '6' && inet_pton(AF_INET6, text, a->address.bytes) == 1) {
		a->has_address = true;
		a->no_address = false;
	}
	if (p[5] != '4' || inet_pton(AF_INET, text, four) != 1)
		return;
	address_set_ipv4(&a->address, four);
	a->has_address = true;
	/* that of the media replaces that of the session */
	a->no_address = strcmp(text, "0.0.0.0") == 0;
}

/* rtpmap:101 telephone-event/8000[/1] */
static void read_rtpmap(struct sip_audio *a, const char *p, const char *end)
{
	char *rest;
	unsigned long pt = strtoul(p, &rest, 10);
	char name[SIP_TEXT_CODEC_BYTES];
	const char *slash;
	unsigned long hz;

	rest += strspn(rest, " ");
	slash = rest < end ? memchr(rest, '/', (size_t)(end - rest)) : NULL;
	if (!slash || !copy_trimmed(name, sizeof(name), rest, slash))
		return;
	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c > '~')
			return;
	hz = strtoul(slash + 1, NULL, 10);
	if (strcasecmp(name, "telephone-event") == 0 && pt <= 127 && hz > 0 &&
	    hz <= 192000 && !a->has_event) {
		a->has_event = true;
		a->event_pt = (uint8_t)pt;
		a->event_hz = (uint32_t)hz;
	}
	for (size_t i = 0; i < a->codecs; i++) {
		struct sip_codec *c = &a->codec[i];

		if (c->pt != pt)
			continue;
		c->named = true;
		if (strcasecmp(name, "L16") == 0)
			str_print(c->name, sizeof(c->name), "L16/%lu", hz);
		else
			str_copy(c->name, sizeof(c->name), name);
	}
}

static bool read_ip(const char *text, struct address *ret)
{
	uint8_t four[4];

	if (inet_pton(AF_INET6, text, ret->bytes) == 1)
		return true;
	if (inet_pton(AF_INET, text, four) != 1)
		return false;
	address_set_ipv4(ret, four);
	return true;
}

/* candidate:FOUNDATION 1 UDP PRIORITY ADDRESS PORT typ ... */
static void read_candidate(struct sip_audio *a, const char *p, const char *end)
{
	struct sip_candidate *c = &a->candidate[a->candidates];
	char line[SIP_TEXT_BYTES], ip[ADDRESS_TEXT_BYTES], transport[8];
	unsigned component, port;

	if (a->candidates == SIP_TEXT_CANDIDATES_MAX ||
	    !copy_trimmed(line, sizeof(line), p, end) ||
	    sscanf(line, "%*s %3u %7s %*s %45s %5u", &component, transport, ip,
		   &port) != 4 ||
	    component != 1 || strcasecmp(transport, "UDP") != 0 ||
	    port > UINT16_MAX || !read_ip(ip, &c->address))
		return;
	c->port = (uint16_t)port;
	a->candidates++;
}

static void read_attribute(struct sip_audio *a, const char *p, const char *end)
{
	size_t n = (size_t)(end - p);
	unsigned long ms;

	if (strncmp(p, "rtpmap:", 7) == 0) {
		read_rtpmap(a, p + 7, end);
	} else if (strncmp(p, "ptime:", 6) == 0) {
		ms = strtoul(p + 6, NULL, 10);
		a->ptime_ms = ms <= 1000 ? (uint32_t)ms : 0;
	} else if (n >= 8 && strncmp(p, "sendrecv", 8) == 0) {
		a->direction = SIP_TEXT_SENDRECV;
	} else if (n >= 8 && strncmp(p, "sendonly", 8) == 0) {
		a->direction = SIP_TEXT_HELD;
	} else if (n >= 8 && strncmp(p, "inactive", 8) == 0) {
		a->direction = SIP_TEXT_HELD;
	} else if (n >= 8 && strncmp(p, "recvonly", 8) == 0) {
		a->direction = SIP_TEXT_RECVONLY;
	} else if (strncmp(p, "crypto:", 7) == 0) {
		if (a->keys == SIP_TEXT_PLAIN)
			a->keys = SIP_TEXT_SDES;
	} else if (strncmp(p, "fingerprint:", 12) == 0) {
		a->keys = SIP_TEXT_DTLS;
	} else if (strncmp(p, "ice-ufrag:", 10) == 0) {
		a->ice = true;
	} else if (strncmp(p, "candidate:", 10) == 0) {
		read_candidate(a, p + 10, end);
	}
}

static void drop_codec(struct sip_audio *a, size_t i)
{
	memmove(&a->codec[i], &a->codec[i + 1],
		(a->codecs - i - 1) * sizeof(a->codec[0]));
	a->codecs--;
}

static void drop_no_codecs(struct sip_audio *a)
{
	for (size_t i = 0; i < a->codecs;) {
		if (strcasecmp(a->codec[i].name, "CN") == 0 ||
		    strcasecmp(a->codec[i].name, "telephone-event") == 0)
			drop_codec(a, i);
		else
			i++;
	}
}

bool sip_text_audio(const char *text, struct sip_audio *ret)
{
	struct sip_audio a = {.port = 0};
	const char *p = sip_text_body(text);
	bool in_sdp = false, found = false, here = true;

	for (const char *end; *p; p = next_line(end)) {
		end = line_end(p);
		if (strncmp(p, "v=0", 3) == 0)
			in_sdp = true;
		if (!in_sdp)
			continue;
		if (strncmp(p, "m=", 2) == 0) {
			here = !found && strncmp(p, "m=audio ", 8) == 0;
			a.other_media |= !here;
			if (here)
				begin_audio(&a, p + 8, end);
			found |= here;
		} else if (here && strncmp(p, "c=IN IP", 7) == 0) {
			read_connection(&a, p + 2, end);
		} else if (here && strncmp(p, "a=", 2) == 0) {
			read_attribute(&a, p + 2, end);
		}
	}
	drop_no_codecs(&a);
	if (a.no_address)
		a.direction = SIP_TEXT_HELD;
	if (found)
		*ret = a;
	return found;
}
