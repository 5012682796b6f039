/**
 * Reads header fields and SDP of one captured SIP message, which may be cut or
 * malformed.
 * Source: RFC 3261 sections 7.3 and 25, RFC 8866
 * Thread: any; pure.
 */
#ifndef OFFHOOK_CONTROL_IMPORT_SIP_TEXT_H
#define OFFHOOK_CONTROL_IMPORT_SIP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/flow.h"

#define SIP_TEXT_BYTES          256 /* of a header value or URI; longer: not read */
#define SIP_TEXT_CODECS_MAX     16
#define SIP_TEXT_CODEC_BYTES    32
#define SIP_TEXT_CANDIDATES_MAX 8

/** A name-addr or addr-spec with its tag; absent parts are "". */
struct sip_name {
	char display[SIP_TEXT_BYTES];
	char user[SIP_TEXT_BYTES];
	char host[SIP_TEXT_BYTES]; /* without brackets */
	char tag[SIP_TEXT_BYTES];
	uint16_t port; /* 0: none */
};

/**
 * Read the value of a header field by its full or compact name. Folded lines
 * are joined by one space.
 * @param n  0: the first field of this name, 1: the second...
 * @return false: there is none, or it is too long
 */
bool sip_text_header(const char *text, const char *name, unsigned n,
		     char ret[static SIP_TEXT_BYTES]);

/** Gets one header field; name and value end with 0. @return false: stop */
typedef bool(sip_text_header_h)(const char *name, const char *value, void *arg);
/** Hand out the header fields in order; too long ones have the value NULL. */
void sip_text_headers(const char *text, sip_text_header_h *handler, void *arg);

/** The body. @return "": there is none */
const char *sip_text_body(const char *text);

/** Parse a name-addr or a URI. @return false: it is no SIP or tel URI */
bool sip_text_name(const char *value, struct sip_name *ret);

enum sip_text_direction {
	SIP_TEXT_SENDRECV,
	SIP_TEXT_HELD, /* sendonly, inactive, or the address 0.0.0.0 */
	SIP_TEXT_RECVONLY,
};

enum sip_text_keys {
	SIP_TEXT_PLAIN,
	SIP_TEXT_SDES,           /* keys over RTP/AVP */
	SIP_TEXT_SDES_MANDATORY, /* keys over RTP/SAVP */
	SIP_TEXT_DTLS,
};

struct sip_codec {
	char name[SIP_TEXT_CODEC_BYTES]; /* "PCMU", "L16/44100" */
	uint8_t pt;
	bool named; /* by rtpmap or RFC 3551 */
};

/** A transport address of an ICE candidate. */
struct sip_candidate {
	struct address address;
	uint16_t port;
};

/** The first audio media line of an SDP. */
struct sip_audio {
	struct sip_codec codec[SIP_TEXT_CODECS_MAX]; /* in order of preference,
						      * no events or noise */
	size_t codecs;
	bool has_event; /* telephone-event, with event_pt and event_hz */
	uint8_t event_pt;
	uint32_t event_hz;
	bool has_address;
	bool no_address; /* 0.0.0.0 */
	struct address address;
	uint16_t port;
	uint32_t ptime_ms; /* 0: not said */
	enum sip_text_direction direction;
	enum sip_text_keys keys;
	bool ice;
	/* for RTP over UDP (RFC 8839 section 5.1) */
	struct sip_candidate candidate[SIP_TEXT_CANDIDATES_MAX];
	size_t candidates;
	bool other_media; /* there are further media lines */
};

/** Read the SDP of a message, also from a multipart body.
 * @return false: no audio media line (ret unchanged) */
bool sip_text_audio(const char *text, struct sip_audio *ret);

#endif
