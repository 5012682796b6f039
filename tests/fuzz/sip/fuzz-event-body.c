/*
 * Bodies of a NOTIFY: what can be parsed can be written, and then parses to the
 * same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sip/body/mwi.h"
#include "sip/body/presence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void presence(const char *text, size_t len)
{
	char again[SIP_PRESENCE_BODY_BYTES];
	struct sip_presence a, b;
	int n;

	if (presence_parse(&a, text, len))
		return;
	if (strlen(a.note) >= sizeof(a.note) ||
	    strlen(a.entity) >= sizeof(a.entity) || (a.open && !a.has_basic))
		abort();
	n = presence_print(again, sizeof(again), &a, "sip:a@b");
	if (n < 0)
		return; /* a note that consists of escaped characters only */
	if (presence_parse(&b, again, (size_t)n) || a.open != b.open)
		abort();
}

static void summary(const char *text, size_t len)
{
	char again[SIP_MWI_BODY_BYTES], said[64];
	struct sip_mwi a, b;
	int n;

	if (mwi_parse(&a, text, len))
		return;
	n = mwi_print(again, sizeof(again), &a);
	if (n < 0 || mwi_parse(&b, again, (size_t)n) ||
	    memcmp(&a, &b, sizeof(a)) != 0)
		abort();
	mwi_text(said, sizeof(said), &a);
	if (!memchr(said, '\0', sizeof(said)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	presence(copy, size);
	summary(copy, size);
	free(copy);
	return 0;
}
