#include "sip/transport/ceiling.h"

#include "sip/ua/ua_internal.h"

_Static_assert(CEILING_BYTES_MAX == (size_t)256 << 20, "as the words say");

static const char *const words[CEILINGS] = {
	[CEILING_SERVERS] =
		"requests of peers keep 256 MiB: further ones are answered "
		"without a transaction, INVITEs with 503",
	[CEILING_STREAM_IN] =
		"SIP messages that are not whole yet keep 256 MiB: "
		"connections that send more of them are closed",
	[CEILING_STREAM_OUT] =
		"SIP messages that connections do not take keep 256 MiB: those "
		"that take none of more are closed",
};

void ceilings_init(struct sip_ua *ua)
{
	for (size_t i = 0; i < CEILINGS; i++)
		ua->ceilings[i].bytes_max = CEILING_BYTES_MAX;
}

bool ceiling_take(struct sip_ua *ua, enum ceiling_of of, size_t bytes)
{
	struct ceiling *c = &ua->ceilings[of];

	if (bytes <= c->bytes_max - c->bytes) {
		c->bytes += bytes;
		return true;
	}
	if (!c->told && ua->full_h)
		ua->full_h(words[of], ua->arg);
	c->told = true;
	return false;
}

void ceiling_give(struct sip_ua *ua, enum ceiling_of of, size_t bytes)
{
	ua->ceilings[of].bytes -= bytes;
}
