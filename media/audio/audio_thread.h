/**
 * The audio thread. It decodes what sessions that asked for it receive and
 * send, off the path of the packets: RX and TX hand payloads over through rings
 * that never block them. Unlike the other media threads it may allocate and
 * write files. Docs: docs/reference/audio.md
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_THREAD_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_THREAD_H

#include "media/media_thread.h"
#include "media/payload_ring.h"
#include "media/record_ring.h"

#include <stdint.h>

struct audio;

/** All of it is the caller's, and outlives the thread. */
struct audio_params {
	uint32_t slots;              /* sessions that may exist */
	uint32_t sessions_max;       /* that have audio at a time */
	struct media_thread *thread; /* commands: struct audio_command * */
	struct record_ring *records; /* to the loop */
	int loop_fd;                 /* eventfd that wakes the loop */
};

/** The thread's state. Thread: loop, before it starts. @return 0; -ENOMEM */
int audio_new(struct audio **ret, const struct audio_params *params);
/** Thread: loop, after it has ended. @param au  may be NULL @return NULL */
struct audio *audio_free(struct audio *au);

/** The thread's function. @param au  of audio_new() */
void *audio_thread(void *au);

/** The rings of payloads, for the first session that wants audio.
 * Thread: loop, before RX and TX know of the session. @return 0; -ENOMEM */
int audio_rings_open(struct audio *au);

/** The ring that RX, or TX, writes payloads to. Thread: loop.
 * @return NULL: audio_rings_open() was not called */
struct payload_ring *audio_ring(const struct audio *au, bool of_tx);

#endif
