#include "base/codec_names.h"

#include <errno.h>
#include <strings.h>

#include "base/str.h"

static const struct codec_name codecs[] = {
	{"PCMU", "PCMU", 8000, 1, false},
	{"PCMA", "PCMA", 8000, 1, false},
	{"G722", "G722", 16000, 1, false},
	{"opus", "opus", 48000, 2, false},
	{"GSM", "GSM", 8000, 1, false},
	{"L16/8000", "L16", 8000, 1, false},
	{"L16/16000", "L16", 16000, 1, false},
	{"L16/44100", "L16", 44100, 1, false},
	{"L16", "L16", 16000, 1, true},
};

#define COUNT (sizeof(codecs) / sizeof(codecs[0]))

const struct codec_name *codec_name_at(size_t i)
{
	return i < COUNT ? &codecs[i] : NULL;
}

const struct codec_name *codec_name_find(const char *name)
{
	for (size_t i = 0; i < COUNT; i++) {
		if (strcasecmp(codecs[i].name, name) == 0)
			return &codecs[i];
	}
	return NULL;
}

bool codec_name_same(const struct codec_name *a, const struct codec_name *b)
{
	return a->sample_hz == b->sample_hz &&
	       strcasecmp(a->encoding, b->encoding) == 0;
}

int codec_names_print(char *dst, size_t size, const char *last)
{
	size_t used = 0;
	size_t names = 0;

	while (names < COUNT && !codecs[names].is_alias)
		names++;
	for (size_t i = 0; i < names; i++) {
		const char *before = i == 0 ? "" : i + 1 < names ? ", " : last;
		int n = str_print(dst + used, size - used, "%s%s", before,
				  codecs[i].name);

		if (n < 0)
			return n;
		used += (size_t)n;
	}
	return (int)used;
}
