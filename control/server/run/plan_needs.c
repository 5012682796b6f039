#include "control/server/run/plan_needs.h"

#include "base/str.h"
#include "control/wire/text.h"

#include <errno.h>
#include <string.h>

#define NEED_BYTES 64

/* Capabilities that every agent has. */
static const char *const common[] = {"client:native",   "transport:udp",
				     "codec:PCMU",      "codec:PCMA",
				     "encryption:none", NULL};

static int need_text(json_t *needs, const char *text)
{
	const json_t *known;
	size_t i;

	json_array_foreach(needs, i, known)
	{
		if (strcmp(json_string_value(known), text) == 0)
			return 0;
	}
	return json_array_append_new(needs, json_string(text)) ? -ENOMEM : 0;
}

/* @param value  "": none */
static int need(json_t *needs, const char *kind, const char *value)
{
	char text[NEED_BYTES];

	if (!value[0] ||
	    str_print(text, sizeof(text), "%s:%s", kind, value) < 0 ||
	    str_listed(common, text))
		return 0;
	return need_text(needs, text);
}

/* The transport of the action overrides that of the target. */
static int transport_needs(json_t *needs, const json_t *action)
{
	const json_t *target = json_object_get(action, "target");
	const char *own = text_of(action, "transport");
	const json_t *host;
	size_t i;
	int err = 0;

	if (own[0])
		return need(needs, "transport", own);
	json_array_foreach(json_object_get(target, "hosts"), i, host)
	{
		if (!err)
			err = need(needs, "transport",
				   text_of(host, "transport"));
	}
	return err;
}

static int action_needs(json_t *needs, const json_t *action)
{
	const char *encryption = text_of(action, "media_encryption");
	const json_t *codec, *label;
	size_t i;
	int err = need(needs, "client", text_of(action, "client"));

	if (strcmp(encryption, "sdes-mandatory") == 0)
		encryption = "sdes";
	if (!err)
		err = need(needs, "encryption", encryption);
	if (!err)
		err = transport_needs(needs, action);
	json_array_foreach(json_object_get(action, "audio_codecs"), i, codec)
	{
		const char *name = json_string_value(codec);

		if (!err && name)
			err = need(needs, "codec", name);
	}
	json_array_foreach(json_object_get(action, "requires"), i, label)
	{
		if (!err && json_is_string(label))
			err = need_text(needs, json_string_value(label));
	}
	return err;
}

int plan_needs_add(json_t *spec)
{
	json_t *needs = json_array();
	const json_t *step, *action;
	size_t s, a;
	int err = needs ? 0 : -ENOMEM;

	json_array_foreach(json_object_get(spec, "steps"), s, step)
	{
		json_array_foreach(step, a, action)
		{
			if (!err)
				err = action_needs(needs, action);
		}
	}
	if (!err && json_array_size(needs) &&
	    json_object_set(spec, "needs", needs))
		err = -ENOMEM;
	json_decref(needs);
	return err;
}

/* An older agent reports no capability of the kind: it would carry out the whole job. */
int plan_needs_shards(json_t *spec)
{
	json_t *needs = json_object_get(spec, "needs");

	if (!needs) {
		needs = json_array();
		if (json_object_set_new(spec, "needs", needs))
			return -ENOMEM;
	}
	return need_text(needs, "job=shards");
}
