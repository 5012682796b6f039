#include "media/audio/clip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 16384 /* larger than any packet */

struct clip_block {
	struct clip_block *next;
	size_t used;
	uint8_t data[BLOCK_BYTES];
};

int clip_begin_stream(struct clip *ret, size_t bytes, size_t first)
{
	uint8_t *data = malloc(bytes);

	if (!data)
		return -ENOMEM;
	memset(ret, 0, sizeof(*ret));
	ret->data = data;
	ret->count = bytes;
	ret->first = first;
	return 0;
}

int clip_begin_frames(struct clip *ret, size_t count, size_t first)
{
	struct clip_frame *frames = calloc(count, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	memset(ret, 0, sizeof(*ret));
	ret->frames = frames;
	ret->count = count;
	ret->first = first;
	return 0;
}

/* relaxed: called by the thread that writes it */
static size_t made(const struct clip *clip)
{
	return atomic_load_explicit(&clip->ready, memory_order_relaxed);
}

static void publish(struct clip *clip, size_t more)
{
	/* release: pairs with the acquire in ready(), publishes bytes and
	 * frames */
	atomic_store_explicit(&clip->ready, made(clip) + more,
			      memory_order_release);
}

/* acquire: pairs with the release in publish() */
static size_t ready(const struct clip *clip)
{
	return atomic_load_explicit(&clip->ready, memory_order_acquire);
}

/* @return index of the next byte or frame to encode. Thread: the encoding
 *         thread */
static size_t clip_next(const struct clip *clip)
{
	return (clip->first + made(clip)) % clip->count;
}

void clip_add_bytes(struct clip *clip, const uint8_t *data, size_t bytes)
{
	memcpy(clip->data + clip_next(clip), data, bytes);
	publish(clip, bytes);
}

/* Find or allocate a block with room.
 * @return NULL: no memory */
static struct clip_block *block_with(struct clip *clip, size_t bytes)
{
	struct clip_block *b = clip->blocks;

	if (b && sizeof(b->data) - b->used >= bytes)
		return b;
	b = malloc(sizeof(*b));
	if (!b)
		return NULL;
	b->next = clip->blocks;
	b->used = 0;
	clip->blocks = b;
	return b;
}

int clip_add_frame(struct clip *clip, const uint8_t *data, size_t bytes,
		   bool noise)
{
	struct clip_frame *frame = &clip->frames[clip_next(clip)];
	struct clip_block *b = block_with(clip, bytes);

	if (!b)
		return -ENOMEM;
	memcpy(b->data + b->used, data, bytes);
	frame->data = b->data + b->used;
	frame->bytes = (uint16_t)bytes;
	frame->noise = noise;
	b->used += bytes;
	publish(clip, 1);
	return 0;
}

bool clip_whole(const struct clip *clip)
{
	return ready(clip) == clip->count;
}

bool clip_has(const struct clip *clip, size_t at, size_t count)
{
	size_t there = ready(clip);
	size_t behind = at < clip->first ? at + clip->count - clip->first
					 : at - clip->first;

	return there == clip->count || behind + count <= there;
}

void clip_release(struct clip *clip)
{
	while (clip->blocks) {
		struct clip_block *b = clip->blocks;

		clip->blocks = b->next;
		free(b);
	}
	free(clip->data);
	free(clip->frames);
	memset(clip, 0, sizeof(*clip));
}
