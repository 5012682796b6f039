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
#include <sys/socket.h>

#define MEDIA_CODEC_NAME_BYTES 16
#define MEDIA_CODECS_MAX       16
#define MEDIA_FMTP_BYTES       128

/** One payload type of an m= line (RFC 4566, RFC 3551). */
struct media_codec {
	char name[MEDIA_CODEC_NAME_BYTES]; /* encoding name: "PCMU" */
	uint8_t pt;                        /* payload type, 0..127 */
	uint8_t channels;                  /* >= 1 */
	uint32_t clock_hz;           /* RTP clock rate (8000 for G.722 too) */
	char fmtp[MEDIA_FMTP_BYTES]; /* what its receiver asks for; "": none */
};

/** Seen from our side (RFC 3264 section 5): sendonly = we send only. */
enum media_direction {
	MEDIA_SENDRECV,
	MEDIA_SENDONLY,
	MEDIA_RECVONLY,
	MEDIA_INACTIVE,
};

/** An IPv4 or IPv6 address with its port. */
struct media_addr {
	struct sockaddr_storage ss;
	socklen_t len; /* 0: not set */
};

/** Our side of an offer or an answer. */
struct media_local {
	struct media_addr rtp;  /* what the peer shall send RTP to */
	struct media_addr rtcp; /* and RTCP (RFC 3605) */
	struct media_codec codecs[MEDIA_CODECS_MAX]; /* by preference */
	size_t codec_count;
	uint16_t ptime_ms; /* packet time to announce, 10..120 */
	enum media_direction direction;
};

/** What offer and answer settled (RFC 3264): what to send, and where. */
struct media_negotiated {
	struct media_addr rtp;    /* the peer's RTP address; len 0: port 0 */
	struct media_addr rtcp;   /* the peer's RTCP address */
	struct media_codec codec; /* to send with */
	struct media_codec accepted[MEDIA_CODECS_MAX]; /* may be received */
	size_t accepted_count;
	bool has_event_pt; /* telephone-event agreed (RFC 4733) */
	uint8_t event_pt;
	uint16_t ptime_ms;              /* to send with */
	enum media_direction direction; /* seen from our side */
};

#endif
