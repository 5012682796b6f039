#include "agent/engine/internal.h"

#include "base/log.h"

#include <string.h>

unsigned call_audio_wanted(const struct wire_action *action)
{
	return action->audio_checks ? MEDIA_AUDIO_MEASURE : 0;
}

void call_audio_record(struct call *c, const struct media_record *record)
{
	bool out = record->outgoing;

	if (record->kind == MEDIA_RECORD_AUDIO_SECOND) {
		collect_audio(c->engine->collect, out, &record->u.audio_second,
			      c->engine->wall_offset_ns);
		return;
	}
	json_decref(c->audio[out]);
	c->audio[out] = wire_audio_encode(&record->u.audio_total, out);
	if (!c->audio[out])
		log_error("call=%s out of memory: audio totals are lost",
			  c->name);
}

void call_audio_end(struct call *c)
{
	json_t *stream;
	size_t i;

	json_array_foreach(c->streams, i, stream)
	{
		const char *dir =
			json_string_value(json_object_get(stream, "dir"));
		bool out = dir && strcmp(dir, "out") == 0;

		if (c->audio[out] &&
		    json_object_set(stream, "audio", c->audio[out]))
			log_error(
				"call=%s out of memory: audio totals are lost",
				c->name);
	}
}
