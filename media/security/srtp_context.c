#include "media/security/srtp_context.h"

#include "base/big_endian.h"
#include "media/analysis/rtp_header.h"
#include "media/security/srtp_keys.h"
#include "media/security/srtp_libsrtp2.h"
#include "media/security/srtp_source.h"
#include "media/security/srtp_transform.h"

#include <openssl/crypto.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SRTCP_ENCRYPTED  0x80000000u
#define PACKET_BYTES_MAX 2048 /* a datagram the media engine keeps */

struct srtp_context {
	struct srtp_libsrtp2 *libsrtp2; /* NULL: the transforms below */
	bool aead;
	bool sends;
	struct srtp_transform rtp;
	struct srtp_transform rtcp;
	struct srtp_sources sources;
};

static struct srtp_context *context_alloc(const struct srtp_suite_info *p)
{
	struct srtp_context *ctx = calloc(1, sizeof(*ctx));

	if (ctx) {
		ctx->aead = p->aead;
		ctx->rtp.tag_bytes = p->tag_bytes;
		ctx->rtcp.tag_bytes = p->rtcp_tag_bytes;
	}
	return ctx;
}

int srtp_context_from_keys(struct srtp_context **ret,
			   enum media_srtp_suite suite,
			   const struct srtp_session_keys *keys)
{
	const struct srtp_suite_info *p = srtp_suite_info(suite);
	struct srtp_context *ctx = context_alloc(p);
	const EVP_CIPHER *cipher;
	int err;

	if (!ctx)
		return -ENOMEM;
	if (p->aead)
		cipher = p->key_bytes == 16 ? EVP_aes_128_gcm()
					    : EVP_aes_256_gcm();
	else
		cipher = p->key_bytes == 16 ? EVP_aes_128_ctr()
					    : EVP_aes_256_ctr();
	err = srtp_transform_init(&ctx->rtp, &keys->rtp, cipher);
	if (!err)
		err = srtp_transform_init(&ctx->rtcp, &keys->rtcp, cipher);
	if (err) {
		srtp_context_free(ctx);
		return err;
	}
	*ret = ctx;
	return 0;
}

static int context_of_libsrtp2(struct srtp_context **ret,
			       const struct media_crypto *crypto)
{
	const struct srtp_suite_info *p = srtp_suite_info(crypto->suite);
	struct srtp_context *ctx;
	int err;

	if (!p)
		return -EINVAL;
	ctx = context_alloc(p);
	if (!ctx)
		return -ENOMEM;
	err = srtp_libsrtp2_new(&ctx->libsrtp2, crypto);
	if (err) {
		srtp_context_free(ctx);
		return err;
	}
	*ret = ctx;
	return 0;
}

int srtp_context_new(struct srtp_context **ret,
		     const struct media_crypto *crypto,
		     enum media_srtp_library library)
{
	struct srtp_session_keys keys;
	int err;

	if (library == MEDIA_SRTP_LIBRARY_LIBSRTP2)
		return context_of_libsrtp2(ret, crypto);
	err = srtp_keys_derive(&keys, crypto);
	if (!err)
		err = srtp_context_from_keys(ret, crypto->suite, &keys);
	OPENSSL_cleanse(&keys, sizeof(keys));
	return err;
}

struct srtp_context *srtp_context_free(struct srtp_context *ctx)
{
	if (!ctx)
		return NULL;
	srtp_libsrtp2_free(ctx->libsrtp2);
	srtp_transform_release(&ctx->rtp);
	srtp_transform_release(&ctx->rtcp);
	OPENSSL_cleanse(ctx, sizeof(*ctx));
	free(ctx);
	return NULL;
}

void srtp_context_continue(struct srtp_context *ctx,
			   struct srtp_context *before)
{
	srtp_sources_continue(&ctx->sources, &before->sources);
	/* without memory the peer sees counters that begin again with 0 */
	if (ctx->libsrtp2 && before->libsrtp2 && before->sends)
		(void)srtp_libsrtp2_continue(ctx->libsrtp2, before->libsrtp2);
}

static struct srtp_source *source_take(struct srtp_context *ctx, uint32_t ssrc)
{
	const struct srtp_source *place = srtp_source_place(&ctx->sources);

	if (ctx->libsrtp2 && place->used)
		srtp_libsrtp2_forget(ctx->libsrtp2, place->ssrc);
	return srtp_source_take(&ctx->sources, ssrc);
}

/* ---- RTP ---- */

/* Length of the RTP header with CSRCs and extension.
 * @return 0; -EBADMSG no RTP packet */
static int header_bytes(const uint8_t *packet, size_t bytes, size_t *ret)
{
	size_t header = RTP_HEADER_BYTES;

	if (bytes < header || packet[0] >> 6 != 2)
		return -EBADMSG;
	header += (size_t)(packet[0] & 0x0f) * 4;
	if (packet[0] & 0x10) {
		if (bytes < header + 4)
			return -EBADMSG;
		header += 4 + (size_t)be16(packet + header + 2) * 4;
	}
	if (bytes < header)
		return -EBADMSG;
	*ret = header;
	return 0;
}

/* Encrypt and authenticate with one index. */
static int context_seal_rtp(struct srtp_context *ctx, uint8_t *packet,
			    size_t header, size_t *bytes, uint64_t index)
{
	struct srtp_transform *k = &ctx->rtp;
	uint32_t ssrc = be32(packet + 8);
	int err;

	if (ctx->libsrtp2)
		return srtp_libsrtp2_protect(ctx->libsrtp2, packet, bytes);
	if (ctx->aead) {
		struct srtp_seal seal =
			srtp_seal_rtp(packet, header, *bytes, ssrc, index);

		err = srtp_seal_run(k, &seal, true);
	} else {
		uint8_t tag[SRTP_HMAC_BYTES];

		err = srtp_transform_counter(k, packet + header,
					     *bytes - header, ssrc, index);
		srtp_transform_hmac(k, packet, *bytes, (uint32_t)(index >> 16),
				    tag);
		memcpy(packet + *bytes, tag, k->tag_bytes);
	}
	if (!err)
		*bytes += k->tag_bytes;
	return err;
}

int srtp_context_protect(struct srtp_context *ctx, uint8_t *packet,
			 size_t *bytes, size_t room)
{
	size_t tag_bytes = ctx->rtp.tag_bytes;
	uint32_t ssrc;
	struct srtp_source *s;
	uint64_t index;
	size_t header;
	int err;

	if (header_bytes(packet, *bytes, &header))
		return -EBADMSG;
	if (*bytes > room || room - *bytes < tag_bytes)
		return -ENOBUFS;
	ctx->sends = true;
	ssrc = be32(packet + 8);
	s = srtp_source_find(&ctx->sources, ssrc);
	if (!s)
		s = source_take(ctx, ssrc);
	index = srtp_source_index(s, be16(packet + 2));
	err = context_seal_rtp(ctx, packet, header, bytes, index);
	if (err)
		return err;
	s->touched = ++ctx->sources.uses;
	if (!s->has_index || index > s->index)
		s->index = index;
	s->has_index = true;
	return 0;
}

/* Verify and decrypt with one index. A forged packet keeps its header.
 * @param bytes  without the tag
 * @param anew   the source has sent nothing with this key yet */
static int context_open_rtp(struct srtp_context *ctx, uint8_t *packet,
			    size_t header, size_t bytes, uint64_t index,
			    bool anew)
{
	struct srtp_transform *k = &ctx->rtp;
	uint32_t ssrc = be32(packet + 8);
	uint8_t tag[SRTP_HMAC_BYTES];

	if (ctx->libsrtp2)
		return srtp_libsrtp2_unprotect(ctx->libsrtp2, packet,
					       bytes + k->tag_bytes,
					       (uint32_t)(index >> 16), anew);
	if (ctx->aead) {
		struct srtp_seal seal =
			srtp_seal_rtp(packet, header, bytes, ssrc, index);

		return srtp_seal_run(k, &seal, false);
	}
	srtp_transform_hmac(k, packet, bytes, (uint32_t)(index >> 16), tag);
	if (CRYPTO_memcmp(tag, packet + bytes, k->tag_bytes) != 0)
		return -EACCES;
	return srtp_transform_counter(k, packet + header, bytes - header, ssrc,
				      index);
}

/* The first packet of a source with a new key. The roll-over counter goes on
 * (RFC 3711 3.3.1), but some peers, libre for one, begin again with 0. */
static int context_open_rtp_continued(struct srtp_context *ctx, uint8_t *packet,
				      size_t header, size_t bytes,
				      uint64_t *index)
{
	size_t plain = bytes - ctx->rtp.tag_bytes;
	uint8_t copy[PACKET_BYTES_MAX]; /* AES-GCM overwrites on failure too */
	int err;

	if (bytes > sizeof(copy))
		return -EBADMSG;
	memcpy(copy, packet, bytes);
	err = context_open_rtp(ctx, packet, header, plain, *index, true);
	if (err != -EACCES || *index >> 16 == 0)
		return err;
	memcpy(packet, copy, bytes);
	err = context_open_rtp(ctx, packet, header, plain, be16(packet + 2),
			       true);
	if (!err)
		*index = be16(packet + 2);
	return err;
}

int srtp_context_unprotect(struct srtp_context *ctx, uint8_t *packet,
			   size_t *bytes)
{
	size_t tag_bytes = ctx->rtp.tag_bytes;
	size_t header;
	size_t plain;
	struct srtp_source *s;
	uint64_t index;
	bool anew; /* the first packet of a known source with this key */
	int err;

	if (*bytes < tag_bytes)
		return -EBADMSG;
	plain = *bytes - tag_bytes;
	if (header_bytes(packet, plain, &header))
		return -EBADMSG;
	s = srtp_source_find(&ctx->sources, be32(packet + 8));
	index = srtp_source_index(s, be16(packet + 2));
	anew = s && s->continued;
	if (anew)
		err = context_open_rtp_continued(ctx, packet, header, *bytes,
						 &index);
	else
		err = context_open_rtp(ctx, packet, header, plain, index,
				       false);
	if (err)
		return err;
	if (!s)
		s = source_take(ctx, be32(packet + 8));
	s->continued = false;
	s->touched = ++ctx->sources.uses;
	*bytes = plain;
	if (srtp_window_seen(&s->rtp, index))
		return -EALREADY;
	srtp_window_add(&s->rtp, index);
	/* what came under the key before says nothing of the packets that follow */
	if (!s->has_index || anew || index > s->index)
		s->index = index;
	s->has_index = true;
	return 0;
}

/* ---- RTCP: RFC 3711 3.4, RFC 7714 9 ---- */

static int context_seal_rtcp(struct srtp_context *ctx, uint8_t *packet,
			     size_t *bytes, uint32_t index)
{
	struct srtp_transform *k = &ctx->rtcp;
	uint32_t ssrc = be32(packet + 4);
	uint8_t word[SRTCP_INDEX_BYTES];
	int err;

	if (ctx->libsrtp2)
		return srtp_libsrtp2_protect_rtcp(ctx->libsrtp2, packet, bytes);
	be32_put(word, index | SRTCP_ENCRYPTED);
	if (ctx->aead) {
		struct srtp_seal seal = srtp_seal_rtcp(packet, *bytes, word);

		err = srtp_seal_run(k, &seal, true);
		memcpy(packet + *bytes + SRTP_AEAD_TAG_BYTES, word,
		       sizeof(word));
	} else {
		uint8_t tag[SRTP_HMAC_BYTES];

		err = srtp_transform_counter(k, packet + SRTCP_HEADER_BYTES,
					     *bytes - SRTCP_HEADER_BYTES, ssrc,
					     index);
		srtp_transform_hmac(k, packet, *bytes, index | SRTCP_ENCRYPTED,
				    tag);
		memcpy(packet + *bytes, word, sizeof(word));
		memcpy(packet + *bytes + sizeof(word), tag, k->tag_bytes);
	}
	if (!err)
		*bytes += k->tag_bytes + SRTCP_INDEX_BYTES;
	return err;
}

int srtp_context_protect_rtcp(struct srtp_context *ctx, uint8_t *packet,
			      size_t *bytes, size_t room)
{
	size_t added = ctx->rtcp.tag_bytes + SRTCP_INDEX_BYTES;
	struct srtp_source *s;
	uint32_t index;
	uint32_t ssrc;
	int err;

	if (*bytes < SRTCP_HEADER_BYTES || packet[0] >> 6 != 2)
		return -EBADMSG;
	if (*bytes > room || room - *bytes < added)
		return -ENOBUFS;
	ctx->sends = true;
	ssrc = be32(packet + 4);
	s = srtp_source_find(&ctx->sources, ssrc);
	if (!s)
		s = source_take(ctx, ssrc);
	index = (s->rtcp_sent + 1) & SRTCP_INDEX_MAX;
	err = context_seal_rtcp(ctx, packet, bytes, index);
	if (err)
		return err;
	s->rtcp_sent = index;
	s->touched = ++ctx->sources.uses;
	return 0;
}

static int context_open_rtcp(struct srtp_context *ctx, uint8_t *packet,
			     size_t bytes, uint32_t *ret_index)
{
	struct srtp_transform *k = &ctx->rtcp;
	uint8_t tag[SRTP_HMAC_BYTES];
	uint8_t word[SRTCP_INDEX_BYTES];

	memcpy(word, packet + bytes + (ctx->aead ? SRTP_AEAD_TAG_BYTES : 0),
	       sizeof(word));
	/* RFC 3711 3.4: without encryption only where that was agreed */
	if (!(be32(word) & SRTCP_ENCRYPTED))
		return -EACCES;
	*ret_index = be32(word) & SRTCP_INDEX_MAX;
	if (ctx->libsrtp2)
		return srtp_libsrtp2_unprotect_rtcp(ctx->libsrtp2, packet,
						    bytes + k->tag_bytes +
							    SRTCP_INDEX_BYTES);
	if (ctx->aead) {
		struct srtp_seal seal = srtp_seal_rtcp(packet, bytes, word);

		return srtp_seal_run(k, &seal, false);
	}
	srtp_transform_hmac(k, packet, bytes, be32(word), tag);
	if (CRYPTO_memcmp(tag, packet + bytes + sizeof(word), k->tag_bytes))
		return -EACCES;
	return srtp_transform_counter(k, packet + SRTCP_HEADER_BYTES,
				      bytes - SRTCP_HEADER_BYTES,
				      be32(packet + 4), *ret_index);
}

int srtp_context_unprotect_rtcp(struct srtp_context *ctx, uint8_t *packet,
				size_t *bytes)
{
	size_t added = ctx->rtcp.tag_bytes + SRTCP_INDEX_BYTES;
	struct srtp_source *s;
	uint32_t index;
	int err;

	if (*bytes < SRTCP_HEADER_BYTES + added || packet[0] >> 6 != 2)
		return -EBADMSG;
	err = context_open_rtcp(ctx, packet, *bytes - added, &index);
	if (err)
		return err;
	s = srtp_source_find(&ctx->sources, be32(packet + 4));
	if (!s)
		s = source_take(ctx, be32(packet + 4));
	s->touched = ++ctx->sources.uses;
	*bytes -= added;
	if (srtp_window_seen(&s->rtcp, index))
		return -EALREADY;
	srtp_window_add(&s->rtcp, index);
	return 0;
}
