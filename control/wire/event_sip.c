#include "control/wire/event.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** Encode in base64 (RFC 4648 section 4). @return text to free(); NULL: out of
 * memory */
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

/* True for UTF-8 without NUL: jansson refuses a NUL in a string. */
static bool is_text(const char *data, size_t len)
{
	size_t n;

	for (size_t i = 0; i < len; i += n) {
		n = data[i] ? str_utf8_len(data + i, len - i) : 0;
		if (n == 0)
			return false;
	}
	return true;
}

static void write_base64(struct writer *w, const char *data, size_t len)
{
	char *text = base64(data, len);

	if (!text && !w->err)
		w->err = -ENOMEM;
	writer_text(w, "encoding", "base64");
	writer_text(w, "data", text);
	free(text);
}

void wire_sip_message_write(struct writer *w, struct wire_time when,
			    const struct wire_sip_message *m)
{
	writer_open(w, NULL, '{');
	writer_integer(w, "t", when.wall_us);
	writer_integer(w, "mono", when.mono_ns);
	writer_text(w, "dir", m->sent ? "sent" : "received");
	writer_text(w, "transport", m->transport);
	writer_text(w, "local", m->local);
	writer_text(w, "peer", m->peer);
	if (is_text(m->data, m->len))
		writer_text_n(w, "data", m->data, m->len);
	else
		write_base64(w, m->data, m->len);
	writer_close(w, '}');
}
