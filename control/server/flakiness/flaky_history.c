#include "control/server/flakiness/flaky_history.h"

#include "base/str.h"
#include "control/server/flakiness/flaky_internal.h"
#include "control/server/judge/sip_text.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int flaky_history_new(struct flaky_history **ret)
{
	struct flaky_history *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	for (size_t i = 0; i < FLAKY_VALUED; i++) {
		h->values[i] = json_object();
		if (!h->values[i]) {
			flaky_history_free(h);
			return -ENOMEM;
		}
	}
	*ret = h;
	return 0;
}

struct flaky_history *flaky_history_free(struct flaky_history *h)
{
	if (!h)
		return NULL;
	for (size_t i = 0; i < FLAKY_VALUED; i++)
		json_decref(h->values[i]);
	free(h);
	return NULL;
}

int flaky_history_add_run(struct flaky_history *h, bool failed,
			  int64_t started_ms)
{
	if (h->count == FLAKY_RUNS_MAX)
		return -ENOSPC;
	if (failed)
		h->failed |= (flaky_runs)1 << h->count;
	h->started_ms[h->count++] = started_ms;
	return 0;
}

/* Peers choose some of the values: a sentence has one line of valid text. */
static void tidy(char text[static FLAKY_VALUE_BYTES])
{
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	str_utf8_repair(text);
}

int flaky_history_add(struct flaky_history *h, enum flaky_attribute attribute,
		      const char *role, const char *value)
{
	flaky_runs run = (flaky_runs)1 << (h->count - 1);
	json_t *values = json_object_get(h->values[attribute], role);
	char own[FLAKY_VALUE_BYTES];
	json_int_t runs;

	if (!value[0])
		return 0;
	if (!values) {
		values = json_object();
		if (json_object_set_new(h->values[attribute], role, values))
			return -ENOMEM;
	}
	str_print(own, sizeof(own), "%s", value);
	tidy(own);
	runs = json_integer_value(json_object_get(values, own));
	if (runs & run)
		return 0;
	return json_object_set_new(values, own, json_integer(runs | run))
		       ? -ENOMEM
		       : 0;
}

/* The host of "addr:port" is a value of its own: the port of a TCP connection
 * that the peer opened is another one each time. */
static int add_peer(struct flaky_history *h, const char *role, const char *peer)
{
	const char *colon = strrchr(peer, ':');
	char host[FLAKY_VALUE_BYTES];
	int err;

	if (!colon)
		return flaky_history_add(h, FLAKY_PEER, role, peer);
	str_print(host, sizeof(host), "%.*s", (int)(colon - peer), peer);
	err = flaky_history_add(h, FLAKY_PEER, role, host);
	return err ? err : flaky_history_add(h, FLAKY_PEER, role, peer);
}

static int add_software(struct flaky_history *h, const char *role,
			const char *data)
{
	static const char *const fields[] = {"Server", "User-Agent"};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(fields) / sizeof(*fields); i++) {
		struct sip_part field;
		char *value;

		if (!sip_header(data, fields[i], 0, &field))
			continue;
		value = sip_unfolded(field);
		err = value ? flaky_history_add(h, FLAKY_SOFTWARE, role, value)
			    : -ENOMEM;
		free(value);
	}
	return err;
}

int flaky_history_add_message(struct flaky_history *h, const char *role,
			      const json_t *message)
{
	int err = add_peer(h, role, text_of(message, "peer"));

	/* `encoding`: the bytes are not text */
	if (err || json_object_get(message, "encoding") ||
	    strcmp(text_of(message, "dir"), "received") != 0)
		return err;
	return add_software(h, role, text_of(message, "data"));
}

int flaky_history_add_call(struct flaky_history *h, const char *role,
			   const json_t *event)
{
	const json_t *stream;
	size_t i;
	int err = 0;

	json_array_foreach(json_object_get(event, "streams"), i, stream)
	{
		if (!err &&
		    json_number_value(json_object_get(stream, "packets")) > 0)
			err = flaky_history_add(h, FLAKY_CODEC, role,
						text_of(stream, "codec"));
	}
	return err;
}
