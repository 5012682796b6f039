#include "sip/sdp/sdp_dtls.h"

#include <string.h>
#include <strings.h>

/* RFC 8122 5; md2 and md5 prove nothing */
static const struct {
	const char *hash;
	size_t len;
} hashes[] = {
	{"sha-1", 20},   {"sha-224", 28}, {"sha-256", 32},
	{"sha-384", 48}, {"sha-512", 64},
};

static const char *const setups[] = {
	[SDP_SETUP_NONE] = "",
	[SDP_SETUP_ACTPASS] = "actpass",
	[SDP_SETUP_ACTIVE] = "active",
	[SDP_SETUP_PASSIVE] = "passive",
	[SDP_SETUP_HOLDCONN] = "holdconn",
};

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Parse "AB:CD:..." of exactly len bytes. */
static bool bytes_parse(uint8_t *dst, size_t len, struct span s)
{
	if ((size_t)(s.end - s.p) != 3 * len - 1)
		return false;
	for (size_t i = 0; i < len; i++, s.p += 3) {
		int high = hex(s.p[0]);
		int low = hex(s.p[1]);

		if (high < 0 || low < 0 || (i + 1 < len && s.p[2] != ':'))
			return false;
		dst[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

void sdp_fingerprint_parse(struct sdp_dtls *dtls, struct span s)
{
	struct span hash = span_word(&s);
	struct span value = span_word(&s);
	struct media_fingerprint f = {.len = 0};

	if (dtls->fingerprint.len > 0)
		return;
	for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++) {
		if (!span_is(hash, hashes[i].hash) ||
		    !bytes_parse(f.bytes, hashes[i].len, value))
			continue;
		memcpy(f.hash, hashes[i].hash, strlen(hashes[i].hash) + 1);
		f.len = hashes[i].len;
		dtls->fingerprint = f;
		return;
	}
}

void sdp_setup_parse(struct sdp_dtls *dtls, struct span s)
{
	struct span word = span_word(&s);

	for (unsigned i = SDP_SETUP_ACTPASS; i <= SDP_SETUP_HOLDCONN; i++) {
		if (span_is(word, setups[i]))
			dtls->setup = (enum sdp_setup)i;
	}
}

int sdp_dtls_write(struct buf *b, const struct media_fingerprint *fingerprint,
		   enum sdp_setup setup)
{
	int err = buf_print(b, "a=setup:%s\r\na=fingerprint:%s ", setups[setup],
			    fingerprint->hash);

	for (size_t i = 0; !err && i < fingerprint->len; i++)
		err = buf_print(b, "%s%02X", i ? ":" : "",
				fingerprint->bytes[i]);
	return err ? err : buf_print(b, "\r\n");
}

void sdp_dtls_keep(struct sdp_dtls *peer, const struct media_negotiated *before)
{
	const struct media_fingerprint *f = &peer->fingerprint;

	if (peer->setup != SDP_SETUP_ACTPASS || !before->dtls || f->len == 0 ||
	    f->len != before->fingerprint.len ||
	    strcmp(f->hash, before->fingerprint.hash) != 0 ||
	    memcmp(f->bytes, before->fingerprint.bytes, f->len) != 0)
		return;
	peer->setup =
		before->dtls_active ? SDP_SETUP_PASSIVE : SDP_SETUP_ACTIVE;
}

const char *sdp_dtls_settle(struct media_negotiated *ret,
			    const struct sdp_dtls *peer, bool ours)
{
	if (peer->fingerprint.len == 0)
		return "DTLS-SRTP is mandatory, the peer's SDP has no "
		       "a=fingerprint of a hash we know";
	if (peer->setup == SDP_SETUP_HOLDCONN)
		return "the peer's SDP holds the DTLS association off "
		       "(a=setup:holdconn)";
	if (ours && peer->setup == SDP_SETUP_ACTPASS)
		return "the peer answers a=setup:actpass, which leaves open "
		       "who begins";
	ret->encrypted = true;
	ret->dtls = true;
	/* RFC 4145 4: without the attribute the offerer is active */
	if (peer->setup == SDP_SETUP_NONE)
		ret->dtls_active = ours;
	else
		ret->dtls_active = peer->setup != SDP_SETUP_ACTIVE;
	ret->fingerprint = peer->fingerprint;
	return NULL;
}
