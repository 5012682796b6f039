#include "sip/baresip/netstring.h"

#include <errno.h>

#define DIGITS_MAX 6

int netstring_find(const char *data, size_t len, size_t *ret_at,
		   size_t *ret_len)
{
	size_t bytes = 0;
	size_t at = 0;

	for (; at < len && data[at] >= '0' && data[at] <= '9'; at++) {
		if (at >= DIGITS_MAX)
			return -EMSGSIZE;
		bytes = 10 * bytes + (size_t)(data[at] - '0');
	}
	if (at == len)
		return -EAGAIN;
	if (at == 0 || data[at] != ':')
		return -EBADMSG;
	if (bytes > NETSTRING_BYTES_MAX)
		return -EMSGSIZE;
	at++;
	if (len - at < bytes + 1)
		return -EAGAIN;
	if (data[at + bytes] != ',')
		return -EBADMSG;
	*ret_at = at;
	*ret_len = bytes;
	return 0;
}

int netstring_add(struct buf *b, const char *text, size_t len)
{
	size_t used = b->used;
	int err = buf_print(b, "%zu:", len);

	if (!err)
		err = buf_add(b, text, len);
	if (!err)
		err = buf_add(b, ",", 1);
	if (err)
		b->used = used;
	return err;
}
