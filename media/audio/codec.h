/**
 * The codecs: what an SDP says of one, how samples become payload, how payload
 * becomes samples. All audio is mono, 16 bit. Docs: docs/internals/media.md "Codecs"
 * Thread: any; the tables are constant, a state belongs to one thread.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_CODEC_H
#define OFFHOOK_MEDIA_AUDIO_CODEC_H

#include "media/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODEC_PTIME_MIN_MS 5 /* least that is sent when a peer asks for it */
#define CODEC_PTIME_MAX_MS 120

/* Largest payload: L16 at 44100 Hz, 120 ms */
#define CODEC_PAYLOAD_MAX 10584
/* Most bytes that encode() makes of a packet time; what is above
 * CODEC_PAYLOAD_MAX is not sent */
#define CODEC_ENCODED_MAX 15360
/* Most samples of one payload: Opus, 120 ms at 48000 Hz */
#define CODEC_SAMPLES_MAX 5760

/** What a receiver asks of us (its fmtp). All zero: nothing. */
struct codec_settings {
	uint32_t max_playback_hz; /* RFC 7587 6.1 maxplaybackrate */
	uint32_t max_bitrate;     /* maxaveragebitrate, bit/s */
	bool fec;                 /* useinbandfec */
	bool dtx;                 /* usedtx */
	bool cbr;
	bool stereo; /* both channels of it are alike: we have mono to send */
	/* comfort noise was agreed on (RFC 3389): silence is not sent; not of
	 * an fmtp */
	bool noise;
};

struct codec {
	const char *name;     /* as users write it: "L16/16000" */
	const char *rtpmap;   /* encoding name */
	uint8_t pt;           /* we announce: RFC 3551 table 4, else dynamic */
	uint8_t channels;     /* in the rtpmap */
	uint32_t clock_hz;    /* of RTP */
	uint32_t sample_hz;   /* of the audio */
	uint32_t bytes_per_s; /* of a byte stream; 0: frames */
	uint16_t ptime_step_ms; /* packet times are multiples of it */
	const char *fmtp;       /* we announce; NULL: none */

	/* of a byte stream: samples that become bytes together */
	uint16_t block_samples;

	/** State of an encoder; NULL: needs none. @return 0; -ENOMEM */
	int (*encoder_new)(void **ret, uint16_t ptime_ms,
			   const struct codec_settings *settings);
	void (*encoder_free)(void *encoder);
	/** Encode samples that follow the last ones: of a byte stream whole
	 * blocks, but for the last ones; else a packet.
	 * @param dst    room for CODEC_ENCODED_MAX
	 * @param count  at most a packet time's
	 * @return bytes, 0: it need not be sent; -EINVAL */
	int (*encode)(const struct codec *codec, void *encoder, uint8_t *dst,
		      const int16_t *pcm, size_t count);
	/** State of a decoder; NULL: needs none. @return 0; -ENOMEM */
	int (*decoder_new)(void **ret);
	void (*decoder_free)(void *decoder);
	/** @return samples written; -EBADMSG; does not allocate */
	int (*decode)(const struct codec *codec, void *decoder, int16_t *dst,
		      size_t max, const uint8_t *payload, size_t bytes);
	/** Before decode() of a payload that follows a lost one: what it holds
	 * of that. NULL: it never does. @return samples written, 0: none; does
	 * not allocate */
	int (*recover)(const struct codec *codec, void *decoder, int16_t *dst,
		       size_t max, const uint8_t *payload, size_t bytes);
};

/** What is offered when nothing else is asked for: the first of them. */
#define CODECS_DEFAULT 2

/** All in turn, PCMU and PCMA first. @return NULL: no more */
const struct codec *codec_at(size_t i);

/** By the name users write, any case; "L16" is "L16/16000".
 * @return NULL: unknown */
const struct codec *codec_by_name(const char *name);

/** By what an SDP says. @return NULL: we have none such */
const struct codec *codec_by_rtpmap(const char *rtpmap, uint32_t clock_hz);

/** The packet time to send with when ptime_ms is asked for: a multiple of the
 * codec's step, not longer unless there is no shorter one. */
uint16_t codec_ptime(const struct codec *codec, uint16_t ptime_ms);

/** Ticks of the RTP clock in a packet. */
uint32_t codec_ticks(const struct codec *codec, uint16_t ptime_ms);

/** Parse the parameters of an fmtp (RFC 7587 6.1); unknown ones and values
 * out of range are ignored. */
void codec_settings_parse(struct codec_settings *ret, const char *fmtp);

/** Bytes of so many samples of a byte stream. */
size_t codec_stream_bytes(const struct codec *codec, size_t samples);

/* All codecs, in the order of codec_at(): each is the `const struct codec
 * codec_NAME` of a codec_*.c. */
/* clang-format off */
#define CODECS(X) \
	X(pcmu) \
	X(pcma) \
	X(g722) \
	X(opus) \
	X(l16_8000) \
	X(l16_16000) \
	X(l16_44100) \
	X(gsm)
/* clang-format on */

#define CODEC_DECLARE(name) extern const struct codec codec_##name;
CODECS(CODEC_DECLARE)
#undef CODEC_DECLARE

#endif
