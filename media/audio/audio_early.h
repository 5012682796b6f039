/**
 * Payloads that arrive before offer and answer are settled (RFC 3264 section
 * 5.1). They are kept until the codecs are known; if there is no room the
 * oldest is dropped.
 * Thread: the audio thread; allocates.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_EARLY_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_EARLY_H

#include "media/payload_ring.h"

/* As many as the analysis keeps (EARLY_PACKETS_MAX,
 * media/measure/measure_session.h). */
#define AUDIO_EARLY_MAX 128

struct audio_early_item {
	struct audio_early_item *next;
	struct payload head;
	uint8_t data[];
};

struct audio_early {
	struct audio_early_item *first;
	struct audio_early_item *last;
	size_t count;
};

/** Keep a copy of a payload, also of one sent while the COMMAND_APPLY was on
 * its way to this thread. Without memory it is lost. */
void audio_early_keep(struct audio_early *e, const struct payload *head,
		      const uint8_t *data);

/** Take the oldest payload; the caller must free() it.
 * @return NULL: none */
struct audio_early_item *audio_early_take(struct audio_early *e);

/** Free all payloads. */
void audio_early_release(struct audio_early *e);

#endif
