/**
 * What SIP and media must agree on about one call: codecs, addresses,
 * direction. The only header of media/ that sip/ may include.
 */
#ifndef OFFHOOK_MEDIA_PARAMS_H
#define OFFHOOK_MEDIA_PARAMS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/sockaddr.h"

#define MEDIA_CODEC_NAME_BYTES 16
#define MEDIA_CODECS_MAX       16
#define MEDIA_FMTP_BYTES       128

/* Comfort noise (RFC 3389); RFC 3551 table 4: it needs no rtpmap. */
#define MEDIA_NOISE_NAME     "CN"
#define MEDIA_NOISE_PT       13
#define MEDIA_NOISE_CLOCK_HZ 8000

/** One payload type of an m= line (RFC 4566, RFC 3551). */
struct media_codec {
	char name[MEDIA_CODEC_NAME_BYTES]; /* encoding name: "PCMU" */
	uint8_t pt;                        /* payload type, 0..127 */
	uint8_t channels;                  /* >= 1 */
	uint32_t clock_hz;           /* RTP clock rate (8000 for G.722 too) */
	char fmtp[MEDIA_FMTP_BYTES]; /* format parameters its receiver asks for;
				      * "": none */
};

/** RTCP XR blocks that the receiver of these blocks asks for (RFC 3611 section
 * 5). */
enum media_xr {
	MEDIA_XR_RTT = 1,        /* rcvr-rtt: DLRR answers to our RRTR */
	MEDIA_XR_LOSS = 2,       /* loss: the loss flag of stat-summary */
	MEDIA_XR_DUPLICATES = 4, /* dup: its duplicate flag */
	MEDIA_XR_JITTER = 8,     /* jitt: its jitter flag */
	MEDIA_XR_VOIP = 16,      /* voip-metrics */
	MEDIA_XR_SUMMARY =
		MEDIA_XR_LOSS | MEDIA_XR_DUPLICATES | MEDIA_XR_JITTER,
	MEDIA_XR_ALL = MEDIA_XR_RTT | MEDIA_XR_SUMMARY | MEDIA_XR_VOIP,
};

/** Direction seen from our side (RFC 3264 section 5): sendonly = only we
 * send. */
enum media_direction {
	MEDIA_SENDRECV,
	MEDIA_SENDONLY,
	MEDIA_RECVONLY,
	MEDIA_INACTIVE,
};

/** An IPv4 or IPv6 address with its port. */
struct media_addr {
	socklen_t len; /* 0: not set. First, to share a cache line with the
			* address bytes in use */
	union sockaddr_ip ss;
};

/**
 * SRTP crypto suites: RFC 4568 section 6.2, RFC 6188 section 4, RFC 7714
 * section 14. Columns: name in SDP; bytes of master key, master salt, RTP tag,
 * RTCP tag.
 */
#define MEDIA_SRTP_SUITES(X)                       \
	X(AES_CM_128_HMAC_SHA1_80, 16, 14, 10, 10) \
	X(AES_CM_128_HMAC_SHA1_32, 16, 14, 4, 10)  \
	X(AES_256_CM_HMAC_SHA1_80, 32, 14, 10, 10) \
	X(AES_256_CM_HMAC_SHA1_32, 32, 14, 4, 10)  \
	X(AEAD_AES_128_GCM, 16, 12, 16, 16)        \
	X(AEAD_AES_256_GCM, 32, 12, 16, 16)

#define MEDIA_SRTP_SUITE_ENUM(name, key, salt, tag, rtcp_tag) MEDIA_SRTP_##name,
enum media_srtp_suite {
	MEDIA_SRTP_SUITES(MEDIA_SRTP_SUITE_ENUM) MEDIA_SRTP_SUITE_COUNT
};
#undef MEDIA_SRTP_SUITE_ENUM

/** @return the suite's name in SDP, static; NULL: no such suite. Thread: any */
const char *media_srtp_suite_name(enum media_srtp_suite suite);
/** Find a suite by its name in SDP, letter case ignored. Thread: any
 * @return 0; -ENOENT (*ret unchanged) */
int media_srtp_suite_by_name(enum media_srtp_suite *ret, const char *name);

#define MEDIA_SRTP_KEY_BYTES_MAX 46 /* master key and salt */

/** Which library encrypts and decrypts SRTP. */
enum media_srtp_library {
	MEDIA_SRTP_LIBRARY_BUILTIN,  /* media/security over libcrypto */
	MEDIA_SRTP_LIBRARY_LIBSRTP2, /* libsrtp2; it allocates memory per
				      * packet */
	MEDIA_SRTP_LIBRARY_COUNT
};

enum media_encryption {
	MEDIA_ENCRYPTION_NONE,
	MEDIA_ENCRYPTION_SDES, /* SDES offered; plain RTP is accepted, too */
	MEDIA_ENCRYPTION_SDES_MANDATORY,
	MEDIA_ENCRYPTION_DTLS,
};

/** RTCP multiplexed on the RTP port (RFC 5761). */
enum media_mux {
	MEDIA_MUX_TAKE, /* accept it in an offer, do not offer it */
	MEDIA_MUX_OFFER,
	MEDIA_MUX_REFUSE, /* decline it: our answer has a separate RTCP port */
};

/** A master key with its salt, as in an a=crypto line (RFC 4568). Secret:
 * printed in SDP only. */
struct media_crypto {
	uint32_t tag; /* of the a=crypto line, 1..999999999 */
	enum media_srtp_suite suite;
	uint8_t key[MEDIA_SRTP_KEY_BYTES_MAX]; /* key, then salt */
};

#define MEDIA_FINGERPRINT_HASH_BYTES 8
#define MEDIA_FINGERPRINT_BYTES      64

/** Fingerprint of a certificate (RFC 8122 section 5). */
struct media_fingerprint {
	char hash[MEDIA_FINGERPRINT_HASH_BYTES]; /* "sha-256" */
	uint8_t bytes[MEDIA_FINGERPRINT_BYTES];
	size_t len; /* 0: none */
};

/** Candidate types (RFC 8445 section 5.1.1). */
enum media_candidate_type {
	MEDIA_CANDIDATE_HOST,
	MEDIA_CANDIDATE_SRFLX, /* server reflexive: our address as seen by a
				* STUN server */
	MEDIA_CANDIDATE_PRFLX, /* peer reflexive: our address as seen by the
				* peer */
	MEDIA_CANDIDATE_RELAY, /* relayed: an address on a TURN server */
	MEDIA_CANDIDATE_TYPES
};

/** @return "host", "srflx", "prflx" or "relay" (RFC 8839 section 5.1), static;
 *         "": no such type. Thread: any */
const char *media_candidate_type_name(enum media_candidate_type type);

/** An ICE candidate (RFC 8839 section 5.1). */
struct media_candidate {
	enum media_candidate_type type;
	uint8_t component; /* 1: RTP, 2: RTCP */
	uint32_t priority; /* RFC 8445 section 5.1.2 */
	struct media_addr addr;
	struct media_addr related; /* raddr and rport; not set for host
				    * candidates */
};

/* SSRCs that a description announces for its audio (RFC 5576): more are ignored. */
#define MEDIA_SSRCS_MAX   4
#define MEDIA_CNAME_BYTES 25 /* 24 characters */

#define MEDIA_CANDIDATES_MAX  10
#define MEDIA_ICE_UFRAG_BYTES 257 /* RFC 8839 section 5.4, with terminator */
#define MEDIA_ICE_PWD_BYTES   257
#define MEDIA_ICE_COMPONENTS  2

/** ICE attributes of one side's SDP. */
struct media_ice {
	char ufrag[MEDIA_ICE_UFRAG_BYTES]; /* "": no ICE */
	char pwd[MEDIA_ICE_PWD_BYTES];
	bool lite;
	struct media_candidate candidates[MEDIA_CANDIDATES_MAX];
	size_t candidate_count;
};

/** How media gets through NATs. */
enum media_nat {
	MEDIA_NAT_NONE,
	MEDIA_NAT_STUN, /* SDP contains the address that a STUN server sees */
	MEDIA_NAT_TURN, /* all media goes through a TURN server */
	MEDIA_NAT_ICE,  /* offered, and answered if the peer offers it */
};

/** Transport from us to the TURN server; the relayed transport is always UDP.
 */
enum media_turn_transport {
	MEDIA_TURN_UDP,
	MEDIA_TURN_TCP,
	MEDIA_TURN_TLS,
};

struct media_nat_params {
	enum media_nat mode;
	bool ice_lite;                 /* ICE-lite: host candidates only */
	struct media_addr stun_server; /* len 0: none */
	struct media_addr turn_server; /* len 0: none */
	enum media_turn_transport turn_transport;
	bool turn_verify;      /* TLS: verify the server's certificate */
	const char *turn_name; /* TLS: the server's expected name; copied */
	const char *username;  /* for the TURN server; copied */
	const char *password;  /* copied */
};

/** Our side of an offer or an answer. */
struct media_local {
	struct media_addr rtp;  /* where the peer shall send RTP */
	struct media_addr rtcp; /* where the peer shall send RTCP (RFC 3605) */
	size_t codec_count;
	uint16_t ptime_ms; /* ptime to announce, 10..120 */
	enum media_direction direction;
	unsigned xr; /* bits of enum media_xr that we ask for */
	enum media_mux rtcp_mux;
	enum media_encryption encryption;
	struct media_fingerprint fingerprint; /* DTLS: of our certificate */
	/* our SDES keys, by preference of their suites; tags 1, 2, ... */
	struct media_crypto crypto[MEDIA_SRTP_SUITE_COUNT];
	size_t crypto_count;
	bool has_ssrc; /* announce this SSRC and CNAME (RFC 5576) */
	uint32_t ssrc;
	char cname[MEDIA_CNAME_BYTES];
	bool has_ice; /* `ice` is put into our offer, and into the answer if the
		       * peer offers ICE */
	/* last, see media_local_bytes() */
	struct media_codec codecs[MEDIA_CODECS_MAX]; /* by preference */
	struct media_ice ice;                        /* if has_ice */
};

/**
 * Bytes that are in use: up to the last codec, or all with ICE. It may be
 * allocated with so many; what is behind them is not read.
 * Thread: any
 */
static inline size_t media_local_bytes(const struct media_local *l)
{
	return l->has_ice ? sizeof(*l)
			  : offsetof(struct media_local, codecs) +
				    l->codec_count * sizeof(l->codecs[0]);
}

/** Result of offer and answer (RFC 3264): what to send, and where. */
struct media_negotiated {
	struct media_addr rtp;    /* the peer's RTP address; len 0: port 0 */
	struct media_addr rtcp;   /* the peer's RTCP address */
	bool rtcp_mux;            /* RTCP uses the RTP ports of both sides */
	struct media_codec codec; /* codec to send with */
	size_t accepted_count;
	bool has_event_pt; /* telephone-event agreed (RFC 4733) */
	uint8_t event_pt;
	uint32_t event_clock_hz; /* clock rate of event durations; 0: 8000 */
	/* comfort noise agreed, at the clock rate of `codec` (RFC 3389) */
	bool has_noise_pt;
	uint8_t noise_pt;
	uint16_t ptime_ms;              /* ptime to send with */
	enum media_direction direction; /* seen from our side */
	unsigned xr;                    /* bits of enum media_xr that the peer
					 * asks for */
	bool encrypted;   /* SRTP, with the SDES keys below, or with
			   * DTLS-SRTP: */
	bool dtls;        /* DTLS-SRTP (RFC 5764) */
	bool dtls_active; /* we start the handshake (RFC 4145 setup:active) */
	struct media_fingerprint fingerprint; /* the peer's */
	struct media_crypto crypto_tx;        /* ours */
	struct media_crypto crypto_rx;        /* the peer's */
	/* SSRCs that the peer announces for what it sends (RFC 5576) */
	uint32_t ssrcs[MEDIA_SSRCS_MAX];
	size_t ssrc_count;
	bool ice;             /* ICE is used; the addresses above are the
			       * default candidates */
	bool ice_controlling; /* we are the controlling agent (RFC 8445 section
			       * 6.1.1) */
	bool ice_mismatch;    /* the peer's SDP was modified on its way: no ICE
			       * (RFC 8839 section 4.2.5) */
	/* last, see media_negotiated_bytes() */
	struct media_codec accepted[MEDIA_CODECS_MAX]; /* codecs that may be
							* received */
	struct media_ice ice_peer;                     /* if `ice` */
};

/** As media_local_bytes(). */
static inline size_t media_negotiated_bytes(const struct media_negotiated *n)
{
	return n->ice ? sizeof(*n)
		      : offsetof(struct media_negotiated, accepted) +
				n->accepted_count * sizeof(n->accepted[0]);
}

/** Copy what is in use; the rest of *ret is not written.
 * @param n  may be allocated with media_negotiated_bytes()
 * Thread: any */
static inline void media_negotiated_copy(struct media_negotiated *ret,
					 const struct media_negotiated *n)
{
	memcpy(ret, n, media_negotiated_bytes(n));
}

#endif
