/**
 * A clip encoded, for sending in a loop, packet by packet. One thread makes it,
 * another may already send what is made of it.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_CLIP_H
#define OFFHOOK_MEDIA_AUDIO_CLIP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A packet of one packet time. 0 bytes: it is not sent (DTX). */
struct clip_frame {
	const uint8_t *data;
	uint16_t bytes;
	bool noise; /* comfort noise */
};

/* What is made at a time; a clip of frames consists of some. */
struct clip_block;

/**
 * A byte stream (frames NULL), which may be cut anywhere at payload borders, or
 * frames. Constant up to what `ready` says: the maker alone writes behind it.
 */
struct clip {
	uint8_t *data;
	struct clip_frame *frames;
	size_t count; /* bytes of data, or frames, once all is made */
	size_t first; /* byte or frame that is made first; the others follow
		       * in a ring */
	struct clip_block *blocks; /* the maker's: where the frames lie */
	/* bytes or frames that are made; release: the maker, when they stand
	 * there; acquire: in clip_has() */
	_Atomic size_t ready;
};

/** Begin a byte stream. @param first  < bytes @return 0; -ENOMEM */
int clip_begin_stream(struct clip *ret, size_t bytes, size_t first);

/** Begin one of frames. @param first  < count @return 0; -ENOMEM */
int clip_begin_frames(struct clip *ret, size_t count, size_t first);

/** Add what follows of a byte stream, up to its seam at most.
 * Thread: the maker */
void clip_add_bytes(struct clip *clip, const uint8_t *data, size_t bytes);

/** Add the next frame. Thread: the maker @return 0; -ENOMEM */
int clip_add_frame(struct clip *clip, const uint8_t *data, size_t bytes,
		   bool noise);

/** The next byte or frame that is made. Thread: the maker */
size_t clip_next(const struct clip *clip);

/** Whether it is all there. Thread: any */
bool clip_whole(const struct clip *clip);

/** Whether so many bytes, or frames, from one on are there; across the seam,
 * too. Thread: any; never blocks */
bool clip_has(const struct clip *clip, size_t at, size_t count);

/** Nobody makes or sends it any more. */
void clip_release(struct clip *clip);

#endif
