/**
 * Comfort noise (RFC 3389): the silent packets of a clip become noise packets
 * and places where nothing is sent. Docs: media.md "Silence"
 * Thread: any; allocates.
 */
#ifndef OFFHOOK_MEDIA_CODEC_NOISE_H
#define OFFHOOK_MEDIA_CODEC_NOISE_H

#include "media/codec.h"

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

/**
 * Cut a clip into packets, of which those of silence are comfort noise (one
 * byte, marked in clip->noise) or empty.
 * @param clip  in/out: of these samples; untouched on failure
 * @return 0; -EINVAL; -ENOMEM
 */
int codec_noise_cut(struct clip *clip, const struct codec *codec,
		    const int16_t *pcm, size_t count, uint16_t ptime_ms);

/** The level that a noise packet says, dBov. @return false: it is empty */
bool codec_noise_level(const uint8_t *payload, size_t bytes, double *ret_dbov);

#endif
