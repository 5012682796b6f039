#include "base/buf.h"

#include "base/wiped_memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_FIRST_BYTES 256

void buf_init(struct buf *b, size_t ceiling_bytes)
{
	*b = (struct buf){.ceiling = ceiling_bytes};
}

void buf_init_secret(struct buf *b, size_t ceiling_bytes)
{
	*b = (struct buf){.ceiling = ceiling_bytes, .secret = true};
}

void buf_release(struct buf *b)
{
	if (b->secret)
		wiped_free(b->data);
	else
		free(b->data);
	*b = (struct buf){.ceiling = b->ceiling, .secret = b->secret};
}

static int reserve(struct buf *b, size_t more)
{
	size_t need = b->used + more + 1;
	size_t size = b->allocated ? b->allocated : BUF_FIRST_BYTES;
	char *data;

	if (more > b->ceiling - b->used)
		return -EMSGSIZE;
	if (need <= b->allocated)
		return 0;
	while (size < need)
		size *= 2;
	data = b->secret ? wiped_realloc(b->data, size)
			 : realloc(b->data, size);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->allocated = size;
	return 0;
}

int buf_extend(struct buf *b, size_t len, char **ret)
{
	int err = reserve(b, len);

	if (err)
		return err;
	*ret = b->data + b->used;
	b->used += len;
	b->data[b->used] = '\0';
	return 0;
}

int buf_add(struct buf *b, const void *data, size_t len)
{
	int err = reserve(b, len);

	if (err)
		return err;
	if (len > 0)
		memcpy(b->data + b->used, data, len);
	b->used += len;
	b->data[b->used] = '\0';
	return 0;
}

int buf_texts(struct buf *b, const char *first, ...)
{
	va_list texts;
	int err = 0;

	va_start(texts, first);
	for (const char *text = first; text && !err;
	     text = va_arg(texts, const char *))
		err = buf_add(b, text, strlen(text));
	va_end(texts);
	return err;
}

int buf_print(struct buf *b, const char *fmt, ...)
{
	size_t room = b->allocated - b->used;
	va_list args;
	int len;
	int err;

	va_start(args, fmt);
	len = vsnprintf(b->data ? b->data + b->used : NULL, room, fmt, args);
	va_end(args);
	if (len >= 0 && (size_t)len < room &&
	    (size_t)len <= b->ceiling - b->used) {
		b->used += (size_t)len;
		return 0;
	}
	if (b->data)
		b->data[b->used] = '\0';
	if (len < 0)
		return -EINVAL;
	err = reserve(b, (size_t)len);
	if (err)
		return err;
	va_start(args, fmt);
	vsnprintf(b->data + b->used, (size_t)len + 1, fmt, args);
	va_end(args);
	b->used += (size_t)len;
	return 0;
}

void buf_consume(struct buf *b, size_t n)
{
	if (n == 0)
		return;
	memmove(b->data, b->data + n, b->used - n);
	b->used -= n;
	if (b->secret)
		explicit_bzero(b->data + b->used, n);
	b->data[b->used] = '\0';
}
