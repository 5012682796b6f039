/**
 * Payloads that come before offer and answer are settled (RFC 3264 section
 * 5.1): kept until the codecs are known, the oldest makes room.
 * Thread: the audio thread; allocates.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_EARLY_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_EARLY_H

#include "media/payload_ring.h"

/* As the analysis keeps (media/engine/media_session.h). */
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

/** Keep a copy, of what was sent just when the settling was on its way to us,
 * too; what does not fit in memory is lost. */
void audio_early_keep(struct audio_early *e, const struct payload *head,
		      const uint8_t *data);

/** The oldest one, the caller's to free(). @return NULL: none */
struct audio_early_item *audio_early_take(struct audio_early *e);

void audio_early_release(struct audio_early *e);

#endif
