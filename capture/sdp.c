#include "capture/sdp.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define FMTP_BYTES 256 /* longer parameters are ignored */

/* RFC 3551 section 6, tables 4 and 5 */
static const struct {
	uint8_t pt;
	const char *name;
	uint32_t clock_hz;
} statics[] = {
	{0, "PCMU", 8000},   {3, "GSM", 8000},    {4, "G723", 8000},
	{5, "DVI4", 8000},   {6, "DVI4", 16000},  {7, "LPC", 8000},
	{8, "PCMA", 8000},   {9, "G722", 8000},   {10, "L16", 44100},
	{11, "L16", 44100},  {12, "QCELP", 8000}, {13, "CN", 8000},
	{14, "MPA", 90000},  {15, "G728", 8000},  {16, "DVI4", 11025},
	{17, "DVI4", 22050}, {18, "G729", 8000},  {19, "CN", 8000},
	{26, "JPEG", 90000}, {31, "H261", 90000}, {32, "MPV", 90000},
	{33, "MP2T", 90000}, {34, "H263", 90000},
};

/** A piece of text without a terminating zero. */
struct span {
	const char *at;
	const char *end;
};

struct scan {
	sdp_media_h *handler;
	void *arg;
	unsigned found;
	bool in_sdp;
	bool past_session; /* behind the first m= line */
	bool in_media;     /* behind one of RTP */
	bool has_session_address;
	bool has_address;
	struct address session;
	struct sdp_media media;
	size_t formats;
	struct {
		uint32_t pt;
		struct span parameters;
	} format[RTP_PAYLOADS_MAX]; /* of the open media line */
};

static void add_static(struct rtp_payload_map *map, uint32_t pt)
{
	for (size_t i = 0; i < sizeof(statics) / sizeof(statics[0]); i++) {
		if (statics[i].pt == pt)
			rtp_payload_map_add(map, statics[i].pt, statics[i].name,
					    statics[i].clock_hz);
	}
}

void sdp_add_static(struct rtp_payload_map *map)
{
	for (size_t i = 0; i < sizeof(statics) / sizeof(statics[0]); i++)
		add_static(map, statics[i].pt);
}

static bool skip(struct span *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
		return false;
	s->at += n;
	return true;
}

static void skip_blanks(struct span *s)
{
	while (s->at < s->end && *s->at == ' ')
		s->at++;
}

/* A decimal number up to max. */
static bool number(struct span *s, uint32_t max, uint32_t *ret)
{
	uint64_t v = 0;
	const char *start = s->at;

	for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
		v = v * 10 + (uint64_t)(*s->at - '0');
		if (v > max)
			return false;
	}
	if (s->at == start)
		return false;
	*ret = (uint32_t)v;
	return true;
}

static struct span word(struct span *s)
{
	struct span w = {s->at, s->at};

	while (s->at < s->end && *s->at != ' ')
		s->at++;
	w.end = s->at;
	skip_blanks(s);
	return w;
}

/* c=IN IP4 192.0.2.1[/ttl] */
static bool read_address(struct span s, struct address *ret)
{
	char text[ADDRESS_TEXT_BYTES];
	struct span w;
	uint8_t four[4];
	bool v6;
	size_t n;

	if (!skip(&s, "IN IP"))
		return false;
	v6 = skip(&s, "6 ");
	if (!v6 && !skip(&s, "4 "))
		return false;
	w = word(&s);
	n = (size_t)(w.end - w.at);
	for (size_t i = 0; i < n; i++) {
		if (w.at[i] == '/')
			n = i;
	}
	if (n == 0 || n >= sizeof(text))
		return false;
	memcpy(text, w.at, n);
	text[n] = '\0';
	if (v6)
		return inet_pton(AF_INET6, text, ret->bytes) == 1;
	if (inet_pton(AF_INET, text, four) != 1)
		return false;
	address_set_ipv4(ret, four);
	return true;
}

static bool is_unspecified(const struct address *a)
{
	static const struct address none;
	static const uint8_t zero[4];
	struct address zero4;

	address_set_ipv4(&zero4, zero);
	return memcmp(a, &none, sizeof(none)) == 0 ||
	       memcmp(a, &zero4, sizeof(zero4)) == 0;
}

/* The format parameters may select a mode of the codec. They may come before the
 * rtpmap, so they are read at the end. */
static void set_modes(struct scan *c)
{
	for (size_t i = 0; i < c->formats; i++) {
		const struct span *s = &c->format[i].parameters;
		char text[FMTP_BYTES];
		size_t n = (size_t)(s->end - s->at);

		if (n >= sizeof(text))
			continue;
		memcpy(text, s->at, n);
		text[n] = '\0';
		for (size_t k = 0; k < c->media.map.count; k++) {
			struct rtp_payload *p = &c->media.map.entries[k];

			if (p->pt == c->format[i].pt)
				emodel_values_of(&p->values, p->codec,
						 p->clock_hz, text);
		}
	}
}

static void end_media(struct scan *c)
{
	struct sdp_media *m = &c->media;

	if (!c->in_media)
		return;
	c->in_media = false;
	set_modes(c);
	if (!c->has_address && !c->has_session_address)
		return;
	if (!c->has_address)
		m->address = c->session;
	if (m->port == 0 || is_unspecified(&m->address))
		return;
	if (m->rtcp_port == 0 && m->port < UINT16_MAX)
		m->rtcp_port = (uint16_t)(m->port + 1);
	c->handler(m, c->arg);
}

/* m=audio 4000[/2] RTP/AVP 0 8 101 */
static void begin_media(struct scan *c, struct span s)
{
	struct span protocol;
	uint32_t port;
	uint32_t pt;

	end_media(c);
	memset(&c->media, 0, sizeof(c->media));
	c->has_address = false;
	c->formats = 0;
	word(&s); /* audio, video... */
	if (!number(&s, UINT16_MAX, &port))
		return;
	word(&s); /* rest of the port */
	protocol = word(&s);
	while (protocol.at < protocol.end && !skip(&protocol, "RTP/"))
		protocol.at++;
	if (protocol.at == protocol.end)
		return;
	c->media.port = (uint16_t)port;
	c->in_media = true;
	while (number(&s, 127, &pt)) {
		/* an rtpmap that follows replaces it */
		add_static(&c->media.map, pt);
		skip_blanks(&s);
	}
}

static void set_payload(struct rtp_payload_map *map, uint8_t pt,
			const char *name, uint32_t clock_hz)
{
	for (size_t i = 0; i < map->count; i++) {
		if (map->entries[i].pt != pt)
			continue;
		map->entries[i] = map->entries[--map->count];
		break;
	}
	rtp_payload_map_add(map, pt, name, clock_hz);
}

/* a=rtpmap:101 telephone-event/8000[/1] */
static void read_rtpmap(struct scan *c, struct span s)
{
	char name[16];
	uint32_t pt;
	uint32_t clock_hz;
	size_t n = 0;

	if (!number(&s, 127, &pt))
		return;
	skip_blanks(&s);
	for (; s.at < s.end && *s.at != '/'; s.at++) {
		/* printable characters only: it goes to a terminal */
		if (*s.at <= ' ' || *s.at > '~')
			return;
		if (n < sizeof(name) - 1)
			name[n++] = *s.at;
	}
	name[n] = '\0';
	if (n == 0 || !skip(&s, "/") || !number(&s, 1000000, &clock_hz))
		return;
	set_payload(&c->media.map, (uint8_t)pt, name, clock_hz);
}

/* a=fmtp:97 mode-set=0,1,2 */
static void read_fmtp(struct scan *c, struct span s)
{
	uint32_t pt;

	if (c->formats >= RTP_PAYLOADS_MAX || !number(&s, 127, &pt))
		return;
	skip_blanks(&s);
	c->format[c->formats].pt = pt;
	c->format[c->formats++].parameters = s;
}

static void read_line(struct scan *c, struct span s)
{
	uint32_t port;

	if (s.end - s.at == 3 && skip(&s, "v=0")) {
		end_media(c);
		c->in_sdp = true;
		c->has_session_address = false;
		c->past_session = false;
		c->found++;
		return;
	}
	if (!c->in_sdp)
		return;
	if (skip(&s, "m=")) {
		c->past_session = true;
		begin_media(c, s);
	} else if (skip(&s, "c=")) {
		struct address a;

		if (!read_address(s, &a))
			return;
		if (c->in_media) {
			c->media.address = a;
			c->has_address = true;
		} else if (!c->past_session) { /* not of media without RTP */
			c->session = a;
			c->has_session_address = true;
		}
	} else if (c->in_media && skip(&s, "a=rtpmap:")) {
		read_rtpmap(c, s);
	} else if (c->in_media && skip(&s, "a=fmtp:")) {
		read_fmtp(c, s);
	} else if (c->in_media && skip(&s, "a=rtcp:")) {
		if (number(&s, UINT16_MAX, &port))
			c->media.rtcp_port = (uint16_t)port;
	}
}

unsigned sdp_scan(const char *text, size_t bytes, bool cut,
		  sdp_media_h *handler, void *arg)
{
	struct scan c = {.handler = handler, .arg = arg};
	const char *at = text;
	const char *end = text + bytes;

	while (at < end) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		struct span line = {at, eol};

		if (!eol && cut)
			break;
		if (!eol)
			line.end = end;
		if (line.end > line.at && line.end[-1] == '\r')
			line.end--;
		read_line(&c, line);
		at = eol ? eol + 1 : end;
	}
	end_media(&c);
	return c.found;
}

bool sdp_is_sip(const uint8_t *data, size_t bytes)
{
	const char *text = (const char *)data;
	const char *eol;
	size_t n = 0;

	if (bytes < 16)
		return false;
	if (memcmp(text, "SIP/2.0 ", 8) == 0)
		return true;
	while (n < 24 && n < bytes && text[n] >= 'A' && text[n] <= 'Z')
		n++;
	if (n < 3 || n >= bytes || text[n] != ' ')
		return false;
	eol = memchr(text, '\n', bytes < 1024 ? bytes : 1024);
	return eol && eol - text >= 9 &&
	       (memcmp(eol - 8, "SIP/2.0\r", 8) == 0 ||
		memcmp(eol - 7, "SIP/2.0", 7) == 0);
}
