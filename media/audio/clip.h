/**
 * An encoded clip, to be sent in a loop, packet by packet. One thread encodes
 * it; another may already send the part that is ready.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_CLIP_H
#define OFFHOOK_MEDIA_AUDIO_CLIP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A packet of one packet time. 0 bytes: send nothing (DTX). */
struct clip_frame {
	const uint8_t *data;
	uint16_t bytes;
	bool noise; /* comfort noise */
};

/* Memory of some of the frames of a clip. */
struct clip_block;

/**
 * A byte stream (frames NULL), which may be cut at any payload boundary, or
 * frames. The part up to `ready` is constant; only the encoding thread writes
 * after it.
 */
struct clip {
	uint8_t *data;
	struct clip_frame *frames;
	size_t count; /* total number of bytes or frames */
	size_t first; /* byte or frame encoded first; the others follow in a
		       * ring */
	struct clip_block *blocks; /* used by the encoding thread: memory of the
				    * frames */
	/* bytes or frames that are ready; release: by the encoding thread,
	 * after they are written; acquire: in clip_has() */
	_Atomic size_t ready;
};

/** Begin a byte stream.
 * @param first  < bytes
 * @return 0; -ENOMEM */
int clip_begin_stream(struct clip *ret, size_t bytes, size_t first);

/** Begin a clip of frames.
 * @param first  < count
 * @return 0; -ENOMEM */
int clip_begin_frames(struct clip *ret, size_t count, size_t first);

/** Append bytes, at most up to the seam. Thread: the encoding thread */
void clip_add_bytes(struct clip *clip, const uint8_t *data, size_t bytes);

/** Append the next frame. Thread: the encoding thread
 * @return 0; -ENOMEM */
int clip_add_frame(struct clip *clip, const uint8_t *data, size_t bytes,
		   bool noise);

/** @return all of it is encoded. Thread: any */
bool clip_whole(const struct clip *clip);

/** @return `count` bytes or frames from `at` on are ready, also across the
 *         seam. Thread: any; never blocks */
bool clip_has(const struct clip *clip, size_t at, size_t count);

/** Release the memory. No thread may encode or send it any more. */
void clip_release(struct clip *clip);

#endif
