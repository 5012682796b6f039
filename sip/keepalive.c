#include "sip/internal.h"

void keepalive_stun(struct sip_ua *ua, const struct sa *src,
		    const uint8_t *data, size_t len)
{
	(void)ua;
	(void)src;
	(void)data;
	(void)len;
}
