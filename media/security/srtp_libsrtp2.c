#include "media/security/srtp_libsrtp2.h"

#include "base/big_endian.h"
#include "media/security/srtp_keys.h"
#include "media/security/srtp_source.h"

#include <arpa/inet.h>
#include <srtp2/srtp.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RTP_SSRC_AT  8
#define RTCP_SSRC_AT 4

struct srtp_libsrtp2 {
	srtp_t session;
	srtp_t replays; /* no streams but for the length of a call */
	srtp_policy_t policy;
	struct media_crypto crypto; /* policy.key points into it */
};

static int error_of(srtp_err_status_t status)
{
	if (status == srtp_err_status_ok)
		return 0;
	return status == srtp_err_status_alloc_fail ? -ENOMEM : -EIO;
}

static int unprotect_error_of(srtp_err_status_t status)
{
	if (status == srtp_err_status_auth_fail ||
	    status == srtp_err_status_cipher_fail || /* AES-GCM */
	    status == srtp_err_status_pkt_idx_old)
		return -EACCES;
	if (status == srtp_err_status_bad_param ||
	    status == srtp_err_status_parse_err)
		return -EBADMSG;
	return error_of(status);
}

static bool is_replay(srtp_err_status_t status)
{
	return status == srtp_err_status_replay_fail ||
	       status == srtp_err_status_replay_old;
}

static void policy_set(srtp_policy_t *p, enum media_srtp_suite suite)
{
	switch (suite) {
	case MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80:
		srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&p->rtp);
		srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&p->rtcp);
		break;
	case MEDIA_SRTP_AES_CM_128_HMAC_SHA1_32:
		srtp_crypto_policy_set_aes_cm_128_hmac_sha1_32(&p->rtp);
		srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&p->rtcp);
		break;
	case MEDIA_SRTP_AES_256_CM_HMAC_SHA1_80:
		srtp_crypto_policy_set_aes_cm_256_hmac_sha1_80(&p->rtp);
		srtp_crypto_policy_set_aes_cm_256_hmac_sha1_80(&p->rtcp);
		break;
	case MEDIA_SRTP_AES_256_CM_HMAC_SHA1_32:
		srtp_crypto_policy_set_aes_cm_256_hmac_sha1_32(&p->rtp);
		srtp_crypto_policy_set_aes_cm_256_hmac_sha1_80(&p->rtcp);
		break;
	case MEDIA_SRTP_AEAD_AES_128_GCM:
		srtp_crypto_policy_set_aes_gcm_128_16_auth(&p->rtp);
		srtp_crypto_policy_set_aes_gcm_128_16_auth(&p->rtcp);
		break;
	case MEDIA_SRTP_AEAD_AES_256_GCM:
	case MEDIA_SRTP_SUITE_COUNT:
	default:
		srtp_crypto_policy_set_aes_gcm_256_16_auth(&p->rtp);
		srtp_crypto_policy_set_aes_gcm_256_16_auth(&p->rtcp);
		break;
	}
}

int srtp_libsrtp2_init(const char **ret_suite)
{
	/* fails if it was called before; the suites tell whether it is usable */
	(void)srtp_init();
	/* key limits and colliding SSRCs: not reported, as by the built-in */
	(void)srtp_install_event_handler(NULL);
	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++) {
		const struct media_crypto crypto = {
			.suite = (enum media_srtp_suite)i};
		struct srtp_libsrtp2 *l;

		if (srtp_libsrtp2_new(&l, &crypto)) {
			*ret_suite = srtp_suite_info(crypto.suite)->name;
			return -ENOTSUP;
		}
		srtp_libsrtp2_free(l);
	}
	return 0;
}

int srtp_libsrtp2_new(struct srtp_libsrtp2 **ret,
		      const struct media_crypto *crypto)
{
	struct srtp_libsrtp2 *l = calloc(1, sizeof(*l));
	srtp_err_status_t status;

	if (!l)
		return -ENOMEM;
	l->crypto = *crypto;
	l->policy.key = l->crypto.key;
	l->policy.window_size = SRTP_WINDOW;
	l->policy.allow_repeat_tx = 1; /* as the built-in one */
	/* for sending too: srtp_protect() sets the direction itself */
	l->policy.ssrc.type = ssrc_any_inbound;
	policy_set(&l->policy, crypto->suite);
	status = srtp_create(&l->session, &l->policy);
	if (status == srtp_err_status_ok)
		status = srtp_create(&l->replays, NULL);
	if (status != srtp_err_status_ok) {
		srtp_libsrtp2_free(l);
		return error_of(status);
	}
	*ret = l;
	return 0;
}

struct srtp_libsrtp2 *srtp_libsrtp2_free(struct srtp_libsrtp2 *l)
{
	if (!l)
		return NULL;
	if (l->session)
		srtp_dealloc(l->session);
	if (l->replays)
		srtp_dealloc(l->replays);
	explicit_bzero(l, sizeof(*l));
	free(l);
	return NULL;
}

int srtp_libsrtp2_continue(struct srtp_libsrtp2 *to, struct srtp_libsrtp2 *from)
{
	srtp_policy_t policy = to->policy;
	srtp_t session = from->session;
	srtp_err_status_t status;

	policy.ssrc.type = ssrc_any_outbound;
	status = srtp_update(session, &policy);
	if (status != srtp_err_status_ok)
		return error_of(status);
	from->session = to->session;
	to->session = session;
	return 0;
}

void srtp_libsrtp2_forget(struct srtp_libsrtp2 *l, uint32_t ssrc)
{
	/* network byte order here, other than in a policy */
	(void)srtp_remove_stream(l->session, htonl(ssrc));
}

int srtp_libsrtp2_protect(struct srtp_libsrtp2 *l, uint8_t *packet,
			  size_t *bytes)
{
	int len = (int)*bytes;
	int err = error_of(srtp_protect(l->session, packet, &len));

	if (!err)
		*bytes = (size_t)len;
	return err;
}

int srtp_libsrtp2_protect_rtcp(struct srtp_libsrtp2 *l, uint8_t *packet,
			       size_t *bytes)
{
	int len = (int)*bytes;
	int err = error_of(srtp_protect_rtcp(l->session, packet, &len));

	if (!err)
		*bytes = (size_t)len;
	return err;
}

/* A stream that has received nothing: the next packet is read with this
 * roll-over counter, whatever its sequence number. */
static srtp_err_status_t stream_begin(const struct srtp_libsrtp2 *l,
				      srtp_t session, uint32_t ssrc,
				      uint32_t roc)
{
	srtp_policy_t policy = l->policy;
	srtp_err_status_t status;

	policy.ssrc.type = ssrc_specific;
	policy.ssrc.value = ssrc;
	(void)srtp_remove_stream(session, htonl(ssrc));
	status = srtp_add_stream(session, &policy);
	if (status == srtp_err_status_ok && roc > 0)
		status = srtp_set_stream_roc(session, ssrc, roc);
	return status;
}

/* libsrtp2 refuses a replay before it authenticates it, but forged and
 * replayed packets are counted apart: verify it by a stream of its own. */
static srtp_err_status_t unprotect_replay(struct srtp_libsrtp2 *l,
					  uint8_t *packet, size_t bytes,
					  uint32_t roc, bool rtcp)
{
	uint32_t ssrc = be32(packet + (rtcp ? RTCP_SSRC_AT : RTP_SSRC_AT));
	srtp_err_status_t status = stream_begin(l, l->replays, ssrc, roc);
	int len = (int)bytes;

	if (status == srtp_err_status_ok)
		status = rtcp ? srtp_unprotect_rtcp(l->replays, packet, &len)
			      : srtp_unprotect(l->replays, packet, &len);
	(void)srtp_remove_stream(l->replays, htonl(ssrc));
	return status;
}

int srtp_libsrtp2_unprotect(struct srtp_libsrtp2 *l, uint8_t *packet,
			    size_t bytes, uint32_t roc, bool anew)
{
	srtp_err_status_t status = srtp_err_status_ok;
	int len = (int)bytes;

	if (anew)
		status = stream_begin(l, l->session, be32(packet + RTP_SSRC_AT),
				      roc);
	if (status == srtp_err_status_ok)
		status = srtp_unprotect(l->session, packet, &len);
	if (is_replay(status))
		status = unprotect_replay(l, packet, bytes, roc, false);
	return unprotect_error_of(status);
}

int srtp_libsrtp2_unprotect_rtcp(struct srtp_libsrtp2 *l, uint8_t *packet,
				 size_t bytes)
{
	int len = (int)bytes;
	srtp_err_status_t status =
		srtp_unprotect_rtcp(l->session, packet, &len);

	if (is_replay(status))
		status = unprotect_replay(l, packet, bytes, 0, true);
	return unprotect_error_of(status);
}
