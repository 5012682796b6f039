/**
 * The audio thread. It decodes what is received and sent in sessions that ask
 * for it, without delaying packets: RX and TX pass payloads through rings that
 * never block them. Unlike the other media threads it may allocate and write
 * files. Docs: docs/reference/audio.md
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_THREAD_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_THREAD_H

#include "media/media_thread.h"
#include "media/payload_ring.h"
#include "media/record_ring.h"

#include <stdint.h>

struct audio;

/** Pointers are borrowed and outlive the thread. */
struct audio_params {
	uint32_t slots;              /* maximum number of sessions */
	uint32_t sessions_max;       /* maximum with audio at the same time */
	struct media_thread *thread; /* commands: struct audio_command * */
	struct record_ring *records; /* audio -> loop */
	int loop_fd;                 /* eventfd that wakes the loop */
};

/** Create the thread's state. Thread: loop, before the thread starts.
 * @param params  copied
 * @return 0; -ENOMEM */
int audio_new(struct audio **ret, const struct audio_params *params);
/** Thread: loop, after the thread has ended.
 * @param au  may be NULL
 * @return NULL */
struct audio *audio_free(struct audio *au);

/** The thread's function.
 * @param au  from audio_new()
 * @return NULL */
void *audio_thread(void *au);

/** Create the payload rings, for the first session that wants audio. Thread:
 * loop, before RX and TX know the session.
 * @return 0; -ENOMEM */
int audio_rings_open(struct audio *au);

/** @param of_tx  the ring written by TX; else by RX. Thread: loop.
 * @return NULL: audio_rings_open() was not called */
struct payload_ring *audio_ring(const struct audio *au, bool of_tx);

#endif
