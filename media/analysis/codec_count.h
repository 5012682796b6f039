/**
 * Audio packets of a stream by codec: which codec the open interval and the
 * whole stream are scored with. It is the one of most of the audio packets;
 * of equal counts the one with the lower payload type.
 * Docs: docs/reference/measurement.md "Scores"
 * Thread: the owner's; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_CODEC_COUNT_H
#define OFFHOOK_MEDIA_ANALYSIS_CODEC_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include "media/analysis/emodel_values.h"

/* Codecs of one stream that are told apart, as many as a session has payload
 * types. Packets of further ones are counted together; a stream of which they
 * are the most has no codec and no score. */
#define CODEC_COUNT_MAX 24

struct codec_count_entry {
	uint64_t packets;        /* audio packets */
	uint64_t packets_before; /* of them before the open interval */
	struct emodel_values values;
	uint32_t clock_hz;
	uint8_t pt;    /* lowest payload type it came with, 0..127 */
	char name[16]; /* encoding name */
};

/** All zero: no codec yet. */
struct codec_count {
	size_t count;   /* of entries */
	size_t current; /* codec of the packets that come; count: none */
	uint64_t other; /* packets of codecs beyond the table */
	struct codec_count_entry entries[CODEC_COUNT_MAX];
};

/** What follows is this codec. One of the same name, clock and values is the
 * same codec, under whatever payload type.
 * @param name  copied, cut off at 15 bytes */
void codec_count_enter(struct codec_count *c, const char *name,
		       uint32_t clock_hz, uint8_t pt,
		       const struct emodel_values *values);

/** Packets of the current codec. */
void codec_count_add(struct codec_count *c, uint64_t packets);

/** Codec of the whole stream. @param open  packets of the current codec that
 * are not added yet
 * @return NULL: none */
const struct codec_count_entry *codec_count_most(const struct codec_count *c,
						 uint64_t open);

/** Codec of the open interval; the next interval begins.
 * @return NULL: it had no audio packet */
const struct codec_count_entry *codec_count_interval(struct codec_count *c);

#endif
