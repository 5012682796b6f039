#include "sip/sdp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "sip/span.h"

#define PTIME_MIN_MS 10
#define PTIME_MAX_MS 120

/* Payload types with a fixed meaning (RFC 3551 tables 4 and 5, audio). */
static const struct media_codec static_codecs[] = {
	{"PCMU", 0, 1, 8000, ""},   {"GSM", 3, 1, 8000, ""},
	{"G723", 4, 1, 8000, ""},   {"DVI4", 5, 1, 8000, ""},
	{"DVI4", 6, 1, 16000, ""},  {"LPC", 7, 1, 8000, ""},
	{"PCMA", 8, 1, 8000, ""},   {"G722", 9, 1, 8000, ""},
	{"L16", 10, 2, 44100, ""},  {"L16", 11, 1, 44100, ""},
	{"QCELP", 12, 1, 8000, ""}, {"CN", 13, 1, 8000, ""},
	{"G728", 15, 1, 8000, ""},  {"G729", 18, 1, 8000, ""},
};

struct parser {
	struct sdp *sdp;
	const char *reason;
	bool in_media; /* behind an m= line */
	bool in_audio; /* behind the one we use */
	uint16_t rtp_port;
	uint16_t rtcp_port;       /* 0: not said */
	struct span session_addr; /* what stands behind c= */
	struct span addr;
	struct span rtcp_addr;
	enum media_direction session_direction;
	unsigned session_xr;
	struct sdp_dtls association; /* of the session */
	struct media_ice ice;        /* of the session */
};

bool sdp_sends(enum media_direction direction)
{
	return direction == MEDIA_SENDRECV || direction == MEDIA_SENDONLY;
}

bool sdp_receives(enum media_direction direction)
{
	return direction == MEDIA_SENDRECV || direction == MEDIA_RECVONLY;
}

enum media_direction sdp_direction(bool sends, bool receives)
{
	if (sends)
		return receives ? MEDIA_SENDRECV : MEDIA_SENDONLY;
	return receives ? MEDIA_RECVONLY : MEDIA_INACTIVE;
}

/* "IN IP4 192.0.2.1" or "IN IP6 2001:db8::1"; names are not resolved. */
static int addr_parse(struct media_addr *ret, struct span s, uint16_t port)
{
	char text[INET6_ADDRSTRLEN];
	struct span net = span_word(&s);
	struct span type = span_word(&s);
	struct span value = span_word(&s);
	struct media_addr addr = {.len = 0};
	struct sockaddr_in *in = (struct sockaddr_in *)&addr.ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr.ss;

	value = span_until(&value, '/'); /* a TTL of multicast */
	if (!span_is(net, "IN") || !span_copy(text, sizeof(text), value))
		return -EBADMSG;
	if (span_is(type, "IP4") &&
	    inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		addr.len = in->sin_addr.s_addr == INADDR_ANY ? 0 : sizeof(*in);
	} else if (span_is(type, "IP6") &&
		   inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		addr.len = IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr)
				   ? 0
				   : sizeof(*in6);
	} else {
		return -EBADMSG;
	}
	*ret = addr;
	return 0;
}

static struct media_codec *codec_by_pt(struct sdp *sdp, uint64_t pt)
{
	for (size_t i = 0; i < sdp->codec_count; i++) {
		if (sdp->codecs[i].pt == pt)
			return &sdp->codecs[i];
	}
	return NULL;
}

/* The formats of the audio line; dynamic ones get their name by rtpmap. */
static void formats_parse(struct sdp *sdp, struct span s)
{
	for (;;) {
		struct media_codec *codec = &sdp->codecs[sdp->codec_count];
		struct span word = span_word(&s);
		uint64_t pt;

		if (word.p == word.end || sdp->codec_count == SDP_FORMATS_MAX)
			return;
		if (!span_number(word, 127, &pt) || codec_by_pt(sdp, pt))
			continue;
		memset(codec, 0, sizeof(*codec));
		for (size_t i = 0;
		     i < sizeof(static_codecs) / sizeof(static_codecs[0]); i++)
			if (static_codecs[i].pt == pt)
				*codec = static_codecs[i];
		codec->pt = (uint8_t)pt;
		sdp->codec_count++;
	}
}

/* @param ret_secure  SRTP is not optional (RFC 3711 section 9, RFC 5764 8) */
static bool proto_known(struct span proto, bool *ret_secure)
{
	static const struct {
		const char *name;
		bool secure;
	} protos[] = {
		{"RTP/AVP", false},         {"RTP/AVPF", false},
		{"RTP/SAVP", true},         {"RTP/SAVPF", true},
		{"UDP/TLS/RTP/SAVP", true}, {"UDP/TLS/RTP/SAVPF", true},
	};

	for (size_t i = 0; i < sizeof(protos) / sizeof(protos[0]); i++) {
		if (span_is(proto, protos[i].name)) {
			*ret_secure = protos[i].secure;
			return true;
		}
	}
	return false;
}

static int media_line(struct parser *parser, struct span s)
{
	struct sdp *sdp = parser->sdp;
	struct span type = span_word(&s);
	struct span ports = span_word(&s);
	struct span proto = span_word(&s);
	struct span rest = s;
	struct sdp_line *line = &sdp->lines[sdp->line_count];
	uint64_t port;

	parser->in_media = true;
	parser->in_audio = false;
	if (sdp->line_count == SDP_LINES_MAX) {
		parser->reason = "the SDP has too many m= lines";
		return -EMSGSIZE;
	}
	if (!span_number(span_until(&ports, '/'), UINT16_MAX, &port) ||
	    !span_copy(line->type, sizeof(line->type), type) ||
	    !span_copy(line->proto, sizeof(line->proto), proto) ||
	    !span_copy(line->format, sizeof(line->format), span_word(&s))) {
		parser->reason = "the SDP has a broken m= line";
		return -EBADMSG;
	}
	sdp->line_count++;
	if (sdp->has_audio || !span_is(type, "audio") ||
	    !proto_known(proto, &sdp->secure))
		return 0;
	if (port == 0) {
		sdp->audio_refused = true;
		return 0;
	}
	sdp->has_audio = true;
	sdp->audio = sdp->line_count - 1;
	sdp->direction = parser->session_direction;
	sdp->xr = parser->session_xr;
	parser->in_audio = true;
	parser->rtp_port = (uint16_t)port;
	formats_parse(sdp, rest);
	return 0;
}

/* rtpmap:<pt> <name>/<clock>[/<channels>] (RFC 4566 section 6) */
static void rtpmap_parse(struct sdp *sdp, struct span s)
{
	struct span number = span_word(&s);
	struct span value = span_word(&s);
	struct span name = span_until(&value, '/');
	struct span clock = span_until(&value, '/');
	struct media_codec found = {.channels = 1};
	struct media_codec *codec;
	uint64_t pt, hz, channels;

	if (!span_number(number, 127, &pt) ||
	    !span_number(clock, UINT32_MAX, &hz) || hz == 0)
		return;
	codec = codec_by_pt(sdp, pt);
	if (!codec || !span_copy(found.name, sizeof(found.name), name))
		return;
	if (span_number(value, UINT8_MAX, &channels) && channels > 0)
		found.channels = (uint8_t)channels;
	memcpy(found.fmtp, codec->fmtp, sizeof(found.fmtp));
	found.pt = (uint8_t)pt;
	found.clock_hz = (uint32_t)hz;
	*codec = found;
}

/* fmtp:<pt> <parameters> (RFC 4566 section 6); too long ones are ignored */
static void fmtp_parse(struct sdp *sdp, struct span s)
{
	struct span number = span_word(&s);
	struct media_codec *codec;
	size_t len;
	uint64_t pt;

	while (s.p < s.end && *s.p == ' ')
		s.p++;
	len = (size_t)(s.end - s.p);
	if (!span_number(number, 127, &pt) || len >= MEDIA_FMTP_BYTES)
		return;
	for (size_t i = 0; i < len; i++) {
		if (s.p[i] < ' ' || s.p[i] > '~')
			return;
	}
	codec = codec_by_pt(sdp, pt);
	if (!codec)
		return;
	memset(codec->fmtp, 0, sizeof(codec->fmtp));
	memcpy(codec->fmtp, s.p, len);
}

static void rtcp_parse(struct parser *parser, struct span s)
{
	uint64_t port;

	if (!span_number(span_word(&s), UINT16_MAX, &port) || port == 0)
		return;
	parser->rtcp_port = (uint16_t)port;
	while (s.p < s.end && *s.p == ' ')
		s.p++;
	parser->rtcp_addr = s; /* empty: that of RTP */
}

static bool direction_parse(struct span s, enum media_direction *ret)
{
	if (span_is(s, "sendrecv"))
		*ret = MEDIA_SENDRECV;
	else if (span_is(s, "sendonly"))
		*ret = MEDIA_SENDONLY;
	else if (span_is(s, "recvonly"))
		*ret = MEDIA_RECVONLY;
	else if (span_is(s, "inactive"))
		*ret = MEDIA_INACTIVE;
	else
		return false;
	return true;
}

static void association_line(struct sdp_dtls *dtls, struct span name,
			     struct span s)
{
	if (span_is(name, "fingerprint"))
		sdp_fingerprint_parse(dtls, s);
	else if (span_is(name, "setup"))
		sdp_setup_parse(dtls, s);
}

/* The flags of stat-summary; without any: all */
static unsigned summary_flags(struct span s)
{
	unsigned flags = 0;

	if (s.p == s.end)
		return MEDIA_XR_SUMMARY;
	while (s.p < s.end) {
		struct span flag = span_until(&s, ',');

		if (span_is(flag, "loss"))
			flags |= MEDIA_XR_LOSS;
		else if (span_is(flag, "dup"))
			flags |= MEDIA_XR_DUPLICATES;
		else if (span_is(flag, "jitt"))
			flags |= MEDIA_XR_JITTER;
	}
	return flags;
}

/* rtcp-xr:<block>[=<value>] ... (RFC 3611 section 5.1); blocks we have not
 * are ignored, "rtcp-xr:" alone asks for none */
static unsigned rtcp_xr_parse(struct span s)
{
	unsigned xr = 0;

	for (;;) {
		struct span word = span_word(&s);
		struct span name = span_until(&word, '=');

		if (name.p == name.end)
			return xr;
		if (span_is(name, "rcvr-rtt"))
			xr |= MEDIA_XR_RTT;
		else if (span_is(name, "stat-summary"))
			xr |= summary_flags(word);
		else if (span_is(name, "voip-metrics"))
			xr |= MEDIA_XR_VOIP;
	}
}

static void session_attribute(struct parser *parser, struct span s)
{
	struct span name;

	if (direction_parse(s, &parser->session_direction))
		return;
	name = span_until(&s, ':');
	if (span_is(name, "rtcp-xr"))
		parser->session_xr = rtcp_xr_parse(s);
	else
		association_line(&parser->association, name, s);
	if (!span_is(name, "candidate"))
		sdp_ice_parse(&parser->ice, name, s);
}

static void attribute_line(struct parser *parser, struct span s)
{
	struct sdp *sdp = parser->sdp;
	struct span name;
	uint64_t ms;

	if (!parser->in_media) {
		session_attribute(parser, s);
		return;
	}
	if (!parser->in_audio || direction_parse(s, &sdp->direction))
		return;
	name = span_until(&s, ':');
	association_line(&sdp->association, name, s);
	sdp_ice_parse(&sdp->ice, name, s);
	if (span_is(name, "rtpmap"))
		rtpmap_parse(sdp, s);
	else if (span_is(name, "fmtp"))
		fmtp_parse(sdp, s);
	else if (span_is(name, "crypto"))
		sdp_crypto_parse(&sdp->crypto, s);
	else if (span_is(name, "rtcp-mux"))
		sdp->rtcp_mux = true;
	else if (span_is(name, "rtcp"))
		rtcp_parse(parser, s);
	else if (span_is(name, "rtcp-xr"))
		sdp->xr = rtcp_xr_parse(s);
	else if (span_is(name, "ptime") &&
		 span_number(span_word(&s), PTIME_MAX_MS, &ms) &&
		 ms >= PTIME_MIN_MS)
		sdp->ptime_ms = (uint16_t)ms;
	else if (span_is(name, "maxptime") &&
		 span_number(span_word(&s), UINT16_MAX, &ms) &&
		 ms >= PTIME_MIN_MS)
		sdp->maxptime_ms = (uint16_t)ms;
}

static int line_parse(struct parser *parser, struct span s)
{
	char type = *s.p;

	if (s.end - s.p < 2 || s.p[1] != '=') {
		parser->reason = "the SDP has a line that is not type=value";
		return -EBADMSG;
	}
	s.p += 2;
	if (type == 'm')
		return media_line(parser, s);
	if (type == 'c' && !parser->in_media)
		parser->session_addr = s;
	else if (type == 'c' && parser->in_audio)
		parser->addr = s;
	else if (type == 'a')
		attribute_line(parser, s);
	return 0;
}

/* Addresses and formats, when all lines are known. */
static int audio_finish(struct parser *parser)
{
	struct sdp *sdp = parser->sdp;
	size_t kept = 0;
	uint16_t rtcp_port = parser->rtcp_port;

	if (!sdp->has_audio)
		return 0;
	if (sdp->association.fingerprint.len == 0)
		sdp->association.fingerprint = parser->association.fingerprint;
	if (sdp->association.setup == SDP_SETUP_NONE)
		sdp->association.setup = parser->association.setup;
	sdp_ice_inherit(&sdp->ice, &parser->ice);
	if (rtcp_port == 0)
		rtcp_port = (uint16_t)(parser->rtp_port + 1);
	if (!parser->addr.p)
		parser->addr = parser->session_addr;
	if (parser->rtcp_addr.p == parser->rtcp_addr.end)
		parser->rtcp_addr = parser->addr;
	if (addr_parse(&sdp->rtp, parser->addr, parser->rtp_port) ||
	    addr_parse(&sdp->rtcp, parser->rtcp_addr, rtcp_port)) {
		parser->reason = "the SDP names no IP address for its audio";
		return -EBADMSG;
	}
	for (size_t i = 0; i < sdp->codec_count; i++) {
		if (sdp->codecs[i].name[0])
			sdp->codecs[kept++] = sdp->codecs[i];
	}
	sdp->codec_count = kept;
	return 0;
}

int sdp_parse(struct sdp *ret, const char *text, size_t len,
	      const char **reason)
{
	struct sdp sdp = {.line_count = 0};
	struct parser parser = {.sdp = &sdp};
	struct span s = {text, text + len};
	int err;

	if (len > SDP_TEXT_MAX) {
		*reason = "the SDP is too long";
		return -EMSGSIZE;
	}
	if (len < 3 || memcmp(text, "v=0", 3) != 0) {
		*reason = "the SDP does not begin with v=0";
		return -EBADMSG;
	}
	while (s.p < s.end) {
		struct span line = span_until(&s, '\n');

		if (line.end > line.p && line.end[-1] == '\r')
			line.end--;
		if (line.p == line.end)
			continue;
		err = line_parse(&parser, line);
		if (err) {
			*reason = parser.reason;
			return err;
		}
	}
	err = audio_finish(&parser);
	if (err) {
		*reason = parser.reason;
		return err;
	}
	*ret = sdp;
	return 0;
}
