/**
 * The codecs: their SDP parameters, encoders and decoders. All audio is mono,
 * 16 bit.
 * Docs: docs/internals/media.md "Codecs"
 * Thread: any; the tables are constant, a state belongs to one thread.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_CODEC_H
#define OFFHOOK_MEDIA_AUDIO_CODEC_H

#include "media/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODEC_PTIME_MIN_MS 5 /* shortest that is sent if a peer asks for it */
#define CODEC_PTIME_MAX_MS 120

/* Largest payload: L16 at 44100 Hz, 120 ms */
#define CODEC_PAYLOAD_MAX 10584
/* Maximum output of encode() for a packet time; packets above CODEC_PAYLOAD_MAX
 * are not sent */
#define CODEC_ENCODED_MAX 15360
/* Maximum of samples per payload: Opus, 120 ms at 48000 Hz */
#define CODEC_SAMPLES_MAX 5760

/** What a receiver asks us for (its fmtp). All zero: nothing. */
struct codec_settings {
	uint32_t max_playback_hz; /* maxplaybackrate, RFC 7587 section 6.1 */
	uint32_t max_bitrate;     /* maxaveragebitrate, bit/s */
	bool fec;                 /* useinbandfec */
	bool dtx;                 /* usedtx */
	bool cbr;
	bool stereo; /* its decoder is stereo; both channels we send are the
		      * same */
	/* comfort noise was agreed (RFC 3389): silence is not sent. Not from an
	 * fmtp */
	bool noise;
};

struct codec {
	const char *name;       /* as users write it: "L16/16000" */
	const char *rtpmap;     /* encoding name */
	uint8_t pt;             /* that we announce: RFC 3551 table 4, else
			       * dynamic */
	uint8_t channels;       /* in the rtpmap */
	uint32_t clock_hz;      /* RTP clock rate */
	uint32_t sample_hz;     /* of the audio */
	uint32_t bytes_per_s;   /* of a byte stream; 0: frames */
	uint16_t ptime_step_ms; /* packet times are multiples of this */
	const char *fmtp;       /* that we announce; NULL: none */

	/* of a byte stream: samples that are encoded together */
	uint16_t block_samples;

	/** Create an encoder state; NULL: needs none.
	 * @return 0; -ENOMEM */
	int (*encoder_new)(void **ret, uint16_t ptime_ms,
			   const struct codec_settings *settings);
	void (*encoder_free)(void *encoder);
	/**
	 * Encode samples that follow the previous ones. Byte stream: whole
	 * blocks, except at the end; else one packet.
	 * @param dst    room for CODEC_ENCODED_MAX
	 * @param count  at most those of a packet time
	 * @return bytes; 0: need not be sent; -EINVAL
	 */
	int (*encode)(const struct codec *codec, void *encoder, uint8_t *dst,
		      const int16_t *pcm, size_t count);
	/** Create a decoder state; NULL: needs none.
	 * @return 0; -ENOMEM */
	int (*decoder_new)(void **ret);
	void (*decoder_free)(void *decoder);
	/** Decode a payload; does not allocate.
	 * @return samples written; -EBADMSG */
	int (*decode)(const struct codec *codec, void *decoder, int16_t *dst,
		      size_t max, const uint8_t *payload, size_t bytes);
	/** Recover the lost packet before a payload, before decode() of that
	 * payload. NULL: not possible. Does not allocate.
	 * @return samples written; 0: the payload has no copy */
	int (*recover)(const struct codec *codec, void *decoder, int16_t *dst,
		       size_t max, const uint8_t *payload, size_t bytes);
};

/** Number of codecs offered by default, from the start of the list. */
#define CODECS_DEFAULT 2

/** Get codec i, PCMU and PCMA first.
 * @return NULL: no more */
const struct codec *codec_at(size_t i);

/** Find a codec by the name users write, any case; "L16" is "L16/16000".
 * @return NULL: unknown */
const struct codec *codec_by_name(const char *name);

/** Find a codec by its rtpmap in SDP.
 * @return NULL: not supported */
const struct codec *codec_by_rtpmap(const char *rtpmap, uint32_t clock_hz);

/** @return the packet time to send with if ptime_ms is asked for: a multiple of
 *         the codec's step, not longer unless there is no shorter one */
uint16_t codec_ptime(const struct codec *codec, uint16_t ptime_ms);

/** @return RTP timestamp units per packet */
uint32_t codec_ticks(const struct codec *codec, uint16_t ptime_ms);

/** Parse the parameters of an fmtp (RFC 7587 section 6.1). Unknown ones and
 * values out of range are ignored. */
void codec_settings_parse(struct codec_settings *ret, const char *fmtp);

/** @return bytes for this many samples of a byte stream */
size_t codec_stream_bytes(const struct codec *codec, size_t samples);

/* All codecs, in the order of codec_at(): X(NAME) is the `const struct codec
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
