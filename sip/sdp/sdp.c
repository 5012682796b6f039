#include "sip/sdp/sdp.h"

#include <errno.h>
#include <string.h>

#include "base/sockaddr.h"
#include "base/span.h"
#include "sip/sdp/sdp_format.h"
#include "sip/sdp/sdp_xr.h"

#define PTIME_MIN_MS 10
#define PTIME_MAX_MS 120

struct parser {
	struct sdp *sdp;
	const char *reason;
	bool in_media; /* after an m= line */
	bool in_audio; /* in the audio section that is used */
	uint16_t rtp_port;
	uint16_t rtcp_port;       /* 0: not given */
	struct span session_addr; /* value of the session's c= line */
	struct span addr;
	struct span rtcp_addr;
	enum media_direction session_direction;
	unsigned session_xr;
	struct sdp_dtls association; /* of the session */
	struct media_ice ice;        /* of the session */
};

/* "IN IP4 192.0.2.1" or "IN IP6 2001:db8::1"; names are not resolved. */
static int addr_parse(struct media_addr *ret, struct span s, uint16_t port)
{
	char text[INET6_ADDRSTRLEN];
	struct span net = span_word(&s);
	struct span type = span_word(&s);
	struct span value = span_word(&s);
	struct media_addr addr = {.len = 0};

	value = span_until(&value, '/'); /* multicast: /TTL */
	if (!span_is(net, "IN") || !span_copy(text, sizeof(text), value) ||
	    sockaddr_parse(&addr.ss, &addr.len, text, port) ||
	    !span_is(type, addr.ss.ss_family == AF_INET ? "IP4" : "IP6"))
		return -EBADMSG;
	if (sockaddr_is_any(&addr.ss))
		addr.len = 0;
	*ret = addr;
	return 0;
}

/* @param ret_secure  SRTP is mandatory (RFC 3711 section 9, RFC 5764 8) */
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
	if (sdp->has_audio || !span_is(type, "audio"))
		return 0;
	if (!proto_known(proto, &sdp->secure)) {
		if (port > 0)
			sdp->foreign = sdp->line_count;
		return 0;
	}
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
	sdp_formats_parse(sdp, rest);
	return 0;
}

static void rtcp_parse(struct parser *parser, struct span s)
{
	uint64_t port;

	if (!span_number(span_word(&s), UINT16_MAX, &port) || port == 0)
		return;
	parser->rtcp_port = (uint16_t)port;
	while (s.p < s.end && *s.p == ' ')
		s.p++;
	parser->rtcp_addr = s; /* empty: RTP's address */
}

static void association_line(struct sdp_dtls *dtls, struct span name,
			     struct span s)
{
	if (span_is(name, "fingerprint"))
		sdp_fingerprint_parse(dtls, s);
	else if (span_is(name, "setup"))
		sdp_setup_parse(dtls, s);
}

static void session_attribute(struct parser *parser, struct span s)
{
	struct span name;

	if (sdp_direction_parse(&parser->session_direction, s))
		return;
	name = span_until(&s, ':');
	if (span_is(name, "rtcp-xr"))
		parser->session_xr = sdp_xr_parse(s);
	else
		association_line(&parser->association, name, s);
	if (!span_is(name, "candidate"))
		sdp_ice_parse(&parser->ice, name, s);
}

/* "1234 cname:name": a line for each attribute of a source (RFC 5576 section
 * 4.1). */
static void ssrc_parse(struct sdp *sdp, struct span s)
{
	uint64_t ssrc;

	if (!span_number(span_word(&s), UINT32_MAX, &ssrc))
		return;
	for (size_t i = 0; i < sdp->ssrc_count; i++) {
		if (sdp->ssrcs[i] == ssrc)
			return;
	}
	if (sdp->ssrc_count < MEDIA_SSRCS_MAX)
		sdp->ssrcs[sdp->ssrc_count++] = (uint32_t)ssrc;
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
	if (!parser->in_audio || sdp_direction_parse(&sdp->direction, s))
		return;
	name = span_until(&s, ':');
	association_line(&sdp->association, name, s);
	sdp_ice_parse(&sdp->ice, name, s);
	if (span_is(name, "rtpmap"))
		sdp_rtpmap_parse(sdp, s);
	else if (span_is(name, "fmtp"))
		sdp_fmtp_parse(sdp, s);
	else if (span_is(name, "crypto"))
		sdp_crypto_parse(&sdp->crypto, s);
	else if (span_is(name, "rtcp-mux"))
		sdp->rtcp_mux = true;
	else if (span_is(name, "rtcp"))
		rtcp_parse(parser, s);
	else if (span_is(name, "rtcp-xr"))
		sdp->xr = sdp_xr_parse(s);
	else if (span_is(name, "ssrc"))
		ssrc_parse(sdp, s);
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

/* Set addresses and formats, after the last line. */
static int audio_finish(struct parser *parser)
{
	struct sdp *sdp = parser->sdp;
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
	if (!parser->addr.p) {
		parser->reason = "the SDP has no c= line for its audio";
		return -EBADMSG;
	}
	if (parser->rtcp_addr.p == parser->rtcp_addr.end)
		parser->rtcp_addr = parser->addr;
	if (addr_parse(&sdp->rtp, parser->addr, parser->rtp_port) ||
	    addr_parse(&sdp->rtcp, parser->rtcp_addr, rtcp_port)) {
		parser->reason = "the SDP names no IP address for its audio";
		return -EAFNOSUPPORT;
	}
	if (rtcp_port == 0) /* RTP has port 65535: no port for RTCP */
		sdp->rtcp.len = 0;
	sdp_formats_named(sdp);
	return 0;
}

int sdp_parse(struct sdp *ret, const char *text, size_t len,
	      const char **reason)
{
	struct sdp sdp;
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
	memset(&sdp, 0, offsetof(struct sdp, lines));
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
	memcpy(ret, &sdp, offsetof(struct sdp, lines));
	memcpy(ret->lines, sdp.lines, sdp.line_count * sizeof(sdp.lines[0]));
	memcpy(ret->codecs, sdp.codecs,
	       sdp.codec_count * sizeof(sdp.codecs[0]));
	return 0;
}

size_t sdp_used_bytes(const struct sdp *sdp)
{
	return offsetof(struct sdp, codecs) +
	       sdp->codec_count * sizeof(sdp->codecs[0]);
}
