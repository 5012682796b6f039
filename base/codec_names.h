/**
 * The codecs that Offhook sends, by the names that users write. The messages
 * between the daemons, the command line and the second client need these names,
 * but not the code in media/audio.
 * Thread: any; a constant table.
 */
#ifndef OFFHOOK_BASE_CODEC_NAMES_H
#define OFFHOOK_BASE_CODEC_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codec_name {
	const char *name;     /* as users write it: "L16/16000" */
	const char *encoding; /* encoding name of the rtpmap: "L16" */
	uint32_t sample_hz;   /* of the audio; for G.722 not the RTP clock
			       * rate */
	uint8_t channels;     /* in the rtpmap */
	bool is_alias;        /* another name for the codec of another row */
};

/** Get row i; aliases come last.
 * @return NULL: no more rows */
const struct codec_name *codec_name_at(size_t i);

/** Find the row of a name, letter case ignored.
 * @return NULL: no such codec */
const struct codec_name *codec_name_find(const char *name);

/** @return both names mean the same codec ("L16", "L16/16000") */
bool codec_name_same(const struct codec_name *a, const struct codec_name *b);

/**
 * List all names but aliases: "PCMU, PCMA and GSM".
 * @param dst   size bytes, always terminated
 * @param last  text between the last two: ", " or " and "
 * @return length; -ENAMETOOLONG (dst is cut)
 */
int codec_names_print(char *dst, size_t size, const char *last);

#endif
