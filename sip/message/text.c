#include "sip/message/text.h"

#include <ctype.h>
#include <errno.h>
#include <re.h>
#include <string.h>

#include "sip/error.h"

int text_print(char **ret, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	int err;

	va_start(args, fmt);
	err = re_vsdprintf(&text, fmt, args);
	va_end(args);
	if (err)
		return neg(err);
	*ret = text;
	return 0;
}

int text_join(char **ret, const char *first, ...)
{
	size_t len = 0;
	va_list texts;
	char *joined;
	char *at;

	va_start(texts, first);
	for (const char *text = first; text; text = va_arg(texts, const char *))
		len += strlen(text);
	va_end(texts);
	joined = mem_alloc(len + 1, NULL);
	if (!joined)
		return -ENOMEM;
	at = joined;
	va_start(texts, first);
	for (const char *text = first; text; text = va_arg(texts, const char *))
		at = stpcpy(at, text);
	va_end(texts);
	*at = '\0';
	*ret = joined;
	return 0;
}

/* Texts that are copied at a time. */
#define TEXTS_MAX 16

/* Make room at the position, at least twice as much as there was.
 * @return 0; ENOMEM, as libre */
static int room_make(struct mbuf *mb, size_t bytes)
{
	size_t needed = mb->pos + bytes;

	if (needed <= mb->size)
		return 0;
	return mbuf_resize(mb, needed > 2 * mb->size ? needed : 2 * mb->size);
}

int text_append(struct mbuf *mb, const char *first, ...)
{
	const char *text = first;
	va_list texts;
	int err = 0;

	va_start(texts, first);
	while (text && !err) {
		const char *begin[TEXTS_MAX];
		size_t len[TEXTS_MAX];
		size_t count = 0;
		size_t bytes = 0;

		for (; text && count < TEXTS_MAX; count++) {
			begin[count] = text;
			len[count] = strlen(text);
			bytes += len[count];
			text = va_arg(texts, const char *);
		}
		if (bytes == 0)
			continue; /* there may be no buffer yet */
		err = room_make(mb, bytes);
		for (size_t i = 0; i < count && !err; i++) {
			memcpy(mb->buf + mb->pos, begin[i], len[i]);
			mb->pos += len[i];
		}
		if (mb->end < mb->pos)
			mb->end = mb->pos;
	}
	va_end(texts);
	return neg(err);
}

int text_user(char **ret, const char *user)
{
	static const char marks[] = "-_.!~*'()&=+$,;?/";
	struct mbuf *mb = mbuf_alloc(64);
	int err = 0;

	if (!mb)
		return -ENOMEM;
	for (; *user && !err; user++) {
		unsigned char c = (unsigned char)*user;

		if ((c < 0x80 && isalnum(c)) || strchr(marks, c))
			err = mbuf_write_u8(mb, c);
		else
			err = mbuf_printf(mb, "%%%02X", c);
	}
	mb->pos = 0;
	if (!err)
		err = mbuf_strdup(mb, ret, mbuf_get_left(mb));
	mem_deref(mb);
	return neg(err);
}
