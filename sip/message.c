#include "sip/message.h"

#include <string.h>

struct sip_msg *msg_ref(const struct sip_msg *msg)
{
	return mem_ref((void *)(uintptr_t)msg);
}

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
