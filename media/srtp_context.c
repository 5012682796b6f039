/* SHA-1's state has to be copied without allocating, which the interfaces that
 * replace these functions in OpenSSL 3 cannot. */
#define OPENSSL_API_COMPAT 0x10100000L

#include "media/srtp_context.h"

#include "media/analysis/rtp_header.h"
#include "media/srtp_keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AES_BLOCK_BYTES  16
#define AEAD_IV_BYTES    12 /* RFC 7714 8.1 */
#define AEAD_TAG_BYTES   16
#define SHA_BLOCK_BYTES  64 /* RFC 2104 */
#define RTCP_HEADER      8  /* length and SSRC stay readable */
#define RTCP_INDEX_BYTES 4
#define RTCP_ENCRYPTED   0x80000000u
#define RTCP_INDEX_MAX   0x7fffffffu
#define SEQ_HALF         0x8000
#define PACKET_BYTES_MAX 2048 /* a datagram the media engine keeps */
#define WINDOW_WORDS     (SRTP_WINDOW / 64)

/* Bits of the packets at and behind the highest index. */
struct window {
	bool any;
	uint64_t highest;
	uint64_t seen[WINDOW_WORDS]; /* by index modulo SRTP_WINDOW */
};

struct source {
	bool used;
	bool continued; /* the counter is of an older key: the peer may have
			 * begun again with 0 */
	uint32_t ssrc;
	uint64_t touched; /* ctx->uses of the last authentic packet */
	uint64_t index;   /* roll-over counter and sequence number, highest */
	bool has_index;
	struct window rtp;
	struct window rtcp;
	uint32_t rtcp_sent; /* index of the last SRTCP packet sent */
};

/* Session keys of RTP or of RTCP (RFC 3711 4.3). */
struct keys {
	EVP_CIPHER_CTX *cipher;
	uint8_t salt[SRTP_SALT_BYTES];
	SHA_CTX inner; /* HMAC's state behind the padded key */
	SHA_CTX outer;
	size_t tag_bytes;
};

struct srtp_context {
	bool aead;
	struct keys rtp;
	struct keys rtcp;
	uint64_t uses;
	struct source sources[SRTP_SOURCES_MAX];
};

/* ---- keys ---- */

static void hmac_init(struct keys *k, const uint8_t *key)
{
	uint8_t pad[SHA_BLOCK_BYTES];

	memset(pad, 0x36, sizeof(pad));
	for (int i = 0; i < SRTP_AUTH_KEY_BYTES; i++)
		pad[i] ^= key[i];
	SHA1_Init(&k->inner);
	SHA1_Update(&k->inner, pad, sizeof(pad));
	memset(pad, 0x5c, sizeof(pad));
	for (int i = 0; i < SRTP_AUTH_KEY_BYTES; i++)
		pad[i] ^= key[i];
	SHA1_Init(&k->outer);
	SHA1_Update(&k->outer, pad, sizeof(pad));
	OPENSSL_cleanse(pad, sizeof(pad));
}

static int keys_init(struct keys *k, const struct srtp_session_key *from,
		     const EVP_CIPHER *cipher)
{
	k->cipher = EVP_CIPHER_CTX_new();
	if (!k->cipher)
		return -ENOMEM;
	if (EVP_EncryptInit_ex(k->cipher, cipher, NULL, from->cipher, NULL) !=
	    1)
		return -EIO;
	memcpy(k->salt, from->salt, sizeof(k->salt));
	hmac_init(k, from->auth);
	return 0;
}

int srtp_context_from_keys(struct srtp_context **ret,
			   enum media_srtp_suite suite,
			   const struct srtp_session_keys *keys)
{
	const struct srtp_suite_info *p = srtp_suite_info(suite);
	struct srtp_context *ctx = calloc(1, sizeof(*ctx));
	const EVP_CIPHER *cipher;
	int err;

	if (!ctx)
		return -ENOMEM;
	ctx->aead = p->aead;
	ctx->rtp.tag_bytes = p->tag_bytes;
	ctx->rtcp.tag_bytes = p->rtcp_tag_bytes;
	if (p->aead)
		cipher = p->key_bytes == 16 ? EVP_aes_128_gcm()
					    : EVP_aes_256_gcm();
	else
		cipher = p->key_bytes == 16 ? EVP_aes_128_ctr()
					    : EVP_aes_256_ctr();
	err = keys_init(&ctx->rtp, &keys->rtp, cipher);
	if (!err)
		err = keys_init(&ctx->rtcp, &keys->rtcp, cipher);
	if (err) {
		srtp_context_free(ctx);
		return err;
	}
	*ret = ctx;
	return 0;
}

int srtp_context_new(struct srtp_context **ret,
		     const struct media_crypto *crypto)
{
	struct srtp_session_keys keys;
	int err = srtp_keys_derive(&keys, crypto);

	if (!err)
		err = srtp_context_from_keys(ret, crypto->suite, &keys);
	OPENSSL_cleanse(&keys, sizeof(keys));
	return err;
}

struct srtp_context *srtp_context_free(struct srtp_context *ctx)
{
	if (!ctx)
		return NULL;
	/* these wipe what they hold */
	EVP_CIPHER_CTX_free(ctx->rtp.cipher);
	EVP_CIPHER_CTX_free(ctx->rtcp.cipher);
	OPENSSL_cleanse(ctx, sizeof(*ctx));
	free(ctx);
	return NULL;
}

/* ---- sources and their indices ---- */

static struct source *source_find(struct srtp_context *ctx, uint32_t ssrc)
{
	for (size_t i = 0; i < SRTP_SOURCES_MAX; i++) {
		if (ctx->sources[i].used && ctx->sources[i].ssrc == ssrc)
			return &ctx->sources[i];
	}
	return NULL;
}

/* An authentic packet came of a source that has no place. */
static struct source *source_take(struct srtp_context *ctx, uint32_t ssrc)
{
	struct source *found = &ctx->sources[0];

	for (size_t i = 0; i < SRTP_SOURCES_MAX; i++) {
		struct source *s = &ctx->sources[i];

		if (!s->used) {
			found = s;
			break;
		}
		if (s->touched < found->touched)
			found = s;
	}
	memset(found, 0, sizeof(*found));
	found->used = true;
	found->ssrc = ssrc;
	return found;
}

void srtp_context_continue(struct srtp_context *ctx,
			   const struct srtp_context *before)
{
	for (size_t i = 0; i < SRTP_SOURCES_MAX; i++) {
		const struct source *from = &before->sources[i];
		struct source *to = &ctx->sources[i];

		memset(to, 0, sizeof(*to));
		to->used = from->used;
		to->ssrc = from->ssrc;
		to->index = from->index;
		to->has_index = from->has_index;
		to->continued = from->index >> 16 != 0;
		to->rtcp_sent = from->rtcp_sent;
	}
	ctx->uses = 0;
}

/* The index most likely meant by a sequence number: RFC 3711 3.3.1. */
static uint64_t index_guess(const struct source *s, uint16_t seq)
{
	uint64_t roc;
	uint16_t highest;

	if (!s || !s->has_index)
		return seq;
	roc = s->index >> 16;
	highest = (uint16_t)s->index;
	if (highest < SEQ_HALF) {
		if (seq > highest && seq - highest > SEQ_HALF && roc > 0)
			roc--;
	} else if (highest - SEQ_HALF > seq) {
		roc++;
	}
	return roc << 16 | seq;
}

static bool window_seen(const struct window *w, uint64_t index)
{
	if (!w->any || index > w->highest)
		return false;
	if (w->highest - index >= SRTP_WINDOW)
		return true;
	return w->seen[index / 64 % WINDOW_WORDS] >> (index % 64) & 1;
}

static void window_add(struct window *w, uint64_t index)
{
	if (!w->any || index > w->highest) {
		uint64_t step = w->any ? index - w->highest : SRTP_WINDOW;

		if (step >= SRTP_WINDOW)
			memset(w->seen, 0, sizeof(w->seen));
		else
			for (uint64_t i = w->highest + 1; i < index; i++)
				w->seen[i / 64 % WINDOW_WORDS] &=
					~(UINT64_C(1) << (i % 64));
		w->any = true;
		w->highest = index;
	}
	w->seen[index / 64 % WINDOW_WORDS] |= UINT64_C(1) << (index % 64);
}

/* ---- transforms ---- */

static void put32(uint8_t *dst, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		dst[i] = (uint8_t)(value >> (24 - 8 * i));
}

static uint32_t get32(const uint8_t *src)
{
	return (uint32_t)src[0] << 24 | (uint32_t)src[1] << 16 |
	       (uint32_t)src[2] << 8 | src[3];
}

/* AES in counter mode: RFC 3711 4.1.1; the same both ways. */
static int counter_mode(struct keys *k, uint8_t *data, size_t bytes,
			uint32_t ssrc, uint64_t index)
{
	uint8_t iv[AES_BLOCK_BYTES] = {0};
	int len;

	put32(iv + 4, ssrc);
	for (int i = 0; i < 6; i++)
		iv[8 + i] = (uint8_t)(index >> (40 - 8 * i));
	for (int i = 0; i < SRTP_SALT_BYTES; i++)
		iv[i] ^= k->salt[i];
	if (EVP_EncryptInit_ex(k->cipher, NULL, NULL, NULL, iv) != 1 ||
	    EVP_EncryptUpdate(k->cipher, data, &len, data, (int)bytes) != 1)
		return -EIO;
	return 0;
}

/* HMAC-SHA1 (RFC 2104) of a packet and a word behind it. */
static void hmac(const struct keys *k, const uint8_t *data, size_t bytes,
		 uint32_t word, uint8_t tag[static SHA_DIGEST_LENGTH])
{
	SHA_CTX sha = k->inner;
	uint8_t behind[4];

	put32(behind, word);
	SHA1_Update(&sha, data, bytes);
	SHA1_Update(&sha, behind, sizeof(behind));
	SHA1_Final(tag, &sha);
	sha = k->outer;
	SHA1_Update(&sha, tag, SHA_DIGEST_LENGTH);
	SHA1_Final(tag, &sha);
}

/* One AES-GCM operation: what is authenticated only, then the text. */
struct seal {
	const uint8_t *aad[2];
	size_t aad_bytes[2];
	uint8_t *text;
	size_t bytes; /* without the tag, which stands behind */
	uint8_t iv[AEAD_IV_BYTES];
};

static int aead_run(struct keys *k, struct seal *s, bool encrypt)
{
	EVP_CIPHER_CTX *c = k->cipher;
	uint8_t *tag = s->text + s->bytes;
	int len;

	for (int i = 0; i < AEAD_IV_BYTES; i++)
		s->iv[i] ^= k->salt[i];
	if (EVP_CipherInit_ex(c, NULL, NULL, NULL, s->iv, encrypt) != 1)
		return -EIO;
	if (!encrypt && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG,
					    AEAD_TAG_BYTES, tag) != 1)
		return -EIO;
	for (int i = 0; i < 2; i++) {
		if (s->aad_bytes[i] &&
		    EVP_CipherUpdate(c, NULL, &len, s->aad[i],
				     (int)s->aad_bytes[i]) != 1)
			return -EIO;
	}
	if (s->bytes &&
	    EVP_CipherUpdate(c, s->text, &len, s->text, (int)s->bytes) != 1)
		return -EIO;
	if (EVP_CipherFinal_ex(c, s->text + s->bytes, &len) != 1)
		return encrypt ? -EIO : -EACCES;
	if (encrypt && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG,
					   AEAD_TAG_BYTES, tag) != 1)
		return -EIO;
	return 0;
}

static struct seal rtp_seal(uint8_t *packet, size_t header, size_t bytes,
			    uint32_t ssrc, uint64_t index)
{
	struct seal s = {
		.aad = {packet},
		.aad_bytes = {header},
		.text = packet + header,
		.bytes = bytes - header,
	};

	put32(s.iv + 2, ssrc); /* RFC 7714 8.1 */
	put32(s.iv + 6, (uint32_t)(index >> 16));
	s.iv[10] = (uint8_t)(index >> 8);
	s.iv[11] = (uint8_t)index;
	return s;
}

static struct seal rtcp_seal(uint8_t *packet, size_t bytes,
			     const uint8_t word[static RTCP_INDEX_BYTES])
{
	struct seal s = {
		.aad = {packet, word},
		.aad_bytes = {RTCP_HEADER, RTCP_INDEX_BYTES},
		.text = packet + RTCP_HEADER,
		.bytes = bytes - RTCP_HEADER,
	};

	memcpy(s.iv + 2, packet + 4, 4); /* RFC 7714 9.1 */
	put32(s.iv + 8, get32(word) & RTCP_INDEX_MAX);
	return s;
}

/* ---- RTP ---- */

/* Bytes of the header with CSRCs and extension, of a packet with a tag or
 * without. */
static int header_bytes(const uint8_t *packet, size_t bytes, size_t *ret)
{
	size_t header = RTP_HEADER_BYTES;

	if (bytes < header || packet[0] >> 6 != 2)
		return -EBADMSG;
	header += (size_t)(packet[0] & 0x0f) * 4;
	if (packet[0] & 0x10) {
		if (bytes < header + 4)
			return -EBADMSG;
		header += 4 + (size_t)(packet[header + 2] << 8 |
				       packet[header + 3]) *
				      4;
	}
	if (bytes < header)
		return -EBADMSG;
	*ret = header;
	return 0;
}

static uint16_t seq_of(const uint8_t *packet)
{
	return (uint16_t)(packet[2] << 8 | packet[3]);
}

int srtp_context_protect(struct srtp_context *ctx, uint8_t *packet,
			 size_t *bytes, size_t room)
{
	struct keys *k = &ctx->rtp;
	uint32_t ssrc;
	struct source *s;
	uint64_t index;
	size_t header;
	int err;

	if (header_bytes(packet, *bytes, &header))
		return -EBADMSG;
	if (*bytes > room || room - *bytes < k->tag_bytes)
		return -ENOBUFS;
	ssrc = get32(packet + 8);
	s = source_find(ctx, ssrc);
	if (!s)
		s = source_take(ctx, ssrc);
	index = index_guess(s, seq_of(packet));
	if (ctx->aead) {
		struct seal seal =
			rtp_seal(packet, header, *bytes, ssrc, index);

		err = aead_run(k, &seal, true);
	} else {
		uint8_t tag[SHA_DIGEST_LENGTH];

		err = counter_mode(k, packet + header, *bytes - header, ssrc,
				   index);
		hmac(k, packet, *bytes, (uint32_t)(index >> 16), tag);
		memcpy(packet + *bytes, tag, k->tag_bytes);
	}
	if (err)
		return err;
	s->touched = ++ctx->uses;
	if (!s->has_index || index > s->index)
		s->index = index;
	s->has_index = true;
	*bytes += k->tag_bytes;
	return 0;
}

/* Verify and decrypt with one index. A forged packet keeps its header. */
static int rtp_open(struct srtp_context *ctx, uint8_t *packet, size_t header,
		    size_t bytes, uint64_t index)
{
	struct keys *k = &ctx->rtp;
	uint32_t ssrc = get32(packet + 8);
	uint8_t tag[SHA_DIGEST_LENGTH];

	if (ctx->aead) {
		struct seal seal = rtp_seal(packet, header, bytes, ssrc, index);

		return aead_run(k, &seal, false);
	}
	hmac(k, packet, bytes, (uint32_t)(index >> 16), tag);
	if (CRYPTO_memcmp(tag, packet + bytes, k->tag_bytes) != 0)
		return -EACCES;
	return counter_mode(k, packet + header, bytes - header, ssrc, index);
}

/* The first packet of a source with a new key: libre, for one, begins again
 * with a counter of 0. */
static int rtp_open_continued(struct srtp_context *ctx, struct source *s,
			      uint8_t *packet, size_t header, size_t bytes,
			      uint64_t *index)
{
	size_t plain = bytes - ctx->rtp.tag_bytes;
	uint8_t copy[PACKET_BYTES_MAX]; /* AES-GCM overwrites on failure too */
	int err;

	if (bytes > sizeof(copy))
		return -EBADMSG;
	memcpy(copy, packet, bytes);
	err = rtp_open(ctx, packet, header, plain, *index);
	if (err != -EACCES)
		return err;
	memcpy(packet, copy, bytes);
	err = rtp_open(ctx, packet, header, plain, seq_of(packet));
	if (err)
		return err;
	*index = seq_of(packet);
	s->has_index = false;
	return 0;
}

int srtp_context_unprotect(struct srtp_context *ctx, uint8_t *packet,
			   size_t *bytes)
{
	size_t tag_bytes = ctx->rtp.tag_bytes;
	size_t header;
	size_t plain;
	struct source *s;
	uint64_t index;
	int err;

	if (*bytes < tag_bytes)
		return -EBADMSG;
	plain = *bytes - tag_bytes;
	if (header_bytes(packet, plain, &header))
		return -EBADMSG;
	s = source_find(ctx, get32(packet + 8));
	index = index_guess(s, seq_of(packet));
	if (s && s->continued)
		err = rtp_open_continued(ctx, s, packet, header, *bytes,
					 &index);
	else
		err = rtp_open(ctx, packet, header, plain, index);
	if (err)
		return err;
	if (!s)
		s = source_take(ctx, get32(packet + 8));
	s->continued = false;
	s->touched = ++ctx->uses;
	*bytes = plain;
	if (window_seen(&s->rtp, index))
		return -EALREADY;
	window_add(&s->rtp, index);
	if (!s->has_index || index > s->index)
		s->index = index;
	s->has_index = true;
	return 0;
}

/* ---- RTCP: RFC 3711 3.4, RFC 7714 9 ---- */

int srtp_context_protect_rtcp(struct srtp_context *ctx, uint8_t *packet,
			      size_t *bytes, size_t room)
{
	struct keys *k = &ctx->rtcp;
	uint8_t word[RTCP_INDEX_BYTES];
	struct source *s;
	uint32_t index;
	uint32_t ssrc;
	int err;

	if (*bytes < RTCP_HEADER || packet[0] >> 6 != 2)
		return -EBADMSG;
	if (*bytes > room || room - *bytes < k->tag_bytes + RTCP_INDEX_BYTES)
		return -ENOBUFS;
	ssrc = get32(packet + 4);
	s = source_find(ctx, ssrc);
	if (!s)
		s = source_take(ctx, ssrc);
	index = (s->rtcp_sent + 1) & RTCP_INDEX_MAX;
	put32(word, index | RTCP_ENCRYPTED);
	if (ctx->aead) {
		struct seal seal = rtcp_seal(packet, *bytes, word);

		err = aead_run(k, &seal, true);
		memcpy(packet + *bytes + AEAD_TAG_BYTES, word, sizeof(word));
	} else {
		uint8_t tag[SHA_DIGEST_LENGTH];

		err = counter_mode(k, packet + RTCP_HEADER,
				   *bytes - RTCP_HEADER, ssrc, index);
		hmac(k, packet, *bytes, index | RTCP_ENCRYPTED, tag);
		memcpy(packet + *bytes, word, sizeof(word));
		memcpy(packet + *bytes + sizeof(word), tag, k->tag_bytes);
	}
	if (err)
		return err;
	s->rtcp_sent = index;
	s->touched = ++ctx->uses;
	*bytes += k->tag_bytes + RTCP_INDEX_BYTES;
	return 0;
}

static int rtcp_open(struct srtp_context *ctx, uint8_t *packet, size_t bytes,
		     uint32_t *ret_index)
{
	struct keys *k = &ctx->rtcp;
	uint8_t tag[SHA_DIGEST_LENGTH];
	uint8_t word[RTCP_INDEX_BYTES];

	memcpy(word, packet + bytes + (ctx->aead ? AEAD_TAG_BYTES : 0),
	       sizeof(word));
	/* RFC 3711 3.4: without encryption only where that was agreed */
	if (!(get32(word) & RTCP_ENCRYPTED))
		return -EACCES;
	*ret_index = get32(word) & RTCP_INDEX_MAX;
	if (ctx->aead) {
		struct seal seal = rtcp_seal(packet, bytes, word);

		return aead_run(k, &seal, false);
	}
	hmac(k, packet, bytes, get32(word), tag);
	if (CRYPTO_memcmp(tag, packet + bytes + sizeof(word), k->tag_bytes))
		return -EACCES;
	return counter_mode(k, packet + RTCP_HEADER, bytes - RTCP_HEADER,
			    get32(packet + 4), *ret_index);
}

int srtp_context_unprotect_rtcp(struct srtp_context *ctx, uint8_t *packet,
				size_t *bytes)
{
	size_t added = ctx->rtcp.tag_bytes + RTCP_INDEX_BYTES;
	struct source *s;
	uint32_t index;
	int err;

	if (*bytes < RTCP_HEADER + added || packet[0] >> 6 != 2)
		return -EBADMSG;
	err = rtcp_open(ctx, packet, *bytes - added, &index);
	if (err)
		return err;
	s = source_find(ctx, get32(packet + 4));
	if (!s)
		s = source_take(ctx, get32(packet + 4));
	s->touched = ++ctx->uses;
	*bytes -= added;
	if (window_seen(&s->rtcp, index))
		return -EALREADY;
	window_add(&s->rtcp, index);
	return 0;
}
