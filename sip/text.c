#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "sip/internal.h"

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

/* The user part of a URI (RFC 3261 25.1): escape what may not stand there. */
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

struct sip_msg *msg_ref(const struct sip_msg *msg)
{
	return mem_ref((void *)(uintptr_t)msg);
}

/* "486 Busy Here" without the code: the phrase a peer sent, bounded. */
void msg_line(char *dst, size_t size, const struct sip_msg *msg)
{
	size_t len = msg->reason.l < size - 1 ? msg->reason.l : size - 1;

	if (msg->reason.p)
		memcpy(dst, msg->reason.p, len);
	else
		len = 0;
	dst[len] = '\0';
}

size_t msg_body_length(const struct sip_msg *msg)
{
	size_t left = msg->mb ? mbuf_get_left(msg->mb) : 0;
	size_t said = pl_isset(&msg->clen) ? pl_u32(&msg->clen) : left;

	return said < left ? said : left;
}
