#include "control/rescore/run_streams.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/wire/text.h"

#define KEY_BYTES 128

static bool key_of(char key[static KEY_BYTES], const char *role, uint32_t ssrc)
{
	int len = snprintf(key, KEY_BYTES, "%s/%08" PRIx32, role, ssrc);

	return len > 0 && len < KEY_BYTES;
}

/* @param source  the stream, or one of its further sources */
static int add(json_t *index, const char *role, const json_t *source,
	       json_t *stream)
{
	const char *text = text_of(source, "ssrc");
	char key[KEY_BYTES];
	unsigned long ssrc;
	char *end;

	ssrc = strtoul(text, &end, 16);
	if (end == text || *end || ssrc > UINT32_MAX ||
	    !key_of(key, role, (uint32_t)ssrc))
		return 0; /* a stream without packets has none */
	return json_object_set(index, key, stream);
}

static int add_stream(json_t *index, const char *role, json_t *stream)
{
	const json_t *source;
	size_t i;
	int err = 0;

	/* figures of the stream belong to its own source: it comes last */
	json_array_foreach(json_object_get(stream, "sources"), i, source)
	{
		json_t *other =
			json_pack("{s:s}", "dir", text_of(stream, "dir"));

		err |= add(index, role, source, other);
		json_decref(other);
	}
	return err | add(index, role, stream, stream);
}

json_t *run_streams_new(const json_t *report)
{
	json_t *index = json_object();
	const json_t *call;
	json_t *stream;
	size_t i, k;
	int err = 0;

	json_array_foreach(json_object_get(report, "calls"), i, call)
	{
		json_array_foreach(json_object_get(call, "streams"), k, stream)
		{
			err |= add_stream(index, text_of(call, "role"), stream);
		}
	}
	if (!err)
		return index;
	json_decref(index);
	return NULL;
}

const json_t *run_streams_find(const json_t *streams, const char *role,
			       uint32_t ssrc)
{
	char key[KEY_BYTES];

	return key_of(key, role, ssrc) ? json_object_get(streams, key) : NULL;
}

bool run_stream_sent(const json_t *stream)
{
	return strcmp(text_of(stream, "dir"), "out") == 0;
}
