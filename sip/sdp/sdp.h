/**
 * SDP for one audio stream over RTP or SRTP (RFC 4566, RFC 3264): a bounded
 * parser, a writer, and the two halves of offer/answer. Pure: no libre.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_SDP_SDP_H
#define OFFHOOK_SIP_SDP_SDP_H

#include "base/buf.h"
#include "media/params.h"
#include "sip/sdp/sdp_crypto.h"
#include "sip/sdp/sdp_direction.h"
#include "sip/sdp/sdp_dtls.h"
#include "sip/sdp/sdp_ice.h"

/* Ceilings: a description with more m= lines is refused, more formats are
 * ignored. */
#define SDP_LINES_MAX   32
#define SDP_FORMATS_MAX 64
#define SDP_TEXT_MAX    16384
#define SDP_TYPE_BYTES  16
#define SDP_PROTO_BYTES 32
#define SDP_FMT_BYTES   32

/* An m= line as it must be repeated when it is refused (RFC 3264 6). */
struct sdp_line {
	char type[SDP_TYPE_BYTES];
	char proto[SDP_PROTO_BYTES];
	char format[SDP_FMT_BYTES]; /* the first one */
};

/** The description of a peer. */
struct sdp {
	size_t line_count;
	bool has_audio;        /* an audio line over (S)RTP with a port */
	bool audio_refused;    /* audio lines, but all with port 0 */
	size_t foreign;        /* 1 + index of an audio line with a port and an
				* unknown profile; 0: there is none */
	size_t audio;          /* its index; this and all below: if has_audio */
	struct media_addr rtp; /* len 0: 0.0.0.0 or :: (RFC 3264 8.4) */
	struct media_addr rtcp;
	size_t codec_count;
	uint16_t ptime_ms;              /* 0: not given */
	uint16_t maxptime_ms;           /* 0: not given */
	enum media_direction direction; /* as seen by the peer */
	unsigned xr;                    /* enum media_xr it asks for */
	bool secure;   /* the profile is SAVP: SRTP is mandatory */
	bool rtcp_mux; /* a=rtcp-mux (RFC 5761) */
	uint32_t ssrcs[MEDIA_SSRCS_MAX]; /* a=ssrc (RFC 5576), each once */
	size_t ssrc_count;
	struct sdp_dtls association;
	struct sdp_crypto crypto;
	struct media_ice ice;
	/* last: not written beyond the counts above */
	struct sdp_line lines[SDP_LINES_MAX];
	struct media_codec codecs[SDP_FORMATS_MAX]; /* in the peer's order */
};

/**
 * Parse a description.
 * @param text    borrowed, not terminated, outside input
 * @param ret     written on success only
 * @param reason  set on failure, static text
 * @return 0; -EBADMSG; -EMSGSIZE; -EAFNOSUPPORT the c= line of the audio has no
 *         IPv4 or IPv6 address (names are not resolved)
 */
int sdp_parse(struct sdp *ret, const char *text, size_t len,
	      const char **reason);

/**
 * Bytes of a description that are in use. What is behind them is not written by
 * sdp_parse() nor read by anything here, so that many of 14 kB can be kept in 6 kB.
 */
size_t sdp_used_bytes(const struct sdp *sdp);

/** A description to be written. */
struct sdp_draft {
	const struct media_local *local; /* addresses, ptime */
	const struct media_codec *codecs;
	size_t codec_count;
	enum media_direction direction;
	uint64_t session_id; /* o= line */
	uint64_t version;
	const struct sdp *frame; /* m= lines to repeat; NULL: audio only */
	const struct media_negotiated *answer; /* NULL: this is an offer */
};

/** Append the description. @return 0; -EINVAL (address); -ENOMEM;
 * -EMSGSIZE */
int sdp_write(struct buf *b, const struct sdp_draft *draft);

/**
 * Make the answer to an offer (RFC 3264 section 6): the common formats, in the
 * offer's order with its payload types, and the common direction.
 * @param want   our direction
 * @param ret    the negotiated media; ret->accepted has the formats of the answer
 * @return 0; -ENOENT no common codec; -EINVAL no audio in the offer; -ENOKEY only
 *         one side wants SRTP, or there is no usable key; -EPROTOTYPE its audio
 *         has another profile than RTP's;
 *         -EAFNOSUPPORT, -EADDRNOTAVAIL as of sdp_address_check()
 */
int sdp_answer(struct media_negotiated *ret, const struct sdp *offer,
	       const struct media_local *local, enum media_direction want);

/**
 * Handle the answer to our offer (RFC 3264 section 7).
 * @param offered  the direction in our offer
 * @return 0; -EINVAL the audio was refused; others as of sdp_answer()
 */
int sdp_accept(struct media_negotiated *ret, const struct sdp *answer,
	       const struct media_local *local, enum media_direction offered);

/**
 * What two descriptions settle that a program besides us has negotiated: codecs,
 * addresses, packet time, direction. ICE and encryption are left out.
 * @param local   the program's; has audio
 * @param remote  its peer's; has audio
 * @param ret     written in any case; ->codec is the first common one of `remote`
 * @return false: no common codec
 */
bool sdp_observe(struct media_negotiated *ret, const struct sdp *local,
		 const struct sdp *remote);

/**
 * The reason for -ENOKEY of sdp_answer() or sdp_accept().
 * @return static text
 */
const char *sdp_key_reason(const struct sdp *peer,
			   const struct media_local *local);

#endif
