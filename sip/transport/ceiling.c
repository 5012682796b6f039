#include "sip/transport/ceiling.h"

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

void ceilings_init(struct ceilings *c,
		   void (*full_h)(const char *reason, void *arg), void *arg)
{
	*c = (struct ceilings){.full_h = full_h, .arg = arg};
	for (size_t i = 0; i < CEILINGS; i++)
		c->of[i].bytes_max = CEILING_BYTES_MAX;
}

bool ceiling_take(struct ceilings *c, enum ceiling_of of, size_t bytes)
{
	struct ceiling *ceiling = &c->of[of];

	if (bytes <= ceiling->bytes_max - ceiling->bytes) {
		ceiling->bytes += bytes;
		return true;
	}
	if (!ceiling->told && c->full_h)
		c->full_h(words[of], c->arg);
	ceiling->told = true;
	return false;
}

void ceiling_give(struct ceilings *c, enum ceiling_of of, size_t bytes)
{
	c->of[of].bytes -= bytes;
}
