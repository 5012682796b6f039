#include "sip/sdp/sdp_crypto.h"

#include <errno.h>
#include <string.h>

#define TAG_MAX  999999999 /* RFC 4568 9.1 */
#define B64_MAX  64        /* characters of the longest key */
#define KEY_MAX  48        /* and what they decode to, padding included */
#define WSH_MIN  64        /* RFC 3711 3.3.2 */
#define LIFE_MIN 20        /* 2^20 packets of 20 ms: 5.8 hours */

struct suite {
	const char *name;
	size_t bytes; /* of key and salt */
};

#define SUITE(name, key, salt, tag, rtcp_tag) {#name, (key) + (salt)},
static const struct suite suites[MEDIA_SRTP_SUITE_COUNT] = {
	MEDIA_SRTP_SUITES(SUITE)};
#undef SUITE

static const char alphabet[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* ---- base64 (RFC 4648 section 4) ---- */

/* @param dst  4 characters for each 3 bytes begun, and a terminating 0 */
static void b64_encode(char *dst, const uint8_t *src, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 3, dst += 4) {
		size_t left = bytes - i;
		uint32_t v = (uint32_t)src[i] << 16 |
			     (left > 1 ? (uint32_t)src[i + 1] << 8 : 0) |
			     (left > 2 ? src[i + 2] : 0);

		dst[0] = alphabet[v >> 18];
		dst[1] = alphabet[v >> 12 & 63];
		dst[2] = left > 1 ? alphabet[v >> 6 & 63] : '=';
		dst[3] = left > 2 ? alphabet[v & 63] : '=';
	}
	*dst = '\0';
}

/* Decode; the padding may be missing. @return whether it is base64 of exactly that
 * many bytes */
static bool b64_decode(uint8_t *dst, size_t bytes, struct span s)
{
	uint8_t out[KEY_MAX + 3];
	uint32_t v = 0;
	size_t bits = 0;
	size_t n = 0;

	while (s.end > s.p && s.end[-1] == '=')
		s.end--;
	if ((size_t)(s.end - s.p) != (bytes * 8 + 5) / 6)
		return false;
	for (; s.p < s.end; s.p++) {
		const char *at = *s.p ? strchr(alphabet, *s.p) : NULL;

		if (!at)
			return false;
		v = v << 6 | (uint32_t)(at - alphabet);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			out[n++] = (uint8_t)(v >> bits);
		}
	}
	if (n != bytes)
		return false;
	memcpy(dst, out, bytes);
	explicit_bzero(out, sizeof(out));
	return true;
}

/* ---- a line ---- */

/* key||salt [|lifetime] [|MKI:length] (RFC 4568 6.1) */
static const char *key_parse(struct media_crypto *ret, struct span s)
{
	struct span method = span_until(&s, ':');
	struct span key;
	uint64_t life;

	if (!span_is(method, "inline"))
		return "its key method is not inline";
	key = span_until(&s, '|');
	if (!b64_decode(ret->key, suites[ret->suite].bytes, key))
		return "its key is not base64 of the suite's length";
	if (s.p == s.end)
		return NULL;
	if (memchr(s.p, ':', (size_t)(s.end - s.p)))
		return "it has an MKI";
	if (s.end - s.p > 2 && memcmp(s.p, "2^", 2) == 0) {
		s.p += 2;
		if (!span_number(s, 48, &life))
			return "its lifetime is no number";
		return life < LIFE_MIN ? "its lifetime is too short" : NULL;
	}
	if (!span_number(s, UINT64_MAX, &life))
		return "its lifetime is no number";
	return life < 1u << LIFE_MIN ? "its lifetime is too short" : NULL;
}

/* Check session parameters (RFC 4568 6.3). Allowed are a window size that is not
 * larger than ours, a derivation rate of 0, and optional ones.
 * @return NULL; else why the line is unusable */
static const char *parameters_check(struct span s)
{
	for (;;) {
		struct span word = span_word(&s);
		struct span name;
		uint64_t value;

		if (word.p == word.end)
			return NULL;
		if (*word.p == '-')
			continue;
		name = span_until(&word, '=');
		if (span_is(name, "WSH") &&
		    span_number(word, UINT32_MAX, &value) && value >= WSH_MIN)
			continue;
		if (span_is(name, "KDR"))
			return "its session parameter KDR is not supported";
		if (span_is(name, "UNENCRYPTED_SRTP") ||
		    span_is(name, "UNENCRYPTED_SRTCP") ||
		    span_is(name, "UNAUTHENTICATED_SRTP"))
			return "it asks for less than full protection";
		if (span_is(name, "FEC_ORDER") || span_is(name, "FEC_KEY"))
			return "its session parameters for FEC are not "
			       "supported";
		return "it has a session parameter that is not supported";
	}
}

static const char *suite_parse(enum media_srtp_suite *ret, struct span s)
{
	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++) {
		if (span_is(s, suites[i].name)) {
			*ret = (enum media_srtp_suite)i;
			return NULL;
		}
	}
	return "its crypto suite is not known";
}

static const char *line_parse(struct media_crypto *ret, struct span s)
{
	const char *refusal;
	struct span key;
	uint64_t tag;

	if (!span_number(span_word(&s), TAG_MAX, &tag) || tag == 0)
		return "its tag is no number";
	ret->tag = (uint32_t)tag;
	refusal = suite_parse(&ret->suite, span_word(&s));
	if (refusal)
		return refusal;
	key = span_word(&s);
	if (memchr(key.p, ';', (size_t)(key.end - key.p)))
		return "it has several keys";
	refusal = key_parse(ret, key);
	return refusal ? refusal : parameters_check(s);
}

void sdp_crypto_parse(struct sdp_crypto *crypto, struct span s)
{
	struct media_crypto line;
	const char *refusal;

	memset(&line, 0, sizeof(line));
	crypto->offered = true;
	refusal = line_parse(&line, s);
	if (refusal) {
		if (!crypto->refusal)
			crypto->refusal = refusal;
	} else if (crypto->count < SDP_CRYPTO_MAX) {
		crypto->lines[crypto->count++] = line;
	}
	explicit_bzero(&line, sizeof(line));
}

int sdp_crypto_write(struct buf *b, const struct media_crypto *crypto)
{
	char text[B64_MAX + 5];
	int err;

	b64_encode(text, crypto->key, suites[crypto->suite].bytes);
	err = buf_print(b, "a=crypto:%u %s inline:%s\r\n", crypto->tag,
			suites[crypto->suite].name, text);
	explicit_bzero(text, sizeof(text));
	return err;
}

/* ---- offer and answer ---- */

bool sdp_crypto_settle(struct media_negotiated *ret,
		       const struct sdp_crypto *peer,
		       const struct media_local *local, bool ours)
{
	for (size_t i = 0; i < peer->count; i++) {
		const struct media_crypto *theirs = &peer->lines[i];

		for (size_t k = 0; k < local->crypto_count; k++) {
			const struct media_crypto *mine = &local->crypto[k];

			if (mine->suite != theirs->suite ||
			    (ours && mine->tag != theirs->tag))
				continue;
			ret->encrypted = true;
			ret->crypto_rx = *theirs;
			ret->crypto_tx = *mine;
			ret->crypto_tx.tag = theirs->tag;
			return true;
		}
	}
	return false;
}

bool sdp_crypto_same(const struct media_crypto *a, const struct media_crypto *b)
{
	return a->suite == b->suite &&
	       memcmp(a->key, b->key, suites[a->suite].bytes) == 0;
}

static void ice_wipe(struct media_ice *ice)
{
	explicit_bzero(ice->ufrag, sizeof(ice->ufrag));
	explicit_bzero(ice->pwd, sizeof(ice->pwd));
}

void sdp_local_wipe(struct media_local *local)
{
	explicit_bzero(local->crypto, sizeof(local->crypto));
	if (local->has_ice)
		ice_wipe(&local->ice);
}

void sdp_negotiated_wipe(struct media_negotiated *deal)
{
	explicit_bzero(&deal->crypto_tx, sizeof(deal->crypto_tx));
	explicit_bzero(&deal->crypto_rx, sizeof(deal->crypto_rx));
	if (deal->ice)
		ice_wipe(&deal->ice_peer);
}

void sdp_crypto_wipe(struct sdp_crypto *crypto, struct media_ice *ice)
{
	explicit_bzero(crypto, sizeof(*crypto));
	ice_wipe(ice);
}
