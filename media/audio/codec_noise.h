/**
 * Comfort noise (RFC 3389): silent packets become noise packets and places where
 * nothing is sent. Docs: docs/internals/media.md "Silence"
 * Thread: any.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_CODEC_NOISE_H
#define OFFHOOK_MEDIA_AUDIO_CODEC_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A packet is silent below this mean power, as for what is heard. */
#define CODEC_NOISE_DBOV (-50.0)
/* After sound, silent packets are still sent as audio for so long. */
#define CODEC_NOISE_HANGOVER_MS 60
/* In silence a noise packet is sent each of these. */
#define CODEC_NOISE_UPDATE_MS 400
/* RFC 3389 section 3.1: the level, in -dBov */
#define CODEC_NOISE_LEVEL_MAX 127

/** What is sent of a packet. */
enum codec_noise_kind {
	CODEC_NOISE_SOUND,   /* the audio */
	CODEC_NOISE_LEVEL,   /* a noise packet: one byte */
	CODEC_NOISE_NOTHING, /* nothing */
};

/** Over the packets of a clip. */
struct codec_noise {
	uint32_t silent_ms; /* so far */
	uint32_t noise_ms;  /* since the last noise packet */
};

/** Begin: a clip that is silent all along begins in silence. */
void codec_noise_begin(struct codec_noise *n);

/**
 * Judge the next packet.
 * @param pcm        its samples, count > 0
 * @param ret_level  of a noise packet, the byte of it
 */
enum codec_noise_kind codec_noise_next(struct codec_noise *n,
				       const int16_t *pcm, size_t count,
				       uint16_t ptime_ms, uint8_t *ret_level);

/** The level that a noise packet says, dBov. @return false: it is empty */
bool codec_noise_level(const uint8_t *payload, size_t bytes, double *ret_dbov);

#endif
