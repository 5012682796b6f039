#include "control/wire/event.h"
#include "control/wire/put_internal.h"

#include <stdlib.h>
#include <string.h>

/** RFC 4648 section 4. @return text to free(), NULL when out of memory */
static char *base64(const char *data, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = (const unsigned char *)data;
	char *text = malloc((len + 2) / 3 * 4 + 1);
	char *out = text;

	if (!text)
		return NULL;
	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		unsigned v = (unsigned)in[i] << 16;

		if (left > 1)
			v |= (unsigned)in[i + 1] << 8;
		if (left > 2)
			v |= in[i + 2];
		*out++ = digits[v >> 18];
		*out++ = digits[v >> 12 & 63];
		*out++ = left > 1 ? digits[v >> 6 & 63] : '=';
		*out++ = left > 2 ? digits[v & 63] : '=';
	}
	*out = '\0';
	return text;
}

json_t *wire_sip_message_encode(struct wire_time when,
				const struct wire_sip_message *m)
{
	json_t *o = json_pack("{s:I, s:I, s:s, s:s, s:s, s:s}", "t",
			      (json_int_t)when.wall_us, "mono",
			      (json_int_t)when.mono_ns, "dir",
			      m->sent ? "sent" : "received", "transport",
			      m->transport, "local", m->local, "peer", m->peer);
	json_t *data = json_stringn(m->data, m->len);
	int err = 0;

	if (!o) {
		json_decref(data);
		return NULL;
	}
	/* A NUL is UTF-8 but no text a JSON reader takes back. */
	if (data && memchr(m->data, '\0', m->len)) {
		json_decref(data);
		data = NULL;
	}
	if (!data) {
		char *text = base64(m->data, m->len);

		data = text ? json_string(text) : NULL;
		free(text);
		err |= put_value(o, "encoding", json_string("base64"));
	}
	err |= put_value(o, "data", data);
	return put_finish(o, err);
}
