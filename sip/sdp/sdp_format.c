#include "sip/sdp/sdp_format.h"

#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "sip/sdp/sdp.h"

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

static struct media_codec *codec_by_pt(struct sdp *sdp, uint64_t pt)
{
	for (size_t i = 0; i < sdp->codec_count; i++) {
		if (sdp->codecs[i].pt == pt)
			return &sdp->codecs[i];
	}
	return NULL;
}

void sdp_formats_parse(struct sdp *sdp, struct span s)
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

void sdp_rtpmap_parse(struct sdp *sdp, struct span s)
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

void sdp_fmtp_parse(struct sdp *sdp, struct span s)
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

void sdp_formats_named(struct sdp *sdp)
{
	size_t kept = 0;

	for (size_t i = 0; i < sdp->codec_count; i++) {
		if (sdp->codecs[i].name[0])
			sdp->codecs[kept++] = sdp->codecs[i];
	}
	sdp->codec_count = kept;
}

int sdp_format_write(struct buf *b, const struct media_codec *codec)
{
	char pt[STR_DECIMAL_BYTES];
	char clock[STR_DECIMAL_BYTES];
	char channels[STR_DECIMAL_BYTES];
	const char *fmtp = codec->fmtp;
	int err;

	str_decimal(pt, codec->pt);
	str_decimal(clock, codec->clock_hz);
	if (codec->channels > 1)
		err = buf_texts(
			b, "a=rtpmap:", pt, " ", codec->name, "/", clock, "/",
			str_decimal(channels, codec->channels), "\r\n", NULL);
	else
		err = buf_texts(b, "a=rtpmap:", pt, " ", codec->name, "/",
				clock, "\r\n", NULL);
	if (!fmtp[0] && strcasecmp(codec->name, SDP_EVENT_NAME) == 0)
		fmtp = "0-16";
	if (!err && fmtp[0])
		err = buf_texts(b, "a=fmtp:", pt, " ", fmtp, "\r\n", NULL);
	return err;
}

bool sdp_format_same(const struct media_codec *a, const struct media_codec *b)
{
	return strcasecmp(a->name, b->name) == 0 &&
	       a->clock_hz == b->clock_hz && a->channels == b->channels;
}
