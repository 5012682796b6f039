#include "sip/baresip/event.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sip/baresip/netstring.h"

static const struct {
	const char *name;
	enum baresip_event event;
} events[] = {
	{"REGISTER_FAIL", BARESIP_REGISTER_FAIL},
	{"CALL_INCOMING", BARESIP_CALL_INCOMING},
	{"CALL_CLOSED", BARESIP_CALL_CLOSED},
	{"TRANSFER_FAILED", BARESIP_CALL_TRANSFER_FAILED},
	{"CALL_MENC", BARESIP_CALL_MENC},
	{"CALL_DTMF_START", BARESIP_CALL_DTMF_START},
	{"AUDIO_ERROR", BARESIP_AUDIO_ERROR},
};

/* Copy a member, cut to size. Texts are only shown; an id or token of that length is
 * not ours and matches none. */
static void copy(char *dst, size_t size, const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	snprintf(dst, size, "%s", text ? text : "");
}

static enum baresip_event event_of(const char *name)
{
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (strcmp(events[i].name, name) == 0)
			return events[i].event;
	}
	return BARESIP_OTHER;
}

static bool is_outgoing(const json_t *o)
{
	const char *text = json_string_value(json_object_get(o, "direction"));

	return text && strcmp(text, "outgoing") == 0;
}

int baresip_message_parse(struct baresip_message *ret, const char *json,
			  size_t len)
{
	json_t *o = json_loadb(json, len, JSON_REJECT_DUPLICATES, NULL);
	struct baresip_message m = {.event = BARESIP_OTHER};
	const char *type = json_string_value(json_object_get(o, "type"));
	int err = 0;

	if (json_is_true(json_object_get(o, "response"))) {
		m.event = BARESIP_ANSWER;
		m.ok = json_is_true(json_object_get(o, "ok"));
		copy(m.token, sizeof(m.token), o, "token");
		copy(m.text, sizeof(m.text), o, "data");
	} else if (json_is_true(json_object_get(o, "event")) && type) {
		m.event = event_of(type);
		copy(m.id, sizeof(m.id), o, "id");
		m.outgoing = is_outgoing(o);
		copy(m.text, sizeof(m.text), o, "param");
	} else {
		err = -EBADMSG;
	}
	json_decref(o);
	if (!err)
		*ret = m;
	return err;
}

int baresip_command_write(struct buf *b, const char *command,
			  const char *params, const char *token)
{
	json_t *o = json_pack("{s:s, s:s*, s:s}", "command", command, "params",
			      params, "token", token);
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	int err = o ? -ENOMEM : -EINVAL;

	if (text)
		err = netstring_add(b, text, strlen(text));
	free(text);
	json_decref(o);
	return err;
}
