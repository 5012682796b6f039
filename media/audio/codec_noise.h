/**
 * Comfort noise (RFC 3389): replaces silent packets by noise packets, or by
 * nothing. Docs: docs/internals/media.md "Silence"
 * Thread: any.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_CODEC_NOISE_H
#define OFFHOOK_MEDIA_AUDIO_CODEC_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A packet with less mean power is silent; same threshold as for received
 * audio. */
#define CODEC_NOISE_DBOV (-50.0)
/* After sound, silent packets are still sent as audio for this time. */
#define CODEC_NOISE_HANGOVER_MS 60
/* Interval of noise packets in silence. */
#define CODEC_NOISE_UPDATE_MS 400
/* RFC 3389 section 3.1: noise level, in -dBov */
#define CODEC_NOISE_LEVEL_MAX 127

/** What is sent instead of a packet. */
enum codec_noise_kind {
	CODEC_NOISE_SOUND,   /* the audio itself */
	CODEC_NOISE_LEVEL,   /* a noise packet of one byte */
	CODEC_NOISE_NOTHING, /* nothing */
};

/** State from packet to packet of a clip. */
struct codec_noise {
	uint32_t silent_ms; /* so far */
	uint32_t noise_ms;  /* since the last noise packet */
};

/** Begin: a clip that is completely silent begins in silence. */
void codec_noise_begin(struct codec_noise *n);

/**
 * Decide about the next packet.
 * @param pcm        its samples, count > 0
 * @param ret_level  content of a noise packet
 */
enum codec_noise_kind codec_noise_next(struct codec_noise *n,
				       const int16_t *pcm, size_t count,
				       uint16_t ptime_ms, uint8_t *ret_level);

/** Get the noise level of a noise packet, dBov.
 * @return false: it is empty */
bool codec_noise_level(const uint8_t *payload, size_t bytes, double *ret_dbov);

#endif
