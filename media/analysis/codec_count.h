/**
 * Counts the audio packets of a stream by codec, to choose the codec with which
 * the open interval and the whole stream are scored: the one of most audio
 * packets; of equal counts the one with the lower payload type.
 * Docs: docs/reference/measurement.md "Scores"
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_CODEC_COUNT_H
#define OFFHOOK_MEDIA_ANALYSIS_CODEC_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include "media/analysis/emodel_values.h"

/* Maximum of codecs counted separately, as many as a session has payload types.
 * Packets of further codecs are counted together. If they are the majority, the
 * stream has no codec and no score. */
#define CODEC_COUNT_MAX 24

struct codec_count_entry {
	uint64_t packets;        /* audio packets */
	uint64_t packets_before; /* of these before the open interval */
	struct emodel_values values;
	uint32_t clock_hz;
	uint8_t pt;    /* lowest payload type used for it, 0..127 */
	char name[16]; /* encoding name */
};

/* Entries in the stream: few streams have more. */
#define CODEC_COUNT_FIRST 2

struct codec_count {
	size_t count;   /* number of entries */
	size_t current; /* index of the present codec; count: none */
	uint64_t other; /* packets of codecs that have no entry */
	struct codec_count_entry *more; /* those after first[]; borrowed */
	struct codec_count_entry first[CODEC_COUNT_FIRST];
};

/** Initialise: no codec yet.
 * @param more  room for CODEC_COUNT_MAX - CODEC_COUNT_FIRST; any contents */
void codec_count_init(struct codec_count *c, struct codec_count_entry *more);

/** @return an entry; its address does not change
 * @param i  < c->count */
static inline struct codec_count_entry *codec_count_at(struct codec_count *c,
						       size_t i)
{
	return i < CODEC_COUNT_FIRST ? &c->first[i]
				     : &c->more[i - CODEC_COUNT_FIRST];
}

/**
 * The following packets use this codec. The codec is the same if name, clock
 * rate and values are, whatever the payload type.
 * @param name    copied, cut at 15 bytes
 * @param values  copied
 */
void codec_count_enter(struct codec_count *c, const char *name,
		       uint32_t clock_hz, uint8_t pt,
		       const struct emodel_values *values);

/** Count packets of the present codec. */
void codec_count_add(struct codec_count *c, uint64_t packets);

/** Get the codec of the whole stream.
 * @param open  packets of the present codec not added yet
 * @return NULL: none */
const struct codec_count_entry *codec_count_most(const struct codec_count *c,
						 uint64_t open);

/** Get the codec of the open interval and begin the next interval.
 * @return NULL: it had no audio packet */
const struct codec_count_entry *codec_count_interval(struct codec_count *c);

#endif
