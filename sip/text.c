#include "sip/text.h"

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
